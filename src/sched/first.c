/* Priority and FIFO with best fit. The agents' free amounts are copied, and each start is taken
 * off the copy, so that one pass never gives the same core twice. */
#include "sched/first.h"

#include <stdlib.h>

const char *first_reason_name(enum first_reason reason)
{
    static const char *const names[] = {
#define X(code, name) name,
        FIRST_REASONS(X)
#undef X
    };
    ENSURE((size_t)reason < ARRAY_LEN(names));
    return names[reason];
}

static int by_rank(const void *a, const void *b)
{
    const struct first_job *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->queued != y->queued)
        return x->queued < y->queued ? -1 : 1;
    return (x->id.v > y->id.v) - (x->id.v < y->id.v);
}

static bool fits(const struct job_need *need, const struct job_need *room)
{
    return need->cpus <= room->cpus && need->gpus <= room->gpus &&
           need->memory_bytes <= room->memory_bytes;
}

/* Names the first resource of which `room` has too little. */
static void name_shortage(const struct job_need *need, const struct job_need *room,
                          struct first_wait *wait)
{
    if (need->gpus > room->gpus)
        *wait = (struct first_wait){wait->job, wait->rank, wait->reason,
                                    "gpus",    need->gpus, room->gpus};
    else if (need->cpus > room->cpus)
        *wait = (struct first_wait){wait->job, wait->rank, wait->reason,
                                    "cpus",    need->cpus, room->cpus};
    else if (need->memory_bytes > room->memory_bytes)
        *wait = (struct first_wait){wait->job, wait->rank,         wait->reason,
                                    "memory",  need->memory_bytes, room->memory_bytes};
    else
        *wait = (struct first_wait){wait->job, wait->rank, wait->reason, "slots", 1, 0};
}

/* The agent with the least room that still fits; else *wait says why there is none. */
static struct first_agent *choose(struct first_agent *agents, size_t count,
                                  const struct first_job *job, struct first_wait *wait)
{
    struct first_agent *best = NULL, *nearest = NULL, *largest = NULL;
    bool any_live = false;

    for (size_t i = 0; i < count; i++) {
        struct first_agent *a = &agents[i];
        if (!a->live)
            continue;
        any_live = true;
        if (job->target.v && a->target.v != job->target.v)
            continue;
        if (!largest || a->total.cpus > largest->total.cpus)
            largest = a;
        if (!fits(&job->need, &a->total))
            continue;
        if (!nearest || a->free.cpus > nearest->free.cpus)
            nearest = a;
        if (a->slots_free > 0 && fits(&job->need, &a->free) &&
            (!best || a->free.cpus < best->free.cpus))
            best = a;
    }
    if (best)
        return best;
    wait->resource = "";
    wait->reason = !any_live ? FIRST_NO_AGENT : !largest ? FIRST_NO_TARGET : FIRST_TOO_BIG;
    if (nearest) {
        wait->reason = FIRST_BUSY;
        name_shortage(&job->need, &nearest->free, wait);
    } else if (largest) {
        name_shortage(&job->need, &largest->total, wait);
    }
    return NULL;
}

static void take(struct first_agent *agent, const struct job_need *need)
{
    agent->slots_free--;
    agent->free.cpus -= need->cpus;
    agent->free.gpus -= need->gpus;
    agent->free.memory_bytes -= need->memory_bytes;
}

void first_run(const struct first_snapshot *s, struct arena *arena, struct first_result *ret_result)
{
    struct first_job *jobs = arena_array(arena, s->job_count, sizeof *jobs);
    struct first_agent *agents = arena_array(arena, s->agent_count, sizeof *agents);
    struct first_result result = {
        .starts = arena_array(arena, s->job_count, sizeof *result.starts),
        .waits = arena_array(arena, s->job_count, sizeof *result.waits),
    };

    if (s->job_count)
        memcpy(jobs, s->jobs, s->job_count * sizeof *jobs);
    if (s->agent_count)
        memcpy(agents, s->agents, s->agent_count * sizeof *agents);
    if (s->job_count)
        qsort(jobs, s->job_count, sizeof *jobs, by_rank);
    for (size_t i = 0; i < s->job_count; i++) {
        struct first_wait wait = {.job = jobs[i].id, .rank = (int64_t)result.wait_count + 1};
        struct first_agent *agent = choose(agents, s->agent_count, &jobs[i], &wait);
        if (agent) {
            take(agent, &jobs[i].need);
            result.starts[result.start_count++] = (struct first_start){jobs[i].id, agent->id};
        } else {
            result.waits[result.wait_count++] = wait;
        }
    }
    *ret_result = result;
}
