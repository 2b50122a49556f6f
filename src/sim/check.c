/* What must hold after every transaction, written down once more and apart from the scheduler. */
#include "sim/state.h"

/* A heartbeat: what a job may begin later than the time it was given. */
#define BUDGET_SLACK_MS 10000
#define HOUR_MS         3600000
/* Of one job, in a world of some dozens of jobs. */
#define EVICTIONS_MAX 40

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t limit_of(const struct sched_share *share, size_t resource)
{
    return sum_of(share->quota.v[resource], share->borrow.v[resource]);
}

static const struct sched_shape *shape_of(const struct sim *sim, uint32_t attempt)
{
    return &sim->world->shapes[sim->jobs[sim->all[attempt]->job].spec->shape];
}

/* ---- Nothing is given twice */

static void check_node(struct sim *sim, uint32_t at)
{
    const struct sim_node *node = &sim->nodes[at];
    const struct sched_node *view = &sim->node_views[at];

    for (size_t r = 0; r < RESOURCE_COUNT; r++) {
        int64_t held = 0, working = 0;

        for (uint32_t i = 0; i < node->hold_count; i++)
            held += shape_of(sim, node->holds[i].attempt)->need.v[r];
        for (uint32_t i = 0; i < node->agent.work_count; i++) {
            if (node->agent.works[i].state == SIM_WORK_RUNNING)
                working += shape_of(sim, node->agent.works[i].attempt)->need.v[r];
        }
        if (held != node->held.v[r] + node->zombies.v[r] ||
            view->free.v[r] != view->total.v[r] - held)
            sim__fail(sim, "node %u: %s do not add up", at, resource_name((enum resource)r));
        if (view->free.v[r] < 0)
            sim__fail(sim, "node %u: more %s are given than it has", at,
                      resource_name((enum resource)r));
        if (working > view->total.v[r])
            sim__fail(sim, "node %u: more %s are in use than it has", at,
                      resource_name((enum resource)r));
    }
}

/* What runs is known to the server, as held or as not yet proven over. */
static void check_work(struct sim *sim, uint32_t at)
{
    const struct sim_node *node = &sim->nodes[at];

    for (uint32_t i = 0; i < node->agent.work_count; i++) {
        const struct sim_work *work = &node->agent.works[i];
        bool known = work->state != SIM_WORK_RUNNING;

        for (uint32_t h = 0; h < node->hold_count && !known; h++)
            known = node->holds[h].attempt == work->attempt && node->holds[h].rank == work->rank;
        if (!known)
            sim__fail(sim, "node %u: attempt %u runs and holds nothing", at, work->attempt);
    }
}

/* ---- Nothing is lost */

static enum job_state state_of(const struct sim_attempt *a)
{
    switch (a->model.state) {
    case ATTEMPT_OFFERED: return JOB_OFFERED;
    case ATTEMPT_CLAIMED: return JOB_CLAIMED;
    case ATTEMPT_STARTING: return JOB_STARTING;
    case ATTEMPT_RUNNING: return JOB_RUNNING;
    case ATTEMPT_STOPPING: return JOB_STOPPING;
    case ATTEMPT_SUCCEEDED:
    case ATTEMPT_FAILED:
    case ATTEMPT_CANCELLED:
    case ATTEMPT_PREEMPTED:
    case ATTEMPT_LOST:
    case ATTEMPT_STATE_COUNT: break;
    }
    return JOB_STATE_COUNT;
}

static void check_arrays(struct sim *sim)
{
    int64_t *running = arena_array(&sim->tick, sim->world->job_count + 1, sizeof *running);

    for (uint32_t i = 0; i < sim->arrived; i++) {
        const struct sim_job_spec *spec = sim->jobs[i].spec;
        if (spec->array > 0 && sim->jobs[i].attempt != SCHED_NONE &&
            ++running[spec->array] > spec->array_limit)
            sim__fail(sim, "more than %lld of array %u run at once", (long long)spec->array_limit,
                      spec->array);
    }
}

static void check_jobs(struct sim *sim)
{
    uint32_t open = 0, queued = 0, ended = 0;

    for (uint32_t i = 0; i < sim->arrived; i++) {
        const struct sim_job *j = &sim->jobs[i];
        const struct sim_attempt *a = j->attempt == SCHED_NONE ? NULL : sim->all[j->attempt];
        bool waits = j->model.state == JOB_QUEUED || j->model.state == JOB_HELD;
        bool over = job_state_ended(j->model.state);

        open += a != NULL;
        queued += j->view != SCHED_NONE;
        ended += over;
        if (j->evicted > EVICTIONS_MAX)
            sim__fail(sim, "job %u is started and ended for others in turn, %u times", i,
                      j->evicted);
        if ((a != NULL) != (!waits && !over))
            sim__fail(sim, "job %u is %s %s an attempt", i, job_state_name(j->model.state),
                      a ? "with" : "without");
        if (a && (!a->open || state_of(a) != j->model.state))
            sim__fail(sim, "job %u is %s and its attempt %s", i, job_state_name(j->model.state),
                      attempt_state_name(a->model.state));
        if (j->view != SCHED_NONE && (j->view >= sim->queue_count || j->model.state != JOB_QUEUED ||
                                      sim->queue[j->view].id.v != (int64_t)i + 1))
            sim__fail(sim, "job %u is in the queue and %s", i, job_state_name(j->model.state));
    }
    if (open != sim->attempt_view_count || queued != sim->queue_count || ended != sim->ended)
        sim__fail(sim, "jobs got lost: %u attempts of %u, %u waiting of %u, %u ended of %u", open,
                  sim->attempt_view_count, queued, sim->queue_count, ended, sim->ended);
}

/* ---- Limits */

/* An hour of the whole node: as many jobs as it has places for. */
static int64_t hour_of_all(const struct sim *sim, uint32_t node)
{
    const struct sched_target *target = &sim->targets[sim->node_views[node].target];
    const struct sched_amounts *total = &sim->node_views[node].total;

    return target->price_hour_micro * total->v[RESOURCE_SLOT] +
           target->price_gpu_hour_micro * total->v[RESOURCE_GPU];
}

static void check_share(struct sim *sim, uint32_t at)
{
    const struct sched_share *share = &sim->shares[at];
    const struct sim_usage *usage = &sim->usage[at];
    int64_t limit = sim->world->budgets[at].gpu_ms, gpus = 0;
    int64_t micro = sim->world->budgets[at].micro, price = 0;

    for (size_t r = 0; r < RESOURCE_COUNT; r++) {
        if (usage->amounts.v[r] < 0 ||
            (r != RESOURCE_SLOT && usage->amounts.v[r] > limit_of(share, r) && !sim->limits_cut))
            sim__fail(sim, "share %u uses %lld %s of at most %lld", at,
                      (long long)usage->amounts.v[r], resource_name((enum resource)r),
                      (long long)limit_of(share, r));
    }
    if (usage->jobs < 0 || (usage->jobs > share->jobs_max && !sim->limits_cut))
        sim__fail(sim, "share %u runs %lld jobs of at most %lld", at, (long long)usage->jobs,
                  (long long)share->jobs_max);
    if (!sim->world->period_ms)
        return;
    for (uint32_t i = 0; i < sim->world->node_count; i++) {
        gpus += sim->node_views[i].total.v[RESOURCE_GPU];
        price += hour_of_all(sim, i);
    }
    for (size_t p = 0; p < SIM_PERIODS_MAX; p++) {
        if (limit != SCHED_UNLIMITED && usage->gpu_ms[p] > limit + gpus * BUDGET_SLACK_MS)
            sim__fail(sim, "share %u used %lld GPU-ms of its %lld in period %zu", at,
                      (long long)usage->gpu_ms[p], (long long)limit, p);
        if (micro != SCHED_UNLIMITED &&
            usage->price_ms[p] > micro * HOUR_MS + price * BUDGET_SLACK_MS)
            sim__fail(sim, "share %u used %lld micro of its %lld in period %zu", at,
                      (long long)(usage->price_ms[p] / HOUR_MS), (long long)micro, p);
    }
}

void sim__check(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->world->node_count; i++) {
        check_node(sim, i);
        check_work(sim, i);
    }
    check_jobs(sim);
    if (sim->world->arrays)
        check_arrays(sim);
    for (uint32_t i = 0; i < sim->world->share_count; i++)
        check_share(sim, i);
    if (sim->queue_count && !sim->attempt_view_count && !sim->zombies && sim->now >= sim->last_at &&
        sim->now - sim->changed > 60000 && sim->cycled == sim->now)
        sim__check_idle(sim);
}

/* ---- Who is ended for whom */

static bool is_below(const struct sim *sim, uint32_t share, uint32_t above)
{
    while (share != above && share != SCHED_NONE)
        share = sim->shares[share].parent;
    return share == above;
}

/* The child of the lowest common ancestor on the way down to `share`. SCHED_NONE: it is that
 * ancestor itself. */
static uint32_t branch_of(const struct sim *sim, uint32_t share, uint32_t other)
{
    uint32_t child = SCHED_NONE;

    for (; share != SCHED_NONE && !is_below(sim, other, share); share = sim->shares[share].parent)
        child = share;
    return child;
}

/* What is below `branch` and stays: without what ends already and the first `before` victims. */
static int64_t use_without(const struct sim *sim, uint32_t branch, size_t resource,
                           const struct sched_result *result, uint32_t before)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < sim->attempt_view_count; i++) {
        const struct sched_attempt *a = &sim->attempts[i];
        bool goes = a->stopping;

        for (uint32_t v = 0; v < before && !goes; v++)
            goes = result->evicts[v].attempt == i;
        if (!goes && is_below(sim, a->share, branch))
            sum += sim->world->shapes[a->shape].need.v[resource] * a->node_count;
    }
    return sum;
}

static void check_reclaim(struct sim *sim, const struct sched_result *result, uint32_t at)
{
    const struct sched_evict *evict = &result->evicts[at];
    const struct sched_job *job = &sim->queue[evict->job];
    const struct sched_attempt *victim = &sim->attempts[evict->attempt];
    const struct sched_shape *shape = &sim->world->shapes[job->shape];
    uint32_t theirs = branch_of(sim, victim->share, job->share);
    uint32_t ours = branch_of(sim, job->share, victim->share);
    bool above = false;

    if (theirs == SCHED_NONE || ours == SCHED_NONE) {
        sim__fail(sim, "share %u takes back from itself", job->share);
        return;
    }
    for (size_t r = 0; r < RESOURCE_COUNT; r++) {
        if (r == RESOURCE_SLOT || shape->need.v[r] == 0)
            continue;
        above |= use_without(sim, theirs, r, result, at) > sim->shares[theirs].quota.v[r];
    }
    if (!above)
        sim__fail(sim, "attempt %lld is taken from share %u, which is within its quota, for %u",
                  (long long)victim->id.v, theirs, job->share);
}

void sim__check_evicts(struct sim *sim, const struct sched_result *result)
{
    for (uint32_t i = 0; i < result->evict_count; i++) {
        const struct sched_job *job = &sim->queue[result->evicts[i].job];
        const struct sched_attempt *victim = &sim->attempts[result->evicts[i].attempt];
        share_id winner = sim->shares[job->share].id, loser = sim->shares[victim->share].id;

        if (victim->stopping)
            sim__fail(sim, "attempt %lld is ended twice", (long long)victim->id.v);
        if (victim->evictable_from > sim->now)
            sim__fail(sim, "attempt %lld is ended before its time", (long long)victim->id.v);
        for (uint32_t e = 0; e < sim->eviction_count; e++) {
            if (sim->evictions[e].winner.v == loser.v && sim->evictions[e].loser.v == winner.v &&
                winner.v != loser.v &&
                sim->now - sim->evictions[e].at < sim->options.policy.evict_pause_ms)
                sim__fail(sim, "share %lld ends work of %lld, which just ended its",
                          (long long)winner.v, (long long)loser.v);
        }
        if (result->evicts[i].ending == ENDING_RECLAIMED)
            check_reclaim(sim, result, i);
        else if (victim->queue != job->queue || victim->priority >= job->priority)
            sim__fail(sim, "attempt %lld is outranked by none of its queue",
                      (long long)victim->id.v);
    }
}

/* ---- Nobody waits for ever */

static bool is_held_for(const struct sim *sim, const struct sched_job *job)
{
    for (uint32_t i = 0; i < sim->reservation_count; i++) {
        if (sim->reservations[i].job.v == job->id.v)
            return true;
    }
    return false;
}

/* The same in all that the scheduler goes by, but older, and with no more time to ask for. */
static bool should_go_before(const struct sched_job *a, const struct sched_job *b)
{
    return a->share == b->share && a->queue == b->queue && a->shape == b->shape &&
           a->priority == b->priority && a->step_from == b->step_from &&
           a->ladder_at - a->queued == b->ladder_at - b->queued && a->queued < b->queued &&
           a->time_limit_ms <= b->time_limit_ms;
}

static enum wait_code waits_for(const struct sched_result *result, uint32_t job)
{
    for (uint32_t i = 0; i < result->wait_count; i++)
        if (result->waits[i].job == job)
            return result->waits[i].wait.code;
    return WAIT_CODE_COUNT;
}

void sim__check_order(struct sim *sim, const struct sched_result *result)
{
    bool *starts = arena_array(&sim->tick, sim->queue_count, sizeof *starts);
    bool *waits = arena_array(&sim->tick, sim->queue_count, sizeof *waits);

    for (uint32_t i = 0; i < result->start_count; i++)
        starts[result->starts[i].job] = true;
    /* Others the cycle did not look at, or their array is full. */
    for (uint32_t i = 0; i < result->wait_count; i++)
        waits[result->waits[i].job] = result->waits[i].wait.code != WAIT_ARRAY;
    for (uint32_t i = 0; i < result->start_count; i++) {
        const struct sched_job *job = &sim->queue[result->starts[i].job];

        for (uint32_t w = 0; w < sim->queue_count && !is_held_for(sim, job); w++) {
            if (waits[w] && should_go_before(&sim->queue[w], job))
                sim__fail(sim, "job %lld passes job %lld, which is the same and older (%s)",
                          (long long)job->id.v - 1, (long long)sim->queue[w].id.v - 1,
                          wait_code_name(waits_for(result, w)));
        }
    }
}

static int64_t ranks_on(const struct sched_node *node, const struct sched_shape *shape)
{
    int64_t ranks = node->several ? INT64_MAX : 1;

    if (shape->gpu_types && !(shape->gpu_types >> node->gpu_type & 1))
        return 0;
    if (shape->gpu_memory_bytes && node->gpu_memory_bytes &&
        node->gpu_memory_bytes < shape->gpu_memory_bytes)
        return 0;
    for (uint32_t i = 0; i < shape->excluded_count; i++) {
        if (shape->excluded[i].v == node->id.v)
            return 0;
    }
    for (size_t r = 0; r < RESOURCE_COUNT; r++) {
        if (shape->need.v[r] > 0)
            ranks = MIN(ranks, node->free.v[r] / shape->need.v[r]);
    }
    return node->several ? MAX(ranks, 0) : MIN(MAX(ranks, 0), 1);
}

static bool is_in(const uint32_t *list, uint32_t count, uint32_t item)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == item)
            return true;
    }
    return list == NULL;
}

static bool target_allowed(const struct sim *sim, const struct sched_job *job, uint32_t target)
{
    const struct sched_shape *shape = &sim->world->shapes[job->shape];
    const struct sched_queue *queue = &sim->queues[job->queue];
    int64_t opens = job->ladder_at;
    bool open = shape->step_count == 0;

    if (sim->targets[target].maintenance || !is_in(queue->targets, queue->target_count, target))
        return false;
    for (uint32_t at = job->share; at != SCHED_NONE; at = sim->shares[at].parent) {
        if (!is_in(sim->shares[at].targets, sim->shares[at].target_count, target))
            return false;
    }
    for (uint32_t i = job->step_from; i < shape->step_count && opens <= sim->now; i++) {
        open |= shape->steps[i].target == SCHED_NONE || shape->steps[i].target == target;
        opens = sum_of(opens, shape->steps[i].wait_ms);
    }
    return open;
}

static int64_t kept_of(const struct sched_share *share, size_t r)
{
    return share->lend.v[r] >= share->quota.v[r] ? 0 : share->quota.v[r] - share->lend.v[r];
}

/* With nothing running: is its ask within every limit, and not kept for others? */
static bool share_allows(const struct sim *sim, const struct sched_job *job, size_t r, int64_t ask)
{
    uint32_t child = SCHED_NONE;

    for (uint32_t at = job->share; at != SCHED_NONE; child = at, at = sim->shares[at].parent) {
        bool borrows = sim->options.policy.parts & SCHED_BORROW;
        int64_t kept = 0, capacity = 0;
        int64_t bound = borrows ? limit_of(&sim->shares[at], r) : sim->shares[at].quota.v[r];

        if (ask > bound)
            return false;
        for (uint32_t n = 0; n < sim->world->node_count; n++) {
            if (sim->node_views[n].state == SCHED_NODE_LIVE)
                capacity += sim->node_views[n].total.v[r];
        }
        bound = MIN(bound, capacity);
        for (uint32_t s = 0; s < sim->world->share_count && child != SCHED_NONE; s++) {
            if (sim->shares[s].parent == at && s != child)
                kept = sum_of(kept, kept_of(&sim->shares[s], r));
        }
        if (child != SCHED_NONE && ask > kept_of(&sim->shares[child], r) &&
            sum_of(ask, kept) > bound)
            return false;
    }
    return true;
}

static bool budget_allows(const struct sim *sim, const struct sched_job *job)
{
    int64_t gpus = sim_shape_gpus(&sim->world->shapes[job->shape]);

    for (uint32_t at = job->share; at != SCHED_NONE; at = sim->shares[at].parent) {
        const struct sched_share *share = &sim->shares[at];
        time_ms from = sim->now;
        time_ms to = sum_of(from, job->time_limit_ms);

        if (share->held || share->jobs_max < 1)
            return false;
        for (size_t p = 0; p < SCHED_PERIODS && sim->world->period_ms; p++) {
            time_ms end = MIN(to, share->budget.period_end[p]);
            int64_t ask = 0;

            if (end > from && __builtin_mul_overflow(end - from, gpus, &ask))
                ask = INT64_MAX;
            if (job->time_limit_ms == SCHED_UNLIMITED && gpus &&
                share->budget.gpu_ms_left[p] != SCHED_UNLIMITED)
                ask = INT64_MAX;
            if (ask > share->budget.gpu_ms_left[p])
                return false;
            from = MAX(from, end);
        }
    }
    return true;
}

/* Is there money for it at the target? */
static bool money_allows(const struct sim *sim, const struct sched_job *job, uint32_t target)
{
    const struct sched_shape *shape = &sim->world->shapes[job->shape];
    const struct sched_target *t = &sim->targets[target];
    __int128 hour = (__int128)t->price_hour_micro * shape->node_count +
                    (__int128)t->price_gpu_hour_micro * sim_shape_gpus(shape);

    for (uint32_t at = job->share; at != SCHED_NONE && hour > 0; at = sim->shares[at].parent) {
        const struct sched_budget *budget = &sim->shares[at].budget;
        time_ms from = sim->now, to = sum_of(from, job->time_limit_ms);
        for (size_t p = 0; p < SCHED_PERIODS && sim->world->period_ms; p++) {
            time_ms end = MIN(to, budget->period_end[p]);
            if (budget->micro_left[p] == SCHED_UNLIMITED || end <= from)
                continue;
            if (job->time_limit_ms == SCHED_UNLIMITED ||
                (hour * (end - from) + HOUR_MS - 1) / HOUR_MS > budget->micro_left[p])
                return false;
            from = end;
        }
    }
    return true;
}

bool sim__fits_alone(const struct sim *sim, uint32_t view)
{
    const struct sched_job *job = &sim->queue[view];
    const struct sched_shape *shape = &sim->world->shapes[job->shape];
    bool fits = false;

    if (sim->queues[job->queue].held || !budget_allows(sim, job))
        return false;
    for (size_t r = 0; r < RESOURCE_COUNT; r++) {
        int64_t ask;

        if (__builtin_mul_overflow(shape->need.v[r], shape->node_count, &ask))
            return false;
        if (r != RESOURCE_SLOT && ask > 0 && !share_allows(sim, job, r, ask))
            return false;
    }
    for (uint32_t t = 0; t < sim->world->target_count && !fits; t++) {
        int64_t ranks = 0;

        if (!target_allowed(sim, job, t) || !money_allows(sim, job, t))
            continue;
        for (uint32_t n = 0; n < sim->world->node_count; n++) {
            if (sim->node_views[n].target == t && sim->node_views[n].state == SCHED_NODE_LIVE)
                ranks = sum_of(ranks, ranks_on(&sim->node_views[n], shape));
        }
        fits = ranks >= shape->node_count;
    }
    return fits;
}

/* In strict order one that does not fit holds back all behind it, as it is meant to. */
static bool is_behind_another(const struct sim *sim, uint32_t view)
{
    bool behind = false;

    if (sim->options.policy.parts & SCHED_BACKFILL)
        return false;
    for (uint32_t i = 0; i < sim->queue_count && !behind; i++)
        behind = sim->queue[i].queue == sim->queue[view].queue && !sim__fits_alone(sim, i);
    return behind;
}

/* Room that is held until a machine comes is in use, in a way. */
static bool waits_for_machine(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->reservation_count; i++)
        for (uint32_t k = 0; k < sim->reservations[i].node_count; k++)
            for (uint32_t n = 0; n < sim->world->node_count; n++)
                if (sim->node_views[n].id.v == sim->reservations[i].nodes[k].v &&
                    sim->node_views[n].state == SCHED_NODE_COMING)
                    return true;
    return false;
}

void sim__check_idle(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->queue_count && !waits_for_machine(sim); i++) {
        if (sim__fits_alone(sim, i) && !is_behind_another(sim, i))
            sim__fail(sim, "job %lld waits while nothing runs, and fits",
                      (long long)sim->queue[i].id.v - 1);
    }
}
