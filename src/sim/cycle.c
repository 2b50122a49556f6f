/* A cycle of the scheduler over what the server knows, and what comes of it. */
#include "sim/state.h"

#include "sys/clock.h"

#define HOUR_MS 3600000

/* How much of [from, to) lies in [begin, end). */
static int64_t overlap(time_ms from, time_ms to, time_ms begin, time_ms end)
{
    time_ms low = MAX(from, begin), high = MIN(to, end);

    return high > low ? high - low : 0;
}

static bool is_below(const struct sim *sim, uint32_t share, uint32_t above)
{
    while (share != above && share != SCHED_NONE)
        share = sim->shares[share].parent;
    return share == above;
}

int64_t sim__price(const struct sim *sim, uint32_t node, const struct sched_shape *shape)
{
    const struct sched_target *target = &sim->targets[sim->node_views[node].target];

    return target->price_hour_micro + target->price_gpu_hour_micro * shape->need.v[RESOURCE_GPU];
}

int64_t sim__commit_price(const struct sim *sim, uint32_t share, time_ms from, time_ms to)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < sim->attempt_view_count; i++) {
        const struct sched_attempt *a = &sim->attempts[i];
        if (is_below(sim, a->share, share))
            sum += overlap(a->since, a->ends_by, from, to) * a->node_count *
                   sim__price(sim, a->nodes[0], &sim->world->shapes[a->shape]);
    }
    return sum;
}

/* GPU time that the running may still use of the time from `from` to `to`. */
int64_t sim__commit(const struct sim *sim, uint32_t share, time_ms from, time_ms to)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < sim->attempt_view_count; i++) {
        const struct sched_attempt *a = &sim->attempts[i];
        const struct sched_shape *shape = &sim->world->shapes[a->shape];

        if (is_below(sim, a->share, share))
            sum += overlap(a->since, a->ends_by, from, to) * shape->need.v[RESOURCE_GPU] *
                   shape->node_count;
    }
    return sum;
}

void sim__fill_budgets(struct sim *sim)
{
    int64_t period = sim->world->period_ms, number;

    if (!period)
        return;
    number = sim->now / period;
    ENSURE(number + 1 < SIM_PERIODS_MAX);
    for (uint32_t i = 0; i < sim->world->share_count; i++) {
        int64_t limit = sim->world->budgets[i].gpu_ms, micro = sim->world->budgets[i].micro;
        struct sched_budget *budget = &sim->shares[i].budget;

        for (int64_t p = 0; p < SCHED_PERIODS; p++) {
            time_ms begin = (number + p) * period;

            budget->period_end[p] = begin + period;
            if (limit != SCHED_UNLIMITED)
                budget->gpu_ms_left[p] = limit - sim->usage[i].gpu_ms[number + p] -
                                         sim__commit(sim, i, begin, begin + period);
            if (micro != SCHED_UNLIMITED)
                budget->micro_left[p] =
                    micro - (sim->usage[i].price_ms[number + p] +
                             sim__commit_price(sim, i, begin, begin + period) + HOUR_MS - 1) /
                                HOUR_MS;
        }
    }
}

static void forget_old_evictions(struct sim *sim)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < sim->eviction_count; i++) {
        if (sim->now - sim->evictions[i].at <= sim->options.policy.evict_pause_ms)
            sim->evictions[kept++] = sim->evictions[i];
    }
    sim->eviction_count = kept;
}

static void apply_evicts(struct sim *sim, const struct sched_result *result,
                         const uint32_t *attempts)
{
    for (uint32_t i = 0; i < result->evict_count && !sim->violation[0]; i++) {
        const struct sched_evict *evict = &result->evicts[i];
        struct sched_eviction *e;

        sim->evictions = arena_more(&sim->arena, sim->evictions, sim->eviction_count,
                                    &sim->eviction_room, sizeof *sim->evictions);
        e = &sim->evictions[sim->eviction_count++];
        e->winner = sim->shares[sim->queue[evict->job].share].id;
        e->loser = sim->shares[sim->attempts[evict->attempt].share].id;
        e->at = sim->now;
    }
    for (uint32_t i = 0; i < result->evict_count && !sim->violation[0]; i++)
        sim__evict(sim, attempts[i], result->evicts[i].ending);
}

/* The lists of the snapshot change while the result is applied: names first, then deeds. */
static void apply(struct sim *sim, const struct sched_result *result)
{
    uint32_t *jobs = arena_array(&sim->tick, result->start_count, sizeof *jobs);
    uint32_t *attempts = arena_array(&sim->tick, result->evict_count, sizeof *attempts);

    for (uint32_t i = 0; i < result->start_count; i++)
        jobs[i] = (uint32_t)sim->queue[result->starts[i].job].id.v - 1;
    for (uint32_t i = 0; i < result->evict_count; i++)
        attempts[i] = (uint32_t)sim->attempts[result->evicts[i].attempt].id.v - 1;
    apply_evicts(sim, result, attempts);
    for (uint32_t i = 0; i < result->start_count && !sim->violation[0]; i++)
        sim__start(sim, jobs[i], &result->starts[i]);
}

static void keep_reservations(struct sim *sim, const struct sched_result *result)
{
    struct sched_reservation *kept;

    arena_reset(&sim->held);
    kept = arena_array(&sim->held, result->reservation_count, sizeof *kept);
    for (uint32_t i = 0; i < result->reservation_count; i++) {
        agent_id *nodes =
            arena_array(&sim->held, result->reservations[i].node_count, sizeof *nodes);

        kept[i] = result->reservations[i];
        for (uint32_t n = 0; n < kept[i].node_count; n++)
            nodes[n] = kept[i].nodes[n];
        kept[i].nodes = nodes;
        sim__log(sim, "room is held for job %lld%s", (long long)kept[i].job.v - 1,
                 kept[i].victims ? " until others have ended" : "");
    }
    sim->reservations = kept;
    sim->reservation_count = result->reservation_count;
}

static struct sched_snapshot snapshot_of(const struct sim *sim)
{
    const struct sim_world *world = sim->world;

    return (struct sched_snapshot){
        .now = sim->now,
        .policy = sim->options.policy,
        .shares = sim->shares,
        .queues = sim->queues,
        .targets = sim->targets,
        .nodes = sim->node_views,
        .shapes = world->shapes,
        .jobs = sim->queue,
        .attempts = sim->attempts,
        .reservations = sim->reservations,
        .evictions = sim->evictions,
        .share_count = world->share_count,
        .queue_count = world->queue_count,
        .target_count = world->target_count,
        .node_count = world->node_count,
        .shape_count = world->shape_count,
        .job_count = sim->queue_count,
        .attempt_count = sim->attempt_view_count,
        .reservation_count = sim->reservation_count,
        .eviction_count = sim->eviction_count,
    };
}

void sim__cycle(struct sim *sim)
{
    struct sched_snapshot snapshot;
    struct sched_result result;
    uint32_t *places = arena_array(&sim->tick, sim->queue_count, sizeof *places), head;
    int64_t begin, ns;
    bool more;

    sim->cycled = sim->now;
    forget_old_evictions(sim);
    sim__fill_budgets(sim);
    snapshot = snapshot_of(sim);
    more = sim__pick(sim, &snapshot, places);
    if (sim->options.check)
        sched_check_snapshot(&snapshot);
    begin = clock_mono_ns();
    sched_cycle(&snapshot, &sim->tick, &result);
    ns = clock_mono_ns() - begin;
    sim->figures.cycles++;
    sim->figures.cycle_ns += ns;
    sim->figures.cycle_ns_max = MAX(sim->figures.cycle_ns_max, ns);
    if (sim->options.check)
        sched_check_result(&snapshot, &result);
    sim__place_back(&result, places);
    if (sim->options.check) {
        sim__check_evicts(sim, &result);
        sim__check_order(sim, &result);
    }
    head = sim__head(sim, &result);
    keep_reservations(sim, &result);
    apply(sim, &result);
    sim__sample(sim, head);
    if (more && result.start_count > 0)
        sim__wake(sim);
}
