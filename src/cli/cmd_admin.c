/* euvyra login, projects, agents, targets, version, completion, man. */
#include "cli/cli.h"
#include "sys/file.h"
#include "sys/random.h"

#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#define KEY_BYTES_MAX 200

/* From a file, standard input, or the terminal without showing it. */
static enum err_code read_key(struct cli *cli, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    const char *file = cli_text(cli, "key-file");
    struct termios before, quiet;
    char line[KEY_BYTES_MAX + 2];
    bool hidden = !file && isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;

    if (file && !str_eq_c(str_from(file), "-")) {
        TRY(file_read(file, 4096, &text, err));
        cli->key = arena_text(&cli->arena, str_trim(buf_str(&text)));
        return OK;
    }
    if (hidden) {
        quiet = before;
        quiet.c_lflag &= (tcflag_t)~ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
        fprintf(stderr, "key (made in the console, under your name): ");
    }
    if (!fgets(line, sizeof line, stdin))
        line[0] = '\0';
    if (hidden) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fprintf(stderr, "\n");
    }
    cli->key = arena_text(&cli->arena, str_trim(str_from(line)));
    return *cli->key ? OK : err_set(err, ERR_INVALID, "no key was given");
}

enum err_code cmd_login(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *me = NULL;

    (void)ret_exit;
    TRY(read_key(cli, err));
    TRY(cli_call(cli, "GET", "/api/v1/me", NULL, &me, err));
    TRY(cli_config_save(cli, cli->server, cli->key, err));
    printf("signed in at %s as %s\n", cli->server, cli_get(me, "login"));
    return OK;
}

enum err_code cmd_projects(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"PROJECT", "ROLE", "RUNS", "RUNNING", "LAST RUN", "TITLE"};
    CLEANUP(json_release) json_t *projects = NULL;
    struct table table;
    json_t *p;
    size_t i;

    (void)ret_exit;
    TRY(cli_list(cli, "/api/v1/projects", 10000, &projects, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(projects);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(projects, i, p)
    {
        table_add(&table, cli_get(p, "name"));
        table_add(&table, cli_get(p, "role"));
        table_add(&table, cli_value(cli, json_object_get(p, "run_count")));
        table_add(&table, cli_value(cli, json_object_get(p, "running_count")));
        table_add(&table, cli_when(cli, cli_get(p, "last_run_at")));
        table_add(&table, cli_get(p, "title"));
    }
    table_print(&table);
    return OK;
}

/* Prints the answer as JSON, or one line. */
static void say(const struct cli *cli, const json_t *answer, const char *line)
{
    if (cli_flag(cli, "json"))
        cli_print_json(answer);
    else
        printf("%s\n", line);
}

enum err_code cmd_projects_create(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *project = NULL;
    const char *name = cli->args[0];

    (void)ret_exit;
    TRY(cli_path_part("project", name, err));
    if (cli_text(cli, "title"))
        (void)json_object_set_new(body, "title", json_string(cli_text(cli, "title")));
    if (cli_text(cli, "description"))
        (void)json_object_set_new(body, "description", json_string(cli_text(cli, "description")));
    TRY(cli_call(cli, "PUT", arena_printf(&cli->arena, "/api/v1/projects/%s", name), body, &project,
                 err));
    say(cli, project, arena_printf(&cli->arena, "project %s is there", name));
    return OK;
}

enum err_code cmd_projects_set(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const texts[] = {"title", "description"};
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *project = NULL;
    const char *name = cli->args[0];

    (void)ret_exit;
    TRY(cli_path_part("project", name, err));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (cli_text(cli, texts[i]))
            (void)json_object_set_new(body, texts[i], json_string(cli_text(cli, texts[i])));
    if (cli_number(cli, "silent", -1) >= 0)
        (void)json_object_set_new(body, "silent_s", json_integer(cli_number(cli, "silent", -1)));
    if (cli_number(cli, "retain-days", -1) >= 0)
        (void)json_object_set_new(body, "retain_days",
                                  json_integer(cli_number(cli, "retain-days", -1)));
    if (cli_text(cli, "idle-gpus"))
        (void)json_object_set_new(body, "idle_gpus", json_string(cli_text(cli, "idle-gpus")));
    if (cli_number(cli, "idle-minutes", -1) >= 0)
        (void)json_object_set_new(body, "idle_minutes",
                                  json_integer(cli_number(cli, "idle-minutes", -1)));
    if (json_object_size(body) == 0)
        return err_set(err, ERR_INVALID,
                       "nothing is to be set: give --title, --description, --silent, "
                       "--retain-days, --idle-gpus or --idle-minutes");
    TRY(cli_call(cli, "PATCH", arena_printf(&cli->arena, "/api/v1/projects/%s", name), body,
                 &project, err));
    say(cli, project,
        arena_printf(&cli->arena, "runs of project %s are crashed after %lld s of silence", name,
                     (long long)cli_get_i64(project, "silent_s", 0)));
    return OK;
}

enum err_code cmd_agents(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"AGENT", "TARGET", "STATE",    "CPUS",
                                        "GPUS",  "JOBS",   "LAST SEEN"};
    CLEANUP(json_release) json_t *agents = NULL;
    struct table table;
    json_t *a;
    size_t i;

    (void)ret_exit;
    TRY(cli_list(cli, "/api/v1/agents", 10000, &agents, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(agents);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(agents, i, a)
    {
        table_add(&table, cli_get(a, "name"));
        table_add(&table, cli_get(a, "target"));
        table_add(&table, cli_get(a, "state"));
        table_add(&table, cli_value(cli, json_object_get(a, "cpus")));
        table_add(&table, cli_value(cli, json_object_get(a, "gpus")));
        table_add(&table, cli_value(cli, json_object_get(a, "running")));
        table_add(&table, cli_when(cli, cli_get(a, "last_seen_at")));
    }
    table_print(&table);
    return OK;
}

static enum err_code ensure_target(struct cli *cli, const char *name, struct err *err)
{
    CLEANUP(json_release) json_t *targets = NULL;
    CLEANUP(json_release) json_t *body = json_object();
    json_t *target;
    size_t i;

    TRY(cli_list(cli, "/api/v1/targets", 10000, &targets, err));
    json_array_foreach(targets, i,
                       target) if (str_eq_c(str_from(name), cli_get(target, "name"))) return OK;
    return cli_call(cli, "PUT", arena_printf(&cli->arena, "/api/v1/targets/%s", name), body, NULL,
                    err);
}

enum err_code cmd_agents_add(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *key_body = json_object();
    CLEANUP(json_release) json_t *key = NULL;
    const char *name = cli->args[0], *target = cli_text(cli, "target");
    const char *file = cli_text(cli, "key-file");
    struct id id = random_id(ID_AGENT);

    (void)ret_exit;
    target = target ? target : "local";
    file = file ? file : arena_printf(&cli->arena, "%s.key", name);
    TRY(cli_path_part("agent", name, err));
    TRY(cli_path_part("target", target, err));
    TRY(ensure_target(cli, target, err));
    (void)json_object_set_new(body, "name", json_string(name));
    (void)json_object_set_new(body, "target", json_string(target));
    TRY(cli_call(cli, "PUT", arena_printf(&cli->arena, "/api/v1/agents/%s", id.text), body, NULL,
                 err));
    (void)json_object_set_new(key_body, "kind", json_string("agent"));
    (void)json_object_set_new(key_body, "name", json_string(name));
    (void)json_object_set_new(key_body, "agent", json_string(id.text));
    TRY(cli_call(cli, "POST", "/api/v1/keys", key_body, &key, err));
    TRY(file_write_atomic(file, str_from(arena_printf(&cli->arena, "%s\n", cli_get(key, "key"))),
                          0600, err));
    printf("agent %s is registered at target %s; its key is in %s. On its machine run:\n"
           "  euvyra-agent --server %s --key-file %s --dir DIR\n",
           name, target, file, cli->server, file);
    return OK;
}

enum err_code cmd_targets(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"TARGET", "AGENTS", "CPUS FREE",
                                        "CPUS",   "HOUR",   "GPU HOUR"};
    CLEANUP(json_release) json_t *server = NULL;
    CLEANUP(json_release) json_t *targets = NULL;
    struct table table;
    json_t *t;
    size_t i;

    (void)ret_exit;
    TRY(cli_list(cli, "/api/v1/targets", 10000, &targets, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(targets);
        return OK;
    }
    TRY(cli_call(cli, "GET", "/api/v1/server", NULL, &server, err));
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(targets, i, t)
    {
        const char *currency = cli_get(server, "currency");
        table_add(&table, cli_get(t, "name"));
        table_add(&table, cli_value(cli, json_object_get(t, "agent_count")));
        table_add(&table, cli_value(cli, json_object_get(t, "cpus_free")));
        table_add(&table, cli_value(cli, json_object_get(t, "cpus_total")));
        table_add(&table, cli_money(cli, cli_get_i64(t, "price_hour_micro", 0), currency));
        table_add(&table, cli_money(cli, cli_get_i64(t, "price_gpu_hour_micro", 0), currency));
    }
    table_print(&table);
    return OK;
}

static enum err_code take_price(struct cli *cli, const char *option, const char *member,
                                json_t *body, struct err *err)
{
    const char *text = cli_text(cli, option);
    double price;

    if (!text)
        return OK;
    if (!str_to_f64(str_from(text), &price) || price < 0 || price > 1e9)
        return err_set(err, ERR_INVALID, "--%s wants a price such as 0.45, not \"%s\"", option,
                       text);
    (void)json_object_set_new(body, member, json_integer((json_int_t)(price * 1e6 + 0.5)));
    return OK;
}

enum err_code cmd_targets_set(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *target = NULL;
    const char *name = cli->args[0];

    (void)ret_exit;
    TRY(cli_path_part("target", name, err));
    TRY(take_price(cli, "hour", "price_hour_micro", body, err));
    TRY(take_price(cli, "gpu-hour", "price_gpu_hour_micro", body, err));
    TRY(cli_call(cli, "PUT", arena_printf(&cli->arena, "/api/v1/targets/%s", name), body, &target,
                 err));
    say(cli, target, arena_printf(&cli->arena, "target %s is there", name));
    return OK;
}

enum err_code cmd_version(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *server = NULL;
    enum err_code code = cli_call(cli, "GET", "/api/v1/server", NULL, &server, err);

    (void)ret_exit;
    if (cli_flag(cli, "json")) {
        CLEANUP(json_release)
        json_t *both = json_pack("{s:s, s:O?}", "client", EUVYRA_VERSION, "server",
                                 code == OK ? server : NULL);
        cli_print_json(both);
        return OK;
    }
    printf("euvyra %s\n", EUVYRA_VERSION);
    if (code == OK)
        printf("server %s at %s\n", cli_get(server, "version"), cli->server);
    else
        printf("no server at %s (%s)\n", cli->server, err->text);
    return OK;
}

enum err_code cmd_completion(struct cli *cli, int *ret_exit, struct err *err)
{
    (void)ret_exit;
    if (!str_eq_c(str_from(cli->args[0]), "bash"))
        return err_set(err, ERR_INVALID, "there is completion for bash, not for \"%s\"",
                       cli->args[0]);
    cli_completion_bash();
    return OK;
}

enum err_code cmd_man(struct cli *cli, int *ret_exit, struct err *err)
{
    const char *name = cli->arg_count == 2
                           ? arena_printf(&cli->arena, "%s %s", cli->args[0], cli->args[1])
                           : cli->args[0];

    (void)ret_exit;
    for (size_t i = 0; i < cli_verb_count; i++)
        if (!name || str_eq_c(str_from(name), cli_verbs[i].name)) {
            cli_man(name ? &cli_verbs[i] : NULL);
            return OK;
        }
    return err_set(err, ERR_INVALID, "there is no command \"%s\"", name);
}
