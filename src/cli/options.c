/* Parsing, help, completion and man pages from the table of verbs. */
#include "cli/cli.h"

#include <stdio.h>

static bool starts_with_verb(const char *name, int argc, const char **argv, int *ret_words)
{
    struct str rest = str_from(name), word;
    int used = 0;

    do {
        (void)str_cut(&rest, ' ', &word);
        if (used >= argc || !str_eq_c(word, argv[used]))
            return false;
        used++;
    } while (rest.len);
    *ret_words = used;
    return true;
}

/* The longest name wins: "agents add" before "agents". */
static const struct verb *find_verb(int argc, const char **argv, int *ret_words)
{
    const struct verb *found = NULL;

    *ret_words = 0;
    for (size_t i = 0; i < cli_verb_count; i++) {
        int words = 0;
        if (starts_with_verb(cli_verbs[i].name, argc, argv, &words) && words > *ret_words) {
            found = &cli_verbs[i];
            *ret_words = words;
        }
    }
    return found;
}

static const struct option_spec *find_option(const struct verb *verb, struct str name)
{
    for (size_t i = 0; i < verb->option_count; i++)
        if (str_eq_c(name, verb->options[i].name))
            return &verb->options[i];
    return NULL;
}

static enum err_code add_value(struct cli *cli, const struct option_spec *spec, const char *text,
                               struct err *err)
{
    struct option_value value = {.spec = spec, .text = text};

    if (!spec->many && cli_text(cli, spec->name))
        return err_set(err, ERR_INVALID, "--%s is given twice", spec->name);
    if (cli->value_count == OPTION_VALUES_MAX)
        return err_set(err, ERR_INVALID, "too many options (%d at most)", OPTION_VALUES_MAX);
    if (spec->kind == OPTION_NUMBER && (!str_to_i64(str_from(text), &value.number) ||
                                        value.number < spec->min || value.number > spec->max))
        return err_set(err, ERR_INVALID, "--%s wants a number from %lld to %lld, not \"%s\"",
                       spec->name, (long long)spec->min, (long long)spec->max, text);
    cli->values[cli->value_count++] = value;
    return OK;
}

/* One "--name", "--name=value" or "--name value"; moves *at over what it used. */
static enum err_code take_option(struct cli *cli, int argc, const char **argv, int *at,
                                 struct err *err)
{
    struct str rest = str_from(argv[*at] + 2), name;
    bool has_value = str_cut(&rest, '=', &name);
    const struct option_spec *spec = find_option(cli->verb, name);

    if (!spec) {
        (void)err_set(err, ERR_INVALID, "euvyra %s has no option --%.*s", cli->verb->name,
                      STR_ARG(name));
        err_hint(err, "euvyra %s --help lists them", cli->verb->name);
        return ERR_INVALID;
    }
    if (spec->kind == OPTION_FLAG)
        return has_value ? err_set(err, ERR_INVALID, "--%s takes no value", spec->name)
                         : add_value(cli, spec, "", err);
    if (has_value)
        return add_value(cli, spec, rest.data, err);
    if (*at + 1 >= argc)
        return err_set(err, ERR_INVALID, "--%s wants a value: %s", spec->name, spec->value);
    *at += 1;
    return add_value(cli, spec, argv[*at], err);
}

static enum err_code check_count(const struct cli *cli, struct err *err)
{
    const struct verb *v = cli->verb;

    if (cli->arg_count < v->args_min)
        return err_set(err, ERR_INVALID, "euvyra %s wants %s", v->name, v->arguments);
    if (v->args_max >= 0 && cli->arg_count > v->args_max)
        return err_set(err, ERR_INVALID, "euvyra %s: unexpected argument \"%s\"", v->name,
                       cli->args[v->args_max]);
    return OK;
}

enum err_code cli_parse(struct cli *cli, int argc, const char **argv, bool *ret_help,
                        struct err *err)
{
    int words = 0;

    cli->verb = find_verb(argc, argv, &words);
    if (!cli->verb) {
        (void)err_set(err, ERR_INVALID, "there is no command \"%s\"", argc ? argv[0] : "");
        err_hint(err, "euvyra --help lists them");
        return ERR_INVALID;
    }
    cli->args = arena_array(&cli->arena, (size_t)argc + 1, sizeof *cli->args);
    for (int i = words; i < argc; i++) {
        struct str arg = str_from(argv[i]);
        if (str_eq_c(arg, "--")) {
            for (i++; i < argc; i++)
                cli->args[cli->arg_count++] = argv[i];
        } else if (str_eq_c(arg, "--help") || str_eq_c(arg, "-h")) {
            *ret_help = true;
            return OK;
        } else if (str_eq_c(arg, "-f") && find_option(cli->verb, STR("follow"))) {
            TRY(add_value(cli, find_option(cli->verb, STR("follow")), "", err));
        } else if (str_eq_c(arg, "-f") && find_option(cli->verb, STR("file"))) {
            if (i + 1 >= argc)
                return err_set(err, ERR_INVALID, "-f wants a value: FILE");
            TRY(add_value(cli, find_option(cli->verb, STR("file")), argv[++i], err));
        } else if (str_starts(arg, STR("--"))) {
            TRY(take_option(cli, argc, argv, &i, err));
        } else {
            cli->args[cli->arg_count++] = argv[i];
        }
    }
    return check_count(cli, err);
}

const char *cli_text_at(const struct cli *cli, const char *name, size_t n)
{
    for (size_t i = 0; i < cli->value_count; i++)
        if (str_eq_c(str_from(name), cli->values[i].spec->name) && n-- == 0)
            return cli->values[i].text;
    return NULL;
}

const char *cli_text(const struct cli *cli, const char *name)
{
    return cli_text_at(cli, name, 0);
}

bool cli_flag(const struct cli *cli, const char *name)
{
    return cli_text(cli, name) != NULL;
}

int64_t cli_number(const struct cli *cli, const char *name, int64_t otherwise)
{
    for (size_t i = 0; i < cli->value_count; i++)
        if (str_eq_c(str_from(name), cli->values[i].spec->name))
            return cli->values[i].number;
    return otherwise;
}

static void option_head(const struct option_spec *o, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
}

static void help_verb(const struct verb *verb)
{
    char head[64];

    printf("euvyra %s %s\n\n  %s\n", verb->name, verb->arguments, verb->summary);
    if (verb->details)
        printf("\n%s\n", verb->details);
    printf("\noptions:\n");
    for (size_t i = 0; i < verb->option_count; i++) {
        option_head(&verb->options[i], head, sizeof head);
        printf("  %-22s %s%s\n", head, verb->options[i].help,
               verb->options[i].many ? " (repeatable)" : "");
    }
}

void cli_help(const struct verb *verb)
{
    char head[64];

    if (verb) {
        help_verb(verb);
        return;
    }
    printf("euvyra: train models on your own machines and keep the record\n\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        snprintf(head, sizeof head, "%s %s", cli_verbs[i].name, cli_verbs[i].arguments);
        printf("  euvyra %-22s %s\n", head, cli_verbs[i].summary);
    }
    printf("\neuvyra COMMAND --help says more. Server and key come from euvyra login, or from\n"
           "EUVYRA_SERVER and EUVYRA_API_KEY (or EUVYRA_API_KEY_FILE).\n");
}

void cli_completion_bash(void)
{
    printf("# bash completion for euvyra: source <(euvyra completion bash)\n"
           "_euvyra() {\n"
           "  local cur=${COMP_WORDS[COMP_CWORD]} words\n"
           "  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
    for (size_t i = cli_verb_count; i-- > 0;) {
        const struct verb *v = &cli_verbs[i];
        printf("  \"%s\"*) words=\"", v->name);
        for (size_t o = 0; o < v->option_count; o++)
            printf("--%s ", v->options[o].name);
        printf("--help\" ;;\n");
    }
    printf("  *) words=\"");
    for (size_t i = 0; i < cli_verb_count; i++)
        if (!strchr(cli_verbs[i].name, ' '))
            printf("%s ", cli_verbs[i].name);
    printf("--help\" ;;\n  esac\n"
           "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "}\n"
           "complete -o default -F _euvyra euvyra\n");
}

static void man_text(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '-' || *c == '\\')
            putchar('\\');
        putchar(*c);
    }
    putchar('\n');
}

static void man_verb(const struct verb *verb)
{
    printf(".SS euvyra %s %s\n", verb->name, verb->arguments);
    man_text(verb->summary);
    if (verb->details) {
        printf(".PP\n");
        man_text(verb->details);
    }
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option_spec *o = &verb->options[i];
        printf(".TP\n\\fB\\-\\-%s\\fR %s\n", o->name, o->value ? o->value : "");
        man_text(o->help);
    }
}

void cli_man(const struct verb *verb)
{
    printf(".TH EUVYRA 1\n.SH NAME\neuvyra \\- train models on your own machines and keep the "
           "record\n.SH SYNOPSIS\n\\fBeuvyra\\fR COMMAND [OPTIONS]\n.SH COMMANDS\n");
    for (size_t i = 0; i < cli_verb_count; i++)
        if (!verb || verb == &cli_verbs[i])
            man_verb(&cli_verbs[i]);
    printf(".SH ENVIRONMENT\n.TP\nEUVYRA_SERVER, EUVYRA_API_KEY, EUVYRA_API_KEY_FILE, "
           "EUVYRA_PROJECT, EUVYRA_CA\nserver, key, file with the key, project, file with "
           "certificates\n");
}
