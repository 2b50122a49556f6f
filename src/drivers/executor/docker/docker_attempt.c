/* An attempt's thread. The stream of the container's output is also how its end is noticed: it ends
 * with it. Then the engine is asked what became of it, the rest of the output is read, and only
 * when all of it lies in the console is the attempt said to have ended. */
#include "base/log.h"
#include "base/mem.h"
#include "drivers/common/disk_use.h"
#include "drivers/common/end_reason.h"
#include "drivers/executor/docker/docker_impl.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <signal.h>
#include <stdio.h>

#define AGAIN_MS        500
#define MISSING_MAX     3      /* looks in a row at which the engine did not know it */
#define LOG_END_MS_MAX  300000 /* for text that the engine cannot read */
#define FATAL_BYTES_MAX 4096   /* of the one line that says that a program is not there */
#define REMOVAL_MS      2000   /* from the end of a container to its removal, by `docker rm -f` */

/* ---- A copy of the spec that lives as long as the attempt */

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_text(arena, str_from(text)) : NULL;
}

static const char *const *copy_list(struct arena *arena, const char *const *list)
{
    size_t count = 0;
    const char **copy;

    if (!list)
        return NULL;
    while (list[count])
        count++;
    copy = arena_array(arena, count + 1, sizeof(copy[0]));
    for (size_t i = 0; i < count; i++)
        copy[i] = copy_text(arena, list[i]);
    return copy;
}

static const struct executor_mount *copy_mounts(struct arena *arena,
                                                const struct executor_spec *spec)
{
    struct executor_mount *mounts = arena_array(arena, spec->mount_count, sizeof(mounts[0]));

    for (size_t i = 0; i < spec->mount_count; i++)
        mounts[i] =
            (struct executor_mount){.host_path = copy_text(arena, spec->mounts[i].host_path),
                                    .claim = copy_text(arena, spec->mounts[i].claim),
                                    .target = copy_text(arena, spec->mounts[i].target),
                                    .read_only = spec->mounts[i].read_only};
    return mounts;
}

static void copy_spec(struct docker_attempt *attempt, const struct executor_spec *spec)
{
    struct arena *arena = &attempt->arena;
    struct executor_spec *copy = &attempt->spec;

    *copy = *spec;
    copy->argv = copy_list(arena, spec->argv);
    copy->env = copy_list(arena, spec->env);
    copy->gpus = copy_list(arena, spec->gpus);
    copy->work_dir = copy_text(arena, spec->work_dir);
    copy->image = copy_text(arena, spec->image);
    copy->registry_user = copy_text(arena, spec->registry_user);
    copy->registry_secret = copy_text(arena, spec->registry_secret);
    copy->mounts = copy_mounts(arena, spec);
    /* What lies in files is not needed again. */
    copy->files = (struct executor_files){.code = arena_copy(arena, spec->files.code),
                                          .token = arena_copy(arena, spec->files.token)};
}

/* ---- How it ended */

static struct executor_look new_look(enum executor_phase phase)
{
    return (struct executor_look){.phase = phase,
                                  .started_at = TIME_NONE,
                                  .ended_at = TIME_NONE,
                                  .run_time_ms = -1,
                                  .exit_code = -1};
}

/* Writes it down and publishes it. */
static void finish(struct docker_attempt *attempt, struct executor_look *look)
{
    struct err err = {0};

    look->phase = EXECUTOR_ENDED;
    look->was_stopped = attempt->was_stopped;
    look->timed_out = attempt->record.timed_out && !attempt->was_stopped;
    if (look->ended_at == TIME_NONE)
        look->ended_at = clock_wall_ms();
    (void)snprintf(look->image, sizeof(look->image), "%s", attempt->record.image);
    end_reason_write(look, attempt->record.timeout_s);
    if (docker_end_write(attempt->folder, look, &err) != OK)
        /* The container is still there: an agent that comes after this one finds it out again. */
        log_warn("attempt.record", "attempt", attempt->id.text, "error", err.text);
    lock_enter(attempt->shared->lock);
    attempt->look = *look;
    lock_leave(attempt->shared->lock);
}

static void finish_unstarted(struct docker_attempt *attempt, enum err_code code, bool image_failed,
                             const struct err *err)
{
    struct executor_look look = new_look(EXECUTOR_ENDED);
    struct err problem = {0};

    if (docker_container_remove(attempt->engine, attempt->name, attempt->shared->agent, &problem) !=
        OK)
        log_warn("container.remove", "attempt", attempt->id.text, "error", problem.text);
    look.failed_to_start = true;
    look.run_time_ms = 0;
    look.image_failed = image_failed && !attempt->was_stopped;
    look.disk_full = code == ERR_DISK_FULL;
    (void)snprintf(look.reason, sizeof(look.reason), "%.250s",
                   attempt->was_stopped ? "it was stopped before it began" : err->text);
    finish(attempt, &look);
}

/* The engine gives a signal as 128 and its number, as shells do. */
static int signal_of(int exit_code)
{
    static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,
                                  SIGBUS,  SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2,
                                  SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS};

    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (exit_code == 128 + signals[i])
            return signals[i];
    }
    return 0;
}

/* A program that is not there: the container's init has run, and says so in its place. */
static bool never_ran(const struct docker_attempt *attempt, char ret_reason[EXECUTOR_REASON_BYTES])
{
    CLEANUP(buf_release) struct buf output = {0};
    char path[DOCKER_PATH_BYTES];

    docker_path(attempt->folder, "console", path);
    return file_read(path, FATAL_BYTES_MAX, &output, NULL) == OK && output.len > 0 &&
           container_never_ran(buf_str(&output), attempt->state.exit_code, ret_reason);
}

/* Whether somebody had asked for its end when it ended. */
static bool was_asked_by(const struct docker_attempt *attempt, time_ms at)
{
    time_ms stop = docker_request_read(attempt->folder, "stop");
    time_ms kill = docker_request_read(attempt->folder, "kill");

    return at != TIME_NONE &&
           ((stop != TIME_NONE && stop <= at) || (kill != TIME_NONE && kill <= at));
}

static void finish_ended(struct docker_attempt *attempt)
{
    const struct container_state *state = &attempt->state;
    struct executor_look look = new_look(EXECUTOR_ENDED);

    look.started_at = state->started_at;
    look.ended_at = state->ended_at;
    /* An agent before this one may have passed the request on. */
    attempt->was_stopped = attempt->was_stopped || was_asked_by(attempt, state->ended_at);
    if (state->started_at != TIME_NONE && state->ended_at != TIME_NONE)
        look.run_time_ms = MAX(state->ended_at - state->started_at, 0);
    look.exit_signal = signal_of(state->exit_code);
    look.exit_code = look.exit_signal ? -1 : state->exit_code;
    /* The kernel may have killed a child alone, and the job went on. */
    look.oom = state->oom && look.exit_signal == SIGKILL && !attempt->kill_sent;
    look.disk_full = attempt->record.disk_full ||
                     (state->exit_code != 0 &&
                      (disk_is_full(attempt->folder) || disk_is_full(attempt->shared->host.root)));
    (void)snprintf(look.reason, sizeof(look.reason), "%s", state->problem);
    if (attempt->record.disk_full)
        (void)snprintf(look.reason, sizeof(look.reason),
                       "it wrote more than the %lld bytes that it asked for",
                       (long long)attempt->record.disk_bytes);
    if (never_ran(attempt, look.reason)) {
        look.failed_to_start = true;
        look.exit_code = -1;
    }
    finish(attempt, &look);
}

static void finish_removed(struct docker_attempt *attempt)
{
    struct executor_look look = new_look(EXECUTOR_ENDED);

    look.started_at = attempt->state.started_at;
    look.ended_at = clock_wall_ms();
    if (look.started_at != TIME_NONE)
        look.run_time_ms = MAX(look.ended_at - look.started_at, 0);
    (void)snprintf(look.reason, sizeof(look.reason), "its container was removed by somebody else");
    finish(attempt, &look);
}

/* ---- The life of a container */

static void publish_running(struct docker_attempt *attempt)
{
    lock_enter(attempt->shared->lock);
    attempt->look.phase = EXECUTOR_RUNNING;
    attempt->look.started_at = attempt->state.started_at;
    attempt->look.progress[0] = '\0';
    (void)snprintf(attempt->look.image, sizeof(attempt->look.image), "%s", attempt->record.image);
    lock_leave(attempt->shared->lock);
}

static bool agent_stops(const struct docker_attempt *attempt)
{
    return atomic_load(&attempt->shared->stops);
}

/* Logs a trouble with the output once. */
static void note_trouble(const struct docker_attempt *attempt, bool *noted, const struct err *err)
{
    if (!*noted)
        log_warn("attempt.console", "attempt", attempt->id.text, "error", err->text);
    *noted = true;
}

static bool always(void *ctx)
{
    return !agent_stops(ctx);
}

/* The text is closed with what there is of it. */
static void close_text(const struct docker_attempt *attempt, struct logs *logs)
{
    struct err err = {0};

    if (logs_finish(logs, &err) != OK)
        log_warn("attempt.console", "attempt", attempt->id.text, "error", err.text);
}

/* All of the output, once the container has ended: it lies there as long as the engine is away, or
 * the disk here is full. What the engine itself cannot read in five minutes is given up. */
static void copy_rest(struct docker_attempt *attempt, struct logs *logs)
{
    int64_t give_up_at = 0;
    bool noted = false;

    logs_on_wait(logs, always, attempt);
    while (!agent_stops(attempt)) {
        struct err err = {0};
        enum err_code code = logs_copy(logs, attempt->engine, attempt->name, false, &err);

        if (code == OK)
            code = logs_finish(logs, &err);
        if (code == OK)
            return;
        if (code == ERR_UNAVAILABLE)
            docker__note_away(attempt, code, &err);
        else
            note_trouble(attempt, &noted, &err);
        if (code == ERR_UNAVAILABLE || code == ERR_DISK_FULL)
            give_up_at = 0;
        else if (give_up_at == 0)
            give_up_at = clock_mono_ms() + LOG_END_MS_MAX;
        if (code == ERR_NOT_FOUND)
            break;
        if (give_up_at != 0 && clock_mono_ms() > give_up_at) {
            if (logs_say(logs, "the Docker engine could not read the rest of the text", &err) != OK)
                log_warn("attempt.console", "attempt", attempt->id.text, "error", err.text);
            break;
        }
        (void)docker__wait(attempt, AGAIN_MS);
    }
    if (!agent_stops(attempt))
        close_text(attempt, logs);
}

/* Copies while it runs. Returns when there may be news. */
static void copy_running(struct docker_attempt *attempt, struct logs *logs, bool *noted)
{
    int64_t poll_ms = 0;
    bool poll = logs_must_poll(logs, &poll_ms);
    struct err err = {0};
    enum err_code code;

    logs_on_wait(logs, docker__tend, attempt);
    if (poll && (!docker__wait(attempt, poll_ms) || attempt->cut_stream))
        return;
    code = logs_copy(logs, attempt->engine, attempt->name, !poll, &err);
    if (code == OK || code == ERR_TIMEOUT || code == ERR_NOT_FOUND)
        return;
    if (code == ERR_UNAVAILABLE)
        docker__note_away(attempt, code, &err);
    else
        note_trouble(attempt, noted, &err);
    (void)docker__wait(attempt, AGAIN_MS);
}

/* True when the container is certainly gone: also right after a restart the engine has had time. */
static bool is_missing(struct docker_attempt *attempt, enum err_code code)
{
    attempt->missing_count = code == ERR_NOT_FOUND ? attempt->missing_count + 1 : 0;
    return attempt->missing_count >= MISSING_MAX;
}

/* It was killed, and not by us: perhaps because somebody removes it. True once it is gone. */
static bool is_removed(struct docker_attempt *attempt)
{
    int64_t until = clock_mono_ms() + REMOVAL_MS;
    struct container_state state;
    struct err err = {0};

    if (attempt->state.exit_code != 128 + SIGKILL || attempt->kill_sent)
        return false;
    while (!agent_stops(attempt) && clock_mono_ms() < until) {
        enum err_code code = docker__inspect(attempt, attempt->engine, &state, &err);

        if (code == ERR_NOT_FOUND || (code == OK && state.being_removed))
            return true;
        if (code == OK && state.oom)
            return false;
        (void)docker__wait(attempt, AGAIN_MS / 5);
    }
    return false;
}

/* Until it has ended, or the agent stops. */
static void follow(struct docker_attempt *attempt, struct logs *logs)
{
    bool noted = false;

    while (!agent_stops(attempt)) {
        struct err err = {0};
        enum err_code code = docker__inspect(attempt, attempt->engine, &attempt->state, &err);

        attempt->cut_stream = false;
        if (is_missing(attempt, code)) {
            close_text(attempt, logs);
            finish_removed(attempt);
            return;
        }
        if (code != OK) {
            (void)docker__wait(attempt, AGAIN_MS);
            continue;
        }
        if (attempt->state.phase == CONTAINER_ENDED) {
            copy_rest(attempt, logs);
            if (is_removed(attempt))
                finish_removed(attempt);
            else if (!agent_stops(attempt))
                finish_ended(attempt);
            return;
        }
        publish_running(attempt);
        copy_running(attempt, logs, &noted);
    }
}

static void open_and_follow(struct docker_attempt *attempt)
{
    struct logs_options options = {.folder = attempt->folder,
                                   .console_bytes_max = attempt->record.console_bytes_max};
    struct logs *logs = NULL;
    struct err err = {0};
    bool noted = false;

    attempt->state.phase = CONTAINER_RUNNING; /* from here on requests go to it */
    while (!agent_stops(attempt) && logs_open(&logs, &options, &err) != OK) {
        note_trouble(attempt, &noted, &err);
        (void)docker__wait(attempt, AGAIN_MS);
    }
    if (!logs)
        return;
    atomic_store(&attempt->logs, logs);
    follow(attempt, logs);
}

static void attempt_run(void *ctx)
{
    struct docker_attempt *attempt = ctx;
    bool image_failed = false;
    struct err err = {0};
    enum err_code code = OK;

    if (attempt->begins)
        code = docker__begin(attempt, &image_failed, &err);
    if (agent_stops(attempt))
        return; /* the next agent goes on */
    if (code != OK)
        finish_unstarted(attempt, code, image_failed, &err);
    else
        open_and_follow(attempt);
}

/* ---- Its owner's side */

static struct docker_attempt *attempt_new(struct docker_shared *shared, const struct id *id)
{
    struct docker_attempt *attempt = MEM_NEW(struct docker_attempt);

    attempt->shared = shared;
    attempt->id = *id;
    (void)snprintf(attempt->folder, sizeof(attempt->folder), "%s/%s", shared->root, id->text);
    attempt->engine = engine_again(shared->engine);
    attempt->errands = engine_again(shared->engine);
    attempt->look = new_look(EXECUTOR_STARTING);
    attempt->state = (struct container_state){
        .phase = CONTAINER_CREATED, .started_at = TIME_NONE, .ended_at = TIME_NONE};
    atomic_store(&attempt->woken, true); /* requests may lie there from before */
    return attempt;
}

static enum err_code run(struct docker_attempt *attempt, struct docker_attempt **ret_attempt,
                         struct err *err)
{
    enum err_code code = thread_start(&attempt->thread, "container", attempt_run, attempt, err);

    if (code != OK) {
        docker_attempt_free(attempt);
        return code;
    }
    *ret_attempt = attempt;
    return OK;
}

enum err_code docker_attempt_start(struct docker_shared *shared, const struct executor_spec *spec,
                                   struct docker_attempt **ret_attempt, struct err *err)
{
    struct docker_attempt *attempt = attempt_new(shared, &spec->attempt);
    enum err_code code = docker_record_read(attempt->folder, &attempt->record, NULL);

    if (code != OK) /* else an earlier agent has begun: its image stays the one */
        attempt->record = (struct docker_record){.timeout_s = spec->timeout_s,
                                                 .grace_s = spec->grace_s,
                                                 .console_bytes_max = spec->console_bytes_max,
                                                 .disk_bytes = spec->disk_bytes,
                                                 .rank = spec->rank,
                                                 .node_count = spec->node_count};
    container_name(&attempt->id, attempt->record.rank, attempt->name);
    code = docker_record_write(attempt->folder, &attempt->record, err);
    if (code != OK) {
        docker_attempt_free(attempt);
        return code;
    }
    copy_spec(attempt, spec);
    attempt->begins = true;
    return run(attempt, ret_attempt, err);
}

/* Whether there is something to take up: it was started, or its container says so. */
static enum err_code find(struct docker_attempt *attempt, bool *ret_found, struct err *err)
{
    enum err_code code = docker__inspect(attempt, attempt->engine, &attempt->state, err);

    *ret_found = false;
    if (code == ERR_NOT_FOUND) {
        *ret_found = attempt->record.started; /* somebody removed it; certain after some looks */
        return OK;
    }
    TRY(code);
    if (attempt->state.phase == CONTAINER_CREATED && !attempt->record.started)
        return OK;
    *ret_found = true;
    if (!attempt->record.started) {
        attempt->record.started = true;
        TRY(docker_record_write(attempt->folder, &attempt->record, err));
    }
    return OK;
}

enum err_code docker_attempt_resume(struct docker_shared *shared, const struct id *id,
                                    struct docker_attempt **ret_attempt, struct err *err)
{
    struct docker_attempt *attempt = attempt_new(shared, id);
    struct executor_look look;
    bool found = false;
    enum err_code code = docker_record_read(attempt->folder, &attempt->record, err);

    *ret_attempt = NULL;
    container_name(id, attempt->record.rank, attempt->name);
    if (code == OK && docker_end_read(attempt->folder, &look, NULL) != OK)
        code = find(attempt, &found, err);
    else if (code == ERR_NOT_FOUND)
        code = OK;
    if (code != OK || !found) {
        docker_attempt_free(attempt);
        return code;
    }
    return run(attempt, ret_attempt, err);
}

void docker_attempt_free(struct docker_attempt *attempt)
{
    if (!attempt)
        return;
    docker_attempt_wake(attempt);
    thread_join(&attempt->thread);
    logs_free(atomic_load(&attempt->logs));
    engine_free(attempt->engine);
    engine_free(attempt->errands);
    arena_release(&attempt->arena);
    mem_free(attempt);
}

const struct id *docker_attempt_id(const struct docker_attempt *attempt)
{
    return &attempt->id;
}

void docker_attempt_look(struct docker_attempt *attempt, struct executor_look *ret_look)
{
    const struct logs *logs = atomic_load(&attempt->logs);

    lock_enter(attempt->shared->lock);
    *ret_look = attempt->look;
    lock_leave(attempt->shared->lock);
    ret_look->console_bytes = logs ? logs_bytes(logs) : 0;
}

void docker_attempt_address(struct docker_attempt *attempt, char *ret_address, size_t size)
{
    lock_enter(attempt->shared->lock);
    (void)snprintf(ret_address, size, "%s", attempt->address);
    lock_leave(attempt->shared->lock);
}

void docker_attempt_go(struct docker_attempt *attempt)
{
    atomic_store(&attempt->goes, true);
}

void docker_attempt_wake(struct docker_attempt *attempt)
{
    atomic_store(&attempt->woken, true);
    engine_wake(attempt->engine);
}
