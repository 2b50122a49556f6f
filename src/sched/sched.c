/* Priority and FIFO with best fit. The agents' free amounts are copied, and each start is taken
 * off the copy, so that one pass never gives the same core twice. */
#include "sched/sched.h"

#include <stdlib.h>

const char *sched_reason_name(enum sched_reason reason)
{
    static const char *const names[] = {
#define X(code, name) name,
        SCHED_REASONS(X)
#undef X
    };
    ENSURE((size_t)reason < ARRAY_LEN(names));
    return names[reason];
}

static int by_rank(const void *a, const void *b)
{
    const struct sched_job *x = a, *y = b;

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
                          struct sched_wait *wait)
{
    if (need->gpus > room->gpus)
        *wait = (struct sched_wait){wait->job, wait->rank, wait->reason,
                                    "gpus",    need->gpus, room->gpus};
    else if (need->cpus > room->cpus)
        *wait = (struct sched_wait){wait->job, wait->rank, wait->reason,
                                    "cpus",    need->cpus, room->cpus};
    else if (need->memory_bytes > room->memory_bytes)
        *wait = (struct sched_wait){wait->job, wait->rank,         wait->reason,
                                    "memory",  need->memory_bytes, room->memory_bytes};
    else
        *wait = (struct sched_wait){wait->job, wait->rank, wait->reason, "slots", 1, 0};
}

/* The agent with the least room that still fits; else *wait says why there is none. */
static struct sched_agent *choose(struct sched_agent *agents, size_t count,
                                  const struct sched_job *job, struct sched_wait *wait)
{
    struct sched_agent *best = NULL, *nearest = NULL, *largest = NULL;
    bool any_live = false;

    for (size_t i = 0; i < count; i++) {
        struct sched_agent *a = &agents[i];
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
    wait->reason = !any_live ? SCHED_NO_AGENT : !largest ? SCHED_NO_TARGET : SCHED_TOO_BIG;
    if (nearest) {
        wait->reason = SCHED_BUSY;
        name_shortage(&job->need, &nearest->free, wait);
    } else if (largest) {
        name_shortage(&job->need, &largest->total, wait);
    }
    return NULL;
}

static void take(struct sched_agent *agent, const struct job_need *need)
{
    agent->slots_free--;
    agent->free.cpus -= need->cpus;
    agent->free.gpus -= need->gpus;
    agent->free.memory_bytes -= need->memory_bytes;
}

void sched_run(const struct sched_snapshot *s, struct arena *arena, struct sched_result *ret_result)
{
    struct sched_job *jobs = arena_array(arena, s->job_count, sizeof *jobs);
    struct sched_agent *agents = arena_array(arena, s->agent_count, sizeof *agents);
    struct sched_result result = {
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
        struct sched_wait wait = {.job = jobs[i].id, .rank = (int64_t)result.wait_count + 1};
        struct sched_agent *agent = choose(agents, s->agent_count, &jobs[i], &wait);
        if (agent) {
            take(agent, &jobs[i].need);
            result.starts[result.start_count++] = (struct sched_start){jobs[i].id, agent->id};
        } else {
            result.waits[result.wait_count++] = wait;
        }
    }
    *ret_result = result;
}
