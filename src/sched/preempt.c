/* Whose attempts are ended for a job. Two rights: to take back what is lent (the asker stays within
 * its quota at every level below the branch where it meets the victim, and the victim's branch is
 * above its own), and to outrank (same queue, lower priority; what another project holds within its
 * quota is safe from that too).
 *
 * Victims are taken one by one, those that borrow first, of the largest share, then the lowest
 * priority, then the newest, until the job truly fits on nodes and within its limits; then each is
 * put back, the last first, unless it is needed. All that happens on copies: `after` is the tree
 * without what is being ended, `room` the nodes without it. */
#include "sched/cycle.h"

#include <stdlib.h>

/* A search may use this part of what is left to the cycle, so that those that find nothing, the
 * same in every cycle, always leave something to others. */
#define SEARCHES 8

struct victim {
    uint32_t attempt, branch; /* branch: the child of where it meets the asker, above the victim */
    enum ending ending;
    int64_t priority, id;
    time_ms since;
};

/* A branch that uses more than its quota, beside one of the asker's that stays within its own. */
struct borrower {
    struct share_key key;
    uint32_t branch;
};

struct seat {
    uint32_t node;
    bool touched;
    int64_t gpus, cpus;
};

struct search {
    struct cycle *c;
    struct asker *who;
    uint32_t blocked; /* the branch at whose limit the asker ends; SCHED_NONE */
    struct sched_amounts *room;
    int64_t *ranks, *of_target;
    uint32_t fitting;                  /* targets at which all ranks fit */
    bool *allowed, *targets, *touched; /* by node, by target, by node */
    struct borrower *borrowers;
    size_t borrower_count, borrower_room;
    struct victim *victims;
    size_t victim_count, victim_room;
    size_t *taken, taken_count; /* places in victims */
    int64_t looks_until;        /* it gives up when so many are left to the cycle */
    struct seat *seats;         /* room for all nodes */
    struct memo spared;         /* shares of which nothing is ended: see find_spared */
    share_id *queue;
};

/* -- what is allowed -------------------------------------------------------------------------- */

static bool over_up_to(const struct tree *tree, uint32_t leaf, uint32_t branch, int r, int64_t less)
{
    for (uint32_t at = leaf;; at = tree->branches[at].parent) {
        if (!sched__tree_over(tree, at, r, less))
            return false;
        if (at == branch)
            return true;
    }
}

/* Is it in use beyond the quota of its branch, and of each below that? For who takes back what is
 * asked for: in part at least. */
static bool may_reclaim(const struct search *s, uint32_t attempt, uint32_t branch)
{
    const struct cycle *c = s->c;
    const struct sched_attempt *a = &c->s->attempts[attempt];
    const struct sched_amounts *holds = &c->s->shapes[a->shape].need;

    for (int r = 0; r < SHARED_RESOURCES; r++)
        if (c->after.owned >> r & 1 && holds->v[r] > 0 && s->who->ask.v[r] > 0 &&
            over_up_to(&c->after, c->tree.leaf_of[a->share], branch, r, 0))
            return true;
    return false;
}

/* For who outranks it: as a whole, or it holds nothing that anybody owns, or it is of the same
 * project. So nobody falls below its quota for another's priority, and takes that back from it. */
static bool may_outrank(const struct search *s, uint32_t attempt, uint32_t branch)
{
    const struct cycle *c = s->c;
    const struct sched_attempt *a = &c->s->attempts[attempt];
    const struct sched_amounts holds = sched__ask(&c->s->shapes[a->shape]);
    uint32_t leaf = c->tree.leaf_of[a->share];

    if (leaf == s->who->leaf)
        return true;
    for (int r = 0; r < SHARED_RESOURCES; r++)
        if (c->after.owned >> r & 1 && holds.v[r] > 0 &&
            !over_up_to(&c->after, leaf, branch, r, sched__sub(holds.v[r], 1)))
            return false;
    return true;
}

/* -- who has ended whose attempts lately ------------------------------------------------------- */

/* Once known, an edge stays for the cycle. */
static void ended_put(struct cycle *c, share_id winner, share_id loser)
{
    struct memo_key key = {{(uint64_t)loser.v, (uint64_t)winner.v, 0, 0}};
    uint32_t *last;
    bool fresh;

    if (winner.v == loser.v)
        return;
    (void)sched__memo_get(&c->paused, key, &fresh);
    if (!fresh)
        return;
    last = sched__memo_get(&c->ended_by, (struct memo_key){{(uint64_t)loser.v, 0, 0, 0}}, &fresh);
    c->enders = arena_more(c->arena, c->enders, c->ender_count, &c->ender_room, sizeof *c->enders);
    c->enders[c->ender_count] = (struct ender){winner, fresh ? SCHED_NONE : *last};
    *last = (uint32_t)c->ender_count++;
}

bool sched__preempt_paused(const struct cycle *c, const struct asker *who, uint32_t share)
{
    struct memo_key key = {
        {(uint64_t)c->s->shares[who->j->share].id.v, (uint64_t)c->s->shares[share].id.v, 0, 0}};

    return c->paused.count > 0 && sched__memo_find(&c->paused, key);
}

/* Those that ended one of the asker's, and those that ended one of theirs, and so on: it ends
 * nothing of them, so that no circle of projects takes turns. */
static void find_spared(struct search *s)
{
    struct cycle *c = s->c;
    uint32_t found = 0;
    share_id mine = c->s->shares[s->who->j->share].id;

    sched__memo_init(&s->spared, c->arena);
    if (c->ender_count == 0)
        return;
    s->queue = arena_array(c->arena, c->ender_count + 1, sizeof *s->queue);
    s->queue[found++] = mine;
    for (uint32_t i = 0; i < found; i++) {
        const uint32_t *last =
            sched__memo_find(&c->ended_by, (struct memo_key){{(uint64_t)s->queue[i].v, 0, 0, 0}});
        for (uint32_t e = last ? *last : SCHED_NONE; e != SCHED_NONE; e = c->enders[e].next) {
            share_id winner = c->enders[e].winner;
            bool fresh;
            (void)sched__memo_get(&s->spared, (struct memo_key){{(uint64_t)winner.v, 0, 0, 0}},
                                  &fresh);
            if (fresh && winner.v != mine.v)
                s->queue[found++] = winner;
        }
    }
}

/* May it be ended now, by anybody of the asker's share? */
static bool evictable(const struct search *s, uint32_t attempt)
{
    const struct cycle *c = s->c;
    const struct sched_attempt *a = &c->s->attempts[attempt];
    struct memo_key key = {{(uint64_t)c->s->shares[a->share].id.v, 0, 0, 0}};

    if (c->leaving[attempt])
        return false;
    return a->share == s->who->j->share || s->spared.count == 0 ||
           !sched__memo_find(&s->spared, key);
}

/* -- attempts by cost ------------------------------------------------------------------------- */

struct listed {
    uint32_t attempt;
    int64_t priority;
    time_ms since;
    int64_t id;
};

static int listed_by_cost(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->since != y->since)
        return x->since > y->since ? -1 : 1;
    return (x->id < y->id) - (x->id > y->id);
}

static bool may_be_ended(const struct cycle *c, uint32_t attempt)
{
    const struct sched_attempt *a = &c->s->attempts[attempt];

    return !a->stopping && a->evictable_from != SCHED_UNLIMITED && a->evictable_from <= c->s->now;
}

/* Those that have a group, by it; ret_from[g] is where group g begins. */
static uint32_t *by_group(struct cycle *c, const uint32_t *groups, uint32_t group_count,
                          uint32_t **ret_from)
{
    uint32_t count = c->s->attempt_count;
    uint32_t *attempts = arena_array(c->arena, count, sizeof *attempts);
    uint32_t *from = arena_array(c->arena, (size_t)group_count + 2, sizeof *from);

    for (uint32_t i = 0; i < count; i++)
        if (groups[i] != SCHED_NONE)
            from[groups[i] + 2]++;
    for (uint32_t g = 0; g < group_count; g++)
        from[g + 2] += from[g + 1];
    for (uint32_t i = 0; i < count; i++)
        if (groups[i] != SCHED_NONE)
            attempts[from[groups[i] + 1]++] = i;
    *ret_from = from;
    return attempts;
}

static void list_attempts(struct cycle *c)
{
    const struct sched_attempt *attempts = c->s->attempts;
    uint32_t count = c->s->attempt_count;
    uint32_t *groups = arena_array(c->arena, count, sizeof *groups);

    for (uint32_t i = 0; i < count; i++)
        groups[i] = may_be_ended(c, i) ? attempts[i].queue : SCHED_NONE;
    c->attempts_by_queue = by_group(c, groups, c->s->queue_count, &c->queue_attempts);
    for (uint32_t i = 0; i < count; i++)
        if (groups[i] != SCHED_NONE)
            groups[i] = c->tree.branches[c->tree.leaf_of[attempts[i].share]].enter;
    c->attempts_by_leaf = by_group(c, groups, c->tree.count, &c->leaf_attempts);
    c->queue_sorted = arena_array(c->arena, c->s->queue_count, sizeof *c->queue_sorted);
}

void sched__preempt_list_all(struct cycle *c)
{
    uint32_t count = c->s->attempt_count;
    uint32_t *groups = arena_array(c->arena, count, sizeof *groups);

    for (uint32_t i = 0; i < count; i++)
        groups[i] = c->tree.branches[c->tree.leaf_of[c->s->attempts[i].share]].enter;
    c->all_by_leaf = by_group(c, groups, c->tree.count, &c->all_from);
}

/* The cheapest to end come first, from when the queue is first asked for them. */
static void sort_queue(struct cycle *c, uint32_t queue)
{
    uint32_t *attempts = &c->attempts_by_queue[c->queue_attempts[queue]];
    uint32_t count = c->queue_attempts[queue + 1] - c->queue_attempts[queue];
    struct listed *listed;

    if (c->queue_sorted[queue] || count == 0)
        return;
    c->queue_sorted[queue] = true;
    listed = arena_array(c->arena, count, sizeof *listed);
    for (uint32_t i = 0; i < count; i++) {
        const struct sched_attempt *a = &c->s->attempts[attempts[i]];
        listed[i] = (struct listed){attempts[i], a->priority, a->since, a->id.v};
    }
    qsort(listed, count, sizeof *listed, listed_by_cost);
    for (uint32_t i = 0; i < count; i++)
        attempts[i] = listed[i].attempt;
}

static bool could_reclaim(const struct cycle *c, const struct asker *who)
{
    const struct tree *tree = &c->after;
    uint32_t child = who->leaf;

    if (!(c->s->policy.parts & SCHED_RECLAIM))
        return false;
    for (uint32_t at = tree->branches[child].parent;
         at != SCHED_NONE && sched__tree_within(tree, child, &who->ask);
         child = at, at = tree->branches[at].parent)
        for (int r = 0; r < SHARED_RESOURCES; r++)
            if (who->ask.v[r] > 0 && tree->owned >> r & 1 && tree->branches[at].over[r] > 0)
                return true;
    return false;
}

/* -- candidates ------------------------------------------------------------------------------- */

static void add_victim(struct search *s, uint32_t attempt, uint32_t branch, enum ending ending)
{
    struct cycle *c = s->c;
    const struct sched_attempt *a = &c->s->attempts[attempt];

    if (c->seen[attempt] == c->seen_stamp)
        return;
    c->seen[attempt] = c->seen_stamp;
    s->victims =
        arena_more(c->arena, s->victims, s->victim_count, &s->victim_room, sizeof *s->victims);
    s->victims[s->victim_count++] = (struct victim){.attempt = attempt,
                                                    .branch = branch,
                                                    .ending = ending,
                                                    .priority = a->priority,
                                                    .id = a->id.v,
                                                    .since = a->since};
}

static bool may_look(const struct search *s)
{
    return s->c->looks_left > s->looks_until;
}

static void find_victims(struct search *s, uint32_t branch)
{
    struct cycle *c = s->c;
    const struct branch *b = &c->after.branches[branch];

    for (uint32_t i = c->leaf_attempts[b->enter]; i < c->leaf_attempts[b->leave] && may_look(s);
         i++) {
        uint32_t a = c->attempts_by_leaf[i];
        c->looks_left--;
        if (evictable(s, a) && may_reclaim(s, a, branch))
            add_victim(s, a, branch, ENDING_RECLAIMED);
    }
}

static bool borrows_asked(const struct search *s, uint32_t branch)
{
    const struct tree *tree = &s->c->after;

    for (int r = 0; r < SHARED_RESOURCES; r++)
        if (s->who->ask.v[r] > 0 && tree->owned >> r & 1 && sched__tree_over(tree, branch, r, 0))
            return true;
    return false;
}

static int borrowers_by_share(const void *a, const void *b)
{
    const struct borrower *x = a, *y = b;
    int by_share = sched__key_compare(&y->key, &x->key);

    return by_share ? by_share : (x->branch > y->branch) - (x->branch < y->branch);
}

/* At every level at which the asker is within its quota; the largest share first. */
static void find_borrowers(struct search *s)
{
    static const struct sched_amounts nothing;
    const struct tree *tree = &s->c->after;
    uint32_t child = s->who->leaf;

    for (uint32_t at = tree->branches[child].parent;
         at != SCHED_NONE && sched__tree_within(tree, child, &s->who->ask);
         child = at, at = tree->branches[at].parent)
        for (uint32_t k = tree->branches[at].first_child; k != SCHED_NONE;
             k = tree->branches[k].next) {
            if (k == child || !borrows_asked(s, k))
                continue;
            s->borrowers = arena_more(s->c->arena, s->borrowers, s->borrower_count,
                                      &s->borrower_room, sizeof *s->borrowers);
            s->borrowers[s->borrower_count++] =
                (struct borrower){sched__tree_key(tree, k, &nothing), k};
        }
    s->c->looks_left -= (int64_t)s->borrower_count / 16;
    if (s->borrower_count)
        qsort(s->borrowers, s->borrower_count, sizeof *s->borrowers, borrowers_by_share);
}

static uint32_t meeting_child(const struct tree *tree, uint32_t leaf, uint32_t other)
{
    uint32_t at = other;

    while (tree->branches[at].parent != SCHED_NONE &&
           !sched__tree_below(tree, leaf, tree->branches[at].parent))
        at = tree->branches[at].parent;
    return at;
}

static void look_outranked(struct search *s, uint32_t attempt)
{
    struct cycle *c = s->c;
    const struct sched_attempt *a = &c->s->attempts[attempt];
    uint32_t branch;

    c->looks_left--;
    if (a->queue != s->who->j->queue || a->priority >= s->who->j->priority ||
        s->who->place >= sched__place(c->s, a->queue, a->priority, a->queued) ||
        !evictable(s, attempt))
        return;
    branch = meeting_child(&c->tree, s->who->leaf, c->tree.leaf_of[a->share]);
    if (may_outrank(s, attempt, branch))
        add_victim(s, attempt, branch, ENDING_OUTRANKED);
}

/* The lowest priority first, then the newest. */
static int victims_by_cost(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->since != y->since)
        return x->since > y->since ? -1 : 1;
    return (x->id < y->id) - (x->id > y->id);
}

/* -- rooms ------------------------------------------------------------------------------------ */

static void count_ranks(struct search *s, uint32_t node)
{
    uint32_t target = s->c->s->nodes[node].target;

    s->fitting -= s->of_target[target] >= s->who->shape->node_count;
    s->of_target[target] -= s->ranks[node];
    s->ranks[node] = sched__ranks(&s->c->s->nodes[node], &s->room[node], s->who->shape);
    s->of_target[target] += s->ranks[node];
    s->fitting += s->of_target[target] >= s->who->shape->node_count;
}

static void rooms_init(struct search *s)
{
    struct cycle *c = s->c;

    s->fitting = 0;
    for (uint32_t t = 0; t < c->s->target_count; t++) {
        s->of_target[t] = 0;
        s->targets[t] = sched__room_step(s->who, t) && sched__room_target(c, s->who, t);
    }
    for (uint32_t i = 0; i < c->s->node_count; i++) {
        const struct node *n = &c->nodes[i];
        s->ranks[i] = 0;
        s->touched[i] = false;
        s->allowed[i] = n->class_no != SCHED_NONE && s->targets[c->s->nodes[i].target] &&
                        sched__room_suits(c, s->who, i);
        if (!s->allowed[i])
            continue;
        s->room[i] = n->free;
        sched__take(&s->room[i], &n->coming, -1);
        for (uint32_t h = n->holds; h != SCHED_NONE; h = c->holds[h].next) {
            uint32_t job = c->reservations[c->holds[h].reservation].job;
            if (!sched__reserve_outranked(c, s->who, c->holds[h].reservation))
                sched__take(&s->room[i], &c->s->shapes[c->s->jobs[job].shape].need,
                            c->holds[h].ranks);
        }
        count_ranks(s, i);
    }
    c->looks_left -= c->s->node_count / 16;
}

/* `times` 1: the victim goes; -1: it is put back. */
static void move(struct search *s, const struct victim *v, int times)
{
    struct cycle *c = s->c;
    const struct sched_attempt *a = &c->s->attempts[v->attempt];
    struct sched_amounts ask = sched__ask(&c->s->shapes[a->shape]);

    sched__tree_hold(&c->after, c->tree.leaf_of[a->share], &ask, -times);
    for (uint32_t i = 0; i < a->node_count; i++) {
        if (!s->allowed[a->nodes[i]])
            continue;
        sched__take(&s->room[a->nodes[i]], &c->s->shapes[a->shape].need, -times);
        count_ranks(s, a->nodes[i]);
    }
}

static uint32_t fitting_target(const struct search *s)
{
    for (uint32_t t = 0; t < s->c->s->target_count; t++)
        if (s->of_target[t] >= s->who->shape->node_count)
            return t;
    return SCHED_NONE;
}

static bool enough(const struct search *s, uint32_t *ret_blocked)
{
    struct wait wait;

    *ret_blocked = SCHED_NONE;
    return sched__tree_admits(&s->c->after, s->who->leaf, &s->who->ask, &wait, ret_blocked) &&
           s->fitting > 0;
}

/* -- the search ------------------------------------------------------------------------------- */

static bool helps(const struct search *s, const struct victim *v, uint32_t blocked)
{
    const struct sched_attempt *a = &s->c->s->attempts[v->attempt];

    if (blocked != SCHED_NONE &&
        sched__tree_below(&s->c->after, s->c->tree.leaf_of[a->share], blocked))
        return true;
    for (uint32_t i = 0; i < a->node_count; i++)
        if (s->allowed[a->nodes[i]] && s->fitting == 0)
            return true;
    return false;
}

static bool still_allowed(const struct search *s, const struct victim *v)
{
    return v->ending == ENDING_RECLAIMED ? may_reclaim(s, v->attempt, v->branch)
                                         : may_outrank(s, v->attempt, v->branch);
}

/* Takes those from `from` on until it is enough. */
static bool take(struct search *s, size_t from)
{
    uint32_t blocked;

    for (size_t i = from; i < s->victim_count; i++) {
        if (enough(s, &blocked))
            return true;
        if (!still_allowed(s, &s->victims[i]) || !helps(s, &s->victims[i], blocked))
            continue;
        move(s, &s->victims[i], 1);
        s->taken[s->taken_count++] = i;
    }
    return enough(s, &blocked);
}

static bool take_batch(struct search *s, size_t from)
{
    if (s->victim_count > from)
        qsort(&s->victims[from], s->victim_count - from, sizeof *s->victims, victims_by_cost);
    return take(s, from);
}

static bool take_borrowed(struct search *s)
{
    s->borrower_count = 0;
    find_borrowers(s);
    for (size_t i = 0; i < s->borrower_count && may_look(s); i++) {
        size_t from = s->victim_count;
        find_victims(s, s->borrowers[i].branch);
        if (take_batch(s, from))
            return true;
    }
    return false;
}

/* At the hardware all of the queue help, in the order of their cost; at a limit those below it. */
static bool take_outranked(struct search *s)
{
    struct cycle *c = s->c;
    uint32_t queue = s->who->j->queue;
    size_t from = s->victim_count;

    if (s->blocked != SCHED_NONE) {
        const struct branch *b = &c->after.branches[s->blocked];
        for (uint32_t i = c->leaf_attempts[b->enter]; i < c->leaf_attempts[b->leave] && may_look(s);
             i++)
            look_outranked(s, c->attempts_by_leaf[i]);
        if (take_batch(s, from))
            return true;
        from = s->victim_count;
    }
    sort_queue(c, queue);
    for (uint32_t i = c->queue_attempts[queue]; i < c->queue_attempts[queue + 1] && may_look(s);
         i++, from = s->victim_count) {
        if (c->s->attempts[c->attempts_by_queue[i]].priority >= s->who->j->priority)
            break;
        look_outranked(s, c->attempts_by_queue[i]);
        if (s->victim_count > from && take(s, from))
            return true;
    }
    return false;
}

/* First those of its own branches that it outranks, if without them it stays within its quota: then
 * it takes back the rest. */
static bool take_both(struct search *s)
{
    return s->taken_count > 0 && could_reclaim(s->c, s->who) && take_borrowed(s);
}

static void put_back(struct search *s)
{
    while (s->taken_count > 0)
        move(s, &s->victims[s->taken[--s->taken_count]], -1);
}

/* Is the asker within its quota below all places where it meets those of `taken` from `from` on of
 * whom it takes back? */
static bool still_owner(const struct search *s, size_t from)
{
    const struct tree *tree = &s->c->after;

    for (size_t i = from; i < s->taken_count; i++) {
        const struct victim *v = s->taken[i] == SIZE_MAX ? NULL : &s->victims[s->taken[i]];
        if (!v || v->ending != ENDING_RECLAIMED)
            continue;
        for (uint32_t at = s->who->leaf; at != tree->branches[v->branch].parent;
             at = tree->branches[at].parent)
            if (!sched__tree_within(tree, at, &s->who->ask))
                return false;
    }
    return true;
}

static void spare_victims(struct search *s)
{
    size_t kept = 0;
    uint32_t blocked;

    for (size_t i = s->taken_count; i-- > 0;) {
        const struct victim *v = &s->victims[s->taken[i]];
        move(s, v, -1);
        if (enough(s, &blocked) && still_owner(s, i + 1)) {
            s->taken[i] = SIZE_MAX;
            continue;
        }
        move(s, v, 1);
    }
    for (size_t i = 0; i < s->taken_count; i++)
        if (s->taken[i] != SIZE_MAX)
            s->taken[kept++] = s->taken[i];
    s->taken_count = kept;
}

static int seats_by_use(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;

    if (x->touched != y->touched)
        return x->touched ? -1 : 1;
    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    if (x->cpus != y->cpus)
        return x->cpus < y->cpus ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static uint32_t *choose_nodes(struct search *s)
{
    struct cycle *c = s->c;
    struct seat *seats = s->seats;
    uint32_t *nodes = arena_array(c->arena, s->who->shape->node_count, sizeof *nodes);
    uint32_t target = fitting_target(s), count = 0, rank = 0;

    for (size_t i = 0; i < s->taken_count; i++) {
        const struct sched_attempt *a = &c->s->attempts[s->victims[s->taken[i]].attempt];
        for (uint32_t k = 0; k < a->node_count; k++)
            s->touched[a->nodes[k]] = true;
    }
    for (uint32_t i = 0; i < c->s->node_count; i++)
        if (s->allowed[i] && s->ranks[i] > 0 && c->s->nodes[i].target == target)
            seats[count++] = (struct seat){i, s->touched[i], s->room[i].v[RESOURCE_GPU],
                                           s->room[i].v[RESOURCE_CPU]};
    if (count)
        qsort(seats, count, sizeof *seats, seats_by_use);
    for (uint32_t i = 0; i < count; i++)
        for (int64_t k = 0; k < s->ranks[seats[i].node] && rank < s->who->shape->node_count; k++)
            nodes[rank++] = seats[i].node;
    ENSURE(rank == s->who->shape->node_count);
    return nodes;
}

/* Is room held on the nodes that goes to the asker now? */
static bool takes_over(const struct search *s, const uint32_t *nodes)
{
    for (uint32_t i = 0; i < s->who->shape->node_count; i++)
        for (uint32_t h = s->c->nodes[nodes[i]].holds; h != SCHED_NONE; h = s->c->holds[h].next)
            if (sched__reserve_outranked(s->c, s->who, s->c->holds[h].reservation))
                return true;
    return false;
}

/* Those of lower priority for which room was held on the nodes: it goes to the asker now. */
static void take_over(struct search *s, const uint32_t *nodes)
{
    for (uint32_t i = 0; i < s->who->shape->node_count; i++)
        for (uint32_t h = s->c->nodes[nodes[i]].holds, next; h != SCHED_NONE; h = next) {
            uint32_t reservation = s->c->holds[h].reservation;
            next = s->c->holds[h].next;
            if (sched__reserve_outranked(s->c, s->who, reservation))
                sched__reserve_drop(s->c, reservation);
        }
}

static void end_victims(struct search *s)
{
    struct cycle *c = s->c;

    for (size_t i = 0; i < s->taken_count; i++) {
        const struct victim *v = &s->victims[s->taken[i]];
        const struct sched_attempt *a = &c->s->attempts[v->attempt];
        c->leaving[v->attempt] = true;
        for (uint32_t k = 0; k < a->node_count; k++) {
            sched__take(&c->nodes[a->nodes[k]].coming, &c->s->shapes[a->shape].need, -1);
            sched__room_respare(c, a->nodes[k]);
        }
        ended_put(c, c->s->shares[s->who->j->share].id, c->s->shares[a->share].id);
        c->result.evicts[c->result.evict_count++] =
            (struct sched_evict){v->attempt, s->who->job, v->ending};
    }
}

/* -- one search ------------------------------------------------------------------------------- */

static struct search *search_begin(struct cycle *c, struct asker *who, uint32_t branch)
{
    uint32_t nodes = c->s->node_count, targets = c->s->target_count;
    struct search *s = c->search;

    if (!s) {
        s = c->search = ARENA_NEW(c->arena, struct search);
        s->c = c;
        s->room = arena_array(c->arena, nodes, sizeof *s->room);
        s->ranks = arena_array(c->arena, nodes, sizeof *s->ranks);
        s->allowed = arena_array(c->arena, nodes, sizeof *s->allowed);
        s->touched = arena_array(c->arena, nodes, sizeof *s->touched);
        s->of_target = arena_array(c->arena, targets, sizeof *s->of_target);
        s->targets = arena_array(c->arena, targets, sizeof *s->targets);
        s->seats = arena_array(c->arena, nodes, sizeof *s->seats);
        s->taken = arena_array(c->arena, c->s->attempt_count, sizeof *s->taken);
        list_attempts(c);
    }
    s->who = who;
    s->blocked = branch;
    s->victim_count = s->taken_count = s->borrower_count = 0;
    s->looks_until = c->looks_left - (c->looks_left + SEARCHES - 1) / SEARCHES;
    c->seen_stamp++;
    find_spared(s);
    return s;
}

bool sched__preempt(struct cycle *c, struct asker *who, uint32_t branch, uint32_t reason)
{
    bool reclaim = could_reclaim(c, who), found, fresh;
    bool outrank =
        c->s->policy.parts & SCHED_OUTRANK && c->lowest[who->j->queue] < who->j->priority;
    struct memo_key key = {{(uint64_t)who->j->shape << 32 | reason,
                            (uint64_t)who->leaf << 32 | who->j->queue, (uint64_t)who->j->priority,
                            branch}};
    struct search *s;
    uint32_t *nodes, blocked;

    if ((!reclaim && !outrank && !who->outranks) || c->looks_left <= 0 ||
        sched__memo_find(&c->searched, key))
        return false;
    s = search_begin(c, who, branch);
    rooms_init(s);
    found = enough(s, &blocked) || (reclaim && take_borrowed(s)) ||
            (outrank && (take_outranked(s) || take_both(s)));
    if (found)
        spare_victims(s);
    else
        put_back(s);
    nodes = found && (s->taken_count > 0 || who->outranks) ? choose_nodes(s) : NULL;
    if (!nodes || (s->taken_count == 0 && !takes_over(s, nodes))) {
        (void)sched__memo_get(&c->searched, key, &fresh); /* or what it needs is on its way */
        return false;
    }
    take_over(s, nodes);
    end_victims(s);
    sched__reserve_victims(c, who->job, nodes);
    return true;
}

void sched__preempt_init(struct cycle *c)
{
    const struct sched_snapshot *s = c->s;

    sched__memo_init(&c->searched, c->arena);
    sched__memo_init(&c->paused, c->arena);
    sched__memo_init(&c->ended_by, c->arena);
    c->seen = arena_array(c->arena, s->attempt_count, sizeof *c->seen);
    c->lowest = arena_array(c->arena, s->queue_count, sizeof *c->lowest);
    for (uint32_t i = 0; i < s->queue_count; i++)
        c->lowest[i] = INT64_MAX;
    for (uint32_t i = 0; i < s->eviction_count; i++)
        if (sched__sub(s->now, s->evictions[i].at) < s->policy.evict_pause_ms)
            ended_put(c, s->evictions[i].winner, s->evictions[i].loser);
    for (uint32_t i = 0; i < s->attempt_count; i++) {
        const struct sched_attempt *a = &s->attempts[i];
        if (may_be_ended(c, i))
            c->lowest[a->queue] = MIN(c->lowest[a->queue], a->priority);
    }
}
