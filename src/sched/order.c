/* The tournament is kept as one heap a branch: after a turn only the branches above that job have
 * another key, so a turn costs (depth x log children), not a walk over all projects. */
#include "sched/order.h"

#include <stdlib.h>

static int entry_compare(const struct order_entry *a, const struct order_entry *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->queued != b->queued)
        return a->queued < b->queued ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int entries_by_turn(const void *a, const void *b)
{
    return entry_compare(a, b);
}

/* -- heaps of children ------------------------------------------------------------------------ */

static bool goes_first(const struct order *o, uint32_t a, uint32_t b)
{
    const struct order_branch *x = &o->branches[a], *y = &o->branches[b];
    int by_share = sched__key_compare(&x->key, &y->key);

    if (by_share)
        return by_share < 0;
    return entry_compare(&o->entries[x->best], &o->entries[y->best]) < 0;
}

static void heap_set(struct order *o, const struct order_branch *of, uint32_t place, uint32_t child)
{
    o->heaps[of->heap + place] = child;
    o->branches[child].place = place;
}

static void heap_down(struct order *o, const struct order_branch *of, uint32_t place)
{
    uint32_t child = o->heaps[of->heap + place];

    for (;;) {
        uint32_t at = place * 2 + 1;
        if (at >= of->heap_size)
            break;
        if (at + 1 < of->heap_size &&
            goes_first(o, o->heaps[of->heap + at + 1], o->heaps[of->heap + at]))
            at++;
        if (!goes_first(o, o->heaps[of->heap + at], child))
            break;
        heap_set(o, of, place, o->heaps[of->heap + at]);
        place = at;
    }
    heap_set(o, of, place, child);
}

static void heap_up(struct order *o, const struct order_branch *of, uint32_t place)
{
    uint32_t child = o->heaps[of->heap + place];

    while (place > 0 && goes_first(o, child, o->heaps[of->heap + (place - 1) / 2])) {
        heap_set(o, of, place, o->heaps[of->heap + (place - 1) / 2]);
        place = (place - 1) / 2;
    }
    heap_set(o, of, place, child);
}

static void heap_remove(struct order *o, struct order_branch *of, uint32_t place)
{
    uint32_t last = o->heaps[of->heap + --of->heap_size];

    if (place == of->heap_size)
        return;
    heap_set(o, of, place, last);
    heap_up(o, of, place);
    heap_down(o, of, o->branches[last].place);
}

/* -- a group of queues ------------------------------------------------------------------------ */

static uint32_t above(const struct order *o, uint32_t branch)
{
    uint32_t parent = o->tree->branches[branch].parent;

    return parent == SCHED_NONE ? o->tree->count : parent;
}

/* What goes next below the branch, and the branch's share with it. */
static void refresh(struct order *o, uint32_t branch)
{
    struct order_branch *b = &o->branches[branch];

    while (b->at < b->end && o->states[o->entries[b->at].job] != o->wanted)
        b->at++;
    b->best = SCHED_NONE;
    if (b->at < b->end) {
        b->best = b->at;
        /* Its turn comes after some others' have: by then the job is here. */
        __builtin_prefetch(&o->s->jobs[o->entries[b->at].job]);
        __builtin_prefetch((const char *)(&o->s->jobs[o->entries[b->at].job] + 1) - 1);
    }
    if (b->best == SCHED_NONE && b->heap_size > 0)
        b->best = o->branches[o->heaps[b->heap]].best;
    if (b->best != SCHED_NONE && branch < o->tree->count && !o->flat)
        b->key = sched__tree_key(o->tree, branch, &o->asks[o->entries[b->best].shape]);
}

static void branch_open(struct order *o, uint32_t branch)
{
    o->branches[branch] = (struct order_branch){.best = SCHED_NONE, .active = true};
    o->active[o->active_count++] = branch;
}

/* heap_size is a bound at first: how many children the branch may get. */
static void activate(struct order *o, uint32_t leaf)
{
    uint32_t top = o->tree->count;

    branch_open(o, leaf);
    for (uint32_t at = leaf; at != top; at = above(o, at)) {
        uint32_t up = above(o, at);
        bool known = o->branches[up].active;
        if (!known)
            branch_open(o, up);
        o->branches[up].heap_size++;
        if (known)
            return;
    }
}

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

/* Children lie behind their parents in the tree, and the one above the roots is made last, so that
 * going from the back every heap is complete when its branch is asked for its best. */
static void build(struct order *o)
{
    uint32_t used = 0, top = o->tree->count;

    qsort(o->active, o->active_count, sizeof *o->active, descending);
    for (uint32_t i = 0; i < o->active_count; i++) {
        struct order_branch *b = &o->branches[o->active[i]];
        b->heap = used;
        used += b->heap_size;
        b->heap_size = 0;
    }
    for (uint32_t i = 0; i <= o->active_count; i++) {
        uint32_t at = i < o->active_count ? o->active[i] : top;
        struct order_branch *b = &o->branches[at], *up;
        if (at == top && i < o->active_count)
            continue;
        for (uint32_t k = b->heap_size / 2; k-- > 0;)
            heap_down(o, b, k);
        refresh(o, at);
        if (at == top || b->best == SCHED_NONE)
            continue;
        up = &o->branches[above(o, at)];
        heap_set(o, up, up->heap_size++, at);
    }
}

static uint32_t group_at(const struct order *o, uint32_t entry)
{
    return o->group_of[o->entries[entry].queue];
}

static void group_begin(struct order *o)
{
    uint32_t group = group_at(o, o->next), top = o->tree->count;

    for (uint32_t i = 0; i < o->active_count; i++)
        o->branches[o->active[i]].active = false;
    o->active_count = 0;
    while (o->next < o->count && group_at(o, o->next) == group) {
        uint32_t leaf = o->flat ? top : o->entries[o->next].leaf;
        struct order_branch *b = &o->branches[leaf];
        if (!b->active) {
            activate(o, leaf);
            b->at = o->next;
        }
        b->end = ++o->next;
    }
    build(o);
}

const struct order_entry *sched__order_next(struct order *o)
{
    struct order_branch *top = &o->branches[o->tree->count];

    while (top->best == SCHED_NONE && o->next < o->count)
        group_begin(o);
    return top->best == SCHED_NONE ? NULL : &o->entries[top->best];
}

uint32_t sched__order_peek(struct order *o)
{
    const struct order_entry *next = sched__order_next(o);

    return next ? next->job : SCHED_NONE;
}

void sched__order_pass(struct order *o)
{
    uint32_t top = o->tree->count, at = o->flat ? top : o->entries[o->branches[top].best].leaf;

    o->branches[at].at++;
    for (;; at = above(o, at)) {
        struct order_branch *b = &o->branches[at], *up;
        refresh(o, at);
        if (at == top)
            return;
        up = &o->branches[above(o, at)];
        if (b->best == SCHED_NONE) {
            heap_remove(o, up, b->place);
        } else {
            heap_up(o, up, b->place);
            heap_down(o, up, b->place);
        }
    }
}

/* -- making it -------------------------------------------------------------------------------- */

struct ranked {
    int64_t priority;
    uint32_t queue;
};

static int ranked_by_priority(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return (x->priority < y->priority) - (x->priority > y->priority);
}

static void group_queues(struct order *o, struct arena *arena)
{
    struct ranked *ranked = arena_array(arena, o->s->queue_count, sizeof *ranked);
    uint32_t group = 0;

    o->group_of = arena_array(arena, o->s->queue_count, sizeof *o->group_of);
    for (uint32_t i = 0; i < o->s->queue_count; i++)
        ranked[i] = (struct ranked){o->s->queues[i].priority, i};
    if (o->s->queue_count)
        qsort(ranked, o->s->queue_count, sizeof *ranked, ranked_by_priority);
    for (uint32_t i = 0; i < o->s->queue_count; i++) {
        group += i > 0 && ranked[i].priority != ranked[i - 1].priority;
        o->group_of[ranked[i].queue] = group;
    }
}

/* Entries grouped by queue group and leaf: two passes of counting, the later the more weighty. */
static void group_entries(struct order *o, struct arena *arena)
{
    uint32_t leaf_count = o->flat ? 1 : o->tree->count, group_count = o->s->queue_count + 1;
    uint32_t *by_leaf = arena_array(arena, leaf_count + 2, sizeof *by_leaf);
    uint32_t *by_group = arena_array(arena, group_count + 2, sizeof *by_group);
    uint32_t *jobs = arena_array(arena, o->count, sizeof *jobs);

    for (uint32_t i = 0; i < o->count; i++) {
        const struct sched_job *j = &o->s->jobs[i];
        by_leaf[o->flat ? 1 : o->tree->leaf_of[j->share] + 1]++;
        by_group[o->group_of[j->queue] + 1]++;
    }
    for (uint32_t i = 0; i < leaf_count; i++)
        by_leaf[i + 1] += by_leaf[i];
    for (uint32_t i = 0; i < group_count; i++)
        by_group[i + 1] += by_group[i];
    for (uint32_t i = 0; i < o->count; i++)
        jobs[by_leaf[o->flat ? 0 : o->tree->leaf_of[o->s->jobs[i].share]]++] = i;
    for (uint32_t i = 0; i < o->count; i++) {
        const struct sched_job *j = &o->s->jobs[jobs[i]];
        o->entries[by_group[o->group_of[j->queue]]++] =
            (struct order_entry){.key = sched__place(o->s, j->queue, j->priority, j->queued),
                                 .queued = j->queued,
                                 .id = j->id.v,
                                 .job = jobs[i],
                                 .leaf = o->flat ? 0 : o->tree->leaf_of[j->share],
                                 .share = j->share,
                                 .shape = j->shape,
                                 .queue = j->queue};
    }
}

void sched__order_init(struct order *o, const struct sched_snapshot *s, struct arena *arena)
{
    uint32_t from = 0;

    o->s = s;
    o->flat = !(s->policy.parts & SCHED_FAIR);
    o->count = s->job_count;
    o->entries = arena_array(arena, o->count, sizeof *o->entries);
    o->branches = arena_array(arena, o->tree->count + 1, sizeof *o->branches);
    o->heaps = arena_array(arena, o->tree->count + 1, sizeof *o->heaps);
    o->active = arena_array(arena, o->tree->count + 1, sizeof *o->active);
    o->asks = arena_array(arena, s->shape_count, sizeof *o->asks);
    for (uint32_t i = 0; i < s->shape_count; i++)
        o->asks[i] = sched__ask(&s->shapes[i]);
    group_queues(o, arena);
    group_entries(o, arena);
    for (uint32_t i = 1; i <= o->count; i++) {
        if (i < o->count && o->entries[i].leaf == o->entries[from].leaf &&
            group_at(o, i) == group_at(o, from))
            continue;
        qsort(&o->entries[from], i - from, sizeof *o->entries, entries_by_turn);
        from = i;
    }
}

void sched__order_begin(struct order *o, const struct tree *tree, const uint8_t *states,
                        uint8_t wanted)
{
    o->tree = tree;
    o->states = states;
    o->wanted = wanted;
    for (uint32_t i = 0; i < o->active_count; i++)
        o->branches[o->active[i]].active = false;
    o->active_count = o->next = 0;
    o->branches[tree->count].best = SCHED_NONE;
}
