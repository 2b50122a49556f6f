/* Which of the jobs that wait a cycle looks at, as in the server: where many wait, the first few of
 * those that wait alike, all of them now and then. */
#include "sim/state.h"

#include <stdlib.h>

struct line {
    const struct sched_job *job;
    uint32_t at;
};

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* What makes them alike: 0. */
static int compare_kind(const struct sched_job *a, const struct sched_job *b)
{
    int order = compare_i64(a->share, b->share);

    order = order ? order : compare_i64(a->queue, b->queue);
    order = order ? order : compare_i64(a->shape, b->shape);
    order = order ? order : compare_i64(a->priority, b->priority);
    return order ? order : compare_i64(a->time_limit_ms, b->time_limit_ms);
}

/* Those that wait alike side by side, the oldest first. */
static int by_line(const void *a, const void *b)
{
    const struct sched_job *x = ((const struct line *)a)->job, *y = ((const struct line *)b)->job;
    int order = compare_kind(x, y);

    order = order ? order : compare_i64(x->queued, y->queued);
    return order ? order : compare_i64(x->id.v, y->id.v);
}

static bool is_reserved(const struct sim *sim, const struct sched_job *job)
{
    for (uint32_t i = 0; i < sim->reservation_count; i++)
        if (sim->reservations[i].job.v == job->id.v)
            return true;
    return false;
}

/* On its own: it waits like no other. */
static bool is_apart(const struct sim *sim, const struct sched_job *job)
{
    return job->step_from > 0 || job->ladder_at != job->queued ||
           sim->jobs[job->id.v - 1].spec->array > 0 || is_reserved(sim, job);
}

/* How many more of each array may start. */
static const int64_t *array_places(struct sim *sim)
{
    int64_t *places = arena_array(&sim->tick, sim->world->job_count, sizeof *places);

    for (uint32_t i = 0; i < sim->world->job_count; i++) {
        const struct sim_job_spec *spec = &sim->world->jobs[i];
        if (spec->array)
            places[spec->array - 1] = spec->array_limit;
    }
    for (uint32_t i = 0; i < sim->arrived; i++)
        if (sim->jobs[i].spec->array && sim->jobs[i].attempt != SCHED_NONE)
            places[sim->jobs[i].spec->array - 1]--;
    return places;
}

/* Leaves out those behind the first `depth` that wait alike; true if there are any. */
static bool limit_lines(struct sim *sim, bool *out)
{
    struct line *lines = arena_array(&sim->tick, sim->queue_count, sizeof *lines);
    uint32_t count = 0, run = 0;
    bool any = false;

    for (uint32_t i = 0; i < sim->queue_count; i++)
        if (!is_apart(sim, &sim->queue[i]))
            lines[count++] = (struct line){&sim->queue[i], i};
    if (count)
        qsort(lines, count, sizeof *lines, by_line);
    for (uint32_t i = 0; i < count; i++) {
        run = i > 0 && compare_kind(lines[i - 1].job, lines[i].job) == 0 ? run + 1 : 0;
        out[lines[i].at] = run >= sim->options.depth;
        any |= out[lines[i].at];
    }
    return any;
}

bool sim__pick(struct sim *sim, struct sched_snapshot *snapshot, uint32_t *ret_places)
{
    struct sched_job *jobs = arena_array(&sim->tick, sim->queue_count, sizeof *jobs);
    bool *out = arena_array(&sim->tick, sim->queue_count, sizeof *out), more = false;

    if (sim->options.depth > 0 && sim->now < sim->all_due)
        more = limit_lines(sim, out);
    else
        sim->all_due = sim->now + sim->options.period_ms;
    if (sim->world->arrays) {
        snapshot->array_places = array_places(sim);
        snapshot->array_count = sim->world->job_count;
    }
    snapshot->job_count = 0;
    for (uint32_t i = 0; i < sim->queue_count; i++) {
        if (out[i])
            continue;
        ret_places[snapshot->job_count] = i;
        jobs[snapshot->job_count++] = sim->queue[i];
    }
    snapshot->jobs = jobs;
    return more;
}

void sim__place_back(struct sched_result *result, const uint32_t *places)
{
    for (uint32_t i = 0; i < result->start_count; i++)
        result->starts[i].job = places[result->starts[i].job];
    for (uint32_t i = 0; i < result->evict_count; i++)
        result->evicts[i].job = places[result->evicts[i].job];
    for (uint32_t i = 0; i < result->wait_count; i++)
        result->waits[i].job = places[result->waits[i].job];
}
