/* Replaying the events of jobs. The base of a replay is the row without what events change; the
 * first event brings priority, queue, shape and targets back as they were submitted. */
#include "domain/jobs/jobs_replay.h"

#include "domain/jobs/jobs_state.h"

#define AT_ONCE 200 /* jobs, and events, read together */

static struct job as_submitted(const struct job *row)
{
    struct job job = *row;

    job.state = JOB_QUEUED;
    job.attempt_count = job.failures = job.withdrawals = 0;
    job.attempt = (attempt_id){0};
    memset(&job.attempt_public_id, 0, sizeof job.attempt_public_id);
    job.step_from = 0;
    job.ladder_at = job.not_before = TIME_NONE;
    job.queued = job.started = job.ended = TIME_NONE;
    job.run_time_ms = job.cost_micro = job.gpu_ms = 0;
    job.exit_code = job.exit_signal = EXIT_NONE;
    job.oom = job.cancel_asked = job.final = false;
    job.stop_for = job.ending = ENDING_NONE;
    job.reason = STR("");
    job.event_count = 0;
    return job;
}

static enum err_code replay_one(struct job *job, const struct job_event_row *row,
                                struct arena *arena, struct err *err)
{
    struct job_event event = {
        .kind = row->kind, .at = row->at, .attempt = row->attempt, .actor = row->actor};

    if (row->seq != job->event_count + 1 || row->kind == JOB_EVENT_COUNT)
        return err_set(err, ERR_IO, "event %lld is not the one after %lld", (long long)row->seq,
                       (long long)job->event_count);
    if (row->kind == JOB_EVENT_SUBMITTED)
        job->state = row->state; /* held, or in its queue */
    TRY(job_event_decode(row->detail, arena, &event, err));
    if (event.targets.len)
        event.spec = job_event_spec(&event, job->spec, arena);
    TRY(job_apply(job, &event, err));
    if (job->state == row->state)
        return OK;
    return err_set(err, ERR_IO, "event %lld made it %s, not %s", (long long)row->seq,
                   job_state_name(row->state), job_state_name(job->state));
}

enum err_code jobs_replay(struct store *store, const struct job *row, struct arena *arena,
                          struct job *ret_job, struct err *err)
{
    struct job job = as_submitted(row);
    struct job_event_row *events;
    size_t count;

    do {
        TRY(store_job_event_list(store, row->id, job.event_count, AT_ONCE, arena, &events, &count,
                                 err));
        for (size_t i = 0; i < count; i++)
            TRY(replay_one(&job, &events[i], arena, err));
    } while (count == AT_ONCE);
    *ret_job = job;
    return OK;
}

/* The first member that is another, NULL when they are the same. */
static const char *difference(const struct job *a, const struct job *b)
{
    const struct {
        const char *name;
        int64_t a, b;
    } numbers[] = {
#define NUMBER(member) {#member, (int64_t)a->member, (int64_t)b->member}
        NUMBER(state),       NUMBER(queue.v),     NUMBER(priority),     NUMBER(attempt_count),
        NUMBER(failures),    NUMBER(withdrawals), NUMBER(step_from),    NUMBER(ladder_at),
        NUMBER(not_before),  NUMBER(queued),      NUMBER(started),      NUMBER(ended),
        NUMBER(run_time_ms), NUMBER(cost_micro),  NUMBER(gpu_ms),       NUMBER(exit_code),
        NUMBER(exit_signal), NUMBER(oom),         NUMBER(cancel_asked), NUMBER(final),
        NUMBER(stop_for),    NUMBER(ending),      NUMBER(event_count),
#undef NUMBER
    };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (numbers[i].a != numbers[i].b)
            return numbers[i].name;
    return !str_eq(a->queue_name, b->queue_name)                          ? "queue"
           : !str_eq(a->shape, b->shape)                                  ? "shape"
           : !str_eq(a->spec, b->spec)                                    ? "spec"
           : !str_eq(a->reason, b->reason)                                ? "reason"
           : strcmp(a->attempt_public_id.text, b->attempt_public_id.text) ? "attempt"
                                                                          : NULL;
}

static void check(struct store *store, const struct job *row, const struct jobs_replay_sink *sink)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct job replayed;
    char text[400];
    struct err err;
    const char *what;

    if (jobs_replay(store, row, &arena, &replayed, &err) != OK) {
        snprintf(text, sizeof text, "job %s: its events do not replay: %.200s", row->public_id.text,
                 err.text);
    } else {
        what = difference(row, &replayed);
        if (!what)
            return;
        snprintf(text, sizeof text, "job %s: its events give another %s than its row has",
                 row->public_id.text, what);
    }
    sink->differs(sink->ctx, text);
}

enum err_code jobs_replay_all(struct store *store, const struct jobs_replay_sink *sink,
                              int64_t *ret_count, struct err *err)
{
    struct job_filter filter = {.state = JOB_STATE_COUNT, .everything = true, .limit = AT_ONCE};
    size_t count;

    *ret_count = 0;
    do {
        CLEANUP(arena_release) struct arena arena = {0};
        struct job *jobs;
        TRY(store_job_list(store, &filter, &arena, &jobs, &count, err));
        for (size_t i = 0; i < count; i++)
            check(store, &jobs[i], sink);
        *ret_count += (int64_t)count;
        if (count)
            filter.before_id = jobs[count - 1].id.v;
    } while (count == AT_ONCE);
    return OK;
}
