/* What a run is judged by, added up from cycle to cycle: between two of them nothing starts. */
#include "base/mem.h"
#include "sim/state.h"

void sim__figures_init(struct sim *sim)
{
    struct sim_figures *f = &sim->figures;
    size_t count = sim->world->share_count;

    f->used = arena_array(&sim->arena, count, sizeof *f->used);
    f->asked = arena_array(&sim->arena, count, sizeof *f->asked);
    f->due = arena_array(&sim->arena, count, sizeof *f->due);
    f->got_ms = arena_array(&sim->arena, count, sizeof *f->got_ms);
    f->due_ms = arena_array(&sim->arena, count, sizeof *f->due_ms);
}

static void add_up(struct sim *sim)
{
    struct sim_figures *f = &sim->figures;
    const struct sim_world *world = sim->world;
    int64_t ms = sim->now - f->sampled, window;
    /* From where one in a hundred has come: some records begin with a few that stay for ever. */
    time_ms first = world->job_count ? world->jobs[world->job_count / 100].at : 0;
    time_ms last = world->job_count ? world->jobs[world->job_count - 1].at : 0;

    if (!f->begun || ms <= 0)
        return;
    window = MAX(0, MIN(sim->now, last) - MAX(f->sampled, first));
    f->used_gpu_ms += (__int128)f->gpus_used * ms;
    f->idle_gpu_ms += (__int128)f->gpus_total * ms;
    if (f->gpus_used > 0) { /* what lies idle after the last job has ended is not asked about */
        f->total_gpu_ms += f->idle_gpu_ms;
        f->idle_gpu_ms = 0;
    }
    f->used_window += (__int128)f->gpus_used * window;
    f->total_window += (__int128)f->gpus_total * window;
    if (!f->saturated)
        return;
    f->saturated_ms += ms;
    f->saturated_gpu_ms += (__int128)f->gpus_total * ms;
    f->saturated_used_gpu_ms += (__int128)f->gpus_used * ms;
    f->unusable_gpu_ms += (__int128)f->unusable * ms;
    for (uint32_t i = 0; i < world->share_count; i++) {
        f->got_ms[i] += (__int128)MIN(f->used[i] * 1000, f->due[i]) * ms;
        f->due_ms[i] += (__int128)f->due[i] * ms;
    }
}

/* What each project is due of `capacity`: as much as it asks for, where all cannot have that an
 * equal part by weight (water filling). In thousandths of a GPU. */
static void fill_due(struct sim *sim, int64_t capacity)
{
    struct sim_figures *f = &sim->figures;
    int64_t left = capacity * 1000;
    uint32_t count = sim->world->share_count;

    for (uint32_t i = 0; i < count; i++)
        f->due[i] = 0;
    for (uint32_t round = 0; round < count && left > 0; round++) {
        __int128 weights = 0;
        int64_t given = 0;

        for (uint32_t i = 0; i < count; i++)
            weights += f->due[i] < f->asked[i] * 1000 ? MAX(sim->shares[i].weight, 0) : 0;
        if (weights == 0)
            return;
        for (uint32_t i = 0; i < count; i++) {
            int64_t part = (int64_t)((__int128)left * MAX(sim->shares[i].weight, 0) / weights);
            int64_t missing = f->asked[i] * 1000 - f->due[i];

            if (missing <= 0)
                continue;
            f->due[i] += MIN(part, missing);
            given += MIN(part, missing);
        }
        left -= given;
        if (given == 0)
            return;
    }
}

static void count_asked(struct sim *sim)
{
    struct sim_figures *f = &sim->figures;

    for (uint32_t i = 0; i < sim->world->share_count; i++)
        f->used[i] = f->asked[i] = 0;
    for (uint32_t i = 0; i < sim->attempt_view_count; i++) {
        const struct sched_attempt *a = &sim->attempts[i];
        int64_t gpus = sim_shape_gpus(&sim->world->shapes[a->shape]);

        f->used[a->share] += gpus;
        f->asked[a->share] += gpus;
    }
    for (uint32_t i = 0; i < sim->queue_count; i++) {
        int64_t gpus = sim_shape_gpus(&sim->world->shapes[sim->queue[i].shape]);

        if (gpus <= f->gpus_total) /* more than there is nobody is due */
            f->asked[sim->queue[i].share] += gpus;
    }
}

static bool is_for_hardware(enum wait_code code)
{
    return code == WAIT_BUSY || code == WAIT_FRAGMENTED || code == WAIT_GANG ||
           code == WAIT_RESERVED || code == WAIT_VICTIMS || code == WAIT_TURN ||
           code == WAIT_LENT_BACK;
}

/* Free GPUs on nodes where not one rank of the first in line fits. */
static int64_t unusable_by(const struct sim *sim, uint32_t head)
{
    const struct sched_shape *shape = &sim->world->shapes[head];
    int64_t sum = 0;

    for (uint32_t i = 0; i < sim->world->node_count; i++) {
        const struct sched_node *node = &sim->node_views[i];
        bool fits = true;

        if (node->state != SCHED_NODE_LIVE || node->free.v[RESOURCE_GPU] <= 0)
            continue;
        for (size_t r = 0; r < RESOURCE_COUNT; r++)
            fits &= node->free.v[r] >= shape->need.v[r];
        if (!fits || (shape->gpu_types && !(shape->gpu_types >> node->gpu_type & 1)))
            sum += node->free.v[RESOURCE_GPU];
    }
    return sum;
}

static void keep_series(struct sim *sim)
{
    struct sim_figures *f = &sim->figures;

    if (!sim->options.series)
        return;
    if (f->series_count == f->series_room) {
        f->series_room = f->series_room ? f->series_room * 2 : 1024;
        f->series = mem_grow(f->series, f->series_room * sizeof *f->series);
    }
    f->series[f->series_count++] = (struct sim_sample){sim->now, f->gpus_used, f->gpus_total};
}

uint32_t sim__head(const struct sim *sim, const struct sched_result *result)
{
    for (uint32_t i = 0; i < result->wait_count; i++) {
        if (is_for_hardware(result->waits[i].wait.code))
            return sim->queue[result->waits[i].job].shape;
    }
    return SCHED_NONE;
}

void sim__sample(struct sim *sim, uint32_t head)
{
    struct sim_figures *f = &sim->figures;

    add_up(sim);
    f->sampled = sim->now;
    f->begun = true;
    f->gpus_total = f->gpus_used = f->unusable = 0;
    for (uint32_t i = 0; i < sim->world->node_count; i++) {
        if (sim->node_views[i].state == SCHED_NODE_LIVE)
            f->gpus_total += sim->node_views[i].total.v[RESOURCE_GPU];
    }
    for (uint32_t i = 0; i < sim->world->share_count; i++) {
        if (sim->shares[i].parent == SCHED_NONE)
            f->gpus_used += sim->usage[i].amounts.v[RESOURCE_GPU];
    }
    f->saturated = head != SCHED_NONE;
    if (f->saturated) {
        f->unusable = unusable_by(sim, head);
        count_asked(sim);
        fill_due(sim, f->gpus_total);
    }
    keep_series(sim);
}
