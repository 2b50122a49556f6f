/* What a job waits for when no place was found: the one code that says most, told apart by what
 * would have to change. From what never changes by itself (no such GPU, no node so large) over
 * what is away for a while (offline, in maintenance, on its way) to what others hold. */
#include "sched/cycle.h"

/* Ranks that fit, by what one assumes; of the target where most fit. */
struct tally {
    int64_t nodes;    /* of the target */
    int64_t suited;   /* nodes of the right type, whatever their state */
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
    struct sched_amounts most_free, most_total, free_sum;
    time_ms maintenance_until, coming_until, node_until;
    uint32_t targets; /* that it may use */
    uint32_t target;  /* the best one */
};

static void earliest(time_ms *at, time_ms other)
{
    if (other != TIME_NONE && (*at == TIME_NONE || other < *at))
        *at = other;
}

static void look_live(struct look *l, uint32_t node, int64_t ranks)
{
    const struct sched_shape *shape = l->who->shape;
    const struct node *n = &l->c->nodes[node];
    int64_t now = sched__times(&n->free, &shape->need, shape->node_count);

    l->sum.live += ranks;
    l->sum.coming += ranks;
    l->sum.resting += ranks;
    l->sum.now += now;
    if (now > 0 && sched__room_free(l->c, l->who, n))
        l->sum.unheld += now;
    if (ranks == 0)
        return;
    for (int r = 0; r < RESOURCE_COUNT; r++) {
        l->most_free.v[r] = MAX(l->most_free.v[r], n->free.v[r]);
        l->free_sum.v[r] = sched__add(l->free_sum.v[r], MAX(0, n->free.v[r]));
    }
}

static void look_node(struct look *l, uint32_t node)
{
    const struct sched_shape *shape = l->who->shape;
    const struct sched_node *n = &l->c->s->nodes[node];
    int64_t ranks = sched__times(&n->total, &shape->need, shape->node_count);

    if ((shape->gpu_types && !(shape->gpu_types >> n->gpu_type & 1)) ||
        n->gpu_memory_bytes < shape->gpu_memory_bytes)
        return;
    l->sum.suited++;
    l->sum.any += ranks;
    for (int r = 0; r < RESOURCE_COUNT; r++)
        l->most_total.v[r] = MAX(l->most_total.v[r], n->total.v[r]);
    if (n->state == SCHED_NODE_EXCLUDED || !sched__room_suits(l->c, l->who, node))
        return;
    l->sum.allowed += ranks;
    if (n->state == SCHED_NODE_LIVE) {
        look_live(l, node, ranks);
    } else if (n->state == SCHED_NODE_COMING && ranks > 0) {
        l->sum.coming += ranks;
        earliest(&l->coming_until, n->until);
    } else if (n->state == SCHED_NODE_MAINTENANCE && ranks > 0) {
        l->sum.resting += ranks;
        earliest(&l->node_until, n->until);
    }
}

static bool more(const struct tally *a, const struct tally *b)
{
    const int64_t left[] = {a->live, a->coming, a->allowed, a->any, a->now, a->suited, a->nodes};
    const int64_t right[] = {b->live, b->coming, b->allowed, b->any, b->now, b->suited, b->nodes};

    if (a->maintenance != b->maintenance)
        return b->maintenance;
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        if (left[i] != right[i])
            return left[i] > right[i];
    return false;
}

/* All ranks are at one target: only the numbers of the best one count. */
static void look_all(struct look *l)
{
    const struct sched_snapshot *s = l->c->s;
    bool any = false;

    for (uint32_t t = 0; t < s->target_count; t++) {
        if (!sched__room_step(l->who, t) || !sched__room_target(l->c, l->who, t))
            continue;
        l->sum = (struct tally){.maintenance = s->targets[t].maintenance};
        l->targets++;
        if (l->sum.maintenance)
            earliest(&l->maintenance_until, s->targets[t].until);
        l->sum.nodes = l->c->target_from[t + 1] - l->c->target_from[t];
        for (uint32_t i = l->c->target_from[t]; i < l->c->target_from[t + 1]; i++)
            look_node(l, l->c->nodes_by_target[i]);
        if (!any || more(&l->sum, &l->best)) {
            l->best = l->sum;
            l->target = t;
        }
        any = true;
    }
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

/* The first resource of which `room` has too little; the first asked for if none has. */
static enum resource short_of(const struct sched_amounts *need, const struct sched_amounts *room)
{
    static const enum resource order[] = {RESOURCE_GPU, RESOURCE_CPU, RESOURCE_MEMORY,
                                          RESOURCE_SLOT};

    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (need->v[order[i]] > 0 && room->v[order[i]] < need->v[order[i]])
            return order[i];
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (need->v[order[i]] > 0)
            return order[i];
    return RESOURCE_SLOT;
}

static struct wait sized(enum wait_code code, const struct look *l,
                         const struct sched_amounts *room)
{
    enum resource r = short_of(&l->who->shape->need, room);
    struct wait wait = numbers(code, l->who->shape->need.v[r], room->v[r]);

    wait.resource = r;
    return wait;
}

/* It would fit if nothing ran. */
static struct wait why_busy(const struct look *l)
{
    const struct sched_shape *shape = l->who->shape;
    struct wait wait;
    enum resource r;

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
    r = short_of(&shape->need, &l->most_free);
    if (l->free_sum.v[r] < shape->need.v[r])
        return sized(WAIT_BUSY, l, &l->most_free);
    wait = numbers(WAIT_FRAGMENTED, shape->need.v[r], l->free_sum.v[r]);
    wait.resource = r;
    return wait;
}

/* It will never fit at the targets that are open to it, as they are. */
static bool why_never(const struct look *l, struct wait *ret_wait)
{
    int64_t asked = l->who->shape->node_count;

    if (l->targets == 0)
        *ret_wait = l->who->money_bound ? l->who->money_wait : sched__wait(WAIT_NO_TARGET);
    else if (l->best.nodes == 0)
        *ret_wait = sched__wait(WAIT_NO_AGENT);
    else if (l->best.suited == 0)
        *ret_wait = sched__wait(WAIT_GPU_TYPE);
    else if (l->best.any == 0)
        *ret_wait = sized(WAIT_TOO_BIG, l, &l->most_total);
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
