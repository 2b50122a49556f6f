/* What must hold of a snapshot and of what a cycle makes of it, worked out again in the plainest
 * way, without the cycle's own structures: where the two disagree, one of them is wrong. */
#include "sched/amount.h"

struct ledger {
    const struct sched_snapshot *s;
    struct arena *arena;
    struct sched_amounts *free; /* by node */
    uint32_t *starts;           /* by node: the last that takes it, + 1 */
    struct usage {
        struct sched_amounts held; /* all that is held */
        struct sched_amounts left; /* ... before the cycle, less what is being ended */
        int64_t running;
        int64_t gpu_ms_left[SCHED_PERIODS], micro_left[SCHED_PERIODS];
    } * usage; /* by share */
    struct sched_amounts capacity;
};

/* -- the snapshot ----------------------------------------------------------------------------- */

static void check_targets(const struct sched_snapshot *s, const uint32_t *targets, uint32_t count)
{
    for (uint32_t i = 0; targets && i < count; i++)
        ENSURE(targets[i] < s->target_count);
}

static void check_shares(const struct sched_snapshot *s)
{
    for (uint32_t i = 0; i < s->share_count; i++) {
        const struct sched_share *share = &s->shares[i];
        ENSURE(share->parent == SCHED_NONE || share->parent < i);
        ENSURE(share->weight >= 0 && share->jobs_max >= 0);
        for (int r = 0; r < RESOURCE_COUNT; r++)
            ENSURE(share->quota.v[r] >= 0 && share->borrow.v[r] >= 0 && share->lend.v[r] >= 0);
        check_targets(s, share->targets, share->target_count);
    }
    for (uint32_t i = 0; i < s->queue_count; i++)
        check_targets(s, s->queues[i].targets, s->queues[i].target_count);
}

static void check_shapes(const struct sched_snapshot *s)
{
    for (uint32_t i = 0; i < s->shape_count; i++) {
        const struct sched_shape *shape = &s->shapes[i];
        ENSURE(shape->node_count >= 1);
        for (int r = 0; r < RESOURCE_COUNT; r++)
            ENSURE(shape->need.v[r] >= 0);
        for (uint32_t k = 0; k < shape->step_count; k++)
            ENSURE(shape->steps[k].target == SCHED_NONE ||
                   shape->steps[k].target < s->target_count);
        for (uint32_t k = 1; k < shape->excluded_count; k++)
            ENSURE(shape->excluded[k - 1].v < shape->excluded[k].v);
    }
}

static void check_jobs(const struct sched_snapshot *s)
{
    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct sched_job *j = &s->jobs[i];
        ENSURE(j->share < s->share_count && j->queue < s->queue_count && j->shape < s->shape_count);
        ENSURE(j->time_limit_ms >= 0);
    }
}

/* Amounts held add up to what is not free: others may use nodes too, so that less may be free. */
static void check_nodes(const struct sched_snapshot *s, struct arena *arena)
{
    struct sched_amounts *held = arena_array(arena, s->node_count, sizeof *held);

    for (uint32_t a = 0; a < s->attempt_count; a++) {
        const struct sched_attempt *at = &s->attempts[a];
        ENSURE(at->share < s->share_count && at->queue < s->queue_count &&
               at->shape < s->shape_count);
        ENSURE(at->node_count == s->shapes[at->shape].node_count);
        for (uint32_t i = 0; i < at->node_count; i++) {
            ENSURE(at->nodes[i] < s->node_count);
            sched__take(&held[at->nodes[i]], &s->shapes[at->shape].need, -1);
        }
    }
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sched_node *n = &s->nodes[i];
        ENSURE(n->target < s->target_count && n->gpu_type < SCHED_GPU_TYPES_MAX);
        for (int r = 0; r < RESOURCE_COUNT; r++) {
            ENSURE(n->total.v[r] >= 0);
            ENSURE(n->free.v[r] <= sched__sub(n->total.v[r], held[i].v[r]));
        }
    }
}

void sched_check_snapshot(const struct sched_snapshot *snapshot)
{
    CLEANUP(arena_release) struct arena arena = {0};

    check_shares(snapshot);
    check_shapes(snapshot);
    check_jobs(snapshot);
    check_nodes(snapshot, &arena);
}

/* -- what is held ----------------------------------------------------------------------------- */

static void book(struct ledger *l, uint32_t share, uint32_t shape, bool starts, bool stays)
{
    struct sched_amounts ask = sched__ask(&l->s->shapes[shape]);

    for (uint32_t at = share; at != SCHED_NONE; at = l->s->shares[at].parent) {
        sched__take(&l->usage[at].held, &ask, -1);
        if (!starts && stays)
            sched__take(&l->usage[at].left, &ask, -1);
        l->usage[at].running++;
    }
}

static void ledger_init(struct ledger *l, const struct sched_snapshot *s, struct arena *arena)
{
    *l = (struct ledger){.s = s,
                         .arena = arena,
                         .free = arena_array(arena, s->node_count, sizeof *l->free),
                         .starts = arena_array(arena, s->node_count, sizeof *l->starts),
                         .usage = arena_array(arena, s->share_count, sizeof *l->usage)};
    for (uint32_t i = 0; i < s->node_count; i++) {
        l->free[i] = s->nodes[i].free;
        if (s->nodes[i].state == SCHED_NODE_LIVE)
            sched__take(&l->capacity, &s->nodes[i].total, -1);
    }
    for (uint32_t i = 0; i < s->share_count; i++)
        for (int k = 0; k < SCHED_PERIODS; k++) {
            l->usage[i].gpu_ms_left[k] = s->shares[i].budget.gpu_ms_left[k];
            l->usage[i].micro_left[k] = s->shares[i].budget.micro_left[k];
        }
    for (uint32_t i = 0; i < s->attempt_count; i++)
        book(l, s->attempts[i].share, s->attempts[i].shape, false, !s->attempts[i].stopping);
}

/* -- starts ----------------------------------------------------------------------------------- */

static bool lists(const uint32_t *targets, uint32_t count, uint32_t target)
{
    for (uint32_t i = 0; i < count; i++)
        if (targets[i] == target)
            return true;
    return targets == NULL;
}

static void check_target(const struct ledger *l, const struct sched_start *start)
{
    const struct sched_snapshot *s = l->s;
    const struct sched_job *j = &s->jobs[start->job];
    const struct sched_shape *shape = &s->shapes[j->shape];
    const struct sched_queue *q = &s->queues[j->queue];
    uint32_t target = s->nodes[start->nodes[0]].target;
    time_ms opens = j->ladder_at;

    ENSURE(!q->held && lists(q->targets, q->target_count, target));
    ENSURE(!s->targets[target].maintenance);
    for (uint32_t at = j->share; at != SCHED_NONE; at = s->shares[at].parent)
        ENSURE(!s->shares[at].held &&
               lists(s->shares[at].targets, s->shares[at].target_count, target));
    if (shape->step_count == 0) {
        ENSURE(start->step == 0);
        return;
    }
    ENSURE(start->step < shape->step_count);
    ENSURE(shape->steps[start->step].target == SCHED_NONE ||
           shape->steps[start->step].target == target);
    for (uint32_t i = j->step_from; i < start->step; i++) {
        ENSURE(shape->steps[i].wait_ms != SCHED_UNLIMITED);
        opens = sched__add(opens, shape->steps[i].wait_ms);
    }
    ENSURE(start->step <= j->step_from || opens <= s->now);
}

static void check_place(struct ledger *l, const struct sched_start *start)
{
    const struct sched_shape *shape = &l->s->shapes[l->s->jobs[start->job].shape];

    ENSURE(start->node_count == shape->node_count);
    for (uint32_t i = 0; i < start->node_count; i++) {
        const struct sched_node *n = &l->s->nodes[start->nodes[i]];
        struct sched_amounts *free = &l->free[start->nodes[i]];
        ENSURE(n->several || l->starts[start->nodes[i]] != start->job + 1);
        l->starts[start->nodes[i]] = start->job + 1;
        ENSURE(n->state == SCHED_NODE_LIVE);
        ENSURE(n->target == l->s->nodes[start->nodes[0]].target);
        ENSURE(!shape->gpu_types || shape->gpu_types >> n->gpu_type & 1);
        ENSURE(!(shape->needs & ~n->features));
        ENSURE(n->gpu_memory_bytes >= shape->gpu_memory_bytes);
        for (uint32_t k = 0; k < shape->excluded_count; k++)
            ENSURE(shape->excluded[k].v != n->id.v);
        for (int r = 0; r < RESOURCE_COUNT; r++)
            ENSURE(shape->need.v[r] == 0 || free->v[r] >= shape->need.v[r]);
        sched__take(free, &shape->need, 1);
    }
}

static int64_t kept(const struct sched_share *share, int r)
{
    return MAX(0, sched__sub(share->quota.v[r], share->lend.v[r]));
}

/* Bound of what is below the share: its limit, and at most all hardware. */
static int64_t limit(const struct ledger *l, uint32_t share, int r)
{
    const struct sched_share *s = &l->s->shares[share];
    int64_t limit = sched__add(s->quota.v[r], s->borrow.v[r]);

    if (!(l->s->policy.parts & SCHED_BORROW) && s->quota.v[r] > 0)
        limit = s->quota.v[r];
    return limit;
}

static void check_kept(const struct ledger *l, uint32_t share, uint32_t child,
                       const struct sched_amounts *ask)
{
    for (int r = 0; r < SHARED_RESOURCES; r++) {
        int64_t others = 0, child_held = l->usage[child].held.v[r];
        if (ask->v[r] == 0 || sched__add(child_held, ask->v[r]) <= kept(&l->s->shares[child], r))
            continue;
        for (uint32_t i = share + 1; i < l->s->share_count; i++)
            if (l->s->shares[i].parent == share && i != child)
                others = sched__add(
                    others, MAX(0, sched__sub(kept(&l->s->shares[i], r), l->usage[i].held.v[r])));
        ENSURE(others == 0 || sched__add(sched__add(l->usage[share].held.v[r], ask->v[r]),
                                         others) <= MIN(limit(l, share, r), l->capacity.v[r]));
    }
}

static void check_limits(const struct ledger *l, const struct sched_job *j)
{
    struct sched_amounts ask = sched__ask(&l->s->shapes[j->shape]);
    uint32_t child = SCHED_NONE;

    for (uint32_t at = j->share; at != SCHED_NONE; at = l->s->shares[at].parent) {
        ENSURE(l->usage[at].running < l->s->shares[at].jobs_max);
        for (int r = 0; r < SHARED_RESOURCES; r++)
            ENSURE(ask.v[r] == 0 || limit(l, at, r) == SCHED_UNLIMITED ||
                   sched__add(l->usage[at].held.v[r], ask.v[r]) <= limit(l, at, r));
        if (child != SCHED_NONE)
            check_kept(l, at, child, &ask);
        child = at;
    }
}

static int64_t charge(int64_t *left, __int128 asked)
{
    int64_t amount = asked > INT64_MAX ? INT64_MAX : (int64_t)asked;

    if (*left == SCHED_UNLIMITED)
        return 0;
    ENSURE(amount == 0 || amount <= *left);
    *left -= amount;
    return amount;
}

static void check_budgets(struct ledger *l, const struct sched_start *start)
{
    const struct sched_job *j = &l->s->jobs[start->job];
    const struct sched_target *t = &l->s->targets[l->s->nodes[start->nodes[0]].target];
    struct sched_amounts ask = sched__ask(&l->s->shapes[j->shape]);
    __int128 per_hour = (__int128)t->price_hour_micro * start->node_count +
                        (__int128)t->price_gpu_hour_micro * ask.v[RESOURCE_GPU];

    for (uint32_t at = j->share; at != SCHED_NONE; at = l->s->shares[at].parent)
        for (int k = 0; k < SCHED_PERIODS; k++) {
            const struct sched_budget *b = &l->s->shares[at].budget;
            time_ms from = k ? MAX(l->s->now, b->period_end[k - 1]) : l->s->now;
            __int128 part =
                MAX(0, sched__sub(MIN(b->period_end[k], sched__ends(l->s->now, j->time_limit_ms)),
                                  from));
            (void)charge(&l->usage[at].gpu_ms_left[k], part * ask.v[RESOURCE_GPU]);
            (void)charge(&l->usage[at].micro_left[k], part && per_hour > INT64_MAX
                                                          ? per_hour
                                                          : (per_hour * part + 3599999) / 3600000);
        }
}

static void check_starts(struct ledger *l, const struct sched_result *result, uint8_t *seen)
{
    for (uint32_t i = 0; i < result->start_count; i++) {
        const struct sched_start *start = &result->starts[i];
        const struct sched_job *j;
        ENSURE(start->job < l->s->job_count && !seen[start->job]);
        seen[start->job] = 1;
        j = &l->s->jobs[start->job];
        check_place(l, start);
        check_target(l, start);
        check_limits(l, j);
        check_budgets(l, start);
        book(l, j->share, j->shape, true, true);
    }
}

/* -- ends ------------------------------------------------------------------------------------- */

static bool below(const struct ledger *l, uint32_t share, uint32_t branch)
{
    while (share != SCHED_NONE && share != branch)
        share = l->s->shares[share].parent;
    return share == branch;
}

/* The branch below which the victim lies and the asker does not: SCHED_NONE if it is the same
 * project. */
static uint32_t victim_branch(const struct ledger *l, uint32_t asker, uint32_t victim)
{
    uint32_t at = victim;

    if (below(l, asker, victim))
        return SCHED_NONE;
    while (l->s->shares[at].parent != SCHED_NONE && !below(l, asker, l->s->shares[at].parent))
        at = l->s->shares[at].parent;
    return at;
}

static bool over(const struct ledger *l, uint32_t share, uint32_t branch, int r)
{
    for (uint32_t at = share;; at = l->s->shares[at].parent) {
        if (l->usage[at].left.v[r] <= l->s->shares[at].quota.v[r])
            return false;
        if (at == branch)
            return true;
    }
}

static unsigned owned(const struct ledger *l)
{
    unsigned bits = 0;

    for (uint32_t i = 0; i < l->s->share_count; i++)
        for (int r = 0; r < SHARED_RESOURCES; r++)
            bits |= l->s->shares[i].quota.v[r] > 0 ? 1U << r : 0;
    return bits;
}

/* Nobody is ended who is within its quota. */
static void check_innocent(const struct ledger *l, const struct sched_attempt *a,
                           const struct sched_job *asker, enum ending ending)
{
    uint32_t branch = victim_branch(l, asker->share, a->share);
    bool holds = false, beyond = false;

    ENSURE(ending == ENDING_RECLAIMED || ending == ENDING_OUTRANKED);
    if (ending == ENDING_OUTRANKED)
        ENSURE(a->queue == asker->queue && a->priority < asker->priority &&
               sched__place(l->s, asker->queue, asker->priority, asker->queued) <
                   sched__place(l->s, a->queue, a->priority, a->queued));
    if (branch == SCHED_NONE) {
        ENSURE(ending == ENDING_OUTRANKED || a->share != asker->share);
        return;
    }
    for (int r = 0; r < SHARED_RESOURCES; r++) {
        if (!(owned(l) >> r & 1) || l->s->shapes[a->shape].need.v[r] == 0)
            continue;
        holds = true;
        beyond |= over(l, a->share, branch, r) &&
                  (ending == ENDING_OUTRANKED || l->s->shapes[asker->shape].need.v[r] > 0);
    }
    ENSURE(beyond || (!holds && ending == ENDING_OUTRANKED));
}

/* Who takes back stays within its own quota below the branch where the two meet. */
static void check_owner(const struct ledger *l, const struct sched_attempt *a,
                        const struct sched_job *asker)
{
    struct sched_amounts ask = sched__ask(&l->s->shapes[asker->shape]);

    for (uint32_t at = asker->share; at != SCHED_NONE && !below(l, a->share, at);
         at = l->s->shares[at].parent)
        for (int r = 0; r < SHARED_RESOURCES; r++)
            ENSURE(ask.v[r] == 0 || !(owned(l) >> r & 1) ||
                   sched__add(l->usage[at].left.v[r], ask.v[r]) <= l->s->shares[at].quota.v[r]);
}

static void check_pause(const struct ledger *l, const struct sched_attempt *a,
                        const struct sched_job *asker)
{
    share_id loser = l->s->shares[asker->share].id, winner = l->s->shares[a->share].id;

    for (uint32_t i = 0; i < l->s->eviction_count && winner.v != loser.v; i++) {
        const struct sched_eviction *e = &l->s->evictions[i];
        ENSURE(e->winner.v != winner.v || e->loser.v != loser.v ||
               sched__sub(l->s->now, e->at) >= l->s->policy.evict_pause_ms);
    }
}

static void check_evicts(struct ledger *l, const struct sched_result *result, const uint8_t *seen)
{
    bool *ended = arena_array(l->arena, l->s->attempt_count, sizeof *ended);

    for (uint32_t i = 0; i < result->evict_count; i++) {
        const struct sched_evict *e = &result->evicts[i];
        const struct sched_attempt *a;
        const struct sched_job *asker;
        struct sched_amounts ask;
        ENSURE(e->attempt < l->s->attempt_count && !ended[e->attempt]);
        ended[e->attempt] = true;
        a = &l->s->attempts[e->attempt];
        ENSURE(!a->stopping && a->evictable_from <= l->s->now);
        ENSURE(e->job < l->s->job_count && !seen[e->job]);
        asker = &l->s->jobs[e->job];
        check_innocent(l, a, asker, e->ending);
        if (e->ending == ENDING_RECLAIMED)
            check_owner(l, a, asker);
        check_pause(l, a, asker);
        ask = sched__ask(&l->s->shapes[a->shape]);
        for (uint32_t at = a->share; at != SCHED_NONE; at = l->s->shares[at].parent)
            sched__take(&l->usage[at].left, &ask, 1);
    }
}

/* -- waits and reservations ------------------------------------------------------------------- */

static void check_waits(const struct ledger *l, const struct sched_result *result, uint8_t *seen)
{
    for (uint32_t i = 0; i < result->wait_count; i++) {
        ENSURE(result->waits[i].job < l->s->job_count && !seen[result->waits[i].job]);
        seen[result->waits[i].job] = 2;
        ENSURE(result->waits[i].wait.rank == (int64_t)i + 1);
        ENSURE(result->waits[i].wait.code < WAIT_CODE_COUNT);
    }
    ENSURE(result->start_count + result->wait_count == l->s->job_count);
}

static void check_reservations(const struct ledger *l, const struct sched_result *result,
                               const uint8_t *seen)
{
    uint32_t heads = 0;

    for (uint32_t i = 0; i < result->reservation_count; i++) {
        const struct sched_reservation *r = &result->reservations[i];
        bool found = false;
        for (uint32_t k = 0; k < l->s->job_count && !found; k++)
            if (l->s->jobs[k].id.v == r->job.v) {
                ENSURE(seen[k] == 2);
                ENSURE(r->node_count ==
                       (r->quota ? 0 : l->s->shapes[l->s->jobs[k].shape].node_count));
                found = true;
            }
        ENSURE(found);
        heads += !r->victims && !r->quota;
    }
    ENSURE(heads <= 1);
}

static void check_arrays(const struct sched_snapshot *snapshot, const struct sched_result *result,
                         struct arena *arena)
{
    int64_t *started = arena_array(arena, snapshot->array_count, sizeof *started);

    for (uint32_t i = 0; i < result->start_count; i++) {
        uint32_t array = snapshot->jobs[result->starts[i].job].array;
        ENSURE(array <= snapshot->array_count);
        ENSURE(array == 0 || ++started[array - 1] <= snapshot->array_places[array - 1]);
    }
}

void sched_check_result(const struct sched_snapshot *snapshot, const struct sched_result *result)
{
    CLEANUP(arena_release) struct arena arena = {0};
    uint8_t *seen = arena_array(&arena, snapshot->job_count, sizeof *seen);
    struct ledger l;

    ledger_init(&l, snapshot, &arena);
    check_starts(&l, result, seen);
    check_arrays(snapshot, result, &arena);
    check_evicts(&l, result, seen);
    check_waits(&l, result, seen);
    check_reservations(&l, result, seen);
}
