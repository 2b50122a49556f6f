/* Fills snapshots for tests and carries on what a cycle decided. */
#include "world.h"

static const struct sched_amounts unlimited = {
    {SCHED_UNLIMITED, SCHED_UNLIMITED, SCHED_UNLIMITED, SCHED_UNLIMITED}};

void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->s = (struct sched_snapshot){.now = HOUR,
                                   .policy = sched_policy_default(),
                                   .shares = w->shares,
                                   .queues = w->queues,
                                   .targets = w->targets,
                                   .nodes = w->nodes,
                                   .shapes = w->shapes,
                                   .jobs = w->jobs,
                                   .attempts = w->attempts,
                                   .reservations = w->reservations,
                                   .evictions = w->evictions};
    world_share(w, SCHED_NONE, 0);
    world_queue(w, 0);
    world_target(w);
}

void world_release(struct world *w)
{
    arena_release(&w->arena);
}

static int64_t next_id(struct world *w, uint32_t count)
{
    ENSURE(count < WORLD_MAX);
    return ++w->last_id;
}

uint32_t world_share(struct world *w, uint32_t parent, int64_t quota_gpus)
{
    struct sched_share *s = &w->shares[w->s.share_count];

    *s = (struct sched_share){.id = {next_id(w, w->s.share_count)},
                              .parent = parent,
                              .weight = 1,
                              .borrow = unlimited,
                              .lend = unlimited,
                              .jobs_max = SCHED_UNLIMITED};
    s->quota.v[RESOURCE_GPU] = quota_gpus;
    for (int k = 0; k < SCHED_PERIODS; k++) {
        s->budget.period_end[k] = (k + 1) * 1000 * HOUR;
        s->budget.gpu_ms_left[k] = s->budget.micro_left[k] = SCHED_UNLIMITED;
    }
    return w->s.share_count++;
}

uint32_t world_queue(struct world *w, int64_t priority)
{
    w->queues[w->s.queue_count] =
        (struct sched_queue){.id = {next_id(w, w->s.queue_count)}, .priority = priority};
    return w->s.queue_count++;
}

uint32_t world_target(struct world *w)
{
    w->targets[w->s.target_count] =
        (struct sched_target){.id = {next_id(w, w->s.target_count)}, .until = TIME_NONE};
    return w->s.target_count++;
}

uint32_t world_node(struct world *w, uint32_t target, int64_t gpus)
{
    struct sched_node *n = &w->nodes[w->s.node_count];

    *n = (struct sched_node){
        .id = {next_id(w, w->s.node_count)}, .target = target, .until = TIME_NONE};
    n->total = (struct sched_amounts){{8000, gpus, 64 * GIB, 32}};
    n->free = n->total;
    return w->s.node_count++;
}

uint32_t world_shape(struct world *w, uint32_t node_count, int64_t gpus)
{
    struct sched_shape *s = &w->shapes[w->s.shape_count];

    ENSURE(w->s.shape_count < WORLD_MAX);
    *s = (struct sched_shape){.node_count = node_count};
    s->need.v[RESOURCE_GPU] = gpus;
    s->need.v[RESOURCE_SLOT] = 1;
    return w->s.shape_count++;
}

uint32_t world_job(struct world *w, uint32_t share, uint32_t shape)
{
    struct sched_job *j = &w->jobs[w->s.job_count];

    *j = (struct sched_job){.id = {next_id(w, w->s.job_count)},
                            .share = share,
                            .shape = shape,
                            .time_limit_ms = SCHED_UNLIMITED};
    j->queued = j->ladder_at = w->s.now - 60000 + w->s.job_count;
    return w->s.job_count++;
}

static uint32_t attempt(struct world *w, uint32_t share, uint32_t shape, const uint32_t *nodes)
{
    struct sched_attempt *a = &w->attempts[w->s.attempt_count];
    uint32_t count = w->shapes[shape].node_count;
    uint32_t *held = arena_array(&w->arena, count, sizeof *held);

    memcpy(held, nodes, count * sizeof *held);
    *a = (struct sched_attempt){.id = {next_id(w, w->s.attempt_count)},
                                .share = share,
                                .shape = shape,
                                .queued = w->s.now,
                                .ends_by = SCHED_UNLIMITED,
                                .nodes = held,
                                .node_count = count};
    a->job.v = ++w->last_id;
    for (uint32_t i = 0; i < count; i++)
        for (int r = 0; r < RESOURCE_COUNT; r++)
            w->nodes[held[i]].free.v[r] -= w->shapes[shape].need.v[r];
    return w->s.attempt_count++;
}

uint32_t world_attempt(struct world *w, uint32_t share, uint32_t shape, uint32_t node)
{
    ENSURE(w->shapes[shape].node_count == 1);
    return attempt(w, share, shape, &node);
}

void world_cycle(struct world *w)
{
    sched_check_snapshot(&w->s);
    sched_cycle(&w->s, &w->arena, &w->result);
    sched_check_result(&w->s, &w->result);
}

const struct wait *world_wait(const struct world *w, uint32_t job)
{
    for (uint32_t i = 0; i < w->result.wait_count; i++)
        if (w->result.waits[i].job == job)
            return &w->result.waits[i].wait;
    return NULL;
}

const struct sched_start *world_start(const struct world *w, uint32_t job)
{
    for (uint32_t i = 0; i < w->result.start_count; i++)
        if (w->result.starts[i].job == job)
            return &w->result.starts[i];
    return NULL;
}

void world_end(struct world *w, uint32_t at)
{
    const struct sched_attempt *a = &w->attempts[at];

    for (uint32_t i = 0; i < a->node_count; i++)
        for (int r = 0; r < RESOURCE_COUNT; r++)
            w->nodes[a->nodes[i]].free.v[r] += w->shapes[a->shape].need.v[r];
    w->attempts[at] = w->attempts[--w->s.attempt_count];
}

static void apply_evicts(struct world *w)
{
    for (uint32_t i = 0; i < w->result.evict_count; i++) {
        const struct sched_evict *e = &w->result.evicts[i];
        struct sched_attempt *a = &w->attempts[e->attempt];
        a->stopping = true;
        ENSURE(w->s.eviction_count < WORLD_MAX);
        w->evictions[w->s.eviction_count++] = (struct sched_eviction){
            w->shares[w->jobs[e->job].share].id, w->shares[a->share].id, w->s.now};
    }
}

void world_apply(struct world *w)
{
    uint32_t kept = 0;

    apply_evicts(w);
    for (uint32_t i = 0; i < w->result.start_count; i++) {
        const struct sched_start *start = &w->result.starts[i];
        const struct sched_job *j = &w->jobs[start->job];
        struct sched_attempt *a = &w->attempts[attempt(w, j->share, j->shape, start->nodes)];
        a->job = j->id;
        a->queue = j->queue;
        a->priority = j->priority;
        a->queued = j->queued;
        a->since = w->s.now;
        a->evictable_from = w->s.now;
        if (j->time_limit_ms != SCHED_UNLIMITED)
            a->ends_by = w->s.now + j->time_limit_ms;
    }
    for (uint32_t i = 0; i < w->s.job_count; i++)
        if (!world_start(w, i))
            w->jobs[kept++] = w->jobs[i];
    w->s.job_count = kept;
    w->s.reservation_count = w->result.reservation_count;
    for (uint32_t i = 0; i < w->result.reservation_count; i++)
        w->reservations[i] = w->result.reservations[i];
}
