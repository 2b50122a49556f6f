/* From what agents say of their placements to what happens to the job. */
#include "domain/jobs/jobs_ranks_state.h"

#include "domain/jobs/jobs_state.h"

#include "base/err.h"

static void close_placement(struct placement *p, enum attempt_state state, enum ending ending,
                            const struct job_event *e)
{
    p->state = state;
    p->ending = ending;
    p->ended = e->at;
    p->exit_code = e->exit_code;
    p->exit_signal = e->exit_signal;
    p->oom = e->oom;
    p->run_time_ms = e->run_time_ms;
    p->reason = e->reason.data ? e->reason : STR("");
}

static bool moves(const struct placement *p, enum job_event_kind kind)
{
    switch (kind) {
    case JOB_EVENT_ACCEPTED: return p->state == ATTEMPT_OFFERED;
    case JOB_EVENT_STARTING: return p->state == ATTEMPT_CLAIMED;
    case JOB_EVENT_RUNNING: return p->state == ATTEMPT_CLAIMED || p->state == ATTEMPT_STARTING;
    case JOB_EVENT_ENDED:
    case JOB_EVENT_LOST: return p->state != ATTEMPT_OFFERED && !attempt_state_ended(p->state);
    case JOB_EVENT_FINAL: return attempt_state_ended(p->state) && !p->final;
    default: return false;
    }
}

static size_t verdict_of(const struct placement *p, size_t count)
{
    size_t i = 0;

    while (i < count && !p[i].verdict)
        i++;
    return i;
}

static void end_placement(struct placement *p, bool others_fault, const struct job_event *said)
{
    enum ending ending = job_event_ending(said);

    if (said->kind == JOB_EVENT_LOST) {
        close_placement(p, ATTEMPT_LOST, said->ending ? said->ending : ENDING_NODE_LOST, said);
        p->final = true;
    } else if (others_fault && said->stopped) {
        close_placement(p, ATTEMPT_FAILED, ENDING_GANG, said);
    } else {
        close_placement(p, ending == ENDING_DONE ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED, ending,
                        said);
    }
}

/* How far the slowest is. */
static bool all_at_least(const struct placement *p, size_t count, enum attempt_state state)
{
    for (size_t i = 0; i < count; i++)
        if (p[i].state < state)
            return false;
    return true;
}

/* A gang costs for all its machines until its last rank has ended. */
static int64_t node_ms(const struct placement *p, size_t count, int64_t run_time_ms)
{
    int64_t nodes = 0, product;

    for (size_t i = 0; i < count; i++)
        nodes += p[i].rank_count;
    return __builtin_mul_overflow(nodes, run_time_ms, &product) ? INT64_MAX : product;
}

/* Endings that an agent knows and nothing else of what it says would tell. */
static bool is_said(enum ending ending)
{
    return ending == ENDING_IMAGE || ending == ENDING_DISK || ending == ENDING_GPU;
}

/* All have ended: with the end of the first that ended badly, or the last good one. */
static void event_of_end(const struct placement *p, size_t count, const struct job_event *said,
                         struct job_event *ret_event)
{
    size_t verdict = verdict_of(p, count);

    if (verdict < count) {
        const struct placement *v = &p[verdict];
        bool lost = v->state == ATTEMPT_LOST;
        ret_event->kind = lost ? JOB_EVENT_LOST : JOB_EVENT_ENDED;
        ret_event->exit_code = v->exit_code;
        ret_event->exit_signal = v->exit_signal;
        ret_event->oom = v->oom;
        ret_event->failed_to_start = v->ending == ENDING_START || v->ending == ENDING_IMAGE;
        ret_event->timed_out = v->ending == ENDING_TIMEOUT;
        ret_event->unhealthy = v->ending == ENDING_HEALTH;
        ret_event->ending = lost || is_said(v->ending) ? v->ending : ENDING_NONE;
        ret_event->reason = v->reason;
    }
    ret_event->at = said->at;
    ret_event->run_time_ms = 0;
    for (size_t i = 0; i < count; i++)
        ret_event->run_time_ms = MAX(ret_event->run_time_ms, p[i].run_time_ms);
    ret_event->node_ms = node_ms(p, count, ret_event->run_time_ms);
}

static enum ranks_outcome partly(const struct placement *p, const struct job_event *said,
                                 enum ranks_outcome outcome, struct job_event *ret_event)
{
    *ret_event = *said;
    ret_event->kind = JOB_EVENT_RANK;
    ret_event->rank = p->rank;
    ret_event->rank_state = p->state;
    return outcome;
}

static enum ranks_outcome apply_end(struct placement *all, size_t count, size_t which,
                                    const struct job_event *said, struct job_event *ret_event)
{
    struct placement *p = &all[which];
    bool had_verdict = verdict_of(all, count) < count, spread = false;

    end_placement(p, had_verdict, said);
    if (!had_verdict && p->state != ATTEMPT_SUCCEEDED) {
        p->verdict = true;
        for (size_t i = 0; i < count; i++)
            if (!attempt_state_ended(all[i].state) && all[i].state != ATTEMPT_STOPPING) {
                all[i].state = ATTEMPT_STOPPING;
                spread = true;
            }
    }
    if (!all_at_least(all, count, ATTEMPT_SUCCEEDED))
        return partly(p, said, spread ? RANKS_ALL : RANKS_EVENT, ret_event);
    *ret_event = *said;
    event_of_end(all, count, said, ret_event);
    return RANKS_EVENT;
}

bool ranks_all_final(const struct placement *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!p[i].final)
            return false;
    return true;
}

enum ranks_outcome ranks_apply(struct placement *placements, size_t count, size_t which,
                               const struct job_event *said, struct job_event *ret_event)
{
    static const enum attempt_state reached[JOB_EVENT_COUNT] = {
        [JOB_EVENT_ACCEPTED] = ATTEMPT_CLAIMED,
        [JOB_EVENT_STARTING] = ATTEMPT_STARTING,
        [JOB_EVENT_RUNNING] = ATTEMPT_RUNNING,
    };
    struct placement *p = &placements[which];

    ENSURE(which < count);
    if (!moves(p, said->kind))
        return RANKS_NOTHING;
    if (said->kind == JOB_EVENT_ENDED || said->kind == JOB_EVENT_LOST)
        return apply_end(placements, count, which, said, ret_event);
    *ret_event = *said;
    if (said->kind == JOB_EVENT_FINAL) {
        p->final = true;
        return ranks_all_final(placements, count) ? RANKS_EVENT : RANKS_ONE;
    }
    p->state = reached[said->kind];
    if (said->kind == JOB_EVENT_RUNNING)
        p->started = said->at;
    if (!all_at_least(placements, count, reached[said->kind]))
        return partly(p, said, RANKS_EVENT, ret_event);
    return RANKS_EVENT;
}

void ranks_stop(struct placement *placements, size_t count, const struct job_event *event)
{
    bool begun = event->kind != JOB_EVENT_WITHDRAWN &&
                 all_at_least(placements, count, ATTEMPT_CLAIMED); /* else nothing has started */

    for (size_t i = 0; i < count; i++) {
        struct placement *p = &placements[i];
        if (attempt_state_ended(p->state))
            continue;
        if (begun) {
            p->state = ATTEMPT_STOPPING;
            continue;
        }
        close_placement(p, event->kind == JOB_EVENT_CANCEL ? ATTEMPT_CANCELLED : ATTEMPT_LOST,
                        event->ending, event);
        p->final = true;
    }
}
