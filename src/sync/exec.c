/* A parent for any local command. It writes a log of its own (kind "exec") with console text and
 * the sure end, passes the output on, and starts the sidecar for everything else. The SDK inside
 * the command finds EUVYRA_RUN and joins the same run. */
#include "sync/exec.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "probe/oom.h"
#include "sync/recorder.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/random.h"
#include "sys/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENV_COUNT_MAX 8192
#define CONSOLE_BYTES 65536
#define DRAIN_MS      500 /* after the command: for output of its children that is under way */

extern char **environ;

struct exec {
    const struct exec_options *options;
    struct run_folder folder;
    struct recorder recorder;
    struct process child;
    struct probe_oom oom;
    int pipes[2]; /* read ends: stdout, stderr; -1 when at their end */
    int signal_fd;
};

static const char *choose(const char *value, const char *variable, const char *fallback)
{
    const char *text = value != NULL ? value : getenv(variable);

    return text != NULL && text[0] != '\0' ? text : fallback;
}

static enum err_code write_run_json(struct exec *e, const char *path, const char *name,
                                    struct err *err)
{
    CLEANUP(buf_release) struct buf doc = {0};
    char file[PATH_MAX + 16];
    const char *server = e->options->server.url;
    struct json_writer w;

    buf_init(&doc, RUN_JSON_BYTES_MAX);
    json_writer_init(&w, &doc);
    json_begin_object(&w);
    json_put_key(&w, "format");
    json_put_i64(&w, 1);
    json_put_key(&w, "run");
    json_put_text(&w, e->folder.run.text);
    json_put_key(&w, "project");
    json_put_text(&w, choose(e->options->project, "EUVYRA_PROJECT", "default"));
    json_put_key(&w, "name");
    json_put_text(&w, name);
    json_put_key(&w, "created");
    json_put_time(&w, clock_wall_ms());
    json_put_key(&w, "mode");
    json_put_text(&w, choose(e->options->mode, "EUVYRA_MODE", "online"));
    json_put_key(&w, "server");
    json_put_text(&w, choose(server, "EUVYRA_SERVER", NULL));
    json_put_key(&w, "job");
    json_put_null(&w);
    json_end_object(&w);
    (void)buf_add_char(&doc, '\n');
    TRY(buf_check(&doc, "run.json", err));
    (void)snprintf(file, sizeof file, "%s/run.json", path);
    return file_write_atomic(file, buf_str(&doc), 0644, err);
}

static enum err_code folder_make(struct exec *e, struct err *err)
{
    const char *command = e->options->argv[0], *slash = strrchr(command, '/');
    const char *name = e->options->name != NULL ? e->options->name
                       : slash != NULL          ? slash + 1
                                                : command;
    const char *dir = choose(e->options->dir, "EUVYRA_DIR", "euvyra-runs");
    char path[PATH_MAX];

    e->folder.run = random_id(ID_RUN);
    if (snprintf(path, sizeof path, "%s/%s", dir, e->folder.run.text) >= (int)sizeof path)
        return err_set(err, ERR_INVALID, "the folder's name is too long");
    TRY(file_make_dirs(path, 0777, err));
    TRY(write_run_json(e, path, name, err));
    return run_folder_open(path, &e->folder, err);
}

/* A child's environment while it is made: later entries go over earlier ones of that name. */
struct child_env {
    const char **items;
    size_t count;
};

static void env_put(struct child_env *env, const char *entry)
{
    size_t name_len = strcspn(entry, "=") + 1;

    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->items[i], entry, name_len) == 0) {
            env->items[i] = entry;
            return;
        }
    }
    if (env->count < ENV_COUNT_MAX)
        env->items[env->count++] = entry;
}

/* What leads the SDK to this run. */
static void env_put_run(struct child_env *env, const struct exec *e, struct arena *arena)
{
    char *parent = arena_text(arena, str_from(e->folder.path));
    char *slash = strrchr(parent, '/');

    if (slash != NULL)
        *slash = '\0';
    env_put(env, arena_printf(arena, "EUVYRA_RUN=%s", e->folder.run.text));
    env_put(env, arena_printf(arena, "EUVYRA_DIR=%s", parent));
    env_put(env, "EUVYRA_EXEC=1");
}

/* The SDK in the command finds this program, unless somebody has named another one. */
static void env_put_program(struct child_env *env, const struct exec *e, struct arena *arena)
{
    char path[PATH_MAX];
    const char *program = e->options->program;
    ssize_t len;

    if (program == NULL) {
        len = readlink("/proc/self/exe", path, sizeof(path) - 1);
        if (len <= 0)
            return;
        path[len] = '\0';
        program = path;
    }
    env_put(env, arena_printf(arena, "EUVYRA_BIN=%s", program));
}

/* Ours, and what is to go over it. The texts live in the arena. */
static const char **child_environment(const struct exec *e, struct arena *arena)
{
    struct child_env env = {.items = arena_array(arena, ENV_COUNT_MAX + 1, sizeof *env.items)};

    env_put_run(&env, e, arena); /* it has its places before ours may fill them all */
    env_put_program(&env, e, arena);
    for (char **at = environ; *at != NULL; at++)
        env_put(&env, *at);
    for (const char *const *at = e->options->env; at != NULL && *at != NULL; at++)
        env_put(&env, *at);
    if (e->options->config.len > 0)
        env_put(&env, arena_printf(arena, "EUVYRA_CONFIG=%.*s", STR_ARG(e->options->config)));
    env_put_run(&env, e, arena);
    env.items[env.count] = NULL;
    return env.items;
}

static enum err_code child_start(struct exec *e, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    int out[2], errors[2];

    if (pipe2(out, O_CLOEXEC) != 0)
        return err_set_errno(err, ERR_IO, errno, "pipe");
    if (pipe2(errors, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return err_set_errno(err, ERR_IO, errno, "pipe");
    }
    enum err_code code = process_start(&e->child,
                                       &(struct process_options){
                                           .argv = e->options->argv,
                                           .env = child_environment(e, &arena),
                                           .stdin_fd = STDIN_FILENO,
                                           .stdout_fd = out[1],
                                           .stderr_fd = errors[1],
                                           .extra_fd = -1,
                                       },
                                       err);
    close(out[1]);
    close(errors[1]);
    e->pipes[0] = out[0];
    e->pipes[1] = errors[0];
    return code;
}

/* The sidecar uploads and samples; without it the record stays whole in the folder. */
static void sidecar_start(const struct exec *e)
{
    const char *program = e->options->program != NULL ? e->options->program : "/proc/self/exe";
    const char *argv[] = {program, "sync", "--follow", "--detach", e->folder.path, NULL};
    struct process sidecar;
    struct process_end end;
    struct err err;

    enum err_code code = process_start(&sidecar,
                                       &(struct process_options){
                                           .argv = argv,
                                           .stdin_fd = -1,
                                           .stdout_fd = -1,
                                           .stderr_fd = -1,
                                           .new_session = true,
                                           .extra_fd = -1,
                                       },
                                       &err);
    if (code != OK)
        log_warn("exec.sidecar", "error", err.text);
    else
        (void)process_wait(&sidecar, -1, &end); /* it detaches at once */
}

/* Passes on and records what there is on one stream; marks its end. */
static void stream_take(struct exec *e, int index)
{
    static const int to[2] = {STDOUT_FILENO, STDERR_FILENO};
    static const uint8_t streams[2] = {RUNLOG_STDOUT, RUNLOG_STDERR};
    char data[CONSOLE_BYTES];
    ssize_t n = read(e->pipes[index], data, sizeof data);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        close(e->pipes[index]);
        e->pipes[index] = -1;
        return;
    }
    recorder_console(&e->recorder, streams[index], data, (size_t)n);
    struct err err;
    if (file_write_all(to[index], data, (size_t)n, &err) != OK)
        log_debug("exec.output", "error", err.text); /* nobody reads: recorded all the same */
}

/* Waits up to timeout_ms for output or a signal. False when neither came. */
static bool take_some(struct exec *e, int timeout_ms)
{
    struct pollfd waits[3] = {{.fd = e->pipes[0], .events = POLLIN},
                              {.fd = e->pipes[1], .events = POLLIN},
                              {.fd = e->signal_fd, .events = POLLIN}};

    if (poll(waits, 3, timeout_ms) <= 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (waits[i].revents != 0 && e->pipes[i] >= 0)
            stream_take(e, i);
    if (waits[2].revents != 0) {
        int number = signals_wait(e->signal_fd, 0);
        /* A terminal's Ctrl-C has reached the command itself; the others are passed on. */
        if (number != 0 && number != SIGCHLD && number != SIGINT)
            (void)process_signal(&e->child, number);
    }
    return true;
}

static struct process_end child_follow(struct exec *e)
{
    struct process_end end;

    while (!process_wait(&e->child, 0, &end))
        (void)take_some(e, 1000);
    /* Its children may hold the pipes open for ever: take what comes soon, then leave. */
    while ((e->pipes[0] >= 0 || e->pipes[1] >= 0) && take_some(e, DRAIN_MS)) {
    }
    return end;
}

static int exit_code_of(enum err_code start_error)
{
    return start_error == ERR_NOT_FOUND ? 127 : 126;
}

static enum err_code exec_child(struct exec *e, int *ret_exit_code, struct err *err)
{
    enum err_code code = child_start(e, err);

    if (code != OK) {
        recorder_console(&e->recorder, RUNLOG_STDERR, err->text, strlen(err->text));
        *ret_exit_code = exit_code_of(code);
        recorder_end(&e->recorder, &(struct recorder_ending){.exit_code = *ret_exit_code,
                                                             .reason = "not started"});
        fprintf(stderr, "euvyra: %s\n", err->text);
        return OK;
    }
    sidecar_start(e);
    probe_oom_begin(&e->oom, (int)e->child.pid);
    struct process_end end = child_follow(e);
    /* Any signal 9 could come from anybody: only the kernel's word makes it out of memory. */
    bool killed = end.signaled ? end.code == SIGKILL : end.code == 128 + SIGKILL;
    bool oom = killed && probe_oom_happened(&e->oom, (int)e->child.pid);
    probe_oom_end(&e->oom);
    recorder_end(&e->recorder, &(struct recorder_ending){
                                   .exit_code = end.signaled ? 0 : end.code,
                                   .signal = end.signaled ? end.code : 0,
                                   .oom = oom,
                                   .reason = oom            ? "the kernel killed it: out of memory"
                                             : end.signaled ? "signal"
                                                            : "exit",
                               });
    if (oom)
        fprintf(stderr, "euvyra: the command was killed by the kernel: out of memory\n");
    *ret_exit_code = end.signaled ? 128 + end.code : end.code;
    return OK;
}

static void record_facts(struct exec *e)
{
    const struct exec_options *options = e->options;

    if (options->config.len > 0)
        recorder_json(&e->recorder, RUNLOG_CONFIG, options->config);
    if (options->tags.len > 0)
        recorder_json(&e->recorder, RUNLOG_TAGS, options->tags);
    if (options->notes.len > 0)
        recorder_json(&e->recorder, RUNLOG_NOTES, options->notes);
}

enum err_code exec_run(const struct exec_options *options, int *ret_exit_code, struct err *err)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, 0};
    struct exec e = {
        .options = options, .folder = {.dir_fd = -1}, .pipes = {-1, -1}, .signal_fd = -1};

    if (options->argv == NULL || options->argv[0] == NULL)
        return err_set(err, ERR_INVALID, "exec needs a command");
    TRY(folder_make(&e, err));
    enum err_code code = signals_open(signals, &e.signal_fd, err);
    if (code == OK)
        code = recorder_open(&e.recorder, &e.folder, "exec", options->argv, err);
    if (code == OK) {
        record_facts(&e);
        code = exec_child(&e, ret_exit_code, err);
        recorder_close(&e.recorder);
    }
    for (int i = 0; i < 2; i++)
        file_close(&e.pipes[i]);
    file_close(&e.signal_fd);
    run_folder_close(&e.folder);
    return code;
}
