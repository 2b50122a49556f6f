/* Where a job finds room. Nodes of the same target and hardware form a class; in each they lie by
 * free GPUs, then free cores, so that the tightest that fits is found by halving, whatever the
 * number of nodes. A gang is placed rank by rank and taken back whole if one finds no node; all its
 * ranks are at one target, and on one type of GPU where that is possible. */
#include "sched/cycle.h"

#include <stdlib.h>

/* -- the order within a class ----------------------------------------------------------------- */

static bool tighter(const struct cycle *c, uint32_t a, uint32_t b)
{
    const int64_t *x = c->nodes[a].free.v, *y = c->nodes[b].free.v;

    if (x[RESOURCE_GPU] != y[RESOURCE_GPU])
        return x[RESOURCE_GPU] < y[RESOURCE_GPU];
    if (x[RESOURCE_CPU] != y[RESOURCE_CPU])
        return x[RESOURCE_CPU] < y[RESOURCE_CPU];
    return a < b;
}

/* The node's free amounts changed: it moves to its new place, those between move by one. */
static void reorder(struct cycle *c, uint32_t node)
{
    struct node_class *cls = &c->classes[c->nodes[node].class_no];
    uint32_t place = c->nodes[node].place, from = 0, to = cls->count - 1;

    /* Halving over the others, as if the node were taken out. */
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (tighter(c, cls->order[mid < place ? mid : mid + 1], node))
            from = mid + 1;
        else
            to = mid;
    }
    for (; place < from; place++) {
        cls->order[place] = cls->order[place + 1];
        c->nodes[cls->order[place]].place = place;
    }
    for (; place > from; place--) {
        cls->order[place] = cls->order[place - 1];
        c->nodes[cls->order[place]].place = place;
    }
    cls->order[place] = node;
    c->nodes[node].place = place;
}

/* The first in the order with so many free GPUs and, among those with equally many, cores. */
static uint32_t bound(const struct cycle *c, const struct node_class *cls, int64_t gpus,
                      int64_t cpus)
{
    uint32_t from = 0, to = cls->count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        const int64_t *free = c->nodes[cls->order[mid]].free.v;
        if (free[RESOURCE_GPU] < gpus || (free[RESOURCE_GPU] == gpus && free[RESOURCE_CPU] < cpus))
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

uint32_t sched__room_from(const struct cycle *c, const struct node_class *cls,
                          const struct sched_amounts *need)
{
    return bound(c, cls, need->v[RESOURCE_GPU] > 0 ? need->v[RESOURCE_GPU] : INT64_MIN,
                 need->v[RESOURCE_CPU] > 0 ? need->v[RESOURCE_CPU] : INT64_MIN);
}

/* -- does a node do? -------------------------------------------------------------------------- */

static bool excluded(const struct sched_shape *shape, agent_id id)
{
    uint32_t from = 0, to = shape->excluded_count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (shape->excluded[mid].v < id.v)
            from = mid + 1;
        else
            to = mid;
    }
    return from < shape->excluded_count && shape->excluded[from].v == id.v;
}

bool sched__room_suits(const struct cycle *c, const struct asker *who, uint32_t node)
{
    const struct sched_node *n = &c->s->nodes[node];

    return (!who->shape->gpu_types || who->shape->gpu_types >> n->gpu_type & 1) &&
           n->gpu_memory_bytes >= who->shape->gpu_memory_bytes &&
           !(who->shape->needs & ~n->features) &&
           (!who->shape->excluded_count || !excluded(who->shape, n->id));
}

bool sched__room_class(const struct node_class *cls, const struct sched_shape *shape)
{
    return cls->count > 0 && (!shape->gpu_types || shape->gpu_types >> cls->gpu_type & 1) &&
           cls->gpu_memory_bytes >= shape->gpu_memory_bytes && !(shape->needs & ~cls->features);
}

/* What is over before room is needed delays nobody. */
static bool over_before(const struct asker *who, time_ms start)
{
    return start != TIME_NONE && who->ends != SCHED_UNLIMITED && who->ends <= start;
}

/* What is closed for a cycle keeps order among those that wait in line; who was promised room does
 * not stand in line. */
static bool passes(const struct cycle *c, const struct asker *who, uint32_t reservation)
{
    return (who->promised && !c->reservations[reservation].live) ||
           (who->outranks && sched__reserve_outranked(c, who, reservation));
}

bool sched__room_free(const struct cycle *c, const struct asker *who, const struct node *n)
{
    struct sched_amounts spare;

    if (n->holds == SCHED_NONE || over_before(who, n->hold_start))
        return true;
    if (sched__covers(&n->spare, &who->shape->need))
        return true;
    if (!who->outranks && !who->promised)
        return false;
    spare = n->spare;
    for (uint32_t h = n->holds; h != SCHED_NONE; h = c->holds[h].next) {
        uint32_t job = c->reservations[c->holds[h].reservation].job;
        if (passes(c, who, c->holds[h].reservation))
            sched__take(&spare, &c->s->shapes[c->s->jobs[job].shape].need, -c->holds[h].ranks);
    }
    return sched__covers(&spare, &who->shape->need);
}

bool sched__room_overdrawn(const struct asker *who, const struct node *n)
{
    if (n->holds == SCHED_NONE || over_before(who, n->hold_start))
        return false;
    for (int r = 0; r < RESOURCE_COUNT; r++)
        if (who->shape->need.v[r] > 0 && n->spare.v[r] < 0)
            return true;
    return false;
}

static bool fits(const struct cycle *c, const struct asker *who, uint32_t node)
{
    const struct node *n = &c->nodes[node];

    return sched__covers(&n->free, &who->shape->need) &&
           (n->gang != c->gang_stamp || c->s->nodes[node].several) && sched__room_free(c, who, n) &&
           (!who->shape->excluded_count || !excluded(who->shape, c->s->nodes[node].id));
}

/* -- one rank --------------------------------------------------------------------------------- */

static uint32_t tightest(const struct cycle *c, const struct asker *who,
                         const struct node_class *cls)
{
    int64_t cpus = who->shape->need.v[RESOURCE_CPU];
    uint32_t at = sched__room_from(c, cls, &who->shape->need);

    if (cpus <= 0)
        cpus = INT64_MIN;
    while (at < cls->count) {
        const int64_t *free = c->nodes[cls->order[at]].free.v;
        if (free[RESOURCE_CPU] < cpus)
            at = bound(c, cls, free[RESOURCE_GPU], cpus); /* over those with too few cores */
        else if (fits(c, who, cls->order[at]))
            return cls->order[at];
        else
            at++;
    }
    return SCHED_NONE;
}

static uint32_t emptiest(const struct cycle *c, const struct asker *who,
                         const struct node_class *cls)
{
    for (uint32_t at = cls->count; at-- > 0;) {
        if (c->nodes[cls->order[at]].free.v[RESOURCE_GPU] < who->shape->need.v[RESOURCE_GPU])
            break;
        if (fits(c, who, cls->order[at]))
            return cls->order[at];
    }
    return SCHED_NONE;
}

static uint32_t first(const struct cycle *c, const struct asker *who, const struct node_class *cls)
{
    for (uint32_t i = 0; i < cls->count; i++)
        if (fits(c, who, cls->members[i]))
            return cls->members[i];
    return SCHED_NONE;
}

static int64_t score(const struct cycle *c, const struct asker *who, uint32_t node)
{
    struct sched_node now = c->s->nodes[node];

    now.free = c->nodes[node].free;
    return c->s->policy.node_score(c->s->policy.node_score_context, &now, who->shape);
}

static uint32_t lowest_score(const struct cycle *c, const struct asker *who,
                             const struct node_class *cls)
{
    uint32_t best = SCHED_NONE;
    int64_t least = 0;

    for (uint32_t i = 0; i < cls->count; i++) {
        int64_t mine;
        if (!fits(c, who, cls->members[i]))
            continue;
        mine = score(c, who, cls->members[i]);
        if (best == SCHED_NONE || mine < least) {
            best = cls->members[i];
            least = mine;
        }
    }
    return best;
}

/* Of the nodes that two classes offer, does `a` go before `b`? */
static bool preferred(const struct cycle *c, const struct asker *who, uint32_t a, uint32_t b)
{
    bool gpus_a = c->classes[c->nodes[a].class_no].gpus;
    bool gpus_b = c->classes[c->nodes[b].class_no].gpus;
    int64_t wanted_a = c->classes[c->nodes[a].class_no].wanted;
    int64_t wanted_b = c->classes[c->nodes[b].class_no].wanted;

    if (c->s->policy.node_score) {
        int64_t left = score(c, who, a), right = score(c, who, b);
        return left != right ? left < right : a < b;
    }
    if (!(c->s->policy.parts & SCHED_PACK))
        return a < b;
    if (who->shape->need.v[RESOURCE_GPU] <= 0 && gpus_a != gpus_b)
        return gpus_b;
    if (who->shape->need.v[RESOURCE_GPU] > 0 && wanted_a != wanted_b)
        return wanted_a < wanted_b;
    return tighter(c, a, b) != c->s->queues[who->j->queue].spread;
}

static uint32_t rank_node(const struct cycle *c, const struct asker *who,
                          const struct node_class *cls)
{
    if (c->s->policy.node_score)
        return lowest_score(c, who, cls);
    if (!(c->s->policy.parts & SCHED_PACK))
        return first(c, who, cls);
    return c->s->queues[who->j->queue].spread ? emptiest(c, who, cls) : tightest(c, who, cls);
}

static void use(struct cycle *c, const struct asker *who, uint32_t node, int64_t times)
{
    struct node *n = &c->nodes[node];

    sched__take(&n->free, &who->shape->need, times);
    c->classes[n->class_no].gpus_free -= who->shape->need.v[RESOURCE_GPU] * times;
    if (n->holds != SCHED_NONE && !over_before(who, n->hold_start))
        sched__take(&n->spare, &who->shape->need, times);
    reorder(c, node);
}

/* -- all ranks -------------------------------------------------------------------------------- */

/* Classes to look at: those from `from` to `to` of one GPU type, or of any. */
struct range {
    uint32_t from, to;
    unsigned gpu_type; /* SCHED_GPU_TYPES_MAX: any */
};

static bool place_in(struct cycle *c, const struct asker *who, struct range range,
                     uint32_t *ret_nodes)
{
    c->gang_stamp++;
    for (uint32_t rank = 0; rank < who->shape->node_count; rank++) {
        uint32_t best = SCHED_NONE;
        for (uint32_t k = range.from; k < range.to; k++) {
            const struct node_class *cls = &c->classes[k];
            uint32_t node;
            if (!sched__room_class(cls, who->shape) ||
                (range.gpu_type < SCHED_GPU_TYPES_MAX && cls->gpu_type != range.gpu_type))
                continue;
            node = rank_node(c, who, cls);
            if (node != SCHED_NONE && (best == SCHED_NONE || preferred(c, who, node, best)))
                best = node;
        }
        if (best == SCHED_NONE) {
            while (rank-- > 0)
                use(c, who, ret_nodes[rank], -1);
            return false;
        }
        use(c, who, best, 1);
        c->nodes[best].gang = c->gang_stamp;
        ret_nodes[rank] = best;
    }
    return true;
}

/* A class of the least wanted type of GPU that is not among those tried, and now is. */
static uint32_t next_type(const struct cycle *c, uint32_t from, uint32_t to, uint64_t *tried)
{
    uint32_t next = SCHED_NONE;

    for (uint32_t k = from; k < to; k++)
        if (!(*tried >> c->classes[k].gpu_type & 1) &&
            (next == SCHED_NONE || c->classes[k].wanted < c->classes[next].wanted))
            next = k;
    if (next != SCHED_NONE)
        *tried |= UINT64_C(1) << c->classes[next].gpu_type;
    return next;
}

static bool place_at(struct cycle *c, struct asker *who, uint32_t target, uint32_t *ret_nodes)
{
    uint32_t from = c->class_from[target], to = c->class_from[target + 1];
    uint64_t tried = 0;
    bool mixed = false;

    if (from == to || !sched__room_target(c, who, target))
        return false;
    if (who->shape->node_count > 1 && who->shape->need.v[RESOURCE_GPU] > 0)
        for (uint32_t k = next_type(c, from, to, &tried); k != SCHED_NONE;
             k = next_type(c, from, to, &tried)) {
            unsigned type = c->classes[k].gpu_type;
            mixed |= type != c->classes[from].gpu_type;
            if (place_in(c, who, (struct range){from, to, type}, ret_nodes))
                return true;
        }
    else
        mixed = true;
    return mixed && place_in(c, who, (struct range){from, to, SCHED_GPU_TYPES_MAX}, ret_nodes);
}

/* One node anywhere: the best of all targets. */
static bool place_one(struct cycle *c, struct asker *who, uint32_t *ret_node)
{
    uint32_t best = SCHED_NONE;

    c->gang_stamp++;
    for (uint32_t t = 0; t < c->s->target_count; t++) {
        if (c->class_from[t] == c->class_from[t + 1] || !sched__room_target(c, who, t))
            continue;
        for (uint32_t k = c->class_from[t]; k < c->class_from[t + 1]; k++) {
            uint32_t node = sched__room_class(&c->classes[k], who->shape)
                                ? rank_node(c, who, &c->classes[k])
                                : SCHED_NONE;
            if (node != SCHED_NONE && (best == SCHED_NONE || preferred(c, who, node, best)))
                best = node;
        }
    }
    if (best == SCHED_NONE)
        return false;
    use(c, who, best, 1);
    *ret_node = best;
    return true;
}

bool sched__room_step(const struct asker *who, uint32_t target)
{
    for (uint32_t i = who->step_from; i < who->step_to; i++)
        if (!who->shape->step_count || who->shape->steps[i].target == SCHED_NONE ||
            who->shape->steps[i].target == target)
            return true;
    return false;
}

bool sched__room_target(struct cycle *c, struct asker *who, uint32_t target)
{
    if (!sched__access_has(&c->access, who->access, target))
        return false;
    if (!who->money || sched__budget_money(c, who, target, &c->money_wait))
        return true;
    who->money_bound = true;
    return false;
}

#define RANKS_FEW 256

bool sched__room_enough(const struct cycle *c, const struct asker *who)
{
    int64_t ranks = who->shape->node_count, fit = 0;

    for (uint32_t i = 0; ranks > RANKS_FEW && i < c->s->node_count && fit < ranks; i++)
        if (c->nodes[i].class_no != SCHED_NONE)
            fit += sched__ranks(&c->s->nodes[i], &c->nodes[i].free, who->shape);
    return ranks <= RANKS_FEW || fit >= ranks;
}

bool sched__room_place(struct cycle *c, struct asker *who, uint32_t *ret_step, uint32_t *ret_nodes)
{
    for (uint32_t step = who->step_from; step < who->step_to; step++) {
        uint32_t target = who->shape->step_count ? who->shape->steps[step].target : SCHED_NONE;
        bool placed = false;
        if (target != SCHED_NONE)
            placed = place_at(c, who, target, ret_nodes);
        else if (who->shape->node_count == 1)
            placed = place_one(c, who, ret_nodes);
        else
            for (uint32_t t = 0; t < c->s->target_count && !placed; t++)
                placed = place_at(c, who, t, ret_nodes);
        if (placed) {
            *ret_step = step;
            return true;
        }
    }
    return false;
}

/* -- what is held ----------------------------------------------------------------------------- */

void sched__room_respare(struct cycle *c, uint32_t node)
{
    struct node *n = &c->nodes[node];

    n->hold_start = SCHED_UNLIMITED;
    n->spare = n->free;
    for (uint32_t h = n->holds; h != SCHED_NONE; h = c->holds[h].next) {
        const struct held *r = &c->reservations[c->holds[h].reservation];
        n->hold_start = MIN(n->hold_start, r->start); /* TIME_NONE is below all */
        sched__take(&n->spare, &c->s->shapes[c->s->jobs[r->job].shape].need, c->holds[h].ranks);
    }
    if (n->holds == SCHED_NONE)
        return;
    for (uint32_t i = n->attempts; i < n->attempt_end; i++) {
        uint32_t a = c->attempts_by_node[i];
        if (c->leaving[a] ||
            (n->hold_start != TIME_NONE && c->s->attempts[a].ends_by <= n->hold_start))
            sched__take(&n->spare, &c->s->shapes[c->s->attempts[a].shape].need, -1);
    }
}

/* -- making it -------------------------------------------------------------------------------- */

struct sorted {
    const struct sched_node *n;
    const struct node *state;
    uint32_t at;
    bool gpus;
};

static int sorted_class(const struct sorted *x, const struct sorted *y)
{
    if (x->n->target != y->n->target)
        return x->n->target < y->n->target ? -1 : 1;
    if (x->n->gpu_type != y->n->gpu_type)
        return x->n->gpu_type < y->n->gpu_type ? -1 : 1;
    if (x->n->gpu_memory_bytes != y->n->gpu_memory_bytes)
        return x->n->gpu_memory_bytes < y->n->gpu_memory_bytes ? -1 : 1;
    if (x->n->features != y->n->features)
        return x->n->features < y->n->features ? -1 : 1;
    return (int)x->gpus - (int)y->gpus;
}

static int sorted_by_place(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int by_class = sorted_class(x, y);

    return by_class ? by_class : (x->at > y->at) - (x->at < y->at);
}

static int sorted_by_room(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const int64_t *left = x->state->free.v, *right = y->state->free.v;

    if (left[RESOURCE_GPU] != right[RESOURCE_GPU])
        return left[RESOURCE_GPU] < right[RESOURCE_GPU] ? -1 : 1;
    if (left[RESOURCE_CPU] != right[RESOURCE_CPU])
        return left[RESOURCE_CPU] < right[RESOURCE_CPU] ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* `sorted` holds `count` nodes of one class by their places. */
static void class_make(struct cycle *c, struct sorted *sorted, uint32_t count)
{
    uint32_t *members = arena_array(c->arena, count, sizeof *members);
    struct node_class *cls = &c->classes[c->class_count];

    *cls = (struct node_class){.target = sorted->n->target,
                               .gpu_type = sorted->n->gpu_type,
                               .gpu_memory_bytes = sorted->n->gpu_memory_bytes,
                               .features = sorted->n->features,
                               .gpus = sorted->gpus,
                               .order = arena_array(c->arena, count, sizeof *cls->order),
                               .members = members,
                               .count = count};
    cls->least = sorted->n->total;
    for (uint32_t i = 0; i < count; i++) {
        members[i] = sorted[i].at;
        cls->gpus_total = sched__add(cls->gpus_total, sorted[i].n->total.v[RESOURCE_GPU]);
        cls->gpus_free += MAX(0, sorted[i].state->free.v[RESOURCE_GPU]);
        for (int r = 0; r < RESOURCE_COUNT; r++)
            cls->least.v[r] = MIN(cls->least.v[r], sorted[i].n->total.v[r]);
    }
    qsort(sorted, count, sizeof *sorted, sorted_by_room);
    for (uint32_t i = 0; i < count; i++) {
        cls->order[i] = sorted[i].at;
        c->nodes[sorted[i].at].place = i;
        c->nodes[sorted[i].at].class_no = c->class_count;
    }
    c->class_count++;
}

static void classes_init(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;
    struct sorted *sorted = arena_array(c->arena, s->node_count, sizeof *sorted);
    uint32_t *class_from = arena_array(c->arena, (size_t)s->target_count + 1, sizeof *class_from);
    uint32_t count = 0, from = 0;

    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct sched_node *n = &s->nodes[i];
        c->nodes[i].class_no = SCHED_NONE;
        if (n->state == SCHED_NODE_LIVE && !s->targets[n->target].maintenance)
            sorted[count++] = (struct sorted){n, &c->nodes[i], i, n->total.v[RESOURCE_GPU] > 0};
    }
    if (count)
        qsort(sorted, count, sizeof *sorted, sorted_by_place);
    c->classes = arena_array(c->arena, count, sizeof *c->classes);
    for (uint32_t i = 1; i <= count; i++) {
        if (i < count && sorted_class(&sorted[i], &sorted[from]) == 0)
            continue;
        class_make(c, &sorted[from], i - from);
        from = i;
    }
    for (uint32_t k = 0; k < c->class_count; k++)
        class_from[c->classes[k].target + 1]++;
    for (uint32_t t = 0; t < s->target_count; t++)
        class_from[t + 1] += class_from[t];
    c->class_from = class_from;
}

/* What waits and runs asks for GPUs of the kinds that it may use, evenly over all of them: those
 * that many are bound to are wanted more than others, and who may choose leaves them alone. */
static void find_wanted(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;
    int64_t *times = arena_array(c->arena, s->shape_count, sizeof *times);

    for (uint32_t i = 0; i < s->job_count; i++)
        times[s->jobs[i].shape]++;
    for (uint32_t i = 0; i < s->attempt_count; i++)
        times[s->attempts[i].shape]++;
    for (uint32_t i = 0; i < s->shape_count; i++) {
        const struct sched_shape *shape = &s->shapes[i];
        int64_t asked = sched__mul(sched__ask(shape).v[RESOURCE_GPU], times[i]), all = 0, each;
        for (uint32_t k = 0; asked > 0 && k < c->class_count; k++)
            if (sched__room_class(&c->classes[k], shape))
                all = sched__add(all, c->classes[k].gpus_total);
        each = all > 0 ? (int64_t)MIN((__int128)asked * 1000000 / all, INT64_MAX / 2) : 0;
        for (uint32_t k = 0; each > 0 && k < c->class_count; k++)
            if (sched__room_class(&c->classes[k], shape))
                c->classes[k].wanted = sched__add(c->classes[k].wanted, each);
    }
}

static void targets_init(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;
    uint32_t *from = arena_array(c->arena, (size_t)s->target_count + 2, sizeof *from);
    uint32_t *nodes = arena_array(c->arena, s->node_count, sizeof *nodes);

    for (uint32_t i = 0; i < s->node_count; i++) {
        from[s->nodes[i].target + 2]++;
        c->any_node |= s->nodes[i].state != SCHED_NODE_OFFLINE;
    }
    for (uint32_t t = 0; t < s->target_count; t++)
        from[t + 2] += from[t + 1];
    for (uint32_t i = 0; i < s->node_count; i++)
        nodes[from[s->nodes[i].target + 1]++] = i;
    c->target_from = from;
    c->nodes_by_target = nodes;
}

static void attempts_init(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;
    uint32_t total = 0, *by_node;

    for (uint32_t a = 0; a < s->attempt_count; a++)
        for (uint32_t i = 0; i < s->attempts[a].node_count; i++)
            c->nodes[s->attempts[a].nodes[i]].attempt_end++;
    for (uint32_t n = 0; n < s->node_count; n++) {
        c->nodes[n].attempts = total;
        total += c->nodes[n].attempt_end;
        c->nodes[n].attempt_end = c->nodes[n].attempts;
    }
    by_node = arena_array(c->arena, total, sizeof *by_node);
    for (uint32_t a = 0; a < s->attempt_count; a++) {
        const struct sched_attempt *at = &s->attempts[a];
        c->leaving[a] = at->stopping;
        for (uint32_t i = 0; i < at->node_count; i++) {
            struct node *n = &c->nodes[at->nodes[i]];
            by_node[n->attempt_end++] = a;
            if (at->stopping)
                sched__take(&n->coming, &s->shapes[at->shape].need, -1);
        }
    }
    c->attempts_by_node = by_node;
}

void sched__room_init(struct cycle *c)
{
    c->nodes = arena_array(c->arena, c->s->node_count, sizeof *c->nodes);
    c->leaving = arena_array(c->arena, c->s->attempt_count, sizeof *c->leaving);
    for (uint32_t i = 0; i < c->s->node_count; i++) {
        c->nodes[i].free = c->s->nodes[i].free;
        c->nodes[i].holds = SCHED_NONE;
    }
    targets_init(c);
    attempts_init(c);
    classes_init(c);
    if (c->s->policy.parts & SCHED_TYPES)
        find_wanted(c);
}
