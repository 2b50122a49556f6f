/* One cycle: jobs for which room is held, then all in order. Each gets its turn once: it starts,
 * others are ended for it, room is held for it, or it waits with a reason. */
#include "sched/cycle.h"

#include "sched/order.h"

#include <stdlib.h>

#define RESERVE_AFTER_MS   (5 * 60000LL)
#define RESERVATION_MS_MAX (10 * 60000LL)
#define EVICT_PAUSE_MS     (10 * 60000LL)
#define PREEMPT_LOOKS_MAX  50000
#define RANK_AHEAD         16
#define OUTRANK_LOOKS_MAX  100000 /* in a cycle: who may take over room that is held */

struct sched_policy sched_policy_default(void)
{
    return (struct sched_policy){.parts = SCHED_ALL,
                                 .reserve_after_ms = RESERVE_AFTER_MS,
                                 .reservation_ms_max = RESERVATION_MS_MAX,
                                 .evict_pause_ms = EVICT_PAUSE_MS,
                                 .preempt_looks_max = PREEMPT_LOOKS_MAX};
}

struct wait sched__wait(enum wait_code code)
{
    return (struct wait){
        .code = code, .resource = RESOURCE_NONE, .until = TIME_NONE, .start_estimate = TIME_NONE};
}

/* Steps open one after the other as their waits pass. One whose steps all passed keeps the last. */
static void open_steps(const struct cycle *c, struct asker *who)
{
    const struct sched_shape *shape = who->shape;
    time_ms opens = who->j->ladder_at;

    who->next_step = TIME_NONE;
    who->step_to = 1;
    if (shape->step_count == 0)
        return;
    who->step_from = MIN(who->j->step_from, shape->step_count - 1);
    for (who->step_to = who->step_from + 1; who->step_to < shape->step_count; who->step_to++) {
        int64_t wait_ms = shape->steps[who->step_to - 1].wait_ms;
        if (wait_ms == SCHED_UNLIMITED)
            return;
        opens = sched__add(opens, wait_ms);
        if (opens > c->s->now) {
            who->next_step = opens;
            return;
        }
    }
}

static bool has_victims(const struct cycle *c, uint32_t job)
{
    uint32_t mine = c->reservation_of[job];

    return mine != SCHED_NONE && c->reservations[mine].victims;
}

void sched__asker_init(struct cycle *c, uint32_t job, struct asker *ret_who)
{
    const struct sched_job *j = &c->s->jobs[job];
    struct asker who = {.job = job,
                        .leaf = c->tree.leaf_of[j->share],
                        .j = j,
                        .shape = &c->s->shapes[j->shape],
                        .ends = sched__ends(c->s->now, j->time_limit_ms)};

    who.ask = sched__ask(who.shape);
    who.place = sched__place(c->s, j->queue, j->priority, j->queued);
    who.access = sched__access_get(&c->access, who.leaf, j->queue);
    who.money = c->tree.branches[who.leaf].money;
    who.promised = has_victims(c, job);
    open_steps(c, &who);
    sched__reserve_view(c, &who);
    *ret_who = who;
}

/* -- one turn --------------------------------------------------------------------------------- */

/* It took room that was held for others of lower priority: they hold nothing there any more. */
static void drop_outranked(struct cycle *c, const struct asker *who, uint32_t node)
{
    uint32_t at = c->nodes[node].holds;

    while (at != SCHED_NONE && sched__room_overdrawn(who, &c->nodes[node])) {
        uint32_t reservation = c->holds[at].reservation;
        at = c->holds[at].next;
        if (sched__reserve_outranked(c, who, reservation))
            sched__reserve_drop(c, reservation);
    }
}

static void start(struct cycle *c, struct asker *who, uint32_t step, uint32_t *nodes)
{
    struct sched_result *result = &c->result;

    sched__tree_start(&c->tree, who->leaf, &who->ask);
    sched__tree_start(&c->after, who->leaf, &who->ask);
    sched__limit_charge(c, who);
    sched__budget_charge(c, who, c->s->nodes[nodes[0]].target);
    for (uint32_t i = 0; i < who->shape->node_count && who->outranks; i++)
        drop_outranked(c, who, nodes[i]);
    if (who->j->array)
        c->array_left[who->j->array - 1]--;
    result->starts[result->start_count++] =
        (struct sched_start){who->job, step, nodes, who->shape->node_count};
    c->states[who->job] = JOB_STARTS;
}

/* Names the reservations that do not hold against the job; 0: all do. */
static uint64_t rivals_number(struct cycle *c, const struct asker *who)
{
    bool apart = who->outranks_own || c->paused.count > 0, fresh;
    struct memo_key key = {{(uint64_t)who->j->queue << 32 | (apart ? who->leaf + 1U : 0),
                            (uint64_t)who->rivals.lower << 32 | who->rivals.later,
                            (uint64_t)who->own_rivals.lower << 32 | who->own_rivals.later,
                            who->promised}};
    uint32_t *number;

    if (!who->outranks && !who->promised)
        return 0;
    number = sched__memo_get(&c->rival_sets, key, &fresh);
    if (fresh)
        *number = (uint32_t)c->rival_sets.count;
    return *number;
}

/* Names the places that the job may take: jobs for which it is the same fare alike. */
static struct memo_key places(struct cycle *c, const struct asker *who)
{
    return (struct memo_key){{(uint64_t)who->j->shape << 32 | who->access,
                              (uint64_t)who->step_from << 32 | who->step_to, rivals_number(c, who),
                              c->epoch << 1}};
}

/* What was found out for others that ask for the same; room that was lifted is one's own. */
static uint32_t reason_find(struct cycle *c, const struct asker *who)
{
    bool fresh;
    uint32_t *at, number = (uint32_t)c->reason_count;

    if (c->reservation_of[who->job] == SCHED_NONE) {
        struct memo_key key = places(c, who), wide = key;
        const uint32_t *wider;
        wide.v[3] |= 1;
        /* Who may not use held room has no more places than who may. */
        wider = who->ends_first ? NULL : sched__memo_find(&c->tried, wide);
        if (wider && c->reasons[*wider].known)
            return *wider;
        at = sched__memo_get(&c->tried, who->ends_first ? wide : key, &fresh);
        if (!fresh)
            return *at;
        *at = number;
    }
    c->reasons =
        arena_more(c->arena, c->reasons, c->reason_count, &c->reason_room, sizeof *c->reasons);
    c->reasons[c->reason_count++] = (struct reason){0};
    return number;
}

/* Most do not fit: what is found is copied, the room to look with is kept. */
static bool place(struct cycle *c, struct asker *who, uint32_t *ret_step, uint32_t **ret_nodes)
{
    uint32_t count = who->shape->node_count;

    if (c->scratch_room < count) {
        c->scratch_room = MAX(16, count);
        c->nodes_scratch = arena_array(c->arena, c->scratch_room, sizeof *c->nodes_scratch);
    }
    if (!sched__room_place(c, who, ret_step, c->nodes_scratch))
        return false;
    *ret_nodes = arena_array(c->arena, count, sizeof **ret_nodes);
    memcpy(*ret_nodes, c->nodes_scratch, count * sizeof **ret_nodes);
    return true;
}

/* True: it starts. Else *ret_reason says why not. */
static bool try_places(struct cycle *c, struct asker *who, struct reason *ret_reason,
                       uint32_t *ret_number)
{
    uint32_t number = reason_find(c, who), step, *nodes;

    *ret_number = number;
    if (c->reasons[number].known) {
        *ret_reason = c->reasons[number];
        return false;
    }
    if (sched__room_enough(c, who) && place(c, who, &step, &nodes)) {
        start(c, who, step, nodes);
        return true;
    }
    sched__why(c, who, ret_reason);
    if (!who->money_bound)
        c->reasons[number] = *ret_reason;
    return false;
}

static bool waited_long(struct cycle *c, const struct asker *who)
{
    int64_t after = c->s->policy.reserve_after_ms, waited = sched__sub(c->s->now, who->j->queued);

    if (!(c->s->policy.parts & SCHED_RESERVE))
        return false;
    return waited >= MIN(after, sched__turnover(c));
}

/* Is it the one that room is held for, now that it does not fit? */
static void consider_head(struct cycle *c, struct asker *who)
{
    uint32_t mine = c->reservation_of[who->job];

    if (mine == SCHED_NONE && !waited_long(c, who))
        return;
    if (mine != SCHED_NONE && c->reservations[mine].victims)
        return;
    if (c->head != SCHED_NONE && c->head != mine) {
        if (c->head >= c->reservations_given || !sched__reserve_outranked(c, who, c->head))
            return; /* one made in this cycle was the first in order */
        sched__reserve_drop(c, c->head);
    }
    sched__reserve_head(c, who);
}

static struct wait victims_wait(struct cycle *c, uint32_t job)
{
    const struct held *r = &c->reservations[c->reservation_of[job]];
    struct wait wait = sched__wait(WAIT_VICTIMS);

    c->seen_stamp++;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const struct node *n = &c->nodes[r->nodes[i]];
        for (uint32_t k = n->attempts; k < n->attempt_end; k++) {
            uint32_t a = c->attempts_by_node[k];
            wait.asked += c->leaving[a] && c->seen[a] != c->seen_stamp;
            c->seen[a] = c->seen_stamp;
        }
    }
    return wait;
}

/* Would it fit on the hardware, if not now? */
static bool would_fit(struct cycle *c, struct asker *who)
{
    uint32_t number = reason_find(c, who);
    struct reason reason = c->reasons[number];

    if (!reason.known) {
        sched__why(c, who, &reason);
        if (!who->money_bound)
            c->reasons[number] = reason;
    }
    return reason.hardware;
}

/* It did not start: others are ended for it, or room is held. `branch`: where it ended at a limit.
 */
static void make_room(struct cycle *c, struct asker *who, uint32_t branch, struct reason *reason,
                      uint32_t number)
{
    uint32_t mine = c->reservation_of[who->job];

    if (mine != SCHED_NONE && c->reservations[mine].quota && reason->wait.code != WAIT_QUOTA)
        sched__reserve_drop(c, mine); /* it is not the quota any more that it waits for */
    if (has_victims(c, who->job))
        reason->wait = victims_wait(c, who->job);
    else if (branch == SCHED_NONE && !reason->hardware)
        return;
    else if (!c->early && sched__preempt(c, who, branch, number))
        reason->wait = victims_wait(c, who->job);
    else if (branch == SCHED_NONE)
        consider_head(c, who);
    else if (reason->wait.code == WAIT_QUOTA && waited_long(c, who) && sched__limit_open(c, who) &&
             sched__tree_admits_empty(&c->tree, who->leaf, &who->ask) && would_fit(c, who))
        sched__reserve_quota(c, who->job);
}

static bool promises(const struct cycle *c, uint32_t branch, const struct sched_amounts *ask)
{
    for (int r = 0; r < SHARED_RESOURCES; r++)
        if (ask->v[r] > 0 && c->tree.branches[branch].promised.v[r] > 0)
            return true;
    return false;
}

/* Its turn, with its own reservation lifted: true if it starts. */
static bool attempt(struct cycle *c, struct asker *who, struct reason *ret_reason)
{
    uint32_t branch = SCHED_NONE, number = SCHED_NONE;
    struct wait limit;
    bool starts = false, yields = false;
    bool admitted = sched__tree_admits(&c->tree, who->leaf, &who->ask, &limit, &branch);

    ret_reason->hardware = false;
    if (who->j->array && c->array_left[who->j->array - 1] <= 0) {
        ret_reason->wait = sched__wait(WAIT_ARRAY);
        return false;
    }
    if (!sched__budget_hours(c, who, &ret_reason->wait))
        return false;
    if (!has_victims(c, who->job) && !sched__limit_passes(c, who, &ret_reason->wait))
        return false;
    if (!admitted && who->outranks && promises(c, branch, &who->ask) && c->looks_left > 0) {
        yields = true;
        c->looks_left -= (int64_t)c->reservation_count;
        sched__reserve_yield(c, who);
        admitted = sched__tree_admits(&c->tree, who->leaf, &who->ask, &limit, &branch);
    }
    if (admitted) {
        branch = SCHED_NONE;
        starts = try_places(c, who, ret_reason, &number);
    } else {
        ret_reason->wait = limit;
    }
    if (!starts)
        make_room(c, who, branch, ret_reason, number);
    if (yields)
        sched__reserve_unyield(c);
    return starts;
}

/* What others keep may become free: unless they keep so much that it never does. */
static bool waits_for_kept(const struct cycle *c, const struct asker *who,
                           const struct reason *reason)
{
    return reason->wait.code == WAIT_LENT_BACK &&
           sched__tree_admits_empty(&c->tree, who->leaf, &who->ask);
}

static bool turn(struct cycle *c, uint32_t job, struct reason *ret_reason)
{
    struct asker who;
    uint32_t mine = c->reservation_of[job], before = mine;
    bool held_quota = mine != SCHED_NONE && c->reservations[mine].holds_quota, starts;

    if (mine != SCHED_NONE)
        sched__reserve_lift(c, mine);
    sched__asker_init(c, job, &who);
    starts = attempt(c, &who, ret_reason);
    if (starts && mine != SCHED_NONE)
        sched__reserve_spend(c, mine, &c->result.starts[c->result.start_count - 1]);
    mine = c->reservation_of[job];
    if (mine != SCHED_NONE && !starts && c->reservations[mine].quota &&
        ret_reason->wait.code != WAIT_QUOTA) {
        sched__reserve_drop(c, mine); /* a budget, say: it is not the quota that it waits for */
        mine = SCHED_NONE;
    }
    if (mine != SCHED_NONE && !starts && c->reservations[mine].victims &&
        ret_reason->wait.code == WAIT_BUDGET_HOURS) {
        sched__reserve_drop(c, mine); /* others have been ended for it, and it may not start */
        mine = SCHED_NONE;
    }
    if (mine != SCHED_NONE && !starts) {
        sched__reserve_put(c, mine);
        if (c->reservation_of[job] == SCHED_NONE)
            return false;
        if (mine == c->head && !ret_reason->hardware && !waits_for_kept(c, &who, ret_reason))
            sched__reserve_drop(c, mine); /* it is not the hardware that it waits for */
        else
            ret_reason->wait.start_estimate = c->reservations[mine].start;
    }
    /* Others have waited for it in this cycle: what it does not need goes to the first in the next.
     */
    if (held_quota && !starts && !c->early && !c->reservations[before].holds_quota)
        (void)sched__limit_hold(c, before);
    return starts;
}

/* -- all turns -------------------------------------------------------------------------------- */

/* What no passing of time changes takes no share from those that wait with it. */
static bool idle(enum wait_code code)
{
    switch (code) {
    case WAIT_PROJECT_HELD:
    case WAIT_QUEUE_HELD:
    case WAIT_NO_AGENT:
    case WAIT_NO_TARGET:
    case WAIT_NODES_EXCLUDED:
    case WAIT_GPU_TYPE:
    case WAIT_TOO_BIG:
    case WAIT_TOO_FEW_NODES: return true;
    default: return false;
    }
}

static void wait_put(struct cycle *c, uint32_t job, const struct wait *wait)
{
    c->states[job] = JOB_WAITS;
    c->idle[job] = idle(wait->code);
    c->wait_of[job] = c->result.wait_count;
    c->result.waits[c->result.wait_count++] = (struct sched_wait){job, *wait};
}

static bool stopped(const struct cycle *c, uint32_t job, struct wait *ret_wait)
{
    const struct sched_job *j = &c->s->jobs[job];
    const struct sched_queue *q = &c->s->queues[j->queue];

    if (c->tree.branches[c->tree.leaf_of[j->share]].held) {
        *ret_wait = sched__wait(WAIT_PROJECT_HELD);
        ret_wait->share = c->s->shares[j->share].id;
    } else if (q->held) {
        *ret_wait = sched__wait(WAIT_QUEUE_HELD);
        ret_wait->queue = q->id;
    } else {
        return false;
    }
    return true;
}

static void take_turn(struct cycle *c, uint32_t job)
{
    uint32_t queue = c->s->jobs[job].queue;
    struct reason reason;

    reason.hardware = false;
    if (stopped(c, job, &reason.wait)) {
        wait_put(c, job, &reason.wait);
        return;
    }
    if (c->blocked[queue] && c->reservation_of[job] == SCHED_NONE) {
        reason.wait = sched__wait(WAIT_TURN);
        reason.wait.asked = c->ahead[queue];
    } else if (turn(c, job, &reason)) {
        return;
    }
    if (reason.hardware && !(c->s->policy.parts & SCHED_BACKFILL))
        c->blocked[queue] = true;
    c->ahead[queue]++;
    wait_put(c, job, &reason.wait);
}

/* Does a job that could start now, as far as limits go, wait that may take the room over? */
static bool is_outranked(struct cycle *c, uint32_t reservation)
{
    uint32_t mine = c->reservations[reservation].job, branch;
    const struct sched_job *j = &c->s->jobs[mine];
    struct wait wait;

    if (j->priority >= c->highest[j->queue])
        return false;
    for (uint32_t i = 0; i < c->s->job_count; i++) {
        const struct sched_job *other = &c->s->jobs[i];
        struct asker who;
        if (other->queue != j->queue || other->priority <= j->priority ||
            c->tree.branches[c->tree.leaf_of[other->share]].held)
            continue;
        if (--c->outrank_looks < 0)
            return true; /* it has its turn in order then */
        sched__asker_init(c, i, &who);
        if (sched__reserve_outranked(c, &who, reservation) &&
            sched__tree_admits(&c->tree, who.leaf, &who.ask, &wait, &branch))
            return true;
    }
    return false;
}

/* Those for which room is held come first, if nobody waits who may take it over. Only to start:
 * nobody is ended for who may start yet in the same cycle. */
static void reserved_turns(struct cycle *c)
{
    size_t given = c->reservation_count;

    c->early = true;
    for (uint32_t i = 0; i < given; i++) {
        struct reason reason;
        bool outranked;
        if (!c->reservations[i].live)
            continue;
        sched__reserve_lift(c, i); /* what is promised to it holds up nobody who takes it over */
        outranked = is_outranked(c, i);
        sched__reserve_put(c, i);
        if (!outranked)
            (void)turn(c, c->reservations[i].job, &reason); /* its turn in order says why */
    }
    c->early = false;
}

/* A rank says after how many others a job would start if room came bit by bit: the tournament is
 * held again, as if each that has its turn then ran. What was found out is gathered afterwards,
 * since it lies in another order: fetched some time before it is copied. */
static void rank(struct cycle *c, struct order *order)
{
    uint32_t total = c->result.wait_count, count = 0;
    struct sched_wait *waits = arena_array(c->arena, total, sizeof *waits);
    uint32_t *from = arena_array(c->arena, total, sizeof *from);
    const struct order_entry *next;

    sched__order_begin(order, &c->tree, c->states, JOB_WAITS);
    while ((next = sched__order_next(order)) != NULL) {
        if (!c->idle[next->job])
            sched__tree_suppose(&c->tree, c->tree.leaf_of[next->share], &order->asks[next->shape]);
        from[count++] = c->wait_of[next->job];
        sched__order_pass(order);
    }
    ENSURE(count == total);
    for (uint32_t i = 0; i < total; i++) {
        if (i + RANK_AHEAD < total)
            __builtin_prefetch(&c->result.waits[from[i + RANK_AHEAD]]);
        waits[i] = c->result.waits[from[i]];
        waits[i].wait.rank = (int64_t)i + 1;
    }
    c->result.waits = waits;
}

/* What attempts hold, those that are being ended or the others. */
static void hold_attempts(struct cycle *c, struct tree *tree, bool stopping)
{
    struct holding *held = arena_array(c->arena, tree->count, sizeof *held);

    for (uint32_t a = 0; a < c->s->attempt_count; a++) {
        const struct sched_attempt *at = &c->s->attempts[a];
        struct holding *h = &held[tree->leaf_of[at->share]];
        if (at->stopping != stopping)
            continue;
        sched__take(&h->amounts, &c->s->shapes[at->shape].need,
                    -(int64_t)c->s->shapes[at->shape].node_count);
        h->jobs++;
    }
    sched__tree_hold_all(tree, held);
}

static void trees_init(struct cycle *c)
{
    sched__tree_init(&c->tree, c->s, c->arena);
    hold_attempts(c, &c->tree, false);
    sched__tree_copy(&c->after, &c->tree, c->arena);
    hold_attempts(c, &c->tree, true);
}

static void jobs_init(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;

    c->states = arena_array(c->arena, s->job_count, sizeof *c->states);
    c->idle = arena_array(c->arena, s->job_count, sizeof *c->idle);
    c->wait_of = arena_array(c->arena, s->job_count, sizeof *c->wait_of);
    c->reservation_of = arena_array(c->arena, s->job_count, sizeof *c->reservation_of);
    c->highest = arena_array(c->arena, s->queue_count, sizeof *c->highest);
    c->ahead = arena_array(c->arena, s->queue_count, sizeof *c->ahead);
    sched__memo_init(&c->owned_places, c->arena);
    c->owned_of = arena_array(c->arena, c->tree.count, sizeof *c->owned_of);
    c->held_queues = arena_array(c->arena, s->queue_count, sizeof *c->held_queues);
    c->blocked = arena_array(c->arena, s->queue_count, sizeof *c->blocked);
    for (uint32_t i = 0; i < s->queue_count; i++)
        c->highest[i] = INT64_MIN;
    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct sched_job *j = &s->jobs[i];
        c->reservation_of[i] = SCHED_NONE;
        if (!c->tree.branches[c->tree.leaf_of[j->share]].held)
            c->highest[j->queue] = MAX(c->highest[j->queue], j->priority);
    }
    c->result.starts = arena_array(c->arena, s->job_count, sizeof *c->result.starts);
    c->result.waits = arena_array(c->arena, s->job_count, sizeof *c->result.waits);
    c->result.evicts = arena_array(c->arena, s->attempt_count, sizeof *c->result.evicts);
}

void sched__cycle_run(const struct sched_snapshot *snapshot, struct arena *arena, struct cycle *c)
{
    struct order order = {0};
    uint32_t job;

    *c = (struct cycle){.s = snapshot,
                        .arena = arena,
                        .head = SCHED_NONE,
                        .turnover_ms = -1,
                        .looks_left = snapshot->policy.preempt_looks_max,
                        .outrank_looks = OUTRANK_LOOKS_MAX};
    c->array_left = arena_array(arena, snapshot->array_count, sizeof *c->array_left);
    if (snapshot->array_count)
        memcpy(c->array_left, snapshot->array_places,
               snapshot->array_count * sizeof *c->array_left);
    trees_init(c);
    sched__access_init(&c->access, snapshot, &c->tree, arena);
    sched__memo_init(&c->tried, arena);
    sched__memo_init(&c->rival_sets, arena);
    sched__room_init(c);
    jobs_init(c);
    sched__preempt_init(c);
    sched__reserve_load(c);
    reserved_turns(c);
    order.tree = &c->tree;
    sched__order_init(&order, snapshot, arena);
    sched__order_begin(&order, &c->tree, c->states, JOB_OPEN);
    c->ordering = true;
    while ((job = sched__order_peek(&order)) != SCHED_NONE) {
        take_turn(c, job);
        sched__order_pass(&order);
    }
    rank(c, &order);
    sched__reserve_result(c);
}

void sched_cycle(const struct sched_snapshot *snapshot, struct arena *arena,
                 struct sched_result *ret_result)
{
    struct cycle c;

    sched__cycle_run(snapshot, arena, &c);
    *ret_result = c.result;
}
