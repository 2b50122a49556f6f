/* euvyra queues, teams, budget, secrets, targets maintenance: what decides how jobs are served. */
#include "cli/cli.h"
#include "sys/file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define MS_AN_HOUR 3600000.0

#define SECRET_BYTES_MAX 65536

enum err_code cmd_queues(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"QUEUE", "PRIORITY", "STATE", "OPEN JOBS", "STRATEGY"};
    CLEANUP(json_release) json_t *queues = NULL;
    struct table table;
    json_t *queue;
    size_t i;

    (void)ret_exit;
    TRY(cli_list(cli, "/api/v1/queues", 10000, &queues, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(queues);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(queues, i, queue)
    {
        table_add(&table, cli_get(queue, "name"));
        table_add(&table, cli_value(cli, json_object_get(queue, "priority")));
        table_add(&table, json_is_true(json_object_get(queue, "draining")) ? "drained"
                          : json_is_true(json_object_get(queue, "held"))   ? "held"
                                                                           : "open");
        table_add(&table, cli_value(cli, json_object_get(queue, "open_jobs")));
        table_add(&table, cli_get(queue, "strategy"));
    }
    table_print(&table);
    return OK;
}

/* "3 of 8 +2": used, of the quota, and what may be borrowed. */
static const char *gpus_of(struct cli *cli, const json_t *share)
{
    const json_t *quota = json_object_get(json_object_get(share, "quota"), "gpus");
    const json_t *borrow = json_object_get(json_object_get(share, "borrow"), "gpus");
    long long used = cli_get_i64(json_object_get(share, "use"), "gpus", 0);

    if (!json_is_integer(quota))
        return arena_printf(&cli->arena, "%lld", used);
    if (!json_is_integer(borrow))
        return arena_printf(&cli->arena, "%lld of %lld + any", used,
                            (long long)json_integer_value(quota));
    return arena_printf(&cli->arena, "%lld of %lld + %lld", used,
                        (long long)json_integer_value(quota),
                        (long long)json_integer_value(borrow));
}

enum err_code cmd_teams(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"KIND", "NAME", "BELOW", "WEIGHT", "GPUS", "RUNNING"};
    CLEANUP(json_release) json_t *shares = NULL;
    struct table table;
    json_t *share;
    size_t i;

    (void)ret_exit;
    TRY(cli_list(cli, "/api/v1/shares", 10000, &shares, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(shares);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(shares, i, share)
    {
        table_add(&table, cli_get(share, "kind"));
        table_add(&table, cli_get(share, "name"));
        table_add(&table, cli_get(share, "parent"));
        table_add(&table, cli_value(cli, json_object_get(share, "weight")));
        table_add(&table, gpus_of(cli, share));
        table_add(&table, cli_value(cli, json_object_get(share, "running")));
    }
    table_print(&table);
    return OK;
}

enum err_code cmd_quota(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *share = NULL;
    const char *project;

    (void)ret_exit;
    TRY(cli_project(cli, &project, err));
    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/projects/%s/share", project), NULL,
                 &share, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(share);
        return OK;
    }
    printf("project   %s\nteam      %s\nweight    %lld\nGPUs      %s\nrunning   %lld\n", project,
           cli_get(share, "parent"), (long long)cli_get_i64(share, "weight", 0),
           gpus_of(cli, share), (long long)cli_get_i64(share, "running", 0));
    return OK;
}

/* A line of a budget: GPU time and money, "any" where there is no limit. */
static void print_left(struct cli *cli, const char *what, const json_t *part, const char *currency)
{
    const json_t *gpu_ms = json_object_get(part, "gpu_ms");
    const json_t *micro = json_object_get(part, "cost_micro");
    const char *hours = "any";

    if (json_is_integer(gpu_ms))
        hours = arena_printf(&cli->arena, "%.1f", (double)json_integer_value(gpu_ms) / MS_AN_HOUR);
    printf("%-10s %s GPU hours, %s\n", what, hours,
           json_is_integer(micro) ? cli_money(cli, json_integer_value(micro), currency) : "any");
}

static void print_limit(struct cli *cli, const json_t *budget, const char *currency)
{
    const json_t *hours = json_object_get(budget, "gpu_hours");
    const json_t *micro = json_object_get(budget, "cost_micro");

    printf("%-10s %s GPU hours, %s\n", "limit",
           json_is_integer(hours) ? cli_value(cli, hours) : "any",
           json_is_integer(micro) ? cli_money(cli, json_integer_value(micro), currency) : "any");
}

enum err_code cmd_budget(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *budget = NULL;
    CLEANUP(json_release) json_t *server = NULL;
    const char *project, *currency;
    const json_t *period;

    (void)ret_exit;
    TRY(cli_project(cli, &project, err));
    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/projects/%s/budget", project), NULL,
                 &budget, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(budget);
        return OK;
    }
    TRY(cli_call(cli, "GET", "/api/v1/server", NULL, &server, err));
    currency = cli_get(server, "currency");
    period = json_object_get(budget, "period");
    printf("%-10s %.16s to %.16s UTC (%s)\n", "month", cli_get(period, "start"),
           cli_get(period, "end"), cli_get(budget, "zone"));
    print_limit(cli, budget, currency);
    print_left(cli, "used", period, currency);
    print_left(cli, "committed", json_object_get(budget, "committed"), currency);
    print_left(cli, "left", json_object_get(budget, "left"), currency);
    return OK;
}

/* ---- Secrets */

enum err_code cmd_secrets(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"SECRET", "MADE BY", "MADE", "USED"};
    CLEANUP(json_release) json_t *secrets = NULL;
    const char *project;
    struct table table;
    json_t *secret;
    size_t i;

    (void)ret_exit;
    TRY(cli_project(cli, &project, err));
    TRY(cli_list(cli, arena_printf(&cli->arena, "/api/v1/projects/%s/secrets", project), 10000,
                 &secrets, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(secrets);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(secrets, i, secret)
    {
        table_add(&table, cli_get(secret, "name"));
        table_add(&table, cli_get(secret, "made_by"));
        table_add(&table, cli_when(cli, cli_get(secret, "made_at")));
        table_add(&table, cli_when(cli, cli_get(secret, "used_at")));
    }
    table_print(&table);
    return OK;
}

static enum err_code read_input(struct buf *text, struct err *err)
{
    char part[4096];
    ssize_t n;

    buf_init(text, SECRET_BYTES_MAX + 1);
    while ((n = read(STDIN_FILENO, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, ERR_IO, errno, "standard input");
        (void)buf_add_str(text, str_n(part, (size_t)n));
    }
    return buf_check(text, "the secret", err);
}

static enum err_code secret_path(struct cli *cli, const char **ret_path, struct err *err)
{
    const char *project, *name = cli->args[0];

    TRY(cli_project(cli, &project, err));
    for (const char *c = name; *c; c++)
        if (!((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || *c == '_' ||
              (*c >= '0' && *c <= '9' && c > name)))
            return err_set(err, ERR_INVALID, "\"%s\" is not the name of a secret", name);
    *ret_path = arena_printf(&cli->arena, "/api/v1/projects/%s/secrets/%s", project, name);
    return OK;
}

enum err_code cmd_secrets_set(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *secret = NULL;
    const char *path, *file = cli_text(cli, "file");
    struct str value;

    (void)ret_exit;
    TRY(secret_path(cli, &path, err));
    if (file)
        TRY(file_read(file, SECRET_BYTES_MAX, &text, err));
    else
        TRY(read_input(&text, err));
    value = buf_str(&text);
    if (value.len && value.data[value.len - 1] == '\n')
        value.len--; /* what an editor and echo add */
    if (json_object_set_new(body, "value", json_stringn(value.data, value.len)) != 0)
        return err_set(err, ERR_BAD_UTF8, "the secret is not UTF-8");
    TRY(cli_call(cli, "PUT", path, body, &secret, err));
    if (cli_flag(cli, "json"))
        cli_print_json(secret);
    else
        printf("secret %s is set\n", cli_get(secret, "name"));
    return OK;
}

enum err_code cmd_secrets_delete(struct cli *cli, int *ret_exit, struct err *err)
{
    const char *path;

    (void)ret_exit;
    TRY(secret_path(cli, &path, err));
    TRY(cli_call(cli, "DELETE", path, NULL, NULL, err));
    printf("secret %s is gone\n", cli->args[0]);
    return OK;
}

/* ---- Maintenance */

enum err_code cmd_maintenance(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    CLEANUP(json_release) json_t *target = NULL;
    const char *name = cli->args[0], *reason = cli_text(cli, "reason");

    (void)ret_exit;
    TRY(cli_path_part("target", name, err));
    if (!reason)
        return err_set(err, ERR_INVALID, "--reason is needed: people see it while they wait");
    (void)json_object_set_new(body, "reason", json_string(reason));
    if (cli_text(cli, "until"))
        (void)json_object_set_new(body, "until", json_string(cli_text(cli, "until")));
    TRY(cli_call(cli, "PUT", arena_printf(&cli->arena, "/api/v1/targets/%s/maintenance", name),
                 body, &target, err));
    if (cli_flag(cli, "json"))
        cli_print_json(target);
    else
        printf("target %s is in maintenance\n", name);
    return OK;
}

enum err_code cmd_maintenance_end(struct cli *cli, int *ret_exit, struct err *err)
{
    const char *name = cli->args[0];

    (void)ret_exit;
    TRY(cli_path_part("target", name, err));
    TRY(cli_call(cli, "DELETE", arena_printf(&cli->arena, "/api/v1/targets/%s/maintenance", name),
                 NULL, NULL, err));
    printf("target %s is in service\n", name);
    return OK;
}
