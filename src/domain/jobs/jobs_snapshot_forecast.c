/* Answers about the future. A question that supposes something changes the snapshot for as long as
 * its answer takes. */
#include "domain/jobs/jobs_snapshot_impl.h"

#include <stdlib.h>

#define COST_MAX  300000 /* jobs and nodes looked at for an answer, over all its moments */
#define STEPS_MAX 1000

static const job_id fresh_id = {INT64_MAX};

static struct known_job *find(const struct jobs_snapshot *s, job_id id)
{
    for (size_t i = 0; i < s->job_count; i++)
        if (s->jobs[i]->id.v == id.v)
            return s->jobs[i];
    return NULL;
}

static void set_priority(struct jobs_snapshot *s, struct known_job *k, int64_t priority)
{
    jobs__lines_take(s, k);
    k->priority = priority;
    jobs__lines_put(s, k);
}

static void run(struct jobs_snapshot *s, time_ms now, struct arena *arena,
                struct sched_snapshot *ret_sched, struct sched_result *ret_result)
{
    bool more;

    jobs_snapshot_build(s, now, SIZE_MAX, arena, ret_sched, &more);
    sched_cycle(ret_sched, arena, ret_result);
}

/* The wait of the job at `place`; NULL: it starts. */
static const struct wait *wait_of(const struct sched_result *result, uint32_t place)
{
    for (uint32_t i = 0; i < result->wait_count; i++)
        if (result->waits[i].job == place)
            return &result->waits[i].wait;
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    const job_id *x = a, *y = b;

    return (x->v > y->v) - (x->v < y->v);
}

/* Jobs that started or stood before `rank` in the result. */
struct ahead {
    job_id *ids; /* rising */
    size_t count;
};

static struct ahead ahead_of(const struct sched_snapshot *sched, const struct sched_result *result,
                             int64_t rank, struct arena *arena)
{
    struct ahead a = {arena_array(arena, sched->job_count, sizeof(job_id)), 0};

    for (uint32_t i = 0; i < result->start_count && rank > 0; i++)
        a.ids[a.count++] = sched->jobs[result->starts[i].job].id;
    for (uint32_t i = 0; i < result->wait_count; i++)
        if (result->waits[i].wait.rank < rank)
            a.ids[a.count++] = sched->jobs[result->waits[i].job].id;
    if (a.count)
        qsort(a.ids, a.count, sizeof(a.ids[0]), by_id);
    return a;
}

/* Those of `before` that stand behind `rank` now. */
static void find_passed(const struct ahead *before, const struct sched_snapshot *sched,
                        const struct sched_result *result, int64_t rank, struct forecast *f)
{
    for (uint32_t i = 0; i < result->wait_count; i++) {
        job_id id = sched->jobs[result->waits[i].job].id;
        if (result->waits[i].wait.rank <= rank ||
            !bsearch(&id, before->ids, before->count, sizeof id, by_id))
            continue;
        if (f->passed_count < FORECAST_PASSED_MAX)
            f->passed[f->passed_count++] = id;
        f->passed_total++;
    }
}

static time_ms estimate(const struct sched_snapshot *sched, uint32_t place, struct arena *arena)
{
    uint32_t steps = MIN(COST_MAX / (sched->job_count + sched->node_count + 1) + 2, STEPS_MAX);

    return sched_estimate(sched, place, steps, arena);
}

/* As the snapshot is now. `before`: who stands ahead of the job today; NULL: nobody asks. False: it
 * is not looked at. */
static bool look(struct jobs_snapshot *s, time_ms now, job_id job, const struct ahead *before,
                 struct arena *arena, struct forecast *f)
{
    struct sched_snapshot sched;
    struct sched_result result;
    const struct wait *wait;
    uint32_t place;

    run(s, now, arena, &sched, &result);
    place = jobs_snapshot_built(s, &sched, job);
    if (place == SCHED_NONE)
        return false;
    wait = wait_of(&result, place);
    f->starts = !wait;
    f->waiting = result.wait_count;
    if (wait)
        f->wait = *wait;
    if (wait && wait->start_estimate == TIME_NONE)
        f->wait.start_estimate = estimate(&sched, place, arena);
    if (before)
        find_passed(before, &sched, &result, wait ? wait->rank : 0, f);
    return true;
}

static bool with_priority(struct jobs_snapshot *s, time_ms now, const struct forecast_question *q,
                          struct arena *arena, struct forecast *f)
{
    struct known_job *k = find(s, q->job);
    struct sched_snapshot sched;
    struct sched_result result;
    const struct wait *wait;
    struct ahead before;
    uint32_t place;
    int64_t priority;
    bool known;

    if (!k)
        return false;
    run(s, now, arena, &sched, &result);
    place = jobs_snapshot_built(s, &sched, q->job);
    if (place == SCHED_NONE)
        return false;
    wait = wait_of(&result, place);
    f->rank_now = wait ? wait->rank : 0;
    before = ahead_of(&sched, &result, f->rank_now, arena);
    priority = k->priority;
    set_priority(s, k, q->priority);
    known = look(s, now, q->job, &before, arena, f);
    set_priority(s, k, priority);
    return known;
}

static bool with_fresh(struct jobs_snapshot *s, time_ms now, const struct forecast_question *q,
                       struct arena *arena, struct forecast *f)
{
    struct job job = *q->fresh;
    struct err err;
    bool known;

    job.id = fresh_id;
    job.state = JOB_QUEUED;
    job.created = job.queued = now;
    job.ladder_at = job.not_before = TIME_NONE;
    if (jobs__snapshot_take(s, NULL, arena, &job, &err) != OK)
        return false;
    known = look(s, now, fresh_id, NULL, arena, f);
    jobs__snapshot_drop(s, &job.public_id);
    return known;
}

bool jobs_snapshot_forecast(struct jobs_snapshot *s, time_ms now, const struct forecast_question *q,
                            struct arena *arena, struct forecast *ret_forecast)
{
    struct forecast f = {.wait = {.start_estimate = TIME_NONE}};
    bool known = q->job.v == 0     ? with_fresh(s, now, q, arena, &f)
                 : q->has_priority ? with_priority(s, now, q, arena, &f)
                                   : look(s, now, q->job, NULL, arena, &f);

    *ret_forecast = f;
    return known;
}
