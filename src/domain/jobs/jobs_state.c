/* The state table of jobs. A row per event: in which states it is legal. What it does to the job
 * is in one function per event below. */
#include "domain/jobs/jobs_state.h"

#include "base/json.h"

#define IN(state)   (1u << (state))
#define WORKING     (IN(JOB_CLAIMED) | IN(JOB_STARTING) | IN(JOB_RUNNING) | IN(JOB_STOPPING))
#define NOT_STARTED (IN(JOB_HELD) | IN(JOB_QUEUED) | IN(JOB_OFFERED))
#define ENDED       (IN(JOB_SUCCEEDED) | IN(JOB_FAILED) | IN(JOB_CANCELLED))

static const unsigned legal[JOB_EVENT_COUNT] = {
    [JOB_EVENT_SUBMITTED] = IN(JOB_HELD) | IN(JOB_QUEUED),
    [JOB_EVENT_RELEASED] = IN(JOB_HELD),
    [JOB_EVENT_OFFERED] = IN(JOB_QUEUED),
    [JOB_EVENT_WITHDRAWN] = IN(JOB_OFFERED),
    [JOB_EVENT_ACCEPTED] = IN(JOB_OFFERED),
    [JOB_EVENT_STARTING] = IN(JOB_CLAIMED),
    [JOB_EVENT_RUNNING] = IN(JOB_CLAIMED) | IN(JOB_STARTING),
    [JOB_EVENT_CANCEL] = NOT_STARTED | (WORKING & ~IN(JOB_STOPPING)),
    [JOB_EVENT_ENDED] = WORKING,
    [JOB_EVENT_LOST] = WORKING,
    [JOB_EVENT_FINAL] = ENDED,
};

bool job_event_is_legal(enum job_state state, enum job_event_kind kind)
{
    ENSURE(state < JOB_STATE_COUNT && kind < JOB_EVENT_COUNT);
    return (legal[kind] & IN(state)) != 0;
}

static void end_job(struct job *job, enum job_state state, const struct job_event *e)
{
    job->state = state;
    job->ended = e->at;
    job->exit_code = e->exit_code;
    job->exit_signal = e->exit_signal;
    job->oom = e->oom;
    job->reason = e->reason.data ? e->reason : STR("");
}

static void account(struct job *job, const struct job_event *e)
{
    job->run_time_ms += e->run_time_ms;
    job->gpu_ms += e->gpu_ms;
    if (__builtin_add_overflow(job->cost_micro, e->cost_micro, &job->cost_micro))
        job->cost_micro = INT64_MAX;
}

static void back_to_queue(struct job *job, const struct job_event *e)
{
    job->state = JOB_QUEUED;
    job->queued = job->queued == TIME_NONE ? e->at : job->queued; /* keeps its age */
    job->attempt = (attempt_id){0};
    memset(job->attempt_public_id.text, 0, ID_BYTES);
}

static void apply_lost(struct job *job, const struct job_event *e)
{
    account(job, e);
    if (job->cancel_asked)
        end_job(job, JOB_CANCELLED, e);
    else if (job->attempt_count > job->retries)
        end_job(job, JOB_FAILED, e);
    else
        back_to_queue(job, e);
}

static void apply_ended(struct job *job, const struct job_event *e)
{
    bool good = e->exit_code == 0 && e->exit_signal < 0 && !e->failed_to_start && !e->timed_out;

    account(job, e);
    if (job->cancel_asked)
        end_job(job, JOB_CANCELLED, e);
    else
        end_job(job, good ? JOB_SUCCEEDED : JOB_FAILED, e);
}

static void apply_cancel(struct job *job, const struct job_event *e)
{
    job->cancel_asked = true;
    if (IN(job->state) & WORKING)
        job->state = JOB_STOPPING;
    else
        end_job(job, JOB_CANCELLED, e);
}

enum err_code job_apply(struct job *job, const struct job_event *e, struct err *err)
{
    if (!job_event_is_legal(job->state, e->kind))
        return err_set(err, ERR_CONFLICT, "job %s is %s: %s cannot happen now", job->public_id.text,
                       job_state_name(job->state), job_event_kind_name(e->kind));
    switch (e->kind) {
    case JOB_EVENT_SUBMITTED: break;
    case JOB_EVENT_RELEASED:
        job->state = JOB_QUEUED;
        job->queued = e->at;
        break;
    case JOB_EVENT_OFFERED:
        job->state = JOB_OFFERED;
        job->attempt_count++;
        job->attempt_public_id = e->attempt;
        break;
    case JOB_EVENT_WITHDRAWN:
        job->attempt_count--; /* nothing started: it does not count against the retries */
        back_to_queue(job, e);
        break;
    case JOB_EVENT_ACCEPTED: job->state = JOB_CLAIMED; break;
    case JOB_EVENT_STARTING: job->state = JOB_STARTING; break;
    case JOB_EVENT_RUNNING:
        job->state = JOB_RUNNING;
        job->started = job->started == TIME_NONE ? e->at : job->started;
        break;
    case JOB_EVENT_CANCEL: apply_cancel(job, e); break;
    case JOB_EVENT_ENDED: apply_ended(job, e); break;
    case JOB_EVENT_LOST: apply_lost(job, e); break;
    case JOB_EVENT_FINAL: job->final = true; break;
    case JOB_EVENT_COUNT: break;
    }
    job->event_count++;
    return OK;
}

static enum attempt_state attempt_end(const struct job_event *e, bool cancel_asked)
{
    if (cancel_asked)
        return ATTEMPT_CANCELLED;
    return e->exit_code == 0 && e->exit_signal < 0 && !e->failed_to_start && !e->timed_out
               ? ATTEMPT_SUCCEEDED
               : ATTEMPT_FAILED;
}

static void attempt_close(struct attempt *a, enum attempt_state state, const struct job_event *e)
{
    a->state = state;
    a->ended = e->at;
    a->exit_code = e->exit_code;
    a->exit_signal = e->exit_signal;
    a->oom = e->oom;
    a->reason = e->reason.data ? e->reason : STR("");
    a->run_time_ms = e->run_time_ms;
    a->cost_micro = e->cost_micro;
}

void attempt_apply(struct attempt *a, const struct job_event *e, bool cancel_asked)
{
    switch (e->kind) {
    case JOB_EVENT_ACCEPTED: a->state = ATTEMPT_CLAIMED; break;
    case JOB_EVENT_STARTING: a->state = ATTEMPT_STARTING; break;
    case JOB_EVENT_RUNNING:
        a->state = ATTEMPT_RUNNING;
        a->started = e->at;
        break;
    case JOB_EVENT_CANCEL:
        if (a->state == ATTEMPT_OFFERED)
            attempt_close(a, ATTEMPT_CANCELLED, e);
        else if (!attempt_state_ended(a->state))
            a->state = ATTEMPT_STOPPING;
        a->final = a->final || attempt_state_ended(a->state);
        break;
    case JOB_EVENT_ENDED: attempt_close(a, attempt_end(e, cancel_asked), e); break;
    case JOB_EVENT_WITHDRAWN:
    case JOB_EVENT_LOST:
        attempt_close(a, ATTEMPT_LOST, e);
        a->final = true; /* what it still sends is kept aside, nothing waits for it */
        break;
    case JOB_EVENT_FINAL: a->final = true; break;
    case JOB_EVENT_SUBMITTED:
    case JOB_EVENT_RELEASED:
    case JOB_EVENT_OFFERED:
    case JOB_EVENT_COUNT: break;
    }
}

int64_t job_cost_micro(int64_t run_time_ms, int64_t price_hour_micro, int64_t price_gpu_hour_micro,
                       int64_t gpus)
{
    __int128 price = (__int128)price_hour_micro + (__int128)price_gpu_hour_micro * gpus;
    __int128 cost;

    if (__builtin_mul_overflow(price, (__int128)run_time_ms, &cost))
        return INT64_MAX;
    cost = cost / 3600000 + (cost % 3600000 >= 1800000);
    return cost > INT64_MAX ? INT64_MAX : (int64_t)cost;
}

enum run_state job_run_state(const struct job *job)
{
    switch (job->state) {
    case JOB_RUNNING: return RUN_RUNNING;
    case JOB_STOPPING: return job->started == TIME_NONE ? RUN_PENDING : RUN_RUNNING;
    case JOB_SUCCEEDED: return RUN_FINISHED;
    case JOB_FAILED: return job->exit_signal > 0 ? RUN_KILLED : RUN_FAILED;
    case JOB_CANCELLED: return RUN_KILLED;
    case JOB_HELD:
    case JOB_QUEUED:
    case JOB_OFFERED:
    case JOB_CLAIMED:
    case JOB_STARTING:
    case JOB_STATE_COUNT: break;
    }
    return RUN_PENDING;
}

static void put_if(struct json_writer *w, const char *key, int64_t value, int64_t none)
{
    if (value == none)
        return;
    json_put_key(w, key);
    json_put_i64(w, value);
}

struct str job_event_encode(const struct job_event *e, struct arena *arena)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, 8192);
    json_writer_init(&w, &out);
    json_begin_object(&w);
    if (e->kind == JOB_EVENT_ENDED || e->kind == JOB_EVENT_LOST) {
        put_if(&w, "exit_code", e->exit_code, EXIT_NONE);
        put_if(&w, "signal", e->exit_signal, EXIT_NONE);
        put_if(&w, "oom", e->oom, 0);
        put_if(&w, "failed_to_start", e->failed_to_start, 0);
        put_if(&w, "timed_out", e->timed_out, 0);
        put_if(&w, "run_time_ms", e->run_time_ms, 0);
        put_if(&w, "gpu_ms", e->gpu_ms, 0);
        put_if(&w, "cost_micro", e->cost_micro, 0);
    }
    if (e->reason.len) {
        json_put_key(&w, "reason");
        json_put_str(&w, e->reason);
    }
    json_end_object(&w);
    return arena_copy(arena, buf_str(&out));
}

enum err_code job_event_decode(struct str detail, struct arena *arena, struct job_event *event,
                               struct err *err)
{
    CLEANUP(json_release) json_t *json = NULL;
    struct json_reader r;
    int64_t exit_code = EXIT_NONE, exit_signal = EXIT_NONE, oom = 0, failed = 0, timed_out = 0;
    struct str reason = {0};

    TRY(json_parse(detail, 16384, &json, err));
    json_reader_init(&r, json, "", err);
    json_take_i64_opt(&r, "exit_code", 0, 255, &exit_code);
    json_take_i64_opt(&r, "signal", 0, 255, &exit_signal);
    json_take_i64_opt(&r, "oom", 0, 1, &oom);
    json_take_i64_opt(&r, "failed_to_start", 0, 1, &failed);
    json_take_i64_opt(&r, "timed_out", 0, 1, &timed_out);
    json_take_i64_opt(&r, "run_time_ms", 0, INT64_MAX, &event->run_time_ms);
    json_take_i64_opt(&r, "gpu_ms", 0, INT64_MAX, &event->gpu_ms);
    json_take_i64_opt(&r, "cost_micro", 0, INT64_MAX, &event->cost_micro);
    json_take_note_opt(&r, "reason", 4096, &reason);
    TRY(json_reader_end(&r));
    event->exit_code = (int)exit_code;
    event->exit_signal = (int)exit_signal;
    event->oom = oom != 0;
    event->failed_to_start = failed != 0;
    event->timed_out = timed_out != 0;
    event->reason = reason.data ? arena_copy(arena, reason) : STR("");
    return OK;
}
