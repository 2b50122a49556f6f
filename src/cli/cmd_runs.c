/* euvyra runs, run, and the local ones: exec, sync. */
#include "cli/cli.h"
#include "sync/exec.h"
#include "sync/folders.h"
#include "sync/follow.h"

#include <stdio.h>

enum err_code cmd_runs(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"RUN", "STATE", "NAME", "OWNER", "CREATED", "DURATION"};
    static const char *const filters[] = {"state", "tag", "search"};
    CLEANUP(json_release) json_t *runs = NULL;
    const char *project, *path;
    struct table table;
    json_t *run;
    size_t i;

    (void)ret_exit;
    TRY(cli_project(cli, &project, err));
    path = arena_printf(&cli->arena, "/api/v1/projects/%s/runs?", project);
    for (size_t f = 0; f < ARRAY_LEN(filters); f++) {
        const char *value = cli_text(cli, filters[f]);
        if (value)
            path = arena_printf(&cli->arena, "%s%s=%s&", path, filters[f], cli_encoded(cli, value));
    }
    TRY(cli_list(cli, path, (size_t)cli_number(cli, "limit", 50), &runs, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(runs);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(runs, i, run)
    {
        table_add(&table, cli_get(run, "id"));
        table_add(&table, cli_get(run, "state"));
        table_add(&table, cli_get(run, "name"));
        table_add(&table, cli_get(run, "owner"));
        table_add(&table, cli_when(cli, cli_get(run, "created_at")));
        table_add(&table, cli_duration(cli, cli_get_i64(run, "duration_ms", 0)));
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
