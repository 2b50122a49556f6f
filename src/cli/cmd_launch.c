/* euvyra launch: pack, upload, submit, and with --wait follow to the end. */
#include "cli/cli.h"
#include "cli/yaml_read.h"
#include "crypto/digest.h"
#include "sync/codefacts.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/random.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_MS 400

static enum err_code digest_of(int fd, int64_t bytes, char ret_hex[SHA256_HEX_BYTES],
                               struct err *err)
{
    struct sha256_state *sha = sha256_new();
    uint8_t digest[SHA256_BYTES];
    char part[65536];
    enum err_code code = OK;
    int64_t at = 0;

    while (code == OK && at < bytes) {
        ssize_t n = pread(fd, part, (size_t)MIN(bytes - at, (int64_t)sizeof part), at);
        if (n <= 0)
            code = err_set_errno(err, ERR_IO, errno, "the packed folder cannot be read");
        else
            sha256_add(sha, part, (size_t)n);
        at += n;
    }
    sha256_finish(sha, digest);
    hex_encode(digest, SHA256_BYTES, ret_hex);
    return code;
}

static enum err_code upload_folder(struct cli *cli, const char *project, const char *root,
                                   char ret_digest[SHA256_HEX_BYTES], struct err *err)
{
    CLEANUP(file_close) int fd = -1;
    struct http_client_answer answer = {0};
    struct http_client_request request = {
        .method = "PUT", .content_type = "application/octet-stream", .timeout_ms = 600000};
    int64_t bytes = 0, files = 0;
    enum err_code code;

    TRY(cli_pack_folder(cli, root, &fd, &bytes, &files, err));
    TRY(digest_of(fd, bytes, ret_digest, err));
    if (!cli_flag(cli, "json"))
        fprintf(stderr, "packed %lld files, %.1f KB\n", (long long)files, (double)bytes / 1024);
    if (lseek(fd, 0, SEEK_SET) != 0)
        return err_set_errno(err, ERR_IO, errno, "the packed folder");
    TRY(cli_call(cli, "GET", "/api/v1/server", NULL, NULL,
                 err)); /* a clear error before the upload */
    request.path = arena_printf(&cli->arena, "/api/v1/projects/%s/blobs/%s", project, ret_digest);
    request.body_fd = fd;
    request.body_fd_bytes = bytes;
    request.answer_fd = -1;
    TRY(http_client_send(cli->client, &request, &answer, err));
    code = answer.status / 100 == 2 ? OK : http_client_answer_error(&answer, err);
    http_client_answer_release(&answer);
    return code;
}

/* Where the packed folder came from, when git knows. */
static void put_git(json_t *spec)
{
    CLEANUP(buf_release) struct buf text = {0};
    json_t *git = NULL;

    buf_init(&text, GIT_STATE_BYTES_MAX);
    if (git_state_write(".", &text) &&
        json_parse(buf_str(&text), GIT_STATE_BYTES_MAX, &git, NULL) == OK)
        (void)json_object_set_new(spec, "git", git);
}

/* Of a job without code there is nothing to pack; of a run without a job its commit. */
static enum err_code add_code_of_run(struct cli *cli, const char *project, json_t *spec,
                                     struct err *err)
{
    CLEANUP(json_release) json_t *run = NULL;
    char digest[SHA256_HEX_BYTES] = "";
    const char *folder = NULL;
    enum err_code code;

    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s", cli_text(cli, "from")),
                 NULL, &run, err));
    if (*cli_get(run, "job"))
        return OK;
    code = cli_checkout_run(cli, run, &folder, err);
    if (code == OK)
        code = upload_folder(cli, project, folder, digest, err);
    cli_checkout_remove(folder);
    if (code == OK)
        (void)json_object_set_new(spec, "code", json_string(digest));
    return code;
}

/* The folder goes up unless the body brings code of its own, or none is wanted. */
static enum err_code add_code(struct cli *cli, const char *project, json_t *body, struct err *err)
{
    json_t *spec = json_object_get(body, "spec");
    char digest[SHA256_HEX_BYTES] = "";

    if (cli_flag(cli, "no-code") || json_object_get(spec, "code"))
        return OK;
    if (cli_text(cli, "from"))
        return add_code_of_run(cli, project, spec, err);
    TRY(upload_folder(cli, project, ".", digest, err));
    (void)json_object_set_new(spec, "code", json_string(digest));
    put_git(spec);
    return OK;
}

static enum err_code submit(struct cli *cli, const char *project, json_t *body, json_t **ret_job,
                            struct err *err)
{
    struct id job = random_id(ID_JOB), run = random_id(ID_RUN);
    json_t *warning;
    size_t i;

    (void)json_object_set_new(body, "run", json_string(run.text));
    TRY(cli_call(cli, "PUT",
                 arena_printf(&cli->arena, "/api/v1/projects/%s/jobs/%s", project, job.text), body,
                 ret_job, err));
    json_array_foreach(json_object_get(*ret_job, "warnings"), i, warning)
        fprintf(stderr, "warning: %s\n", json_string_value(warning));
    return OK;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* What is shown of a waiting or running job: its state, why it waits, and what a long start does.
 */
static const char *state_line(struct cli *cli, const json_t *job)
{
    const json_t *waiting = json_object_get(job, "waiting");
    const char *state = cli_get(job, "state"), *progress = cli_job_progress(job);

    if (*progress)
        return arena_printf(&cli->arena, "%s: %s", state, progress);
    if (!json_is_object(waiting))
        return state;
    return arena_printf(&cli->arena, "%s: %s", state, cli_get(waiting, "text"));
}

static bool has_ended(const json_t *job)
{
    const char *state = cli_get(job, "state");

    return str_eq_c(str_from(state), "succeeded") || str_eq_c(str_from(state), "failed") ||
           str_eq_c(str_from(state), "cancelled");
}

/* A job that is being followed. */
struct follow {
    struct cli *cli;
    const char *id, *path, *shown;
    int64_t offset, begin_ms;
    bool final, is_terminal;
};

/* On a terminal one line that counts while the job waits; elsewhere a line a change. */
static void show_state(struct follow *f, const json_t *job)
{
    const char *line = state_line(f->cli, job);
    bool waits = !str_eq_c(str_from(cli_get(job, "state")), "running") && !has_ended(job);
    bool changed = strcmp(line, f->shown) != 0;

    if (f->is_terminal && waits && f->offset == 0) {
        fprintf(stderr, "\r\033[K[%s] %s, %s", f->id, line,
                cli_duration(f->cli, (clock_mono_ms() - f->begin_ms) / 1000 * 1000));
    } else if (changed) {
        fprintf(stderr, f->is_terminal ? "\r\033[K[%s] %s\n" : "[%s] %s\n", f->id, line);
    }
    if (changed)
        f->shown = arena_text(&f->cli->arena, str_from(line));
}

/* One look. *ret_job is set when it has ended and its log is whole. */
static enum err_code follow_step(struct follow *f, json_t **ret_job, struct err *err)
{
    CLEANUP(json_release) json_t *job = NULL;

    TRY(cli_call(f->cli, "GET", f->path, NULL, &job, err));
    show_state(f, job);
    TRY(cli_copy_console(f->cli, cli_get(job, "run"), &f->offset, &f->final, err));
    if (has_ended(job) && f->final)
        *ret_job = json_incref(job);
    return OK;
}

/* Follows the job until it has ended and its log is whole. */
static enum err_code follow(struct cli *cli, const char *id, json_t **ret_job, struct err *err)
{
    struct follow f = {.cli = cli,
                       .id = id,
                       .path = arena_printf(&cli->arena, "/api/v1/jobs/%s", id),
                       .shown = "",
                       .begin_ms = clock_mono_ms(),
                       .is_terminal = isatty(STDERR_FILENO) == 1};
    int64_t away_since_ms = 0;

    while (!interrupted) {
        enum err_code code = follow_step(&f, ret_job, err);
        if (cli_try_again(code, err, &away_since_ms))
            continue;
        TRY(code);
        if (*ret_job)
            return OK;
        (void)usleep(LOOK_MS * 1000); /* a signal ends it early */
    }
    (void)err_set(err, ERR_TIMEOUT, "interrupted; the job goes on");
    err_hint(err, "euvyra cancel %s ends it", id);
    return ERR_TIMEOUT;
}

static int exit_of(const json_t *job)
{
    int64_t code = cli_get_i64(job, "exit_code", -1), number = cli_get_i64(job, "signal", -1);

    if (number > 0)
        return 128 + (int)number;
    if (code >= 0 && !(code == 0 && !str_eq_c(str_from(cli_get(job, "state")), "succeeded")))
        return (int)code;
    return str_eq_c(str_from(cli_get(job, "state")), "succeeded") ? 0 : EXIT_OWN_FAILURE;
}

static void print_metrics(struct cli *cli, const json_t *run)
{
    const json_t *summary = json_object_get(run, "summary");
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)summary, name, value)
        printf("  %-16s %s\n", name, cli_value(cli, value));
}

static enum err_code print_end(struct cli *cli, const json_t *job, struct err *err)
{
    CLEANUP(json_release) json_t *server = NULL;
    CLEANUP(json_release) json_t *run = NULL;
    const char *reason = cli_get(job, "reason");

    TRY(cli_call(cli, "GET", "/api/v1/server", NULL, &server, err));
    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s", cli_get(job, "run")),
                 NULL, &run, err));
    printf("\njob       %s\nstate     %s%s%s%s\n", cli_get(job, "id"), cli_get(job, "state"),
           *reason ? " (" : "", reason, *reason ? ")" : "");
    if (cli_get_i64(job, "signal", -1) > 0)
        printf("signal    %lld\n", (long long)cli_get_i64(job, "signal", 0));
    else
        printf("exit code %lld\n", (long long)cli_get_i64(job, "exit_code", -1));
    cli_print_use(cli, job, cli_get(server, "currency"));
    print_metrics(cli, run);
    printf("run       %s/p/%s/r/%s\n", cli->server, cli_get(job, "project"), cli_get(job, "run"));
    return OK;
}

static enum err_code print_yaml(const json_t *body, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};

    buf_init(&text, 2 * YAML_BYTES_MAX);
    TRY(yaml_write(body, &text, err));
    fwrite(text.data, 1, text.len, stdout);
    return OK;
}

/* What stands for an array is the array's own id. */
static const char *id_of(const json_t *job)
{
    const json_t *array = json_object_get(job, "array");

    return json_is_object(array) ? cli_get(array, "id") : cli_get(job, "id");
}

/* The one of the options, else that of the job's file, which the server is not told. */
static enum err_code project_of(struct cli *cli, json_t *body, const char **ret_project,
                                struct err *err)
{
    const json_t *named = json_object_get(body, "project");

    if (named && !json_is_string(named))
        return err_set_field(err, ERR_INVALID, "project", "\"project\" is the name of a project");
    if (named && !cli_text(cli, "project")) {
        *ret_project = arena_text(&cli->arena, str_from(json_string_value(named)));
        TRY(cli_path_part("project", *ret_project, err));
    } else {
        TRY(cli_project(cli, ret_project, err));
    }
    (void)json_object_del(body, "project");
    return OK;
}

/* When it might start, if it were submitted now. */
static enum err_code print_estimate(struct cli *cli, const char *project, json_t *body,
                                    struct err *err)
{
    CLEANUP(json_release) json_t *forecast = NULL;
    struct id run = random_id(ID_RUN);
    const json_t *waiting;

    (void)json_object_set_new(body, "run", json_string(run.text));
    TRY(cli_call(cli, "POST",
                 arena_printf(&cli->arena, "/api/v1/projects/%s/jobs/forecast", project), body,
                 &forecast, err));
    if (cli_flag(cli, "json")) {
        cli_print_json(forecast);
        return OK;
    }
    waiting = json_object_get(forecast, "waiting");
    if (json_is_object(waiting)) {
        cli_print_waiting(cli, waiting);
        if (cli_get_i64(waiting, "rank", 0))
            printf("of        %lld that wait\n",
                   (long long)cli_get_i64(forecast, "waiting_count", 0));
    } else {
        const json_t *refused = json_object_get(forecast, "refused");
        if (refused)
            return err_set_field(err, ERR_UNPROCESSABLE, cli_get(refused, "field"), "%s",
                                 cli_get(refused, "message"));
        printf("%s\n", json_is_true(json_object_get(forecast, "starts"))
                           ? "it would start at once"
                           : "the server cannot tell yet");
    }
    return OK;
}

static enum err_code check_wait(struct cli *cli, const json_t *body, struct err *err)
{
    const json_t *replicas = json_object_get(json_object_get(body, "spec"), "replicas");

    if (!cli_flag(cli, "wait") ||
        (!json_object_get(body, "array") && json_integer_value(replicas) <= 1))
        return OK;
    return err_set(err, ERR_INVALID, "--wait follows one job, and this is an array");
}

enum err_code cmd_launch(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *body = NULL;
    CLEANUP(json_release) json_t *job = NULL;
    CLEANUP(json_release) json_t *ended = NULL;
    const char *project;

    TRY(cli_launch_body(cli, &body, err));
    if (cli_flag(cli, "dry-run"))
        return print_yaml(body, err);
    TRY(check_wait(cli, body, err));
    TRY(project_of(cli, body, &project, err));
    if (cli_flag(cli, "estimate"))
        return print_estimate(cli, project, body, err);
    TRY(add_code(cli, project, body, err));
    TRY(submit(cli, project, body, &job, err));
    if (!cli_flag(cli, "wait")) {
        if (cli_flag(cli, "json"))
            cli_print_json(job);
        else
            printf("%s\n", id_of(job));
        return OK;
    }
    (void)signal(SIGINT, on_interrupt);
    TRY(follow(cli, cli_get(job, "id"), &ended, err));
    *ret_exit = exit_of(ended);
    if (cli_flag(cli, "json")) {
        cli_print_json(ended);
        return OK;
    }
    return print_end(cli, ended, err);
}
