/* euvyra launch: pack, upload, submit, and with --wait follow to the end. */
#include "cli/cli.h"
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

/* "8G", "512M", "1.5T" as bytes. */
static enum err_code parse_size(const char *text, int64_t *ret_bytes, struct err *err)
{
    static const char units[] = "KMGT";
    size_t len = strlen(text);
    const char *unit = len ? strchr(units, text[len - 1]) : NULL;
    double number = 0;

    if (unit && *unit)
        len--;
    else
        unit = NULL;
    if (!str_to_f64(str_n(text, len), &number) || number < 0 || number > 1e15)
        return err_set(err, ERR_INVALID, "--memory wants a size such as 8G, not \"%s\"", text);
    for (const char *u = units; unit && u <= unit; u++)
        number *= 1024;
    *ret_bytes = (int64_t)number;
    return OK;
}

/* "90", "90m", "2h", "2d" as seconds. */
static enum err_code parse_time(const char *text, int64_t *ret_seconds, struct err *err)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t len = strlen(text);
    int64_t number = 0, factor = 1;

    for (size_t i = 0; len && i < ARRAY_LEN(units); i++)
        if (text[len - 1] == units[i].letter) {
            factor = units[i].seconds;
            len--;
            break;
        }
    if (!str_to_i64(str_n(text, len), &number) || number < 1 || number > 31536000 / factor)
        return err_set(err, ERR_INVALID, "--timeout wants a time such as 90m or 2d, not \"%s\"",
                       text);
    *ret_seconds = number * factor;
    return OK;
}

/* KEY=VALUE options as members; the value of --config is JSON where it can be. */
static enum err_code take_pairs(struct cli *cli, const char *option, bool as_json, json_t **ret,
                                struct err *err)
{
    CLEANUP(json_release) json_t *object = json_object();
    const char *text;

    for (size_t i = 0; (text = cli_text_at(cli, option, i)); i++) {
        struct str rest = str_from(text), key;
        json_t *value = NULL;
        if (!str_cut(&rest, '=', &key) || key.len == 0)
            return err_set(err, ERR_INVALID, "--%s wants NAME=VALUE, not \"%s\"", option, text);
        if (as_json)
            value = json_loadb(rest.data, rest.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        if (!value)
            value = json_stringn(rest.data, rest.len);
        if (!value || json_object_set_new(object, arena_text(&cli->arena, key), value) != 0)
            return err_set(err, ERR_BAD_UTF8, "--%s \"%s\" is not UTF-8", option, text);
    }
    *ret = object;
    object = NULL;
    return OK;
}

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

static enum err_code upload_folder(struct cli *cli, const char *project,
                                   char ret_digest[SHA256_HEX_BYTES], struct err *err)
{
    CLEANUP(file_close) int fd = -1;
    struct http_client_answer answer = {0};
    struct http_client_request request = {
        .method = "PUT", .content_type = "application/octet-stream", .timeout_ms = 600000};
    int64_t bytes = 0, files = 0;
    enum err_code code;

    TRY(cli_pack_folder(cli, ".", &fd, &bytes, &files, err));
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

static void set_number(struct cli *cli, json_t *object, const char *option, const char *member)
{
    if (cli_flag(cli, option))
        (void)json_object_set_new(object, member, json_integer(cli_number(cli, option, 0)));
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

static enum err_code make_spec(struct cli *cli, const char *digest, json_t **ret_spec,
                               struct err *err)
{
    CLEANUP(json_release) json_t *spec = json_object();
    json_t *command = json_array(), *pairs = NULL;
    int64_t number = 0;

    (void)json_object_set_new(spec, "command", command);
    for (int i = 0; i < cli->arg_count; i++)
        if (json_array_append_new(command, json_string(cli->args[i])) != 0)
            return err_set(err, ERR_BAD_UTF8, "the command is not UTF-8");
    if (digest[0]) {
        (void)json_object_set_new(spec, "code", json_string(digest));
        put_git(spec);
    }
    TRY(take_pairs(cli, "config", true, &pairs, err));
    (void)json_object_set_new(spec, "config", pairs);
    TRY(take_pairs(cli, "env", false, &pairs, err));
    (void)json_object_set_new(spec, "env", pairs);
    if (cli_text(cli, "target"))
        (void)json_object_set_new(spec, "target", json_string(cli_text(cli, "target")));
    set_number(cli, spec, "gpus", "gpus");
    set_number(cli, spec, "cpus", "cpus");
    set_number(cli, spec, "retries", "retries");
    if (cli_text(cli, "memory")) {
        TRY(parse_size(cli_text(cli, "memory"), &number, err));
        (void)json_object_set_new(spec, "memory_bytes", json_integer(number));
    }
    if (cli_text(cli, "timeout")) {
        TRY(parse_time(cli_text(cli, "timeout"), &number, err));
        (void)json_object_set_new(spec, "timeout_s", json_integer(number));
    }
    *ret_spec = spec;
    spec = NULL;
    return OK;
}

static enum err_code submit(struct cli *cli, const char *project, const char *digest,
                            json_t **ret_job, struct err *err)
{
    CLEANUP(json_release) json_t *body = json_object();
    json_t *spec = NULL, *tags = json_array();
    struct id job = random_id(ID_JOB), run = random_id(ID_RUN);
    const char *text;

    for (size_t i = 0; (text = cli_text_at(cli, "tag", i)); i++)
        (void)json_array_append_new(tags, json_string(text));
    (void)json_object_set_new(body, "tags", tags);
    TRY(make_spec(cli, digest, &spec, err));
    (void)json_object_set_new(body, "spec", spec);
    (void)json_object_set_new(body, "run", json_string(run.text));
    if (cli_text(cli, "name"))
        (void)json_object_set_new(body, "name", json_string(cli_text(cli, "name")));
    if (cli_text(cli, "notes"))
        (void)json_object_set_new(body, "notes", json_string(cli_text(cli, "notes")));
    set_number(cli, body, "priority", "priority");
    if (cli_flag(cli, "held"))
        (void)json_object_set_new(body, "held", json_true());
    return cli_call(cli, "PUT",
                    arena_printf(&cli->arena, "/api/v1/projects/%s/jobs/%s", project, job.text),
                    body, ret_job, err);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* What is shown of a waiting or running job: its state, and why it waits. */
static const char *state_line(struct cli *cli, const json_t *job)
{
    const json_t *waiting = json_object_get(job, "waiting");
    const char *state = cli_get(job, "state");

    if (!json_is_object(waiting))
        return state;
    if (json_object_get(waiting, "asked"))
        return arena_printf(&cli->arena, "%s: %s (%s: asks %lld, free %lld)", state,
                            cli_get(waiting, "text"), cli_get(waiting, "resource"),
                            (long long)cli_get_i64(waiting, "asked", 0),
                            (long long)cli_get_i64(waiting, "free", 0));
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
    printf("run time  %s\n", cli_duration(cli, cli_get_i64(job, "run_time_ms", 0)));
    printf("cost      %s\n",
           cli_money(cli, cli_get_i64(job, "cost_micro", 0), cli_get(server, "currency")));
    print_metrics(cli, run);
    printf("run       %s/p/%s/r/%s\n", cli->server, cli_get(job, "project"), cli_get(job, "run"));
    return OK;
}

enum err_code cmd_launch(struct cli *cli, int *ret_exit, struct err *err)
{
    CLEANUP(json_release) json_t *job = NULL;
    CLEANUP(json_release) json_t *ended = NULL;
    char digest[SHA256_HEX_BYTES] = "";
    const char *project;

    TRY(cli_project(cli, &project, err));
    if (!cli_flag(cli, "no-code"))
        TRY(upload_folder(cli, project, digest, err));
    TRY(submit(cli, project, digest, &job, err));
    if (!cli_flag(cli, "wait")) {
        if (cli_flag(cli, "json"))
            cli_print_json(job);
        else
            printf("%s\n", cli_get(job, "id"));
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
