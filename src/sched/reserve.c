/* Room that is held for a job: for which others were ended, or which is first in line and does not
 * fit. Holding a node does not close it: what is over before the reservation starts may run there,
 * and so may what is left beside the reserved amounts by then. */
#include "sched/cycle.h"

#include <stdlib.h>

/* -- places of those that room is held for ----------------------------------------------------- */

/* How many of the queue are of lower priority. */
static uint32_t lower(const struct held_queue *q, int64_t priority)
{
    size_t from = 0, to = q->count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (q->priorities[mid] < priority)
            from = mid + 1;
        else
            to = mid;
    }
    return (uint32_t)from;
}

/* Where those begin that come at `place` or after it. */
static size_t place_from(const struct held_queue *q, __int128 place)
{
    size_t from = 0, to = q->count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (q->places[mid].place < place)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Where the place of a reservation is kept: with those of its queue, or, if the room is owned, with
 * those of its queue and project. */
static struct held_queue *queue_of(struct cycle *c, const struct held *r)
{
    const struct sched_job *j = &c->s->jobs[r->job];
    struct memo_key key = {{c->tree.leaf_of[j->share], j->queue, 0, 0}};
    uint32_t *place;
    bool fresh;

    if (!r->owned)
        return &c->held_queues[j->queue];
    place = sched__memo_get(&c->owned_places, key, &fresh);
    if (fresh) {
        *place = (uint32_t)c->owned_count;
        c->owned_queues = arena_more(c->arena, c->owned_queues, c->owned_count, &c->owned_room,
                                     sizeof *c->owned_queues);
        c->owned_queues[c->owned_count++] = (struct held_queue){0};
    }
    return &c->owned_queues[*place];
}

/* `least` anew for those up to `last`. */
static void find_least(struct held_queue *q, size_t last)
{
    for (size_t i = last + 1; i-- > 0;)
        q->places[i].least = i + 1 < q->count ? MIN(q->places[i].priority, q->places[i + 1].least)
                                              : q->places[i].priority;
}

static void place_put(struct cycle *c, struct held *r)
{
    const struct sched_job *j = &c->s->jobs[r->job];
    struct sched_amounts ask = sched__ask(&c->s->shapes[j->shape]);
    __int128 place = sched__place(c->s, j->queue, j->priority, j->queued);
    uint32_t leaf = c->tree.leaf_of[j->share];
    struct held_queue *q;
    size_t at;

    if (r->fresh)
        return;
    r->owned = sched__tree_within(&c->after, leaf, &ask);
    c->owned_of[leaf] += r->owned;
    q = queue_of(c, r);
    q->priorities =
        arena_more(c->arena, q->priorities, q->count, &q->priority_room, sizeof *q->priorities);
    at = lower(q, j->priority);
    memmove(&q->priorities[at + 1], &q->priorities[at], (q->count - at) * sizeof *q->priorities);
    q->priorities[at] = j->priority;
    q->places = arena_more(c->arena, q->places, q->count, &q->room, sizeof *q->places);
    at = place_from(q, place);
    memmove(&q->places[at + 1], &q->places[at], (q->count - at) * sizeof *q->places);
    q->places[at] = (struct held_place){place, j->priority, 0};
    q->count++;
    find_least(q, at);
}

static void place_remove(struct cycle *c, const struct held *r)
{
    const struct sched_job *j = &c->s->jobs[r->job];
    struct held_queue *q = queue_of(c, r);
    size_t at = lower(q, j->priority);

    if (r->fresh)
        return;
    c->owned_of[c->tree.leaf_of[j->share]] -= r->owned;
    memmove(&q->priorities[at], &q->priorities[at + 1],
            (q->count - at - 1) * sizeof *q->priorities);
    at = place_from(q, sched__place(c->s, j->queue, j->priority, j->queued));
    while (q->places[at].priority != j->priority)
        at++; /* of several at one place */
    memmove(&q->places[at], &q->places[at + 1], (q->count - at - 1) * sizeof *q->places);
    q->count--;
    if (at > 0)
        find_least(q, at - 1);
}

/* -- quota ------------------------------------------------------------------------------------- */

/* Others are ended so that the job may start: what it may hold is not given to others meanwhile. */
static void promise(struct cycle *c, struct held *r, bool promised)
{
    const struct sched_job *j = &c->s->jobs[r->job];
    struct sched_amounts ask = sched__ask(&c->s->shapes[j->shape]);

    if (!r->victims || r->promised == promised)
        return;
    r->promised = promised;
    sched__tree_promise(&c->tree, c->tree.leaf_of[j->share], &ask, promised ? 1 : -1);
    sched__tree_promise(&c->after, c->tree.leaf_of[j->share], &ask, promised ? 1 : -1);
}

void sched__reserve_yield(struct cycle *c, const struct asker *who)
{
    for (uint32_t i = 0; i < c->reservation_count; i++)
        if (c->reservations[i].placed && sched__reserve_outranked(c, who, i))
            promise(c, &c->reservations[i], false);
}

void sched__reserve_unyield(struct cycle *c)
{
    for (uint32_t i = 0; i < c->reservation_count; i++) {
        struct held *r = &c->reservations[i];
        const struct sched_job *j = &c->s->jobs[r->job];
        struct sched_amounts ask = sched__ask(&c->s->shapes[j->shape]);
        struct wait wait;
        uint32_t branch;
        if (!r->placed || !r->victims || r->promised)
            continue;
        if (sched__tree_admits(&c->after, c->tree.leaf_of[j->share], &ask, &wait, &branch))
            promise(c, r, true);
        else
            sched__reserve_drop(c, i);
    }
}

/* -- holds ------------------------------------------------------------------------------------ */

void sched__reserve_lift(struct cycle *c, uint32_t reservation)
{
    struct held *r = &c->reservations[reservation];

    sched__limit_lift(c, reservation);
    if (!r->placed)
        return;
    r->placed = false;
    promise(c, r, false);
    place_remove(c, r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        uint32_t *at = &c->nodes[r->nodes[i]].holds;
        while (*at != SCHED_NONE && c->holds[*at].reservation != reservation)
            at = &c->holds[*at].next;
        if (*at == SCHED_NONE)
            continue; /* another rank of it on the same node */
        *at = c->holds[*at].next;
        sched__room_respare(c, r->nodes[i]);
    }
}

/* One more rank's amounts are held on the node. */
static void hold_put(struct cycle *c, uint32_t node, uint32_t reservation)
{
    struct node *n = &c->nodes[node];
    uint32_t at = n->holds;

    while (at != SCHED_NONE && c->holds[at].reservation != reservation)
        at = c->holds[at].next;
    if (at != SCHED_NONE) {
        c->holds[at].ranks++;
        return;
    }
    c->holds = arena_more(c->arena, c->holds, c->hold_count, &c->hold_room, sizeof *c->holds);
    c->holds[c->hold_count] = (struct hold){reservation, n->holds, 1};
    n->holds = (uint32_t)c->hold_count++;
}

/* What it held stays closed to others until the end of the cycle: some have been refused for it,
 * and those behind them would go first. */
static void close_room(struct cycle *c, const struct held *before)
{
    uint32_t closed = (uint32_t)c->reservation_count;

    c->reservations = arena_more(c->arena, c->reservations, c->reservation_count,
                                 &c->reservation_room, sizeof *c->reservations);
    c->reservations[c->reservation_count++] = *before;
    for (uint32_t i = 0; i < before->node_count; i++)
        hold_put(c, before->nodes[i], closed);
    for (uint32_t i = 0; i < before->node_count; i++)
        sched__room_respare(c, before->nodes[i]);
}

void sched__reserve_put(struct cycle *c, uint32_t reservation)
{
    struct held *r = &c->reservations[reservation];

    if (r->live && !r->victims && !r->holds_quota && !sched__limit_hold(c, reservation) &&
        r->quota) {
        sched__reserve_drop(c, reservation);
        return;
    }
    if (r->placed || !r->live || r->node_count == 0)
        return;
    r->placed = true;
    place_put(c, r);
    promise(c, r, true);
    for (uint32_t i = 0; i < r->node_count; i++)
        hold_put(c, r->nodes[i], reservation);
    for (uint32_t i = 0; i < r->node_count; i++)
        sched__room_respare(c, r->nodes[i]);
}

void sched__reserve_drop(struct cycle *c, uint32_t reservation)
{
    struct held *r = &c->reservations[reservation];

    bool closes = r->placed && c->ordering;
    struct held before;

    if (!r->live)
        return;
    sched__reserve_lift(c, reservation);
    r->live = false;
    before = *r;
    c->reservation_of[r->job] = SCHED_NONE;
    if (c->head == reservation)
        c->head = SCHED_NONE;
    c->epoch++;
    if (closes)
        close_room(c, &before);
}

void sched__reserve_spend(struct cycle *c, uint32_t reservation, const struct sched_start *start)
{
    struct held rest = c->reservations[reservation];
    uint32_t *nodes = arena_array(c->arena, rest.node_count, sizeof *nodes), count = 0;

    for (uint32_t i = 0; i < rest.node_count; i++) {
        bool used = false;
        for (uint32_t k = 0; k < start->node_count && !used; k++)
            used = start->nodes[k] == rest.nodes[i];
        if (!used)
            nodes[count++] = rest.nodes[i];
    }
    sched__reserve_drop(c, reservation);
    if (!c->ordering || count == 0)
        return;
    rest.nodes = nodes;
    rest.node_count = count;
    rest.live = false;
    close_room(c, &rest);
}

static uint32_t add(struct cycle *c, const struct held *held)
{
    c->reservations = arena_more(c->arena, c->reservations, c->reservation_count,
                                 &c->reservation_room, sizeof *c->reservations);
    c->reservations[c->reservation_count] = *held;
    c->reservation_of[held->job] = (uint32_t)c->reservation_count;
    return (uint32_t)c->reservation_count++;
}

void sched__reserve_quota(struct cycle *c, uint32_t job)
{
    uint32_t mine = c->reservation_of[job];
    struct held held = {.job = job, .quota = true, .live = true, .since = c->s->now};

    if (mine != SCHED_NONE && c->reservations[mine].quota)
        return; /* it is put back after its turn */
    if (mine != SCHED_NONE)
        sched__reserve_drop(c, mine);
    (void)add(c, &held);
}

void sched__reserve_victims(struct cycle *c, uint32_t job, uint32_t *nodes)
{
    struct held held = {.job = job,
                        .victims = true,
                        .fresh = true,
                        .live = true,
                        .since = c->s->now,
                        .start = TIME_NONE,
                        .nodes = nodes,
                        .node_count = c->s->shapes[c->s->jobs[job].shape].node_count};

    if (c->reservation_of[job] != SCHED_NONE)
        sched__reserve_drop(c, c->reservation_of[job]);
    sched__reserve_put(c, add(c, &held));
}

bool sched__reserve_outranked(const struct cycle *c, const struct asker *who, uint32_t reservation)
{
    const struct held *r = &c->reservations[reservation];
    const struct sched_job *j = &c->s->jobs[r->job];

    return j->queue == who->j->queue && j->priority < who->j->priority && !r->fresh &&
           who->place < sched__place(c->s, j->queue, j->priority, j->queued) &&
           (!r->owned || c->tree.leaf_of[j->share] == who->leaf) &&
           !sched__preempt_paused(c, who, j->share);
}

static bool rivals_of(const struct held_queue *q, const struct asker *who,
                      struct rivals *ret_rivals)
{
    size_t from = place_from(q, who->place + 1);

    if (from == q->count || q->places[from].least >= who->j->priority)
        return false;
    *ret_rivals = (struct rivals){lower(q, who->j->priority), (uint32_t)(q->count - from)};
    return true;
}

void sched__reserve_view(struct cycle *c, struct asker *who)
{
    who->ends_first = 0;
    if (c->head != SCHED_NONE && who->ends != SCHED_UNLIMITED &&
        c->reservations[c->head].start != TIME_NONE)
        who->ends_first = who->ends <= c->reservations[c->head].start;
    who->rivals = who->own_rivals = (struct rivals){0};
    who->outranks = rivals_of(&c->held_queues[who->j->queue], who, &who->rivals);
    who->outranks_own = false;
    if (c->owned_of[who->leaf] > 0) {
        struct memo_key key = {{who->leaf, who->j->queue, 0, 0}};
        const uint32_t *place = sched__memo_find(&c->owned_places, key);
        who->outranks_own = place && rivals_of(&c->owned_queues[*place], who, &who->own_rivals);
        who->outranks |= who->outranks_own;
    }
}

/* -- the first in line ------------------------------------------------------------------------ */

struct moment {
    time_ms at;
    uint32_t node;
    const struct sched_amounts *gives;
};

struct seat {
    uint32_t node;
    int64_t ranks, gpus, cpus;
    bool mine; /* it was held for the job before */
};

/* What lies ahead: `room` and how many ranks fit, by node, and their sum by target. */
struct outlook {
    struct cycle *c;
    struct asker *who;
    struct sched_amounts *room;
    int64_t *ranks, *of_target;
    bool *allowed; /* by node */
    struct moment *moments;
    size_t moment_count, moment_room;
};

/* The earliest is at the root of a heap: seldom all are asked for. */
static void moments_sink(struct outlook *o, size_t at)
{
    struct moment m = o->moments[at];

    for (size_t child = at * 2 + 1; child < o->moment_count; child = at * 2 + 1) {
        if (child + 1 < o->moment_count && o->moments[child + 1].at < o->moments[child].at)
            child++;
        if (o->moments[child].at >= m.at)
            break;
        o->moments[at] = o->moments[child];
        at = child;
    }
    o->moments[at] = m;
}

static struct moment moments_take(struct outlook *o)
{
    struct moment first = o->moments[0];

    o->moments[0] = o->moments[--o->moment_count];
    if (o->moment_count)
        moments_sink(o, 0);
    return first;
}

static void count_ranks(struct outlook *o, uint32_t node)
{
    uint32_t target = o->c->s->nodes[node].target;

    o->of_target[target] -= o->ranks[node];
    o->ranks[node] = sched__ranks(&o->c->s->nodes[node], &o->room[node], o->who->shape);
    o->of_target[target] += o->ranks[node];
}

static void add_moment(struct outlook *o, time_ms at, uint32_t node,
                       const struct sched_amounts *gives)
{
    if (!o->allowed[node])
        return;
    o->moments =
        arena_more(o->c->arena, o->moments, o->moment_count, &o->moment_room, sizeof *o->moments);
    o->moments[o->moment_count++] = (struct moment){MAX(at, o->c->s->now), node, gives};
}

static void outlook_nodes(struct outlook *o)
{
    const struct sched_snapshot *s = o->c->s;
    bool *targets = arena_array(o->c->arena, s->target_count, sizeof *targets);

    for (uint32_t t = 0; t < s->target_count; t++)
        targets[t] = !s->targets[t].maintenance && sched__room_step(o->who, t) &&
                     sched__room_target(o->c, o->who, t);
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct node *n = &o->c->nodes[i];
        bool coming = s->nodes[i].state == SCHED_NODE_COMING && s->nodes[i].until != TIME_NONE;
        o->allowed[i] = targets[s->nodes[i].target] && (n->class_no != SCHED_NONE || coming) &&
                        sched__room_suits(o->c, o->who, i);
        if (!o->allowed[i])
            continue;
        if (coming)
            add_moment(o, s->nodes[i].until, i, &s->nodes[i].total);
        else
            o->room[i] = n->free;
        for (uint32_t h = n->holds; h != SCHED_NONE; h = o->c->holds[h].next) {
            uint32_t job = o->c->reservations[o->c->holds[h].reservation].job;
            if (!o->c->reservations[o->c->holds[h].reservation].live)
                continue;
            sched__take(&o->room[i], &s->shapes[s->jobs[job].shape].need, o->c->holds[h].ranks);
        }
        count_ranks(o, i);
    }
}

static void outlook_ends(struct outlook *o)
{
    const struct sched_snapshot *s = o->c->s;

    for (uint32_t a = 0; a < s->attempt_count; a++) {
        const struct sched_attempt *at = &s->attempts[a];
        time_ms ends = o->c->leaving[a] ? s->now : at->ends_by;
        for (uint32_t i = 0; ends != SCHED_UNLIMITED && i < at->node_count; i++)
            add_moment(o, ends, at->nodes[i], &s->shapes[at->shape].need);
    }
    for (uint32_t k = 0; k < o->c->result.start_count; k++) {
        const struct sched_start *start = &o->c->result.starts[k];
        const struct sched_job *j = &s->jobs[start->job];
        time_ms ends = sched__ends(s->now, j->time_limit_ms);
        for (uint32_t i = 0; ends != SCHED_UNLIMITED && i < start->node_count; i++)
            add_moment(o, ends, start->nodes[i], &s->shapes[j->shape].need);
    }
    for (size_t i = o->moment_count / 2; i-- > 0;)
        moments_sink(o, i);
}

static uint32_t enough_at(const struct outlook *o)
{
    for (uint32_t t = 0; t < o->c->s->target_count; t++)
        if (o->of_target[t] >= o->who->shape->node_count)
            return t;
    return SCHED_NONE;
}

/* The first moment at which all ranks fit at one target: TIME_NONE if nothing says when. */
static time_ms first_fit(struct outlook *o, uint32_t *ret_target)
{
    time_ms at = o->c->s->now;

    *ret_target = enough_at(o);
    while (*ret_target == SCHED_NONE && o->moment_count > 0) {
        struct moment m = moments_take(o);
        uint32_t target = o->c->s->nodes[m.node].target;
        sched__take(&o->room[m.node], m.gives, -1);
        count_ranks(o, m.node);
        at = m.at;
        if (o->of_target[target] >= o->who->shape->node_count)
            *ret_target = target;
    }
    return *ret_target == SCHED_NONE ? TIME_NONE : at;
}

/* Nothing bounds what runs there: the nodes that are nearest to being free are held, so that they
 * empty. As if all on them had ended. */
static void assume_empty(struct outlook *o)
{
    for (uint32_t i = 0; i < o->c->s->node_count; i++)
        if (o->allowed[i] && o->c->nodes[i].class_no != SCHED_NONE &&
            o->c->nodes[i].holds == SCHED_NONE) {
            o->room[i] = o->c->s->nodes[i].total;
            count_ranks(o, i);
        } else if (o->allowed[i]) {
            o->of_target[o->c->s->nodes[i].target] -= o->ranks[i];
            o->ranks[i] = 0;
        }
}

static int seats_by_room(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;

    if (x->mine != y->mine)
        return x->mine ? -1 : 1;
    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    if (x->cpus != y->cpus)
        return x->cpus < y->cpus ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The tightest that fit, or without a known start the emptiest now: `sign` -1. */
static uint32_t *choose(struct outlook *o, uint32_t target, int sign, const struct held *before)
{
    const struct sched_snapshot *s = o->c->s;
    struct seat *seats = arena_array(o->c->arena, s->node_count, sizeof *seats);
    uint32_t *nodes = arena_array(o->c->arena, o->who->shape->node_count, sizeof *nodes);
    uint32_t count = 0, rank = 0;
    bool *mine = arena_array(o->c->arena, s->node_count, sizeof *mine);

    for (uint32_t i = 0; sign < 0 && before && i < before->node_count; i++)
        mine[before->nodes[i]] = true;
    for (uint32_t i = 0; i < s->node_count; i++) {
        const int64_t *room = sign < 0 ? o->c->nodes[i].free.v : o->room[i].v;
        if (o->allowed[i] && s->nodes[i].target == target && o->ranks[i] > 0)
            seats[count++] = (struct seat){i, o->ranks[i], sched__mul(room[RESOURCE_GPU], sign),
                                           sched__mul(room[RESOURCE_CPU], sign), mine[i]};
    }
    if (count)
        qsort(seats, count, sizeof *seats, seats_by_room);
    for (uint32_t i = 0; i < count; i++)
        for (int64_t k = 0; k < seats[i].ranks && rank < o->who->shape->node_count; k++)
            nodes[rank++] = seats[i].node;
    ENSURE(rank == o->who->shape->node_count);
    return nodes;
}

/* When and on which nodes: at the first moment that time limits promise; or, where they promise
 * none that is near, on those that are emptied for it. */
static uint32_t plan_head(struct outlook *o, const struct held *before, struct held *held)
{
    uint32_t by_limits, target;
    time_ms start = first_fit(o, &by_limits);
    uint32_t *nodes = by_limits == SCHED_NONE ? NULL : choose(o, by_limits, 1, before);

    held->start = start;
    held->nodes = nodes;
    if (by_limits != SCHED_NONE && !sched__is_far(o->c, start))
        return by_limits;
    assume_empty(o);
    target = enough_at(o);
    if (target == SCHED_NONE)
        return by_limits; /* on machines that are on their way */
    held->start = TIME_NONE;
    held->nodes = choose(o, target, -1, before);
    return target;
}

void sched__reserve_head(struct cycle *c, struct asker *who)
{
    uint32_t count = c->s->node_count, target;
    struct outlook o = {
        .c = c,
        .who = who,
        .room = arena_array(c->arena, count, sizeof *o.room),
        .ranks = arena_array(c->arena, count, sizeof *o.ranks),
        .allowed = arena_array(c->arena, count, sizeof *o.allowed),
        .of_target = arena_array(c->arena, c->s->target_count, sizeof *o.of_target),
    };
    struct held held = {
        .job = who->job, .live = true, .since = c->s->now, .node_count = who->shape->node_count};
    const struct held *before = c->head == SCHED_NONE ? NULL : &c->reservations[c->head];

    outlook_nodes(&o);
    outlook_ends(&o);
    target = plan_head(&o, before, &held);
    if (target == SCHED_NONE) {
        if (before)
            sched__reserve_drop(c, c->head);
        return;
    }
    if (before) {
        held.since = before->since;
        c->reservations[c->head] = held;
    } else {
        c->head = add(c, &held);
    }
}

/* -- in and out ------------------------------------------------------------------------------- */

struct named {
    int64_t id;
    uint32_t at;
};

static int named_by_id(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static uint32_t named_find(const struct named *names, uint32_t count, int64_t id)
{
    uint32_t from = 0, to = count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (names[mid].id < id)
            from = mid + 1;
        else
            to = mid;
    }
    return from < count && names[from].id == id ? names[from].at : SCHED_NONE;
}

/* Is the node there? Or silent, while one that was ended for the job has not left it yet: it may
 * come back, and what the others left is not given away before. */
static bool may_come_back(const struct cycle *c, const struct sched_reservation *given, uint32_t at)
{
    const struct node *n = &c->nodes[at];

    for (uint32_t i = n->attempts; given->victims && i < n->attempt_end; i++)
        if (c->leaving[c->attempts_by_node[i]] && c->s->nodes[at].state == SCHED_NODE_OFFLINE)
            return true;
    return n->class_no != SCHED_NONE;
}

/* False: a node of it is gone, or none for the job any more. */
static bool load_nodes(struct cycle *c, const struct sched_reservation *given,
                       const struct named *names, struct held *held)
{
    struct asker who;

    sched__asker_init(c, held->job, &who);
    if (given->node_count != who.shape->node_count)
        return false;
    held->node_count = given->node_count;
    held->nodes = arena_array(c->arena, given->node_count, sizeof *held->nodes);
    c->gang_stamp++;
    for (uint32_t i = 0; i < given->node_count; i++) {
        uint32_t at = named_find(names, c->s->node_count, given->nodes[i].v);
        if (at == SCHED_NONE || !may_come_back(c, given, at) || !sched__room_suits(c, &who, at) ||
            !sched__room_step(&who, c->s->nodes[at].target) ||
            !sched__access_has(&c->access, who.access, c->s->nodes[at].target) ||
            (c->nodes[at].gang == c->gang_stamp && !c->s->nodes[at].several))
            return false;
        c->nodes[at].gang = c->gang_stamp;
        held->nodes[i] = at;
    }
    return true;
}

static void load(struct cycle *c, const struct sched_reservation *given, uint32_t job,
                 const struct named *names)
{
    const struct sched_job *j = &c->s->jobs[job];
    struct held held = {.job = job,
                        .victims = given->victims,
                        .live = true,
                        .since = given->since,
                        .start = given->victims ? TIME_NONE : given->start};

    if (c->reservation_of[job] != SCHED_NONE || c->s->queues[j->queue].held ||
        (j->array && c->array_left[j->array - 1] <= 0) ||
        c->tree.branches[c->tree.leaf_of[j->share]].held)
        return;
    if (given->quota) {
        held.quota = true;
        if (c->s->policy.parts & SCHED_RESERVE)
            sched__reserve_put(c, add(c, &held));
        return;
    }
    if (given->victims ? sched__sub(c->s->now, given->since) > c->s->policy.reservation_ms_max
                       : c->head != SCHED_NONE || !(c->s->policy.parts & SCHED_RESERVE))
        return;
    if (!load_nodes(c, given, names, &held)) {
        if (given->victims)
            return;
        held.node_count = 0; /* it stays the first in line: nodes are found in its turn */
    }
    if (!given->victims)
        c->head = (uint32_t)c->reservation_count;
    sched__reserve_put(c, add(c, &held));
}

void sched__reserve_load(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;
    struct named *nodes, *reserved;
    uint32_t *jobs;

    if (s->reservation_count == 0)
        return;
    nodes = arena_array(c->arena, s->node_count, sizeof *nodes);
    reserved = arena_array(c->arena, s->reservation_count, sizeof *reserved);
    jobs = arena_array(c->arena, s->reservation_count, sizeof *jobs);
    for (uint32_t i = 0; i < s->node_count; i++)
        nodes[i] = (struct named){s->nodes[i].id.v, i};
    for (uint32_t i = 0; i < s->reservation_count; i++) {
        reserved[i] = (struct named){s->reservations[i].job.v, i};
        jobs[i] = SCHED_NONE;
    }
    if (s->node_count)
        qsort(nodes, s->node_count, sizeof *nodes, named_by_id);
    qsort(reserved, s->reservation_count, sizeof *reserved, named_by_id);
    for (uint32_t i = 0; i < s->job_count; i++) {
        uint32_t at = named_find(reserved, s->reservation_count, s->jobs[i].id.v);
        if (at != SCHED_NONE)
            jobs[at] = i;
    }
    for (uint32_t i = 0; i < s->reservation_count; i++)
        if (jobs[i] != SCHED_NONE)
            load(c, &s->reservations[i], jobs[i], nodes);
    c->reservations_given = c->reservation_count;
}

void sched__reserve_result(struct cycle *c)
{
    struct sched_result *result = &c->result;

    result->reservations =
        arena_array(c->arena, c->reservation_count, sizeof *result->reservations);
    for (uint32_t i = 0; i < c->reservation_count; i++) {
        const struct held *r = &c->reservations[i];
        agent_id *nodes;
        if (!r->live || (r->node_count == 0 && !r->quota))
            continue;
        nodes = arena_array(c->arena, r->node_count, sizeof *nodes);
        for (uint32_t k = 0; k < r->node_count; k++)
            nodes[k] = c->s->nodes[r->nodes[k]].id;
        result->reservations[result->reservation_count++] =
            (struct sched_reservation){.job = c->s->jobs[r->job].id,
                                       .victims = r->victims,
                                       .quota = r->quota,
                                       .since = r->since,
                                       .start = r->start,
                                       .nodes = nodes,
                                       .node_count = r->node_count};
    }
}
