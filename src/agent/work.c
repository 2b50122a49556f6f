/* One attempt's life. A loop of small steps, each of which may fail for now and is tried again
 * later; meanwhile orders (stop, fence) are obeyed. Every step may be repeated after a restart: the
 * server knows what it has. */
#include "agent/work.h"

#include "agent/calls.h"
#include "agent/work_gpus.h"
#include "agent/work_health.h"
#include "agent/work_prepare.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/local_address.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define OFFER_BYTES_MAX  (2 * WIRE_MESSAGE_BYTES_MAX)
#define CONSOLE_BYTES    (512 * 1024)
#define WATCH_MS         100
#define STARTING_MS      10
#define BACKOFF_MS_MIN   500
#define BACKOFF_MS_MAX   15000
#define OTHERS_MS        500 /* between looks whether the other agents have accepted */
#define ACCEPT_MS_MAX    60000
#define START_MS_MAX     60000
#define RENDEZVOUS_BYTES (WIRE_RENDEZVOUS_MAX + 1)
#define RECORD_MS_MAX    300000 /* then the record is closed as it is */
#define UPLOAD_SLICE_MS  200
#define PROGRESS_MS      2000 /* between reports on a long start */
#define REMOVE_AGAIN_MS  1000

struct work {
    const struct work_env *env;
    struct arena arena;
    struct wire_offer offer;
    struct attempt_calls calls;
    struct executor_place place;
    struct str rendezvous; /* len 0: none; the thread's own, as the arena is once it runs */
    struct thread *thread;
    struct queue *wake;
    _Atomic bool stop_asked, fenced, finished;
    /* The rest is the thread's own, from a word of its own on: compilers read flags that lie side
     * by side at once. */
    int64_t console_offset;
    int64_t retry_at_ms, backoff_ms, ended_ms;
    bool stop_sent, kill_sent;
    bool released; /* of a start that waits for the first machine */
    int64_t release_at_ms;
    bool look_failed; /* it was said */
    bool told_starting, told_running, told_ended, console_refused, uploaded, gave_gpus_back;
    bool gpu_failed; /* and this is why it failed: */
    char gpu_reason[EXECUTOR_REASON_BYTES];
    char progress[EXECUTOR_REASON_BYTES]; /* as it was told last */
    int64_t progress_at_ms;
    bool never_started; /* `failure` says why */
    char failure[EXECUTOR_REASON_BYTES];
    time_ms failed_at;
    struct work_health health;
};

static bool agent_stops(const struct work *work)
{
    return atomic_load(work->env->agent_stops);
}

static bool keep_calling(void *ctx)
{
    const struct work *work = ctx;

    return !agent_stops(work) && !atomic_load(&work->fenced);
}

static void work_wait(struct work *work, int64_t ms)
{
    (void)queue_pop(work->wake, ms); /* a wish to look again, or the time is over */
}

/* What a call's outcome means: true when the step is done (or never can be). */
static bool settle(struct work *work, enum call_outcome outcome, const char *step,
                   const struct err *err)
{
    switch (outcome) {
    case CALL_DONE: work->backoff_ms = 0; return true;
    case CALL_REFUSED:
        log_warn("attempt.refused", "attempt", work->offer.attempt.id.text, "step", step, "error",
                 err->text);
        return true;
    case CALL_FENCED:
        if (!atomic_exchange(&work->fenced, true))
            log_warn("attempt.fenced", "attempt", work->offer.attempt.id.text, "step", step);
        return false;
    default: break;
    }
    if (work->backoff_ms == 0 && !agent_stops(work))
        log_warn("attempt.retry", "attempt", work->offer.attempt.id.text, "step", step, "error",
                 err->text);
    work->backoff_ms = MIN(MAX(work->backoff_ms * 2, BACKOFF_MS_MIN), BACKOFF_MS_MAX);
    work->retry_at_ms = clock_mono_ms() + work->backoff_ms;
    return false;
}

static bool tell(struct work *work, const struct wire_status *status, const char *step)
{
    struct err err = {0};

    return settle(work, call_status(&work->calls, status, &err), step, &err);
}

static struct wire_status status_of(enum wire_attempt_state state, time_ms at)
{
    return (struct wire_status){
        .state = state, .at = at, .exit_code = -1, .run_time_ms = -1, .console_bytes = -1};
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Where the ranks of a job on several machines could meet, as far as this one knows; NULL: it does
 * not. */
static const char *own_rendezvous(const struct work *work, char *space, size_t size)
{
    const struct executor_port *executor = work->env->executor;
    const struct agent_options *options = work->env->options;
    char machine[RENDEZVOUS_BYTES];
    struct err err = {0};
    enum err_code code = OK;

    if (work->offer.node_count == 1 || !executor->rendezvous ||
        (work->offer.rank && !executor->meets_late))
        return NULL;
    if (options->address)
        (void)snprintf(machine, sizeof(machine), "%s", options->address);
    else
        code = net_local_address(options->server, machine, sizeof(machine), &err);
    if (code == OK && !options->address && is_loopback(machine))
        log_warn("attempt.rendezvous", "attempt", work->offer.attempt.id.text, "address", machine,
                 "hint", "other machines cannot reach it: --address names one that they can");
    if (code == OK)
        code = executor->rendezvous(executor->ctx, &work->offer.attempt.id, machine, space, size,
                                    &err);
    if (code == OK)
        return space;
    log_error("attempt.rendezvous", "attempt", work->offer.attempt.id.text, "error", err.text);
    return NULL;
}

/* All have accepted, and those of other machines know where the first is. Told to stop, it need not
 * wait for that. */
static bool may_begin(const struct work *work, const struct wire_accepted *accepted)
{
    if (accepted->state == ATTEMPT_OFFERED)
        return false;
    return work->offer.rank == 0 || work->offer.node_count == 1 || accepted->rendezvous.len ||
           atomic_load(&work->stop_asked);
}

/* Accepts the offer; true when the attempt is ours, and all others who take part in it have
 * accepted too. */
static bool accept_offer(struct work *work)
{
    const struct executor_port *executor = work->env->executor;
    int64_t give_up_at = clock_mono_ms() + ACCEPT_MS_MAX;
    char space[RENDEZVOUS_BYTES];
    const char *own = own_rendezvous(work, space, sizeof(space));

    while (!agent_stops(work) && !atomic_load(&work->fenced)) {
        struct err err = {0};
        struct wire_accepted accepted = {.state = ATTEMPT_CLAIMED};
        enum call_outcome outcome = call_accept(&work->calls, executor->meets_late ? NULL : own,
                                                &work->arena, &accepted, &err);

        if (own && !accepted.rendezvous.len)
            accepted.rendezvous = arena_copy(&work->arena, str_from(own));
        if (settle(work, outcome, "accept", &err) &&
            (outcome != CALL_DONE || may_begin(work, &accepted))) {
            work->rendezvous = accepted.rendezvous;
            return outcome == CALL_DONE;
        }
        if (outcome == CALL_DONE) { /* the server fences the attempt if the others never come */
            give_up_at = clock_mono_ms() + ACCEPT_MS_MAX;
            work_wait(work, OTHERS_MS);
            continue;
        }
        if (clock_mono_ms() > give_up_at)
            return false;
        work_wait(work, MAX(work->backoff_ms, 1));
    }
    return false;
}

static void note_failure(struct work *work, const char *reason)
{
    work->never_started = true;
    work->failed_at = clock_wall_ms();
    (void)snprintf(work->failure, sizeof(work->failure), "%.250s", reason);
    log_warn("attempt.not_started", "attempt", work->offer.attempt.id.text, "reason",
             work->failure);
}

/* Folder, code, key, GPUs, process; again and again while only the server is in the way, for a
 * while if it is this machine. */
static void start_work(struct work *work)
{
    const struct work_start start = {work->env, &work->calls, &work->offer, &work->place,
                                     work->rendezvous};
    int64_t give_up_at = clock_mono_ms() + START_MS_MAX;

    while (keep_calling(work)) {
        struct err err = {0};
        enum call_outcome outcome;
        bool here;

        if (atomic_load(&work->stop_asked)) {
            note_failure(work, "it was stopped before it began");
            return;
        }
        outcome = work_prepare(&start, &here, &err);
        if (outcome == CALL_DONE) {
            work->told_starting = true;
            log_info("attempt.started", "attempt", work->offer.attempt.id.text, "job",
                     work->offer.job.text);
            return;
        }
        if (outcome == CALL_REFUSED || (here && clock_mono_ms() > give_up_at)) {
            note_failure(work, err.text);
            return;
        }
        (void)settle(work, outcome, "prepare", &err);
        work_wait(work, MAX(work->backoff_ms, 1));
    }
}

/* False: it cannot be told now. */
static bool look_at(struct work *work, struct executor_look *ret_look)
{
    struct err err = {0};
    enum err_code code;

    if (work->never_started) {
        *ret_look = (struct executor_look){.phase = EXECUTOR_ENDED,
                                           .started_at = TIME_NONE,
                                           .ended_at = work->failed_at,
                                           .run_time_ms = 0,
                                           .exit_code = -1,
                                           .failed_to_start = true};
        (void)snprintf(ret_look->reason, sizeof(ret_look->reason), "%s", work->failure);
        return true;
    }
    code = work->env->executor->look(work->env->executor->ctx, &work->offer.attempt.id, ret_look,
                                     &err);
    if (code != OK) { /* not known is not ended: look again */
        *ret_look = (struct executor_look){.phase = EXECUTOR_STARTING, .started_at = TIME_NONE};
        if (!work->look_failed)
            log_error("attempt.look", "attempt", work->offer.attempt.id.text, "error", err.text);
    }
    work->look_failed = code != OK;
    return code == OK;
}

static void obey(struct work *work, const struct executor_look *look)
{
    const struct executor_port *executor = work->env->executor;
    const struct id *id = &work->offer.attempt.id;
    struct err err = {0};
    enum err_code code = OK;

    if (look->phase == EXECUTOR_ENDED || look->phase == EXECUTOR_ABSENT)
        return;
    if (atomic_load(&work->fenced) && !work->kill_sent) {
        code = executor->kill(executor->ctx, id, &err);
        work->kill_sent = code == OK;
    } else if ((atomic_load(&work->stop_asked) || work->health.given_up) && !work->stop_sent) {
        code = executor->stop(executor->ctx, id, &err);
        work->stop_sent = code == OK;
    }
    if (code != OK)
        log_error("attempt.signal", "attempt", id->text, "error", err.text);
}

/* Sends the next piece of console text. True when something went. What the server refuses, or what
 * cannot be read after the end, never will: console_refused. */
static bool send_console(struct work *work, int64_t console_bytes)
{
    char path[WORK_PATH_BYTES + 16];
    struct err err = {0};
    ssize_t got = -1;

    if (work->console_refused || console_bytes <= work->console_offset)
        return false;
    (void)snprintf(path, sizeof(path), "%s/console", work->place.folder);

    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *piece = mem_alloc(CONSOLE_BYTES);
    int64_t want = MIN(console_bytes - work->console_offset, CONSOLE_BYTES);
    enum call_outcome outcome = work->ended_ms ? CALL_REFUSED : CALL_AGAIN;

    if (fd >= 0)
        got = pread(fd, piece, (size_t)want, (off_t)work->console_offset);
    (void)err_set(&err, ERR_IO, "%s cannot be read", path);
    if (got > 0)
        outcome =
            call_console(&work->calls, str_n(piece, (size_t)got), &work->console_offset, &err);
    mem_free(piece);
    (void)settle(work, outcome, "console", &err);
    work->console_refused = outcome == CALL_REFUSED;
    return outcome == CALL_DONE;
}

static struct wire_status ended_status(const struct work *work, const struct executor_look *look)
{
    struct wire_status status = status_of(WIRE_ENDED, look->ended_at);

    status.exit_code = look->exit_code;
    status.exit_signal = look->exit_signal;
    status.oom = look->oom;
    status.failed_to_start = look->failed_to_start;
    status.timed_out = look->timed_out;
    status.stopped = look->was_stopped;
    status.image_failed = look->image_failed;
    status.disk_full = look->disk_full;
    status.gpu_failed = work->gpu_failed;
    status.image = str_from(look->image);
    status.reason = str_from(look->reason);
    status.run_time_ms = look->run_time_ms;
    status.console_bytes = look->console_bytes;
    if (work->health.given_up && look->was_stopped) {
        status.unhealthy = true;
        status.reason = str_from(work->health.reason);
    }
    if (work->gpu_failed)
        status.reason = str_from(work->gpu_reason);
    return status;
}

/* Brings the rest of the run's log to the server. True when that is done, or given up in time. */
static bool upload_record(struct work *work)
{
    bool late = clock_mono_ms() - work->ended_ms > RECORD_MS_MAX;
    struct err err = {0};
    enum err_code code =
        work_upload(work->env, &work->offer, work->place.folder, keep_calling, work, &err);

    if (code == OK)
        return true;
    if (!late && code != ERR_UNAUTHENTICATED && code != ERR_FORBIDDEN) {
        (void)settle(work, CALL_AGAIN, "upload", &err);
        return false;
    }
    log_error("attempt.record_kept", "attempt", work->offer.attempt.id.text, "folder",
              work->env->unsent_dir, "error", err.text);
    code = work_keep_record(work->env, &work->offer, work->place.folder, &err);
    if (code != OK)
        log_error("attempt.record", "attempt", work->offer.attempt.id.text, "error", err.text);
    return true;
}

/* It failed by itself, in a way that a broken GPU may be the cause of. */
static bool failed_itself(const struct executor_look *look)
{
    bool bad = look->exit_code > 0 || look->exit_signal > 0;

    return bad && !look->was_stopped && !look->oom && !look->timed_out && !look->failed_to_start;
}

/* Nothing of it runs any more. `look`: NULL: nobody asks how it ended. */
static void give_gpus_back(struct work *work, const struct executor_look *look)
{
    if (!work->gave_gpus_back && look && failed_itself(look))
        work->gpu_failed = work_gpus_failed(work->env, &work->offer, work->gpu_reason);
    if (!work->gave_gpus_back)
        work_gpus_release(work->env, &work->offer, &work->place);
    work->gave_gpus_back = true;
}

/* After the end: say so, send the rest, close. True when everything is acknowledged. */
static bool close_step(struct work *work, const struct executor_look *look)
{
    struct wire_status status;

    if (work->ended_ms == 0)
        work->ended_ms = clock_mono_ms();
    give_gpus_back(work, look);
    status = ended_status(work, look);
    if (!work->told_ended) {
        work->told_ended = tell(work, &status, "ended");
        return false;
    }
    if (work->console_offset < status.console_bytes && !work->console_refused) {
        (void)send_console(work, status.console_bytes);
        return false;
    }
    if (!work->uploaded) {
        work->uploaded = upload_record(work);
        return false;
    }
    status.final = true;
    return tell(work, &status, "final");
}

/* What a long start does now, when that has changed. */
static bool tell_progress(struct work *work, const struct executor_look *look)
{
    struct wire_status status = status_of(WIRE_STARTING, TIME_NONE);

    if (look->phase != EXECUTOR_STARTING || strcmp(look->progress, work->progress) == 0 ||
        clock_mono_ms() < work->progress_at_ms)
        return false;
    status.image = str_from(look->image);
    status.progress = str_from(look->progress);
    if (tell(work, &status, "progress")) {
        memcpy(work->progress, look->progress, sizeof(work->progress));
        work->progress_at_ms = clock_mono_ms() + PROGRESS_MS;
    }
    return true;
}

/* Of several machines, one that meets the first only once that runs has its start wait for it. True
 * while it does. */
static bool waits_for_first(struct work *work, const struct executor_look *look)
{
    const struct executor_port *executor = work->env->executor;
    CLEANUP(arena_release) struct arena arena = {0};
    struct wire_accepted accepted = {.state = ATTEMPT_CLAIMED};
    struct err err = {0};

    if (!executor->meets_late || work->offer.node_count == 1 || work->offer.rank == 0 ||
        work->released || look->phase != EXECUTOR_STARTING)
        return false;
    if (clock_mono_ms() < work->release_at_ms)
        return true;
    work->release_at_ms = clock_mono_ms() + OTHERS_MS;
    if (settle(work, call_accept(&work->calls, NULL, &arena, &accepted, &err), "accept", &err) &&
        accepted.rendezvous.len)
        work->released = executor->release(executor->ctx, &work->offer.attempt.id, &err) == OK;
    return !work->released;
}

/* One thing that is due. False: there was nothing to do. */
static bool live_step(struct work *work, const struct executor_look *look)
{
    char space[RENDEZVOUS_BYTES];
    struct wire_status status = status_of(WIRE_STARTING, TIME_NONE);

    if (waits_for_first(work, look))
        return false;
    if (!work->told_starting && look->phase == EXECUTOR_STARTING) {
        work->told_starting = tell(work, &status, "starting");
        return true;
    }
    if (tell_progress(work, look))
        return true;
    if (!work->told_running && look->started_at != TIME_NONE) {
        status = status_of(WIRE_RUNNING, look->started_at);
        status.image = str_from(look->image);
        if (work->env->executor->meets_late) {
            const char *place = own_rendezvous(work, space, sizeof(space));
            status.rendezvous = place ? str_from(place) : STR("");
        }
        work->told_running = tell(work, &status, "running");
        return true;
    }
    if (work->told_running && work->health.due) {
        status = status_of(WIRE_RUNNING, look->started_at);
        status.health = work->health.news.state;
        status.health_problem = str_from(work->health.news.problem);
        work->health.due = !tell(work, &status, "health");
        return true;
    }
    return send_console(work, look->console_bytes);
}

/* The attempt was given away, perhaps while this machine could not be reached: what it did until
 * it was killed here is nobody's record, and may still be missed. */
static void keep_fenced(struct work *work)
{
    struct err err = {0};

    if (!atomic_load(&work->fenced) || work->never_started)
        return;
    if (work_keep_record(work->env, &work->offer, work->place.folder, &err) == OK)
        log_warn("attempt.kept", "attempt", work->offer.attempt.id.text, "folder",
                 work->env->unsent_dir);
    else
        log_error("attempt.kept", "attempt", work->offer.attempt.id.text, "error", err.text);
}

/* What runs attempts may be away: it is waited for, so that nothing is left there. */
static void remove_attempt(struct work *work)
{
    const struct executor_port *executor = work->env->executor;
    struct err err = {0};
    enum err_code code = executor->remove(executor->ctx, &work->offer.attempt.id, &err);

    if (code != OK)
        log_error("attempt.remove", "attempt", work->offer.attempt.id.text, "error", err.text);
    while (code == ERR_UNAVAILABLE && !agent_stops(work)) {
        work_wait(work, REMOVE_AGAIN_MS);
        code = executor->remove(executor->ctx, &work->offer.attempt.id, &err);
    }
}

/* Kills, waits, forgets. */
static void drop(struct work *work)
{
    struct executor_look look;

    (void)look_at(work, &look);
    while (look.phase != EXECUTOR_ENDED && look.phase != EXECUTOR_ABSENT && !agent_stops(work)) {
        obey(work, &look);
        work_wait(work, WATCH_MS);
        (void)look_at(work, &look);
    }
    if (agent_stops(work))
        return; /* the next start takes it up */
    give_gpus_back(work, NULL);
    if (look.phase == EXECUTOR_ENDED)
        keep_fenced(work);
    remove_attempt(work);
}

static void watch(struct work *work)
{
    struct executor_look look;
    bool busy;

    while (keep_calling(work)) {
        (void)look_at(work, &look);
        work_health_tend(&work->health, &look, work->stop_sent || work->kill_sent);
        obey(work, &look);
        busy = false;
        if (clock_mono_ms() >= work->retry_at_ms) {
            if (look.phase != EXECUTOR_ENDED) {
                busy = live_step(work, &look);
            } else if (!work->told_running && look.started_at != TIME_NONE) {
                busy = live_step(work, &look);
            } else if (close_step(work, &look)) {
                log_info("attempt.closed", "attempt", work->offer.attempt.id.text, "reason",
                         look.reason);
                break;
            } else {
                busy = true;
            }
        }
        if (!busy || clock_mono_ms() < work->retry_at_ms)
            work_wait(work, look.phase == EXECUTOR_STARTING ? STARTING_MS : WATCH_MS);
    }
}

static void work_run(void *ctx)
{
    struct work *work = ctx;
    struct executor_look look;
    bool ours = true;

    work_gpus_resume(work->env, &work->offer, &work->place);
    /* What was never started here must not be taken for what runs. */
    while (!look_at(work, &look) && keep_calling(work))
        work_wait(work, WATCH_MS);
    if (look.phase == EXECUTOR_ABSENT) {
        ours = accept_offer(work);
        if (ours)
            start_work(work);
    }
    if (ours)
        watch(work);
    work_health_release(&work->health);
    if (!agent_stops(work))
        drop(work);
    atomic_store(&work->finished, true);
}

static void wake_from_health(void *ctx)
{
    work_wake(ctx);
}

static enum err_code start_thread(const struct work_env *env, struct work *work, struct err *err)
{
    struct http_client_options options = {.base_url = env->options->server,
                                          .key_text = env->options->key_text,
                                          .ca_file = env->options->ca_file,
                                          .product = env->options->version};

    TRY(http_client_new(&work->calls.client, &options, err));
    work->env = env;
    work->calls.attempt = work->offer.attempt;
    work->calls.keep_going = keep_calling;
    work->calls.ctx = work;
    work->wake = queue_new(16);
    work->health = (struct work_health){.folder = work->place.folder,
                                        .executor = env->executor,
                                        .attempt = &work->offer.attempt.id,
                                        .wake = wake_from_health,
                                        .ctx = work};
    TRY(work_health_init(&work->health, &work->arena, &work->offer, err));
    return thread_start(&work->thread, "attempt", work_run, work, err);
}

/* Makes a work of an offer's text, which the folder holds. */
static enum err_code work_make(const struct work_env *env, struct str text,
                               const struct executor_place *place, struct work **ret_work,
                               struct err *err)
{
    struct work *work = MEM_NEW(struct work);
    enum err_code code = wire_offer_decode(&work->arena, text, &work->offer, err);

    work->place = *place;
    if (code == OK)
        code = start_thread(env, work, err);
    if (code != OK) {
        work_free(work);
        return code;
    }
    *ret_work = work;
    return OK;
}

enum err_code work_new(const struct work_env *env, const struct wire_offer *offer,
                       struct work **ret_work, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct executor_place place;
    char path[WORK_PATH_BYTES + 16];
    struct json_writer w;

    buf_init(&text, OFFER_BYTES_MAX);
    json_writer_init(&w, &text);
    wire_offer_encode(offer, &w);
    TRY(buf_check(&text, "an offer", err));
    TRY(env->executor->prepare(env->executor->ctx, &offer->attempt.id, &place, err));
    (void)snprintf(path, sizeof(path), "%s/offer.json", place.folder);
    TRY(file_write_atomic(path, buf_str(&text), 0600, err));
    return work_make(env, buf_str(&text), &place, ret_work, err);
}

enum err_code work_resume(const struct work_env *env, const struct id *attempt,
                          struct work **ret_work, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct executor_place place;
    char path[WORK_PATH_BYTES + 16];

    TRY(env->executor->prepare(env->executor->ctx, attempt, &place, err));
    (void)snprintf(path, sizeof(path), "%s/offer.json", place.folder);
    TRY(file_read(path, OFFER_BYTES_MAX, &text, err));
    return work_make(env, buf_str(&text), &place, ret_work, err);
}

void work_free(struct work *work)
{
    if (!work)
        return;
    thread_join(&work->thread);
    http_client_free(work->calls.client);
    queue_free(work->wake);
    arena_release(&work->arena);
    mem_free(work);
}

const struct wire_attempt *work_attempt(const struct work *work)
{
    return &work->offer.attempt;
}

bool work_is_finished(const struct work *work)
{
    return atomic_load(&work->finished);
}

void work_wake(struct work *work)
{
    (void)queue_push(work->wake, work); /* full: it will look anyway */
}

void work_stop(struct work *work)
{
    atomic_store(&work->stop_asked, true);
    work_wake(work);
}

void work_fence(struct work *work)
{
    atomic_store(&work->fenced, true);
    work_wake(work);
}
