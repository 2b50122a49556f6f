/* When a job may start: cycles at the moments at which something that is known changes. What is
 * evicted is gone at once and waits again at its old place, for as long as it may run; nothing new
 * is submitted; what ends early gives nothing sooner; budgets of the month after the next are taken
 * as open. So it is what the limits of today promise, not a forecast. */
#include "sched/cycle.h"

struct future {
    struct arena *arena;
    struct sched_snapshot s;
    struct sched_share *shares;
    struct sched_target *targets;
    struct sched_node *nodes;
    struct sched_job *jobs;
    struct sched_attempt *attempts;
    struct sched_eviction *evictions;
    int64_t *array_places;
    size_t attempt_room, job_room, eviction_room;
    job_id asked;
};

static void *copy(struct arena *arena, const void *items, size_t count, size_t item_bytes)
{
    void *to = arena_array(arena, count, item_bytes);

    if (count)
        memcpy(to, items, count * item_bytes);
    return to;
}

static void future_init(struct future *f, const struct sched_snapshot *s, uint32_t job,
                        struct arena *arena)
{
    *f = (struct future){.arena = arena, .s = *s, .asked = s->jobs[job].id};
    f->s.shares = f->shares = copy(arena, s->shares, s->share_count, sizeof *s->shares);
    f->s.targets = f->targets = copy(arena, s->targets, s->target_count, sizeof *s->targets);
    f->s.nodes = f->nodes = copy(arena, s->nodes, s->node_count, sizeof *s->nodes);
    f->s.jobs = f->jobs = copy(arena, s->jobs, s->job_count, sizeof *s->jobs);
    f->s.attempts = f->attempts = copy(arena, s->attempts, s->attempt_count, sizeof *s->attempts);
    f->s.evictions = f->evictions =
        copy(arena, s->evictions, s->eviction_count, sizeof *s->evictions);
    f->s.array_places = f->array_places =
        copy(arena, s->array_places, s->array_count, sizeof *s->array_places);
    f->attempt_room = s->attempt_count;
    f->job_room = s->job_count;
    f->eviction_room = s->eviction_count;
}

static void hold(struct future *f, const struct sched_attempt *a, int64_t times)
{
    for (uint32_t i = 0; i < a->node_count; i++)
        sched__take(&f->nodes[a->nodes[i]].free, &f->s.shapes[a->shape].need, times);
}

static void attempt_end(struct future *f, uint32_t at)
{
    hold(f, &f->attempts[at], -1);
    if (f->attempts[at].array)
        f->array_places[f->attempts[at].array - 1]++;
    f->attempts[at] = f->attempts[--f->s.attempt_count];
}

static void attempt_begin(struct future *f, const struct sched_start *start)
{
    const struct sched_job *j = &f->jobs[start->job];

    f->attempts = arena_more(f->arena, f->attempts, f->s.attempt_count, &f->attempt_room,
                             sizeof *f->attempts);
    f->s.attempts = f->attempts;
    f->attempts[f->s.attempt_count++] = (struct sched_attempt){
        .job = j->id,
        .share = j->share,
        .queue = j->queue,
        .shape = j->shape,
        .priority = j->priority,
        .since = f->s.now,
        .ends_by = sched__ends(f->s.now, j->time_limit_ms),
        .evictable_from = SCHED_UNLIMITED,
        .nodes = copy(f->arena, start->nodes, start->node_count, sizeof *start->nodes),
        .node_count = start->node_count,
        .array = j->array};
    if (j->array)
        f->array_places[j->array - 1]--;
    hold(f, &f->attempts[f->s.attempt_count - 1], 1);
}

static void requeue(struct future *f, const struct sched_attempt *a)
{
    bool bounded = a->ends_by != SCHED_UNLIMITED;

    f->jobs = arena_more(f->arena, f->jobs, f->s.job_count, &f->job_room, sizeof *f->jobs);
    f->s.jobs = f->jobs;
    f->jobs[f->s.job_count++] = (struct sched_job){
        .id = a->job,
        .share = a->share,
        .queue = a->queue,
        .shape = a->shape,
        .priority = a->priority,
        .queued = a->queued,
        .ladder_at = f->s.now,
        .time_limit_ms = bounded ? sched__sub(a->ends_by, a->since) : SCHED_UNLIMITED,
        .array = a->array};
}

/* Ends those that others were ended for, and returns them to the queue behind those that wait. */
static void apply_evicts(struct future *f, const struct cycle *c, const uint32_t *asker_shares)
{
    bool *gone = arena_array(c->arena, f->s.attempt_count, sizeof *gone);

    for (uint32_t i = 0; i < c->result.evict_count; i++) {
        const struct sched_attempt *a = &f->attempts[c->result.evicts[i].attempt];
        gone[c->result.evicts[i].attempt] = true;
        f->evictions = arena_more(f->arena, f->evictions, f->s.eviction_count, &f->eviction_room,
                                  sizeof *f->evictions);
        f->s.evictions = f->evictions;
        f->evictions[f->s.eviction_count++] = (struct sched_eviction){
            f->shares[asker_shares[i]].id, f->shares[a->share].id, f->s.now};
        requeue(f, a);
    }
    for (uint32_t i = f->s.attempt_count; i-- > 0;)
        if (gone[i])
            attempt_end(f, i);
}

/* What the cycle decided has come to pass. True: the asked job starts. */
static bool apply(struct future *f, const struct cycle *c)
{
    uint32_t *shares = arena_array(c->arena, c->result.evict_count, sizeof *shares), kept = 0;

    for (uint32_t i = 0; i < c->result.start_count; i++)
        if (f->jobs[c->result.starts[i].job].id.v == f->asked.v)
            return true;
    for (uint32_t i = 0; i < c->result.evict_count; i++)
        shares[i] = f->jobs[c->result.evicts[i].job].share;
    for (uint32_t i = 0; i < c->result.start_count; i++)
        attempt_begin(f, &c->result.starts[i]);
    for (uint32_t i = 0; i < f->s.job_count; i++)
        if (c->states[i] == JOB_WAITS)
            f->jobs[kept++] = f->jobs[i];
    f->s.job_count = kept;
    apply_evicts(f, c, shares);
    for (uint32_t i = 0; i < f->s.share_count; i++)
        for (int k = 0; k < SCHED_PERIODS; k++) {
            f->shares[i].budget.gpu_ms_left[k] = c->tree.branches[i].gpu_ms_left[k];
            f->shares[i].budget.micro_left[k] = c->tree.branches[i].micro_left[k];
        }
    f->s.reservations = c->result.reservations;
    f->s.reservation_count = c->result.reservation_count;
    return false;
}

static void sooner(const struct future *f, time_ms *next, time_ms at)
{
    if (at > f->s.now && at != SCHED_UNLIMITED && at < *next)
        *next = at;
}

static void job_moments(const struct future *f, const struct sched_job *j, time_ms *next)
{
    const struct sched_shape *shape = &f->s.shapes[j->shape];
    time_ms opens = j->ladder_at;

    sooner(f, next, sched__add(j->queued, f->s.policy.reserve_after_ms));
    for (uint32_t i = j->step_from; i < shape->step_count; i++) {
        if (shape->steps[i].wait_ms == SCHED_UNLIMITED)
            return;
        opens = sched__add(opens, shape->steps[i].wait_ms);
        sooner(f, next, opens);
    }
}

/* The next moment at which something known changes; SCHED_UNLIMITED: nothing does. */
static time_ms next_moment(const struct future *f)
{
    time_ms next = SCHED_UNLIMITED;

    for (uint32_t i = 0; i < f->s.attempt_count; i++) {
        sooner(f, &next, f->attempts[i].ends_by);
        sooner(f, &next, f->attempts[i].evictable_from);
    }
    for (uint32_t i = 0; i < f->s.node_count; i++)
        sooner(f, &next, f->nodes[i].until);
    for (uint32_t i = 0; i < f->s.target_count; i++)
        sooner(f, &next, f->targets[i].until);
    for (uint32_t i = 0; i < f->s.share_count; i++)
        if (f->shares[i].budget.gpu_ms_left[0] != SCHED_UNLIMITED ||
            f->shares[i].budget.micro_left[0] != SCHED_UNLIMITED)
            sooner(f, &next, f->shares[i].budget.period_end[0]);
    for (uint32_t i = 0; i < f->s.job_count; i++)
        if (f->jobs[i].id.v == f->asked.v)
            job_moments(f, &f->jobs[i], &next);
    return next;
}

static void next_month(struct sched_budget *b)
{
    for (int k = 0; k < SCHED_PERIODS; k++) {
        bool last = k + 1 == SCHED_PERIODS;
        b->period_end[k] = last ? SCHED_UNLIMITED : b->period_end[k + 1];
        b->gpu_ms_left[k] = last ? SCHED_UNLIMITED : b->gpu_ms_left[k + 1];
        b->micro_left[k] = last ? SCHED_UNLIMITED : b->micro_left[k + 1];
    }
}

static bool is_past(const struct future *f, time_ms at)
{
    return at != TIME_NONE && at <= f->s.now;
}

/* Everything that is known to be over or there by now is. */
static void settle(struct future *f)
{
    for (uint32_t i = f->s.attempt_count; i-- > 0;)
        if (f->attempts[i].stopping || f->attempts[i].ends_by <= f->s.now)
            attempt_end(f, i);
    for (uint32_t i = 0; i < f->s.node_count; i++) {
        struct sched_node *n = &f->nodes[i];
        if (!is_past(f, n->until))
            continue;
        if (n->state == SCHED_NODE_COMING)
            n->free = n->total;
        if (n->state == SCHED_NODE_COMING || n->state == SCHED_NODE_MAINTENANCE)
            n->state = SCHED_NODE_LIVE;
    }
    for (uint32_t i = 0; i < f->s.target_count; i++)
        if (f->targets[i].maintenance && is_past(f, f->targets[i].until))
            f->targets[i].maintenance = false;
    for (uint32_t i = 0; i < f->s.share_count; i++)
        if (f->shares[i].budget.period_end[0] <= f->s.now)
            next_month(&f->shares[i].budget);
}

time_ms sched_estimate(const struct sched_snapshot *snapshot, uint32_t job, uint32_t steps_max,
                       struct arena *arena)
{
    CLEANUP(arena_release) struct arena even = {0};
    CLEANUP(arena_release) struct arena odd = {0};
    struct future f;

    future_init(&f, snapshot, job, arena);
    for (uint32_t step = 0; step < steps_max; step++) {
        struct arena *mine = step % 2 ? &odd : &even; /* the other holds the reservations */
        struct cycle c;
        arena_reset(mine);
        sched__cycle_run(&f.s, mine, &c);
        if (apply(&f, &c))
            return f.s.now;
        if (c.result.evict_count == 0)
            f.s.now = next_moment(&f);
        if (f.s.now == SCHED_UNLIMITED)
            return TIME_NONE;
        settle(&f);
    }
    return TIME_NONE;
}
