/* euvyra runs, run, and the local ones: exec, sync. */
#include "cli/cli.h"
#include "sync/exec.h"
#include "sync/folders.h"
#include "sync/follow.h"
#include "sync/tee.h"

#include <inttypes.h>
#include <stdio.h>

#define GIB (1024.0 * 1024 * 1024)

/* The heads of the table: our own, or a few of them and the keys that were asked for. */
static size_t table_heads(struct cli *cli, const char *heads[TABLE_COLUMNS_MAX])
{
    static const char *const own[] = {"RUN", "STATE", "NAME", "CREATED", "OWNER", "DURATION"};
    const char *keys = cli_text(cli, "columns");
    size_t count = keys ? 4 : ARRAY_LEN(own);
    bool quoted = false;

    memcpy(heads, own, count * sizeof *own);
    for (const char *c = keys, *begin = keys; c && count < TABLE_COLUMNS_MAX; c++) {
        quoted = quoted != (*c == '"');
        if (*c == '\0' || (*c == ',' && !quoted)) {
            heads[count++] = arena_text(&cli->arena, str_n(begin, (size_t)(c - begin)));
            begin = c + 1;
        }
        if (*c == '\0')
            break;
    }
    return count;
}

static void add_run(struct cli *cli, struct table *table, const json_t *run)
{
    const json_t *values = json_object_get(run, "values"), *value;
    size_t i;

    table_add(table, cli_get(run, "id"));
    table_add(table, cli_get(run, "state"));
    table_add(table, cli_get(run, "name"));
    table_add(table, cli_when(cli, cli_get(run, "created_at")));
    if (!values) {
        table_add(table, cli_get(run, "owner"));
        table_add(table, cli_duration(cli, cli_get_i64(run, "duration_ms", 0)));
    }
    json_array_foreach(values, i, value)
    {
        if (4 + i < table->column_count)
            table_add(table, json_is_null(value) ? "-" : cli_value(cli, value));
    }
}

enum err_code cmd_runs(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const asked[] = {"state", "tag", "search", "filter", "sort", "columns"};
    const char *heads[TABLE_COLUMNS_MAX];
    CLEANUP(json_release) json_t *runs = NULL;
    const char *project, *path;
    struct table table;
    json_t *run;
    size_t i;

    (void)ret_exit;
    TRY(cli_project(cli, &project, err));
    path = arena_printf(&cli->arena, "/api/v1/projects/%s/runs?", project);
    for (size_t f = 0; f < ARRAY_LEN(asked); f++) {
        const char *value = cli_text(cli, asked[f]);
        if (value)
            path = arena_printf(&cli->arena, "%s%s=%s&", path, asked[f], cli_encoded(cli, value));
    }
    TRY(cli_list(cli, path, (size_t)cli_number(cli, "limit", 50), &runs, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(runs);
        return OK;
    }
    table_init(&table, &cli->arena, heads, table_heads(cli, heads));
    json_array_foreach(runs, i, run)
    {
        add_run(cli, &table, run);
    }
    table_print(&table);
    return OK;
}

static void print_members(struct cli *cli, const char *title, json_t *object)
{
    const char *name;
    json_t *value;

    if (!json_object_size(object))
        return;
    printf("%s\n", title);
    json_object_foreach(object, name, value) printf("  %-20s %s\n", name, cli_value(cli, value));
}

/* "val/loss   min, minimize, over epoch": what a script said with define_metric. */
static void print_definitions(const json_t *definitions)
{
    json_t *one;
    size_t i;

    if (json_array_size(definitions))
        printf("metrics\n");
    json_array_foreach(definitions, i, one)
    {
        const char *goal = cli_get(one, "goal"), *axis = cli_get(one, "step_metric");
        printf("  %-20s %s%s%s%s%s\n", cli_get(one, "name"), cli_get(one, "summary"),
               *goal ? ", " : "", goal, *axis ? ", over " : "", axis);
    }
}

/* "0-3,8" of ascending numbers. */
static const char *ranges(struct cli *cli, const json_t *numbers)
{
    const char *text = "";
    size_t count = json_array_size(numbers), end;

    for (size_t i = 0; i < count; i = end) {
        json_int_t first = json_integer_value(json_array_get(numbers, i)), last = first;
        for (end = i + 1; end < count; end++, last++)
            if (json_integer_value(json_array_get(numbers, end)) != last + 1)
                break;
        text = arena_printf(&cli->arena, "%s%s%lld", text, i ? "," : "", (long long)first);
        if (last > first)
            text = arena_printf(&cli->arena, "%s-%lld", text, (long long)last);
    }
    return text;
}

/* "8 x NVIDIA H100 80GB, 2 x NVIDIA A100": GPUs of one kind stand together. */
static const char *gpus_text(struct cli *cli, const json_t *gpus)
{
    const char *text = "", *name;
    size_t count = json_array_size(gpus), end;

    for (size_t i = 0; i < count; i = end) {
        name = cli_get(json_array_get(gpus, i), "name");
        for (end = i + 1; end < count; end++)
            if (strcmp(cli_get(json_array_get(gpus, end), "name"), name) != 0)
                break;
        text = arena_printf(&cli->arena, "%s%s%zu x %s", text, i ? ", " : "", end - i,
                            *name ? name : "GPU");
    }
    return text;
}

static void add_known(struct table *table, const char *text)
{
    table_add(table, *text ? text : "-");
}

static void add_machine(struct cli *cli, struct table *table, const json_t *one)
{
    const json_t *machine = json_object_get(one, "machine");
    int64_t threads = cli_get_i64(json_object_get(machine, "cpu"), "threads", 0);
    int64_t bytes = cli_get_i64(machine, "memory_bytes", 0);

    add_known(table, cli_get(one, "host"));
    add_known(table, ranges(cli, json_object_get(one, "ranks")));
    add_known(table, gpus_text(cli, json_object_get(machine, "gpus")));
    add_known(table, threads > 0 ? arena_printf(&cli->arena, "%" PRIi64, threads) : "");
    add_known(table, bytes > 0 ? arena_printf(&cli->arena, "%.0f GiB", (double)bytes / GIB) : "");
    add_known(table, cli_get(machine, "driver"));
    add_known(table, cli_get(machine, "cuda"));
}

static void print_machines(struct cli *cli, const json_t *run)
{
    static const char *const heads[] = {"HOST",   "RANKS",  "GPUS", "CPUS",
                                        "MEMORY", "DRIVER", "CUDA"};
    const json_t *machines = json_object_get(run, "machines"), *one;
    int64_t more = cli_get_i64(run, "host_count", 0) - (int64_t)json_array_size(machines);
    struct table table;
    size_t i;

    if (json_array_size(machines) == 0)
        return;
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(machines, i, one)
    {
        add_machine(cli, &table, one);
    }
    printf("\n");
    table_print(&table);
    if (more > 0)
        printf("and %" PRIi64 " more hosts\n", more);
}

enum err_code cmd_run(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *run = NULL;

    (void)ret_exit;
    TRY(cli_path_part("run", cli->args[0], err));
    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s", cli->args[0]), NULL, &run,
                 err));
    if (cli_flag(cli, "json")) {
        cli_print_json(run);
        return OK;
    }
    printf("run       %s\nname      %s\nproject   %s\nstate     %s\nowner     %s\ncreated   %s\n"
           "duration  %s\n",
           cli_get(run, "id"), cli_get(run, "name"), cli_get(run, "project"), cli_get(run, "state"),
           cli_get(run, "owner"), cli_when(cli, cli_get(run, "created_at")),
           cli_duration(cli, cli_get_i64(run, "duration_ms", 0)));
    if (*cli_get(run, "reason"))
        printf("reason    %s\n", cli_get(run, "reason"));
    print_members(cli, "config", json_object_get(run, "config"));
    print_members(cli, "summary", json_object_get(run, "summary"));
    print_definitions(json_object_get(run, "definitions"));
    print_machines(cli, run);
    return OK;
}

enum err_code cmd_stop(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *run = NULL;

    (void)ret_exit;
    TRY(cli_path_part("run", cli->args[0], err));
    TRY(cli_call(cli, "POST", arena_printf(&cli->arena, "/api/v1/runs/%s/stop", cli->args[0]), NULL,
                 &run, err));
    if (cli_flag(cli, "json"))
        cli_print_json(run);
    else
        printf("run %s is asked to stop\n", cli->args[0]);
    return OK;
}

enum err_code cmd_alerts(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"AT", "LEVEL", "RUN", "NAME", "TITLE"};
    CLEANUP(json_release) json_t *alerts = NULL;
    const char *run = cli_text(cli, "run"), *project, *path;
    struct table table;
    json_t *alert;
    size_t i;

    (void)ret_exit;
    if (run) {
        TRY(cli_path_part("run", run, err));
        path = arena_printf(&cli->arena, "/api/v1/runs/%s/alerts?", run);
    } else {
        TRY(cli_project(cli, &project, err));
        path = arena_printf(&cli->arena, "/api/v1/projects/%s/alerts?", project);
    }
    TRY(cli_list(cli, path, (size_t)cli_number(cli, "limit", 50), &alerts, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(alerts);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(alerts, i, alert)
    {
        table_add(&table, cli_when(cli, cli_get(alert, "at")));
        table_add(&table, cli_get(alert, "level"));
        table_add(&table, cli_get(alert, "run"));
        table_add(&table, cli_get(alert, "run_name"));
        table_add(&table, cli_get(alert, "title"));
    }
    table_print(&table);
    return OK;
}

static struct sync_server server_of(const struct cli *cli)
{
    return (struct sync_server){
        .url = cli->server_given ? cli->server : NULL,
        .key_text = cli->key,
        .ca_file = cli->ca_file,
        .product = "euvyra/" EUVYRA_VERSION,
    };
}

enum err_code cmd_exec(struct cli *cli, int *ret_exit, struct err *err)
{
    struct exec_options options = {
        .server = server_of(cli),
        .argv = cli->args,
        .project = cli_text(cli, "project"),
        .name = cli_text(cli, "name"),
        .dir = cli_text(cli, "dir"),
        .mode = cli_flag(cli, "offline") ? "offline" : NULL,
    };

    if (cli_flag(cli, "file"))
        TRY(cli_exec_file(cli, &options, err));
    else if (cli->arg_count == 0)
        return err_set(err, ERR_INVALID, "euvyra exec wants -- COMMAND..., or a file that has one");
    return exec_run(&options, ret_exit, err);
}

static void tell(void *ctx, bool is_problem, const char *line)
{
    (void)ctx;
    fprintf(is_problem ? stderr : stdout, "%s\n", line);
    (void)fflush(stdout);
}

enum err_code cmd_sync(struct cli *cli, int *ret_exit, struct err *err)
{
    struct sync_folders_options options = {.server = server_of(cli), .tell = tell};
    struct sync_folders_report report = {0};
    enum err_code code;

    (void)ret_exit;
    if (cli_flag(cli, "tee"))
        return sync_tee(cli->args[0], err);
    if (cli_flag(cli, "follow")) {
        struct sync_follow_options follow = {
            .server = server_of(cli), .dir = cli->args[0], .detach = cli_flag(cli, "detach")};
        code = sync_follow(&follow, err);
        return code == ERR_CONFLICT ? OK : code; /* another sidecar does the work */
    }
    code = sync_folders(cli->args, (size_t)cli->arg_count, &options, &report, err);
    printf("%llu of %llu runs are whole on the server, %llu bytes sent\n",
           (unsigned long long)(report.folder_count - report.failed_count),
           (unsigned long long)report.folder_count, (unsigned long long)report.record_bytes);
    return code;
}
