/* euvyra: the command line. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The option that a fault lies in, and a caret under its place. */
static void point(const struct cli *cli, const struct err *err)
{
    const char *text = cli->verb && err->field[0] ? cli_text(cli, err->field) : NULL;

    if (!text || err->column < 1 || strpbrk(text, "\n\r\t\033"))
        return;
    fprintf(stderr, "  %s\n  %*s\n", text, err->column, "^");
}

static int fail(const struct cli *cli, const struct err *err)
{
    fprintf(stderr, "euvyra: %s\n", err->text);
    point(cli, err);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
    return cli->verb && cli->verb->own_exit ? EXIT_OWN_FAILURE : err_code_exit(err->code);
}

static int run(struct cli *cli, int argc, const char **argv)
{
    struct err err = {0};
    bool help = false;
    int code = 0;

    if (argc == 0 || str_eq_c(str_from(argv[0]), "--help") || str_eq_c(str_from(argv[0]), "-h") ||
        str_eq_c(str_from(argv[0]), "help")) {
        cli_help(NULL);
        return argc == 0 ? err_code_exit(ERR_INVALID) : 0;
    }
    if (str_eq_c(str_from(argv[0]), "--version"))
        argv[0] = "version";
    if (cli_parse(cli, argc, argv, &help, &err) != OK)
        return fail(cli, &err);
    if (help) {
        cli_help(cli->verb);
        return 0;
    }
    if (cli_config_load(cli, &err) != OK)
        return fail(cli, &err);
    if (cli->verb->needs_server && !cli->key) {
        (void)err_set(&err, ERR_UNAUTHENTICATED, "no key for %s", cli->server);
        err_hint(&err, "euvyra login, or set EUVYRA_API_KEY_FILE");
        return fail(cli, &err);
    }
    if (cli->verb->run(cli, &code, &err) != OK)
        return fail(cli, &err);
    return code;
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    int code;

    (void)signal(SIGPIPE, SIG_DFL);
    json_setup();
    code = run(&cli, argc - 1, (const char **)argv + 1);
    http_client_free(cli.client);
    arena_release(&cli.arena);
    return code;
}
