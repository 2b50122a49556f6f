/* euvyra jobs, job, cancel, logs. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CONSOLE_PART_BYTES 262144
#define LOOK_MS            500

enum err_code cmd_jobs(struct cli *cli, int *ret_exit, struct err *err)
{
    static const char *const heads[] = {"JOB",   "STATE",     "PROJECT", "NAME",
                                        "OWNER", "SUBMITTED", "RUN TIME"};
    CLEANUP(json_release) json_t *jobs = NULL;
    const char *project = cli_text(cli, "project");
    struct table table;
    const char *path;
    json_t *job;
    size_t i;

    (void)ret_exit;
    if (project)
        TRY(cli_path_part("project", project, err));
    path = arena_printf(&cli->arena, "/api/v1/jobs?open=%s%s%s",
                        cli_flag(cli, "all") ? "false" : "true", project ? "&project=" : "",
                        project ? project : "");
    TRY(cli_list(cli, path, (size_t)cli_number(cli, "limit", 50), &jobs, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(jobs);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(jobs, i, job)
    {
        const json_t *waiting = json_object_get(job, "waiting");
        table_add(&table, cli_get(job, "id"));
        table_add(&table, json_is_object(waiting)
                              ? arena_printf(&cli->arena, "%s (%s)", cli_get(job, "state"),
                                             cli_get(waiting, "code"))
                              : cli_get(job, "state"));
        table_add(&table, cli_get(job, "project"));
        table_add(&table, cli_get(job, "name"));
        table_add(&table, cli_get(job, "owner"));
        table_add(&table, cli_when(cli, cli_get(job, "created_at")));
        table_add(&table, cli_duration(cli, cli_get_i64(job, "run_time_ms", 0)));
    }
    table_print(&table);
    return OK;
}

static enum err_code get_job(struct cli *cli, const char *id, json_t **ret_job, struct err *err)
{
    TRY(cli_path_part("job", id, err));
    return cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/jobs/%s", id), NULL, ret_job,
                    err);
}

static enum err_code print_events(struct cli *cli, const char *id, struct err *err)
{
    CLEANUP(json_release) json_t *events = NULL;
    json_t *event;
    size_t i;

    TRY(cli_list(cli, arena_printf(&cli->arena, "/api/v1/jobs/%s/events", id), 1000, &events, err));
    printf("events\n");
    json_array_foreach(events, i, event)
        printf("  %s  %-16s %-10s %s\n", cli_get(event, "at"), cli_get(event, "kind"),
               cli_get(event, "state"), cli_get(event, "actor"));
    return OK;
}

enum err_code cmd_job(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *job = NULL;
    CLEANUP(json_release) json_t *server = NULL;
    const json_t *waiting;

    (void)ret_exit;
    TRY(get_job(cli, cli->args[0], &job, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(job);
        return OK;
    }
    TRY(cli_call(cli, "GET", "/api/v1/server", NULL, &server, err));
    waiting = json_object_get(job, "waiting");
    printf("job       %s\nname      %s\nproject   %s\nrun       %s\nowner     %s\nstate     %s\n",
           cli_get(job, "id"), cli_get(job, "name"), cli_get(job, "project"), cli_get(job, "run"),
           cli_get(job, "owner"), cli_get(job, "state"));
    if (json_is_object(waiting))
        printf("waits     %s\n", cli_get(waiting, "text"));
    if (*cli_get(job, "reason"))
        printf("reason    %s\n", cli_get(job, "reason"));
    if (cli_get_i64(job, "exit_code", -1) >= 0)
        printf("exit code %lld\n", (long long)cli_get_i64(job, "exit_code", 0));
    printf("run time  %s\ncost      %s\n", cli_duration(cli, cli_get_i64(job, "run_time_ms", 0)),
           cli_money(cli, cli_get_i64(job, "cost_micro", 0), cli_get(server, "currency")));
    return print_events(cli, cli_get(job, "id"), err);
}

/* One word of the API to a job, and what became of it. */
static enum err_code tell_job(struct cli *cli, const char *word, struct err *err)
{
    CLEANUP(json_release) json_t *job = NULL;

    TRY(cli_path_part("job", cli->args[0], err));
    TRY(cli_call(cli, "POST", arena_printf(&cli->arena, "/api/v1/jobs/%s/%s", cli->args[0], word),
                 NULL, &job, err));
    if (cli_flag(cli, "json"))
        cli_print_json(job);
    else
        printf("job %s is %s\n", cli_get(job, "id"), cli_get(job, "state"));
    return OK;
}

enum err_code cmd_cancel(struct cli *cli, int *ret_exit, struct err *err)
{
    (void)ret_exit;
    return tell_job(cli, "cancel", err);
}

enum err_code cmd_release(struct cli *cli, int *ret_exit, struct err *err)
{
    (void)ret_exit;
    return tell_job(cli, "release", err);
}

static enum err_code write_out(struct str text, struct err *err)
{
    (void)fflush(stdout);
    while (text.len) {
        ssize_t n = write(STDOUT_FILENO, text.data, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, ERR_IO, errno, "standard output");
        text = str_n(text.data + n, text.len - (size_t)n);
    }
    return OK;
}

enum err_code cli_copy_console(struct cli *cli, const char *run, int64_t *offset, bool *ret_final,
                               struct err *err)
{
    size_t len;

    do {
        struct http_client_answer answer = {0};
        struct http_client_request request = {.method = "GET", .body_fd = -1, .answer_fd = -1};
        enum err_code code;
        request.path = arena_printf(&cli->arena, "/api/v1/runs/%s/console?offset=%lld&limit=%d",
                                    run, (long long)*offset, CONSOLE_PART_BYTES);
        TRY(http_client_send(cli->client, &request, &answer, err));
        len = answer.status == 200 ? answer.body.len : 0;
        code = answer.status == 200 ? write_out(buf_str(&answer.body), err)
                                    : http_client_answer_error(&answer, err);
        *ret_final = answer.final && len == 0;
        *offset += (int64_t)len;
        http_client_answer_release(&answer);
        TRY(code);
    } while (len > 0);
    return OK;
}

enum err_code cmd_logs(struct cli *cli, int *ret_exit, struct err *err)
{
    const char *id = cli->args[0], *run = id;
    CLEANUP(json_release) json_t *job = NULL;
    int64_t offset = 0, away_since_ms = 0;
    bool final = false;

    (void)ret_exit;
    TRY(cli_path_part("job or run", id, err));
    if (id[0] == 'j') {
        TRY(get_job(cli, id, &job, err));
        run = cli_get(job, "run");
    } else {
        TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s", id), NULL, NULL,
                     err));
    }
    for (;;) {
        enum err_code code = cli_copy_console(cli, run, &offset, &final, err);
        if (cli_flag(cli, "follow") && cli_try_again(code, err, &away_since_ms))
            continue;
        TRY(code);
        if (final || !cli_flag(cli, "follow"))
            return OK;
        (void)usleep(LOOK_MS * 1000);
    }
}
