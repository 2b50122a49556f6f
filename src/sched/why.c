/* What a job waits for when no place was found: the one code that says most, told apart by what
 * would have to change. From what never changes by itself (no such GPU, no node so large) over
 * what is away for a while (offline, in maintenance, on its way) to what others hold. */
#include "sched/cycle.h"

/* Ranks that fit, by what one assumes; of the target where most fit. */
struct tally {
    int64_t nodes;    /* of the target */
    int64_t typed;    /* nodes with such GPUs, whatever their state */
    int64_t suited;   /* ... that can do what it needs */
    int64_t any;      /* empty, of any state, the excluded ones too */
    int64_t allowed;  /* ... without those it must not run on */
    int64_t live;     /* ... that are there now */
    int64_t coming;   /* ... that are there or on their way */
    int64_t resting;  /* ... that are there or in maintenance */
    int64_t now;      /* free now */
    int64_t unheld;   /* free now and not held for others */
    bool maintenance; /* the target is */
};

struct look {
    struct cycle *c;
    struct asker *who;
    struct tally sum, best; /* of the target that is counted; of the best one */
    struct sched_amounts most_total;
    uint64_t features; /* of nodes with such GPUs, together */
    time_ms maintenance_until, coming_until, node_until;
    uint32_t targets; /* that it may use */
    uint32_t target;  /* the best one */
};

static void earliest(time_ms *at, time_ms other)
{
    if (other != TIME_NONE && (*at == TIME_NONE || other < *at))
        *at = other;
}

static void look_free(struct look *l, uint32_t node)
{
    const struct sched_shape *shape = l->who->shape;
    const struct node *n = &l->c->nodes[node];
    int64_t now = sched__ranks(&l->c->s->nodes[node], &n->free, shape);

    if (now == 0)
        return;
    l->sum.now += now;
    if (sched__room_free(l->c, l->who, n))
        l->sum.unheld += now;
}

static void look_node(struct look *l, uint32_t node)
{
    const struct sched_shape *shape = l->who->shape;
    const struct sched_node *n = &l->c->s->nodes[node];
    int64_t ranks = sched__ranks(n, &n->total, shape);

    if ((shape->gpu_types && !(shape->gpu_types >> n->gpu_type & 1)) ||
        n->gpu_memory_bytes < shape->gpu_memory_bytes)
        return;
    l->sum.typed++;
    l->features |= n->features;
    if (shape->needs & ~n->features)
        return;
    l->sum.suited++;
    l->sum.any += ranks;
    for (int r = 0; r < RESOURCE_COUNT; r++)
        l->most_total.v[r] = MAX(l->most_total.v[r], n->total.v[r]);
    if (n->state == SCHED_NODE_EXCLUDED || !sched__room_suits(l->c, l->who, node))
        return;
    l->sum.allowed += ranks;
    if (n->state == SCHED_NODE_LIVE) {
        l->sum.live += ranks;
        l->sum.coming += ranks;
        l->sum.resting += ranks;
        look_free(l, node);
    } else if (n->state == SCHED_NODE_COMING && ranks > 0) {
        l->sum.coming += ranks;
        earliest(&l->coming_until, n->until);
    } else if (n->state == SCHED_NODE_MAINTENANCE && ranks > 0) {
        l->sum.resting += ranks;
        earliest(&l->node_until, n->until);
    }
}

/* Is `a` nearer to what is asked for? Beyond that more is no better. */
static bool nearer(const struct tally *a, const struct tally *b, int64_t asked)
{
    const int64_t left[] = {a->live, a->coming, a->allowed, a->any,
                            a->now,  a->suited, a->typed,   a->nodes};
    const int64_t right[] = {b->live, b->coming, b->allowed, b->any,
                             b->now,  b->suited, b->typed,   b->nodes};

    if (a->maintenance != b->maintenance)
        return b->maintenance;
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        if (MIN(left[i], asked) != MIN(right[i], asked))
            return left[i] > right[i];
    return false;
}

/* Most often all nodes of some classes would do, were they empty, and there are enough of them:
 * then it is enough to look at what is free, by the order of the class. */
static bool look_classes(struct look *l, uint32_t target)
{
    const struct sched_shape *shape = l->who->shape;
    struct cycle *c = l->c;
    int64_t live = 0;

    for (uint32_t k = c->class_from[target]; k < c->class_from[target + 1]; k++)
        if (sched__room_class(&c->classes[k], shape) &&
            sched__covers(&c->classes[k].least, &shape->need))
            live += c->classes[k].count;
    if (live < shape->node_count || shape->excluded_count > 0)
        return false;
    l->sum.live = l->sum.coming = l->sum.resting = l->sum.allowed = l->sum.any = live;
    l->sum.suited = l->sum.typed = live;
    for (uint32_t k = c->class_from[target]; k < c->class_from[target + 1]; k++)
        if (sched__room_class(&c->classes[k], shape))
            for (uint32_t i = sched__room_from(c, &c->classes[k], &shape->need);
                 i < c->classes[k].count; i++)
                look_free(l, c->classes[k].order[i]);
    return true;
}

static void look_target(struct look *l, uint32_t target)
{
    const struct sched_target *t = &l->c->s->targets[target];

    l->sum = (struct tally){.maintenance = t->maintenance};
    l->targets++;
    if (t->maintenance)
        earliest(&l->maintenance_until, t->until);
    l->sum.nodes = l->c->target_from[target + 1] - l->c->target_from[target];
    if (t->maintenance || !look_classes(l, target))
        for (uint32_t i = l->c->target_from[target]; i < l->c->target_from[target + 1]; i++)
            look_node(l, l->c->nodes_by_target[i]);
    if (l->targets == 1 || nearer(&l->sum, &l->best, l->who->shape->node_count)) {
        l->best = l->sum;
        l->target = target;
    }
}

static bool is_open(const struct look *l, uint32_t target)
{
    return sched__room_step(l->who, target) && sched__room_target(l->c, l->who, target);
}

/* All ranks are at one target: only the numbers of the best one count. */
static void look_all(struct look *l)
{
    for (uint32_t t = 0; t < l->c->s->target_count; t++)
        if (is_open(l, t))
            look_target(l, t);
}

/* The most that is free of the resource on one node that could be used, and the sum over all. */
static int64_t most_free(struct look *l, int r, int64_t *ret_sum)
{
    struct cycle *c = l->c;
    int64_t most = 0;

    *ret_sum = 0;
    for (uint32_t k = 0; k < c->class_count; k++) {
        const struct node_class *cls = &c->classes[k];
        if (!sched__room_class(cls, l->who->shape) || !is_open(l, cls->target))
            continue;
        if (r == RESOURCE_GPU) {
            most = MAX(most, c->nodes[cls->order[cls->count - 1]].free.v[r]);
            *ret_sum = sched__add(*ret_sum, cls->gpus_free);
            continue;
        }
        for (uint32_t i = 0; i < cls->count; i++) {
            int64_t free = MAX(0, c->nodes[cls->members[i]].free.v[r]);
            most = MAX(most, free);
            *ret_sum = sched__add(*ret_sum, free);
        }
    }
    return most;
}

static struct wait numbers(enum wait_code code, int64_t asked, int64_t available)
{
    struct wait wait = sched__wait(code);

    wait.asked = asked;
    wait.available = available;
    return wait;
}

static struct wait timed(enum wait_code code, time_ms until)
{
    struct wait wait = sched__wait(code);

    wait.until = until;
    return wait;
}

static const enum resource by_weight[] = {RESOURCE_GPU, RESOURCE_CPU, RESOURCE_MEMORY,
                                          RESOURCE_SLOT};

/* The first resource of which no node has enough, the first asked for if each alone is there. */
static struct wait too_big(const struct look *l)
{
    const struct sched_amounts *need = &l->who->shape->need;
    struct wait wait = sched__wait(WAIT_TOO_BIG);

    for (size_t i = ARRAY_LEN(by_weight); i-- > 0;) {
        enum resource r = by_weight[i];
        bool is_short = need->v[r] > l->most_total.v[r];
        bool was_short = wait.asked > wait.available;
        if (need->v[r] > 0 && (is_short || !was_short)) {
            wait.resource = r;
            wait.asked = need->v[r];
            wait.available = l->most_total.v[r];
        }
    }
    return wait;
}

/* One node, if others ended: too little of something on each, or too little in one place. */
static struct wait why_one(struct look *l)
{
    const struct sched_amounts *need = &l->who->shape->need;
    struct wait wait = sched__wait(WAIT_FRAGMENTED);

    for (size_t i = 0; i < ARRAY_LEN(by_weight); i++) {
        enum resource r = by_weight[i];
        int64_t sum, most;
        if (need->v[r] <= 0)
            continue;
        most = most_free(l, r, &sum);
        if (most < need->v[r] || wait.resource == RESOURCE_NONE) {
            wait.code = sum < need->v[r] ? WAIT_BUSY : WAIT_FRAGMENTED;
            wait.resource = r;
            wait.asked = need->v[r];
            wait.available = sum < need->v[r] ? most : sum;
        }
        if (most < need->v[r])
            break;
    }
    return wait;
}

/* It would fit if nothing ran. */
static struct wait why_busy(struct look *l)
{
    const struct sched_shape *shape = l->who->shape;
    struct wait wait;

    if (l->best.now >= shape->node_count && l->best.unheld < shape->node_count) {
        wait = sched__wait(WAIT_RESERVED);
        for (uint32_t i = 0; i < l->c->reservation_count; i++) {
            const struct held *held = &l->c->reservations[i];
            if (!held->placed || sched__reserve_outranked(l->c, l->who, i))
                continue;
            wait.job = l->c->s->jobs[held->job].id;
            wait.until = held->start;
            break;
        }
        return wait;
    }
    if (shape->node_count > 1)
        return numbers(WAIT_GANG, shape->node_count, l->best.now);
    return why_one(l);
}

/* What no node can do; all that is needed when each can do a part of it. */
static struct wait no_feature(const struct look *l)
{
    uint64_t missing = l->who->shape->needs & ~l->features;
    struct wait wait = sched__wait(WAIT_NO_FEATURE);

    wait.features = missing ? missing : l->who->shape->needs;
    return wait;
}

/* It will never fit at the targets that are open to it, as they are. */
static bool why_never(const struct look *l, struct wait *ret_wait)
{
    int64_t asked = l->who->shape->node_count;

    if (l->targets == 0)
        *ret_wait = l->who->money_bound ? l->c->money_wait : sched__wait(WAIT_NO_TARGET);
    else if (l->best.nodes == 0)
        *ret_wait = sched__wait(WAIT_NO_AGENT);
    else if (l->best.typed == 0)
        *ret_wait = sched__wait(WAIT_GPU_TYPE);
    else if (l->best.suited == 0)
        *ret_wait = no_feature(l);
    else if (l->best.any == 0)
        *ret_wait = too_big(l);
    else if (l->best.any < asked)
        *ret_wait = numbers(WAIT_TOO_FEW_NODES, asked, l->best.any);
    else if (l->best.allowed < asked)
        *ret_wait = numbers(WAIT_NODES_EXCLUDED, asked, l->best.allowed);
    else
        return false;
    return true;
}

static bool why_later(const struct look *l, struct wait *ret_wait)
{
    int64_t asked = l->who->shape->node_count;

    if (l->best.maintenance)
        *ret_wait = timed(WAIT_MAINTENANCE, l->maintenance_until);
    else if (l->best.live >= asked || l->best.coming >= asked)
        return false;
    else if (l->best.resting >= asked)
        *ret_wait = timed(WAIT_MAINTENANCE, l->node_until);
    else
        *ret_wait = numbers(WAIT_AGENT_OFFLINE, asked, l->best.live);
    return true;
}

static target_id next_target(const struct cycle *c, const struct asker *who)
{
    uint32_t target = who->shape->steps[who->step_to].target;

    return target == SCHED_NONE ? (target_id){0} : c->s->targets[target].id;
}

void sched__why(struct cycle *c, struct asker *who, struct reason *ret_reason)
{
    struct look l = {.c = c,
                     .who = who,
                     .maintenance_until = TIME_NONE,
                     .coming_until = TIME_NONE,
                     .node_until = TIME_NONE};
    struct reason reason = {.known = true};

    look_all(&l);
    if (!c->any_node)
        reason.wait = sched__wait(WAIT_NO_AGENT);
    else if (why_never(&l, &reason.wait) || why_later(&l, &reason.wait)) {
        if (who->next_step != TIME_NONE)
            reason.wait = timed(WAIT_TARGET_STEP, who->next_step);
    } else if (l.best.live >= who->shape->node_count) {
        reason.hardware = true;
        reason.wait = why_busy(&l);
    } else {
        reason.hardware = true;
        reason.wait = timed(WAIT_COMING, l.coming_until);
    }
    if (reason.wait.code == WAIT_TARGET_STEP)
        reason.wait.target = next_target(c, who);
    else if (reason.wait.target.v == 0 && l.targets == 1)
        reason.wait.target = c->s->targets[l.target].id;
    *ret_reason = reason;
}
