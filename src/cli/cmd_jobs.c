/* euvyra jobs, job, cancel, logs. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CONSOLE_PART_BYTES 262144
#define LOOK_MS            500

/* "running (unhealthy)", "queued (busy)". */
static const char *job_state(struct cli *cli, const json_t *job)
{
    const json_t *waiting = json_object_get(job, "waiting");
    const json_t *health = json_object_get(job, "health");

    if (json_is_object(health))
        return arena_printf(&cli->arena, "%s (%s)", cli_get(job, "state"),
                            cli_get(health, "state"));
    if (!json_is_object(waiting))
        return cli_get(job, "state");
    return arena_printf(&cli->arena, "%s (%s)", cli_get(job, "state"), cli_get(waiting, "code"));
}

/* "3 queued, 2 running"; "3 running (2 healthy)". */
static const char *array_states(struct cli *cli, const json_t *array)
{
    json_t *states = json_object_get(array, "states"), *count;
    const char *state, *text = "";

    json_object_foreach(states, state, count) text =
        arena_printf(&cli->arena, "%s%s%lld %s", text, *text ? ", " : "",
                     (long long)json_integer_value(count), state);
    if (json_object_get(array, "healthy"))
        text = arena_printf(&cli->arena, "%s (%lld healthy)", text,
                            (long long)cli_get_i64(array, "healthy", 0));
    return text;
}

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
    if (cli_text(cli, "array"))
        TRY(cli_path_part("array", cli_text(cli, "array"), err));
    path = arena_printf(&cli->arena, "/api/v1/jobs?open=%s&fold=%s%s%s%s%s",
                        cli_flag(cli, "all") ? "false" : "true",
                        cli_flag(cli, "all") || cli_text(cli, "array") ? "false" : "true",
                        project ? "&project=" : "", project ? project : "",
                        cli_text(cli, "array") ? "&array=" : "",
                        cli_text(cli, "array") ? cli_text(cli, "array") : "");
    TRY(cli_list(cli, path, (size_t)cli_number(cli, "limit", 50), &jobs, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(jobs);
        return OK;
    }
    table_init(&table, &cli->arena, heads, ARRAY_LEN(heads));
    json_array_foreach(jobs, i, job)
    {
        const json_t *array = json_object_get(job, "array");
        bool folded = json_is_object(json_object_get(array, "states"));
        table_add(&table, folded ? cli_get(array, "id") : cli_get(job, "id"));
        table_add(&table, folded ? array_states(cli, array) : job_state(cli, job));
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

/* What a health event says. */
static const char *event_detail(struct cli *cli, const json_t *event)
{
    const json_t *detail = json_object_get(event, "detail");
    const char *health = cli_get(detail, "health"), *reason = cli_get(detail, "reason");

    if (!*health)
        return "";
    return arena_printf(&cli->arena, "  %s%s%s", health, *reason ? ", " : "", reason);
}

static enum err_code print_events(struct cli *cli, const char *id, struct err *err)
{
    CLEANUP(json_release) json_t *events = NULL;
    json_t *event;
    size_t i;

    TRY(cli_list(cli, arena_printf(&cli->arena, "/api/v1/jobs/%s/events", id), 1000, &events, err));
    printf("events\n");
    json_array_foreach(events, i, event)
        printf("  %s  %-16s %-10s %s%s\n", cli_get(event, "at"), cli_get(event, "kind"),
               cli_get(event, "state"), cli_get(event, "actor"), event_detail(cli, event));
    return OK;
}

static void print_health(struct cli *cli, const json_t *job)
{
    const json_t *health = json_object_get(job, "health");

    if (!json_is_object(health))
        return;
    printf("health    %s since %s%s%s\n", cli_get(health, "state"),
           cli_when(cli, cli_get(health, "since")), *cli_get(health, "problem") ? ": " : "",
           cli_get(health, "problem"));
}

static const json_t *last_attempt(const json_t *job)
{
    const json_t *attempts = json_object_get(job, "attempts");
    size_t count = json_array_size(attempts);

    return count ? json_array_get(attempts, count - 1) : NULL;
}

const char *cli_job_progress(const json_t *job)
{
    return cli_get(last_attempt(job), "progress");
}

void cli_print_use(struct cli *cli, const json_t *job, const char *currency)
{
    int64_t gpu_ms = cli_get_i64(job, "gpu_ms", 0);
    const char *image = cli_get(last_attempt(job), "image");

    if (*image)
        printf("image     %s\n", image);
    printf("run time  %s\n", cli_duration(cli, cli_get_i64(job, "run_time_ms", 0)));
    if (gpu_ms)
        printf("gpu hours %.4f\n", (double)gpu_ms / 3600000);
    if (cli_get_i64(job, "energy_mj", 0))
        printf("energy    %.4f kWh\n", (double)cli_get_i64(job, "energy_mj", 0) / 3.6e9);
    if (*cli_get(job, "idle_since"))
        printf("idle      its GPUs do nothing since %s\n",
               cli_when(cli, cli_get(job, "idle_since")));
    printf("cost      %s\n", cli_money(cli, cli_get_i64(job, "cost_micro", 0), currency));
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
    if (*cli_job_progress(job))
        printf("start     %s\n", cli_job_progress(job));
    print_health(cli, job);
    if (*cli_get(job, "reason"))
        printf("reason    %s\n", cli_get(job, "reason"));
    if (cli_get_i64(job, "exit_code", -1) >= 0)
        printf("exit code %lld\n", (long long)cli_get_i64(job, "exit_code", 0));
    cli_print_use(cli, job, cli_get(server, "currency"));
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

static enum err_code change_job(struct cli *cli, const json_t *body, struct err *err)
{
    CLEANUP(json_release) json_t *job = NULL;

    TRY(cli_path_part("job", cli->args[0], err));
    TRY(cli_call(cli, "PATCH", arena_printf(&cli->arena, "/api/v1/jobs/%s", cli->args[0]), body,
                 &job, err));
    if (cli_flag(cli, "json"))
        cli_print_json(job);
    else
        printf("job %s is %s\n", cli->args[0], job_state(cli, job));
    return OK;
}

enum err_code cmd_hold(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_pack("{s:b}", "held", 1);

    (void)ret_exit;
    return change_job(cli, body, err);
}

enum err_code cmd_priority(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    int64_t priority;

    (void)ret_exit;
    if (!str_to_i64(str_from(cli->args[1]), &priority))
        return err_set(err, ERR_INVALID, "a priority is a number from -1000 to 1000, not \"%s\"",
                       cli->args[1]);
    (void)json_object_set_new(body, "priority", json_integer(priority));
    return change_job(cli, body, err);
}

enum err_code cmd_job_set(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();

    (void)ret_exit;
    if (cli_flag(cli, "priority"))
        (void)json_object_set_new(body, "priority", json_integer(cli_number(cli, "priority", 0)));
    if (cli_text(cli, "queue"))
        (void)json_object_set_new(body, "queue", json_string(cli_text(cli, "queue")));
    TRY(cli_targets(cli, body, err));
    if (json_object_size(body) == 0)
        return err_set(err, ERR_INVALID, "--priority, --queue or --target is needed");
    return change_job(cli, body, err);
}

static void print_tried(const json_t *job)
{
    const json_t *attempts = json_object_get(job, "attempts");

    for (size_t i = 0; i < json_array_size(attempts); i++) {
        const json_t *a = json_array_get(attempts, i);
        printf("tried     %s on %s: %s%s%s\n", cli_get(a, "target"), cli_get(a, "agent"),
               cli_get(a, "state"), *cli_get(a, "reason") ? ", " : "", cli_get(a, "reason"));
    }
}

void cli_print_waiting(struct cli *cli, const json_t *waiting)
{
    printf("code      %s\nwhy       %s\n", cli_get(waiting, "code"), cli_get(waiting, "text"));
    if (*cli_get(waiting, "change"))
        printf("change    %s\n", cli_get(waiting, "change"));
    if (cli_get_i64(waiting, "rank", 0))
        printf("rank      %lld\n", (long long)cli_get_i64(waiting, "rank", 0));
    if (*cli_get(waiting, "start_estimate"))
        printf("estimate  %s\n", cli_when(cli, cli_get(waiting, "start_estimate")));
}

/* What the priority that was asked about would make of it. */
static void print_forecast(struct cli *cli, const json_t *forecast)
{
    const json_t *waiting = json_object_get(forecast, "waiting");
    const json_t *passed = json_object_get(forecast, "passed");
    int64_t more = cli_get_i64(forecast, "passed_count", 0) - (int64_t)json_array_size(passed);
    const json_t *job;
    size_t i;

    printf("\nwith priority %lld\n", (long long)cli_number(cli, "priority", 0));
    if (!json_is_object(forecast)) {
        printf("why       its priority is not what keeps it waiting\n");
        return;
    }
    if (json_is_object(waiting))
        cli_print_waiting(cli, waiting);
    else
        printf("why       it would start now\n");
    json_array_foreach(passed, i, job) printf("passes    %s  %s  %s\n", cli_get(job, "id"),
                                              cli_get(job, "project"), cli_get(job, "name"));
    if (more > 0)
        printf("passes    %lld %s\n", (long long)more, i ? "more" : "of other projects");
}

enum err_code cmd_job_why(struct cli *cli, int *ret_exit, struct err *err)
{
    bool asks = cli_flag(cli, "priority");
    const char *path;
    CLEANUP(json_release) json_t *why = NULL;
    CLEANUP(json_release) json_t *job = NULL;
    const json_t *waiting;

    (void)ret_exit;
    TRY(get_job(cli, cli->args[0], &job, err));
    path = arena_printf(&cli->arena, "/api/v1/jobs/%s/why", cli_get(job, "id"));
    if (asks)
        path = arena_printf(&cli->arena, "%s?priority=%lld", path,
                            (long long)cli_number(cli, "priority", 0));
    TRY(cli_call(cli, "GET", path, NULL, &why, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(why);
        return OK;
    }
    waiting = json_object_get(why, "waiting");
    printf("job       %s\nstate     %s\n", cli_get(job, "id"), cli_get(why, "state"));
    if (json_is_object(waiting))
        cli_print_waiting(cli, waiting);
    else
        printf("why       it does not wait\n");
    print_tried(job);
    if (asks)
        print_forecast(cli, json_object_get(why, "forecast"));
    return OK;
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
