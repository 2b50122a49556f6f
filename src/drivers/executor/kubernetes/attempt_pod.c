/* The thread of an attempt. A round looks at what is seen of the attempt, judges it, does what is
 * due, and reads the log while the pod runs; while the log is read the rounds go on from its ticks.
 * The end is told once the log is whole: then exit.json says it for good. */
#include "drivers/executor/kubernetes/attempt_pod.h"

#include "base/log.h"
#include "base/mem.h"
#include "drivers/common/end_reason.h"
#include "drivers/executor/kubernetes/pod_calls.h"
#include "drivers/executor/kubernetes/pod_judge.h"
#include "drivers/executor/kubernetes/pod_logs.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/thread.h"

#include <stdatomic.h>
#include <stdio.h>

#define ROUND_MS          1000
#define REFUSED_MS_MAX    600000 /* so long a refusal of our rights may be repaired */
#define FOREIGN_BYTES_MAX 1024
#define COMMIT_MS         250
#define KILL_GRACE_S      1 /* not 0: the pod would be forgotten before its node has ended it */
#define REPEAT_MS         5000
#define LOG_MS_MAX        300000 /* for the rest of a log, after the end */
#define LOG_LOST_MS_MAX   5000   /* when its node is lost */
#define LOG_SILENT_MS_MAX 15000  /* after the end; then it is asked for again */
#define UNSEEN_MS         2000
#define NO_LOG_MS         10000 /* a node that has no log may be too busy to find it */
#define DRAIN_MS          500
#define NO_POD_MS         3000
#define NO_POD_REPEAT_MS  15000

struct attempt_pod {
    struct attempt_pod_options options;
    char folder[POD_FOLDER_BYTES];
    struct pod_record record;
    struct pod_objects objects;
    struct pod_calls calls;
    struct kube_api *stream_api;
    struct pod_log log;
    struct thread *thread;
    struct queue *wake;
    _Atomic bool closing;
    struct lock *lock; /* of `shown` */
    struct executor_look shown;
    /* Of the thread. */
    struct pod_facts facts;
    struct pod_verdict verdict;
    bool done;
    char in_the_way[EXECUTOR_REASON_BYTES]; /* for people; "" */
    int64_t ended_ms;                       /* when the end was judged first; 0: not yet */
    int64_t asked_ms, asked_grace_s;        /* the last time its pod was told to end */
    int64_t committed_ms, retry_ms, retry_at_ms;
    int64_t no_pod_since_ms, no_pod_asked_ms, unseen_ms, pod_sought_ms, no_log_since_ms;
    bool never_seen;               /* its Job is not there */
    bool podless;                  /* its Job is over, and has no pod */
    int64_t committed_bytes;       /* of the console */
    char log_whole[KUBE_ID_BYTES]; /* UID of the pod whose log was read to its end */
    enum err_code log_code;
    struct err log_err;
    bool log_cut;      /* by us, before its end */
    bool log_troubled; /* it was said that it cannot be kept */
    int64_t log_heard_ms;
};

static bool keep_going(void *ctx)
{
    return !atomic_load(&((struct attempt_pod *)ctx)->closing);
}

const struct id *attempt_pod_id(const struct attempt_pod *pod)
{
    return &pod->options.attempt;
}

void attempt_pod_look(struct attempt_pod *pod, struct executor_look *ret_look)
{
    lock_enter(pod->lock);
    *ret_look = pod->shown;
    lock_leave(pod->lock);
}

void attempt_pod_wake(struct attempt_pod *pod)
{
    (void)queue_push(pod->wake, pod); /* full: it will look anyway */
}

static void publish(struct attempt_pod *pod, const struct executor_look *look)
{
    lock_enter(pod->lock);
    pod->shown = *look;
    lock_leave(pod->lock);
}

static void show_start(struct attempt_pod *pod, const char *progress)
{
    struct executor_look look = {.phase = EXECUTOR_STARTING,
                                 .started_at = TIME_NONE,
                                 .ended_at = TIME_NONE,
                                 .run_time_ms = -1,
                                 .exit_code = -1};

    (void)snprintf(look.progress, sizeof(look.progress), "%.*s", EXECUTOR_REASON_BYTES - 1,
                   progress);
    publish(pod, &look);
}

/* A program for another machine type is started by some runtimes, which fail at its first
 * instruction and leave this line alone as the whole of its text. */
static void see_foreign_program(const struct attempt_pod *pod, struct executor_look *look)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[POD_FOLDER_BYTES + 16];
    struct str line;

    (void)snprintf(path, sizeof(path), "%s/console", pod->folder);
    if ((look->exit_code != 1 && look->exit_code != 255) ||
        file_read(path, FOREIGN_BYTES_MAX, &text, NULL) != OK)
        return;
    line = str_trim(buf_str(&text));
    if (!str_starts(line, STR("exec ")) || !str_ends(line, STR(": exec format error")) ||
        memchr(line.data, '\n', line.len))
        return;
    look->failed_to_start = look->image_failed = true;
    look->exit_code = -1;
    (void)snprintf(look->reason, sizeof(look->reason), "the container cannot start: %.*s",
                   (int)MIN(line.len, (size_t)200), line.data);
}

/* How it ended goes to the disk, then out. */
static void finish(struct attempt_pod *pod, struct executor_look *look)
{
    struct err err = {0};

    if (pod->log.fd >= 0 && pod_log_finish(&pod->log, &err) != OK)
        return; /* tried again in the next round: the disk may have room then */
    see_foreign_program(pod, look);
    look->phase = EXECUTOR_ENDED;
    look->console_bytes = pod_log_bytes(&pod->log);
    look->progress[0] = '\0';
    end_reason_write(look, pod->record.timeout_s);
    if (pod_exit_write(pod->folder, look, &err) != OK)
        return;
    publish(pod, look);
    pod->done = true;
}

static void note(struct attempt_pod *pod, const char *text)
{
    (void)snprintf(pod->in_the_way, sizeof(pod->in_the_way), "%.*s", EXECUTOR_REASON_BYTES - 1,
                   text);
}

/* ---- Creation */

static void fail_start(struct attempt_pod *pod, const char *reason, bool stopped)
{
    struct executor_look look = {.started_at = TIME_NONE,
                                 .ended_at = clock_wall_ms(),
                                 .exit_code = -1,
                                 .failed_to_start = true,
                                 .was_stopped = stopped};
    struct err err = {0};

    (void)snprintf(look.reason, sizeof(look.reason), "%.*s", EXECUTOR_REASON_BYTES - 1, reason);
    if (pod_calls_delete_job(&pod->calls, &err) != OK)
        note(pod, err.text); /* found by its label later: kubernetes_executor.c */
    finish(pod, &look);
}

static bool is_asked_to_end(const struct attempt_pod *pod)
{
    return pod_mark_is_set(pod->folder, "stop") || pod_mark_is_set(pod->folder, "kill");
}

static enum err_code release(struct attempt_pod *pod, struct err *err)
{
    TRY(pod_calls_create(&pod->calls, &pod->objects, err));
    pod->record.released = true;
    TRY(pod_record_write(pod->folder, &pod->record, err));
    pod_objects_release(&pod->objects);
    return OK;
}

static void create(struct attempt_pod *pod)
{
    int64_t backoff_ms = 0, refused_at = 0;

    while (keep_going(pod) && !pod->record.released && !pod->done) {
        struct err err = {0};
        enum err_code code;

        if (is_asked_to_end(pod)) {
            fail_start(pod, "it was stopped before it began", true);
            return;
        }
        code = release(pod, &err);
        if (code == OK)
            return;
        pod->record.released = false;
        show_start(pod, err.text);
        if (code == ERR_FORBIDDEN || code == ERR_UNAUTHENTICATED) {
            refused_at = refused_at ? refused_at : clock_mono_ms();
            if (clock_mono_ms() - refused_at > REFUSED_MS_MAX)
                code = ERR_UNPROCESSABLE;
        }
        if (!kube_is_worth_waiting(code) && code != ERR_IO && code != ERR_DISK_FULL &&
            code != ERR_NOT_FOUND) {
            fail_start(pod, err.text, false);
            return;
        }
        backoff_ms = kube_backoff_ms(pod->calls.api, backoff_ms);
        (void)queue_pop(pod->wake, backoff_ms);
    }
}

/* ---- A round: look, judge, act */

/* A Job that was never seen: it is new and the watch comes later, or it was deleted while nobody
 * watched. */
static bool is_really_gone(struct attempt_pod *pod)
{
    int64_t now = clock_mono_ms();
    struct err err = {0};

    pod->unseen_ms = pod->unseen_ms ? pod->unseen_ms : now;
    if (!pod->never_seen && now - pod->unseen_ms > UNSEEN_MS) {
        pod->never_seen = pod_calls_find_job(&pod->calls, &err) == ERR_NOT_FOUND;
        pod->unseen_ms = now;
    }
    return pod->never_seen;
}

/* Of a Job that is over: a pod that was never seen, as the Jobs' watch is ahead of the pods'. */
static bool has_unseen_pod(struct attempt_pod *pod, const struct view_seen *seen)
{
    const struct kube_job *job = &seen->job;
    int64_t now = clock_mono_ms();
    struct err err = {0};

    if (seen->pod.uid[0] || !(job->complete || job->failed || job->gone))
        return false;
    if (!pod->podless && (!pod->pod_sought_ms || now - pod->pod_sought_ms > UNSEEN_MS)) {
        pod->podless = pod_calls_find_pod(&pod->calls, &err) == ERR_NOT_FOUND;
        pod->pod_sought_ms = now;
    }
    return !pod->podless;
}

static void gather(struct attempt_pod *pod)
{
    struct view_seen seen;

    cluster_view_get(pod->options.env->view, &pod->options.attempt, &seen);
    if (!seen.job.uid[0])
        seen.job.gone = is_really_gone(pod);
    pod->facts = (struct pod_facts){.job = seen.job,
                                    .pod = seen.pod,
                                    .stop_asked = pod_mark_is_set(pod->folder, "stop"),
                                    .kill_asked = pod_mark_is_set(pod->folder, "kill"),
                                    .timed_out = pod_mark_is_set(pod->folder, "timed_out"),
                                    .pod_unseen = has_unseen_pod(pod, &seen),
                                    .now = clock_wall_ms()};
    pod_judge(&pod->facts, &pod->verdict);
}

static void keep_time_limit(struct attempt_pod *pod)
{
    const struct kube_container *main = &pod->facts.pod.main;
    struct err err = {0};

    if (pod->record.timeout_s <= 0 || pod->facts.timed_out || main->state != CONTAINER_RUNNING ||
        main->started == TIME_NONE || pod->facts.now - main->started < pod->record.timeout_s * 1000)
        return;
    if (pod_mark_set(pod->folder, "timed_out", &err) == OK)
        pod->facts.timed_out = true;
}

/* How long the pod may still take, and whether it must be told so (again). */
static bool must_tell(const struct attempt_pod *pod, int64_t *ret_grace_s)
{
    if (pod->verdict.never || pod->facts.kill_asked)
        *ret_grace_s = KILL_GRACE_S;
    else if (pod->facts.stop_asked || pod->facts.timed_out || pod->verdict.orphan)
        *ret_grace_s = MAX(pod->record.grace_s, KILL_GRACE_S);
    else
        return false;
    if (!pod->asked_ms || *ret_grace_s < pod->asked_grace_s)
        return true;
    return clock_mono_ms() - pod->asked_ms > REPEAT_MS && !pod->facts.pod.deleting;
}

/* Tells the pod to end where that is due. A Job without a pod is deleted. */
static void end_what_must_end(struct attempt_pod *pod)
{
    const struct kube_pod *seen = &pod->facts.pod;
    int64_t grace_s = 0, now = clock_mono_ms();
    struct err err = {0};
    enum err_code code;

    if (now < pod->retry_at_ms || !must_tell(pod, &grace_s))
        return;
    if (seen->uid[0] && !seen->gone)
        code = pod_calls_end_pod(&pod->calls, seen->name, grace_s, &err);
    else
        code = pod_calls_delete_job(&pod->calls, &err);
    if (code == OK) {
        pod->asked_ms = now;
        pod->asked_grace_s = grace_s;
        pod->retry_ms = 0;
        return;
    }
    pod->retry_ms = kube_backoff_ms(pod->calls.api, pod->retry_ms);
    pod->retry_at_ms = now + pod->retry_ms;
    note(pod, err.text);
}

/* A Job that gets no pod: its events say why, such as a quota that is used up. */
static void ask_why_no_pod(struct attempt_pod *pod)
{
    int64_t now = clock_mono_ms();
    char text[KUBE_TEXT_BYTES];
    struct err err = {0};

    if (pod->facts.pod.uid[0] || pod->facts.job.suspended || pod->facts.job.gone) {
        pod->no_pod_since_ms = 0;
        pod->in_the_way[0] = '\0';
        return;
    }
    pod->no_pod_since_ms = pod->no_pod_since_ms ? pod->no_pod_since_ms : now;
    if (now - pod->no_pod_since_ms < NO_POD_MS || now - pod->no_pod_asked_ms < NO_POD_REPEAT_MS)
        return;
    pod->no_pod_asked_ms = now;
    if (pod_calls_why_no_pod(&pod->calls, text, &err) == OK && text[0])
        note(pod, text);
}

/* What others see: an end only when all of it is here. */
static void show(struct attempt_pod *pod)
{
    struct executor_look look = pod->verdict.look;

    if (look.phase == EXECUTOR_ENDED) {
        look.phase = look.started_at == TIME_NONE ? EXECUTOR_STARTING : EXECUTOR_RUNNING;
        look.ended_at = TIME_NONE;
    }
    if (look.phase == EXECUTOR_STARTING && pod->in_the_way[0])
        (void)snprintf(look.progress, sizeof(look.progress), "%s", pod->in_the_way);
    look.console_bytes = pod->committed_bytes;
    publish(pod, &look);
}

static void round_of(struct attempt_pod *pod)
{
    gather(pod);
    keep_time_limit(pod);
    end_what_must_end(pod);
    ask_why_no_pod(pod);
    if (pod->verdict.look.phase == EXECUTOR_ENDED && !pod->ended_ms)
        pod->ended_ms = clock_mono_ms();
    else if (pod->verdict.look.phase != EXECUTOR_ENDED)
        pod->ended_ms = 0;
    show(pod);
}

/* ---- The log */

static bool commit_log(struct attempt_pod *pod, bool now)
{
    if (!pod->log.dirty || (!now && clock_mono_ms() - pod->committed_ms < COMMIT_MS))
        return true;
    pod->committed_ms = clock_mono_ms();
    pod->log_code = pod_log_commit(&pod->log, &pod->log_err);
    if (pod->log_code != OK)
        return false;
    pod->committed_bytes = pod_log_bytes(&pod->log);
    return true;
}

static bool on_log(void *ctx, struct str data)
{
    struct attempt_pod *pod = ctx;

    pod->log_heard_ms = clock_mono_ms();
    pod->log_code = pod_log_take(&pod->log, data, &pod->log_err);
    return pod->log_code == OK && commit_log(pod, false);
}

/* Whether this stream is left: of a pod that is not ours any more, or silent without an end. The
 * log of a lost node is that at once; others follow a log beyond the end of its container. */
static bool must_cut(const struct attempt_pod *pod)
{
    const struct kube_pod *seen = &pod->facts.pod;
    bool silent = clock_mono_ms() - pod->log_heard_ms > LOG_SILENT_MS_MAX;

    return strcmp(seen->uid, pod->log.pod) != 0 ||
           (pod->ended_ms && seen->main.state == CONTAINER_RUNNING) ||
           (silent && (seen->main.state == CONTAINER_ENDED || seen->gone));
}

static bool on_log_tick(void *ctx)
{
    struct attempt_pod *pod = ctx;

    if (!commit_log(pod, false))
        return false;
    round_of(pod);
    pod->log_cut = must_cut(pod);
    return !pod->log_cut;
}

static void log_path(const struct attempt_pod *pod, char ret_path[KUBE_PATH_BYTES])
{
    char since[2 * POD_LOG_TIME_BYTES] = "";
    size_t len = 0;

    for (const char *c = pod->log.since; *c && len + 4 < sizeof(since); c++)
        len += (size_t)snprintf(since + len, sizeof(since) - len, *c == '+' ? "%%2B" : "%c", *c);
    (void)snprintf(
        ret_path, KUBE_PATH_BYTES,
        "/api/v1/namespaces/%s/pods/%s/log?container=main&follow=true&timestamps=true%s%s",
        pod->calls.space, pod->facts.pod.name, since[0] ? "&sinceTime=" : "", since);
}

/* After something that could not be written the place on the disk is the one that counts. */
static void reopen_log(struct attempt_pod *pod)
{
    struct err err = {0};

    if (!pod->log_troubled)
        log_warn("attempt.console", "attempt", pod->options.attempt.text, "error",
                 pod->log_err.text);
    pod->log_troubled = true;
    pod_log_close(&pod->log);
    if (pod_log_open(&pod->log, pod->folder, pod->record.console_bytes_max, &err) != OK)
        note(pod, err.text); /* tried again in the next round */
}

static bool has_log(const struct attempt_pod *pod)
{
    const struct kube_pod *seen = &pod->facts.pod;

    return seen->uid[0] && seen->main.started != TIME_NONE && pod->log.fd >= 0 &&
           strcmp(pod->log_whole, seen->uid) != 0;
}

/* What the outcome of a stream says about the whole log: a stream that was opened after the
 * container's end has come to its end without anything new, as a runtime may still write the last
 * text when its container has ended already; or there is no log any more, said again and again. */
static bool is_whole(struct attempt_pod *pod, enum err_code code, bool ended, bool is_new)
{
    int64_t now = clock_mono_ms();

    if (code != ERR_NOT_FOUND) {
        pod->no_log_since_ms = 0;
        return code == OK && ended && !is_new;
    }
    pod->no_log_since_ms = pod->no_log_since_ms ? pod->no_log_since_ms : now;
    return pod->facts.pod.gone || (ended && now - pod->no_log_since_ms > NO_LOG_MS);
}

/* Reads the log as far as it goes now. */
static void follow_log(struct attempt_pod *pod)
{
    char path[KUBE_PATH_BYTES], uid[KUBE_ID_BYTES];
    struct kube_stream stream = {
        .path = path, .on_data = on_log, .on_tick = on_log_tick, .ctx = pod};
    bool ended = pod->facts.pod.main.state == CONTAINER_ENDED || pod->facts.pod.gone;
    int64_t before = pod->log.written + pod->log.left_out;
    bool is_new;
    struct err err = {0};
    enum err_code code;

    (void)snprintf(uid, sizeof(uid), "%s", pod->facts.pod.uid);
    pod->log_code = OK;
    pod->log_cut = false;
    pod->log_heard_ms = clock_mono_ms();
    pod_log_begin(&pod->log, uid);
    log_path(pod, path);
    code = kube_api_stream(pod->stream_api, &stream, &err);
    if (pod->log_cut)
        code = ERR_TIMEOUT;
    if (pod->log_code != OK)
        code = pod->log_code == ERR_NOT_FOUND ? ERR_NOT_FOUND : ERR_IO;
    else if (!commit_log(pod, true))
        code = ERR_IO;
    if (code == ERR_IO)
        reopen_log(pod);
    else
        pod->log_troubled = false;
    is_new = pod->log.written + pod->log.left_out != before;
    if (is_whole(pod, code, ended, is_new))
        (void)snprintf(pod->log_whole, sizeof(pod->log_whole), "%s", uid);
    else if (code != OK && code != ERR_TIMEOUT)
        (void)queue_pop(pod->wake, ROUND_MS);
    else if (ended && is_new)
        (void)queue_pop(pod->wake, DRAIN_MS);
}

/* The log cannot be had any more, or not within reason. */
static bool log_is_given_up(const struct attempt_pod *pod)
{
    bool lost = pod->facts.pod.main.state != CONTAINER_ENDED;

    return clock_mono_ms() - pod->ended_ms > (lost ? LOG_LOST_MS_MAX : LOG_MS_MAX);
}

/* ---- The thread */

static void watch_over(struct attempt_pod *pod)
{
    struct err err = {0};

    if (pod->log.fd < 0) {
        if (pod_log_open(&pod->log, pod->folder, pod->record.console_bytes_max, &err) != OK)
            note(pod, err.text);
        pod->committed_bytes = pod_log_bytes(&pod->log);
    }
    if (!cluster_view_is_whole(pod->options.env->view)) {
        (void)queue_pop(pod->wake, ROUND_MS);
        return;
    }
    round_of(pod);
    if (has_log(pod)) {
        follow_log(pod);
        if (!keep_going(pod))
            return;
        round_of(pod);
    }
    if (pod->ended_ms && pod->verdict.never && !pod->asked_ms) {
        (void)queue_pop(pod->wake, ROUND_MS); /* its pod could not be told yet */
        return;
    }
    if (pod->ended_ms && (!has_log(pod) || log_is_given_up(pod)))
        finish(pod, &pod->verdict.look);
    if (!pod->done && !has_log(pod))
        (void)queue_pop(pod->wake, ROUND_MS);
}

static void run(void *ctx)
{
    struct attempt_pod *pod = ctx;

    create(pod);
    while (keep_going(pod) && !pod->done)
        watch_over(pod);
}

static void release_parts(struct attempt_pod *pod)
{
    thread_join(&pod->thread);
    pod_log_close(&pod->log);
    kube_api_free(pod->calls.api);
    kube_api_free(pod->stream_api);
    pod_objects_release(&pod->objects);
    queue_free(pod->wake);
    lock_free(pod->lock);
    mem_free(pod);
}

enum err_code attempt_pod_start(struct attempt_pod **ret_pod,
                                const struct attempt_pod_options *options, struct err *err)
{
    struct attempt_pod *pod = MEM_NEW(struct attempt_pod);
    enum err_code code;

    pod->options = *options;
    (void)snprintf(pod->folder, sizeof(pod->folder), "%s", options->folder);
    pod->record = options->record;
    if (options->objects) {
        pod->objects = *options->objects;
        *options->objects = (struct pod_objects){0};
    }
    pod->log.fd = -1;
    pod->wake = queue_new(4);
    pod->lock = lock_new();
    pod->stream_api = kube_api_new(options->env->config, keep_going, pod);
    pod->calls = (struct pod_calls){.api = kube_api_new(options->env->config, keep_going, pod),
                                    .space = options->env->config->space,
                                    .attempt = options->attempt};
    show_start(pod, "");
    code = thread_start(&pod->thread, "kube-attempt", run, pod, err);
    if (code != OK) {
        release_parts(pod);
        return code;
    }
    *ret_pod = pod;
    return OK;
}

void attempt_pod_free(struct attempt_pod *pod)
{
    if (!pod)
        return;
    atomic_store(&pod->closing, true);
    attempt_pod_wake(pod);
    release_parts(pod);
}
