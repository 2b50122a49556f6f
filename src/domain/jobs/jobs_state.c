/* The state table of jobs. A row per event: in which states it is legal. What it does to the job
 * is in one function per event below. */
#include "domain/jobs/jobs_state.h"

#include "base/json.h"

#define IN(state)   (1u << (state))
#define WORKING     (IN(JOB_CLAIMED) | IN(JOB_STARTING) | IN(JOB_RUNNING) | IN(JOB_STOPPING))
#define NOT_STARTED (IN(JOB_HELD) | IN(JOB_QUEUED) | IN(JOB_OFFERED))
#define ENDED       (IN(JOB_SUCCEEDED) | IN(JOB_FAILED) | IN(JOB_CANCELLED))

#define BACKOFF_MS_MIN 10000
#define BACKOFF_MS_MAX 600000
#define WELL_MS        BACKOFF_MS_MAX /* a service that ran so long starts again after 10 s */

#define SPEC_BYTES_MAX   (16u * 1024 * 1024)
#define DETAIL_BYTES_MAX (128 * 1024) /* a shape has 64 KiB at most */

static const unsigned legal[JOB_EVENT_COUNT] = {
    [JOB_EVENT_SUBMITTED] = IN(JOB_HELD) | IN(JOB_QUEUED),
    [JOB_EVENT_RELEASED] = IN(JOB_HELD),
    [JOB_EVENT_HELD] = IN(JOB_QUEUED),
    [JOB_EVENT_CHANGED] = NOT_STARTED | WORKING,
    [JOB_EVENT_OFFERED] = IN(JOB_QUEUED),
    [JOB_EVENT_WITHDRAWN] = IN(JOB_OFFERED),
    [JOB_EVENT_ACCEPTED] = IN(JOB_OFFERED),
    [JOB_EVENT_STARTING] = IN(JOB_CLAIMED),
    [JOB_EVENT_RUNNING] = IN(JOB_CLAIMED) | IN(JOB_STARTING),
    [JOB_EVENT_CANCEL] = NOT_STARTED | WORKING,
    [JOB_EVENT_EVICT] = IN(JOB_OFFERED) | (WORKING & ~IN(JOB_STOPPING)),
    [JOB_EVENT_RANK] = IN(JOB_OFFERED) | WORKING,
    [JOB_EVENT_HEALTH] = IN(JOB_RUNNING) | IN(JOB_STOPPING),
    [JOB_EVENT_ENDED] = WORKING,
    [JOB_EVENT_LOST] = WORKING,
    [JOB_EVENT_FINAL] = ENDED | IN(JOB_QUEUED) | IN(JOB_HELD),
};

bool job_event_is_legal(enum job_state state, enum job_event_kind kind)
{
    ENSURE(state < JOB_STATE_COUNT && kind < JOB_EVENT_COUNT);
    return (legal[kind] & IN(state)) != 0;
}

bool ending_is_eviction(enum ending ending)
{
    return ending == ENDING_RECLAIMED || ending == ENDING_OUTRANKED || ending == ENDING_SPOT ||
           ending == ENDING_MAINTENANCE || ending == ENDING_AGENT_STOPPED;
}

static bool end_is_good(const struct job_event *e)
{
    return e->exit_code == 0 && e->exit_signal <= 0 && !e->failed_to_start && !e->timed_out &&
           !e->unhealthy;
}

enum ending job_event_ending(const struct job_event *e)
{
    if (e->ending != ENDING_NONE)
        return e->ending;
    if (e->failed_to_start)
        return ENDING_START;
    if (e->timed_out)
        return ENDING_TIMEOUT;
    if (e->unhealthy)
        return ENDING_HEALTH;
    if (end_is_good(e))
        return ENDING_DONE;
    if (e->oom)
        return ENDING_OOM;
    return e->exit_signal > 0 ? ENDING_SIGNAL : ENDING_EXIT;
}

/* 10 s after the first time, doubled with each further one. */
static int64_t backoff_ms(int64_t times)
{
    return times > 6 ? BACKOFF_MS_MAX : MIN(BACKOFF_MS_MIN << (times - 1), BACKOFF_MS_MAX);
}

static void end_job(struct job *job, enum job_state state, enum ending ending,
                    const struct job_event *e)
{
    job->state = state;
    job->ending = ending;
    job->stop_for = ENDING_NONE;
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

static void forget_attempt(struct job *job)
{
    job->attempt = (attempt_id){0};
    memset(job->attempt_public_id.text, 0, ID_BYTES);
}

/* An attempt that ran for long ends a row of short ones. */
static void forget_failures(struct job *job, const struct job_event *e)
{
    if (job->kind == JOB_SERVICE && e->run_time_ms >= WELL_MS)
        job->failures = 0;
}

/* It keeps its age; and its attempt until its record is complete, before it gets another one. */
static void back_to_queue(struct job *job, const struct job_event *e)
{
    job->state = JOB_QUEUED;
    job->queued = job->queued == TIME_NONE ? e->at : job->queued;
    job->stop_for = ENDING_NONE;
    if (e->kind != JOB_EVENT_ENDED)
        forget_attempt(job);
}

static void apply_final(struct job *job)
{
    if (IN(job->state) & ENDED)
        job->final = true;
    else
        forget_attempt(job);
}

/* Nothing started: it does not count against the retries. An offer that fails again and again is
 * made more and more rarely; without a secret that it names it can never start. */
static void apply_withdrawn(struct job *job, const struct job_event *e)
{
    if (e->ending == ENDING_SECRET) {
        end_job(job, JOB_FAILED, ENDING_SECRET, e);
        return;
    }
    job->withdrawals++;
    job->not_before = job->withdrawals < 2 ? TIME_NONE : e->at + backoff_ms(job->withdrawals - 1);
    back_to_queue(job, e);
}

static void apply_lost(struct job *job, const struct job_event *e)
{
    enum ending ending = e->ending ? e->ending : ENDING_NODE_LOST;

    account(job, e);
    forget_failures(job, e);
    if (job->cancel_asked) {
        end_job(job, JOB_CANCELLED, ENDING_CANCELLED, e);
        return;
    }
    if (!ending_is_eviction(ending))
        job->failures++;
    if (job->failures > job->retries && job->kind == JOB_BATCH) {
        end_job(job, JOB_FAILED, ending, e);
        return;
    }
    if (e->next_step > job->step_from) {
        job->step_from = e->next_step;
        job->ladder_at = e->at;
    }
    back_to_queue(job, e);
}

static void apply_ended(struct job *job, const struct job_event *e)
{
    enum ending ending = job_event_ending(e);
    /* A GPU that failed is the machine's fault, as a lost machine is. */
    bool may = job->retry_failed || ending == ENDING_GPU;
    bool again = ending != ENDING_DONE && may && job->failures < job->retries;

    account(job, e);
    forget_failures(job, e);
    if (job->cancel_asked) {
        end_job(job, JOB_CANCELLED, ENDING_CANCELLED, e);
    } else if (ending_is_eviction(job->stop_for) && e->stopped) {
        back_to_queue(job, e);
    } else if (job->kind == JOB_SERVICE || again) {
        job->failures++;
        job->not_before = e->at + backoff_ms(job->failures);
        back_to_queue(job, e);
    } else {
        end_job(job, ending == ENDING_DONE ? JOB_SUCCEEDED : JOB_FAILED, ending, e);
    }
}

static void apply_cancel(struct job *job, const struct job_event *e)
{
    enum ending ending = e->ending ? e->ending : ENDING_CANCELLED;

    job->cancel_asked = true;
    job->stop_for = ending;
    if (IN(job->state) & WORKING)
        job->state = JOB_STOPPING;
    else
        end_job(job, JOB_CANCELLED, ending, e);
}

static void apply_evict(struct job *job, const struct job_event *e)
{
    ENSURE(ending_is_eviction(e->ending));
    if (job->state == JOB_OFFERED) {
        back_to_queue(job, e);
        return;
    }
    job->state = JOB_STOPPING;
    job->stop_for = e->ending;
}

/* The first bad end of a rank ends the others. */
static void apply_rank(struct job *job, const struct job_event *e)
{
    if (job->state == JOB_OFFERED || !attempt_state_ended(e->rank_state) ||
        e->rank_state == ATTEMPT_SUCCEEDED)
        return;
    job->state = JOB_STOPPING;
    if (job->stop_for == ENDING_NONE)
        job->stop_for = ENDING_GANG;
}

/* A new list of targets begins anew. */
static void apply_place(struct job *job, const struct job_event *e)
{
    if (e->priority != JOB_PRIORITY_SAME)
        job->priority = e->priority;
    if (e->queue.v) {
        job->queue = e->queue;
        job->queue_name = e->queue_name;
    }
    if (e->shape.len)
        job->shape = e->shape;
    if (!e->targets.len)
        return;
    ENSURE(e->spec.len);
    job->spec = e->spec;
    job->step_from = 0;
    job->ladder_at = e->kind == JOB_EVENT_CHANGED ? e->at : TIME_NONE;
}

static void apply_submitted(struct job *job, const struct job_event *e)
{
    apply_place(job, e);
    job->queued = job->state == JOB_QUEUED ? e->at : TIME_NONE;
}

static void apply_running(struct job *job, const struct job_event *e)
{
    job->state = JOB_RUNNING;
    job->started = job->started == TIME_NONE ? e->at : job->started;
    job->withdrawals = 0;
}

enum err_code job_apply(struct job *job, const struct job_event *e, struct err *err)
{
    if (!job_event_is_legal(job->state, e->kind))
        return err_set(err, ERR_CONFLICT, "job %s is %s: %s cannot happen now", job->public_id.text,
                       job_state_name(job->state), job_event_kind_name(e->kind));
    switch (e->kind) {
    case JOB_EVENT_SUBMITTED: apply_submitted(job, e); break;
    case JOB_EVENT_RELEASED:
        job->state = JOB_QUEUED;
        job->queued = job->queued == TIME_NONE ? e->at : job->queued;
        break;
    case JOB_EVENT_HELD: job->state = JOB_HELD; break;
    case JOB_EVENT_CHANGED: apply_place(job, e); break;
    case JOB_EVENT_OFFERED:
        job->state = JOB_OFFERED;
        job->not_before = TIME_NONE;
        job->attempt_count++;
        job->attempt_public_id = e->attempt;
        break;
    case JOB_EVENT_WITHDRAWN: apply_withdrawn(job, e); break;
    case JOB_EVENT_ACCEPTED: job->state = JOB_CLAIMED; break;
    case JOB_EVENT_STARTING: job->state = JOB_STARTING; break;
    case JOB_EVENT_RUNNING: apply_running(job, e); break;
    case JOB_EVENT_CANCEL: apply_cancel(job, e); break;
    case JOB_EVENT_EVICT: apply_evict(job, e); break;
    case JOB_EVENT_RANK: apply_rank(job, e); break;
    case JOB_EVENT_HEALTH: break; /* the attempt's */
    case JOB_EVENT_ENDED: apply_ended(job, e); break;
    case JOB_EVENT_LOST: apply_lost(job, e); break;
    case JOB_EVENT_FINAL: apply_final(job); break;
    case JOB_EVENT_COUNT: break;
    }
    job->event_count++;
    return OK;
}

static void attempt_close(struct attempt *a, enum attempt_state state, enum ending ending,
                          const struct job_event *e)
{
    a->state = state;
    a->ending = ending;
    a->ended = e->at;
    a->exit_code = e->exit_code;
    a->exit_signal = e->exit_signal;
    a->oom = e->oom;
    a->reason = e->reason.data ? e->reason : STR("");
    a->run_time_ms = e->run_time_ms;
    a->gpu_ms = e->gpu_ms;
    a->cost_micro = e->cost_micro;
}

static void attempt_end(struct attempt *a, const struct job_event *e, const struct job *job)
{
    enum ending ending = job_event_ending(e);

    if (job->cancel_asked)
        attempt_close(a, ATTEMPT_CANCELLED, job->stop_for ? job->stop_for : ENDING_CANCELLED, e);
    else if (ending_is_eviction(job->stop_for) && e->stopped)
        attempt_close(a, ATTEMPT_PREEMPTED, job->stop_for, e);
    else
        attempt_close(a, ending == ENDING_DONE ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED, ending, e);
}

/* What it still sends is kept aside, nothing waits for it. */
static void attempt_lose(struct attempt *a, enum ending ending, const struct job_event *e)
{
    attempt_close(a, ending_is_eviction(ending) ? ATTEMPT_PREEMPTED : ATTEMPT_LOST, ending, e);
    a->final = true;
}

/* Asked to end: at once when it was only offered. */
static void attempt_stop(struct attempt *a, enum attempt_state if_offered,
                         const struct job_event *e)
{
    if (a->state == ATTEMPT_OFFERED) {
        attempt_close(a, if_offered, e->ending ? e->ending : ENDING_CANCELLED, e);
        a->final = true;
    } else if (!attempt_state_ended(a->state)) {
        a->state = ATTEMPT_STOPPING;
    }
}

void attempt_apply(struct attempt *a, const struct job_event *e, const struct job *job)
{
    switch (e->kind) {
    case JOB_EVENT_ACCEPTED: a->state = ATTEMPT_CLAIMED; break;
    case JOB_EVENT_STARTING: a->state = ATTEMPT_STARTING; break;
    case JOB_EVENT_RUNNING:
        a->state = ATTEMPT_RUNNING;
        a->started = e->at;
        a->charged = e->at;
        break;
    case JOB_EVENT_CANCEL: attempt_stop(a, ATTEMPT_CANCELLED, e); break;
    case JOB_EVENT_EVICT: attempt_stop(a, ATTEMPT_PREEMPTED, e); break;
    case JOB_EVENT_RANK:
        if (a->state != ATTEMPT_OFFERED && attempt_state_ended(e->rank_state) &&
            e->rank_state != ATTEMPT_SUCCEEDED)
            a->state = ATTEMPT_STOPPING;
        break;
    case JOB_EVENT_HEALTH:
        a->health = e->health;
        a->health_since = e->at;
        a->health_problem = e->reason;
        break;
    case JOB_EVENT_ENDED: attempt_end(a, e, job); break;
    case JOB_EVENT_WITHDRAWN: attempt_lose(a, e->ending ? e->ending : ENDING_NOT_TAKEN, e); break;
    case JOB_EVENT_LOST: attempt_lose(a, e->ending ? e->ending : ENDING_NODE_LOST, e); break;
    case JOB_EVENT_FINAL: a->final = true; break;
    case JOB_EVENT_SUBMITTED:
    case JOB_EVENT_RELEASED:
    case JOB_EVENT_HELD:
    case JOB_EVENT_CHANGED:
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

static void put_text(struct json_writer *w, const char *key, struct str text)
{
    if (text.len == 0)
        return;
    json_put_key(w, key);
    json_put_str(w, text);
}

static bool is_an_end(const struct job_event *e)
{
    return e->kind == JOB_EVENT_ENDED || e->kind == JOB_EVENT_LOST ||
           (e->kind == JOB_EVENT_RANK && attempt_state_ended(e->rank_state));
}

static void put_json(struct json_writer *w, const char *key, struct str json)
{
    if (json.len == 0)
        return;
    json_put_key(w, key);
    json_put_raw(w, json);
}

static void put_place(struct json_writer *w, const struct job_event *e)
{
    put_if(w, "priority", e->priority, JOB_PRIORITY_SAME);
    put_if(w, "queue_id", e->queue.v, 0);
    put_text(w, "queue", e->queue_name);
    put_json(w, "shape", e->shape);
    if (!str_eq_c(e->targets, "[]")) /* a job that is submitted without any */
        put_json(w, "targets", e->targets);
}

struct str job_event_encode(const struct job_event *e, struct arena *arena)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, DETAIL_BYTES_MAX);
    json_writer_init(&w, &out);
    json_begin_object(&w);
    if (is_an_end(e)) {
        put_if(&w, "exit_code", e->exit_code, EXIT_NONE);
        put_if(&w, "signal", e->exit_signal, EXIT_NONE);
        put_if(&w, "oom", e->oom, 0);
        put_if(&w, "failed_to_start", e->failed_to_start, 0);
        put_if(&w, "timed_out", e->timed_out, 0);
        put_if(&w, "stopped", e->stopped, 0);
        put_if(&w, "unhealthy", e->unhealthy, 0);
        put_if(&w, "run_time_ms", e->run_time_ms, 0);
        put_if(&w, "gpu_ms", e->gpu_ms, 0);
        put_if(&w, "cost_micro", e->cost_micro, 0);
        put_if(&w, "next_step", e->next_step, 0);
    }
    if (e->kind == JOB_EVENT_RANK) {
        put_if(&w, "rank", e->rank, -1);
        put_text(&w, "rank_state", str_from(attempt_state_name(e->rank_state)));
    }
    if (e->kind == JOB_EVENT_CHANGED || e->kind == JOB_EVENT_SUBMITTED)
        put_place(&w, e);
    if (e->kind == JOB_EVENT_HEALTH)
        put_text(&w, "health", str_from(health_state_name(e->health)));
    put_text(&w, "ending", str_from(ending_name(e->ending)));
    put_text(&w, "reason", e->reason);
    json_end_object(&w);
    return arena_copy(arena, buf_str(&out));
}

static void take_flag(struct json_reader *r, const char *key, bool *ret_flag)
{
    int64_t value = 0;

    json_take_i64_opt(r, key, 0, 1, &value);
    *ret_flag = value != 0;
}

static struct str text_of(const json_t *value, struct arena *arena)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, SPEC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    return arena_copy(arena, buf_str(&out));
}

/* Queue, shape and targets leave the object; the rest is numbers and texts. */
static void take_place(json_t *json, struct arena *arena, struct job_event *event)
{
    static const char *const keys[] = {"queue", "shape", "targets"};
    struct str *const to[] = {&event->queue_name, &event->shape, &event->targets};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const json_t *value = json_object_get(json, keys[i]);
        *to[i] = !value ? (struct str){0}
                 : i == 0
                     ? arena_copy(arena, str_n(json_string_value(value), json_string_length(value)))
                     : text_of(value, arena);
        (void)json_object_del(json, keys[i]);
    }
    if (event->kind == JOB_EVENT_SUBMITTED && !event->targets.len)
        event->targets = STR("[]");
}

struct str job_event_spec(const struct job_event *e, struct str spec, struct arena *arena)
{
    CLEANUP(json_release) json_t *json = NULL, *targets = NULL;
    const char *key = e->targets.len && e->targets.data[0] == '"' ? "target" : "targets";
    const char *other = key[6] ? "target" : "targets";

    if (!e->targets.len || json_parse(spec, SPEC_BYTES_MAX, &json, NULL) != OK ||
        json_parse(e->targets, DETAIL_BYTES_MAX, &targets, NULL) != OK)
        return spec;
    if (json_equal(json_object_get(json, key), targets) && !json_object_get(json, other))
        return spec;
    (void)json_object_del(json, other);
    (void)json_object_del(json, key);
    if (json_array_size(targets) || json_is_string(targets))
        (void)json_object_set(json, key, targets);
    return text_of(json, arena);
}

enum err_code job_event_decode(struct str detail, struct arena *arena, struct job_event *event,
                               struct err *err)
{
    CLEANUP(json_release) json_t *json = NULL;
    struct json_reader r;
    int64_t exit_code = EXIT_NONE, exit_signal = EXIT_NONE;
    struct str reason = {0}, ending = STR(""), rank_state = {0}, health = STR("");

    event->priority = JOB_PRIORITY_SAME;
    TRY(json_parse(detail, DETAIL_BYTES_MAX, &json, err));
    take_place(json, arena, event);
    json_reader_init(&r, json, "", err);
    json_take_i64_opt(&r, "queue_id", 0, INT64_MAX, &event->queue.v);
    json_take_i64_opt(&r, "exit_code", 0, 255, &exit_code);
    json_take_i64_opt(&r, "signal", 0, 255, &exit_signal);
    take_flag(&r, "oom", &event->oom);
    take_flag(&r, "failed_to_start", &event->failed_to_start);
    take_flag(&r, "timed_out", &event->timed_out);
    take_flag(&r, "stopped", &event->stopped);
    take_flag(&r, "unhealthy", &event->unhealthy);
    json_take_i64_opt(&r, "run_time_ms", 0, INT64_MAX, &event->run_time_ms);
    json_take_i64_opt(&r, "gpu_ms", 0, INT64_MAX, &event->gpu_ms);
    json_take_i64_opt(&r, "cost_micro", 0, INT64_MAX, &event->cost_micro);
    json_take_i64_opt(&r, "next_step", 0, INT64_MAX, &event->next_step);
    json_take_i64_opt(&r, "rank", 0, JOB_NODES_MAX, &event->rank);
    json_take_i64_opt(&r, "priority", INT64_MIN, INT64_MAX, &event->priority);
    json_take_text_opt(&r, "rank_state", 32, &rank_state);
    json_take_text_opt(&r, "health", 32, &health);
    json_take_text_opt(&r, "ending", 32, &ending);
    json_take_note_opt(&r, "reason", 4096, &reason);
    TRY(json_reader_end(&r));
    event->exit_code = (int)exit_code;
    event->exit_signal = (int)exit_signal;
    event->ending = ending_from_name(ending);
    event->health = health_state_from_name(health);
    event->rank_state = attempt_state_from_name(rank_state);
    event->reason = reason.data ? arena_copy(arena, reason) : STR("");
    if (event->ending == ENDING_COUNT || event->health == HEALTH_STATE_COUNT ||
        (event->kind == JOB_EVENT_RANK && event->rank_state == ATTEMPT_STATE_COUNT))
        return err_set(err, ERR_INVALID, "the event names an ending or a state that is not known");
    return OK;
}
