/* Quota arithmetic. The tricky part: what siblings keep without using it is not summed up at each
 * question but carried along with every change, so that a question costs as many steps as the tree
 * is deep, however many projects there are. */
#include "sched/tree.h"

static int64_t idle_kept(const struct branch *b, int r)
{
    return MAX(0, sched__sub(b->kept.v[r], b->usage.v[r]));
}

static bool branch_over(const struct branch *b, int r)
{
    return sched__sub(b->usage.v[r], b->started.v[r]) > b->quota.v[r];
}

struct change {
    int held, started, promised;
};

static void change(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask,
                   struct change by)
{
    for (uint32_t at = leaf; at != SCHED_NONE; at = tree->branches[at].parent) {
        struct branch *b = &tree->branches[at];
        struct branch *up = b->parent == SCHED_NONE ? NULL : &tree->branches[b->parent];
        b->running += by.held;
        for (int r = 0; r < SHARED_RESOURCES; r++) {
            int64_t kept = idle_kept(b, r);
            bool over = branch_over(b, r);
            if (ask->v[r] == 0)
                continue;
            b->usage.v[r] = sched__add(b->usage.v[r], sched__mul(ask->v[r], by.held));
            b->started.v[r] = sched__add(b->started.v[r], sched__mul(ask->v[r], by.started));
            b->promised.v[r] = sched__add(b->promised.v[r], sched__mul(ask->v[r], by.promised));
            if (!up)
                continue;
            up->idle_kept.v[r] = sched__add(up->idle_kept.v[r], idle_kept(b, r) - kept);
            up->over[r] += (int64_t)branch_over(b, r) - (int64_t)over;
        }
    }
}

void sched__tree_hold(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask, int jobs)
{
    change(tree, leaf, ask, (struct change){jobs, 0, 0});
}

/* Children lie behind their parents: from the back, what is below a branch is summed up when its
 * turn comes. */
void sched__tree_hold_all(struct tree *tree, struct holding *by_branch)
{
    for (uint32_t i = tree->count; i-- > 0;) {
        struct branch *b = &tree->branches[i];
        struct branch *up = b->parent == SCHED_NONE ? NULL : &tree->branches[b->parent];
        b->running += by_branch[i].jobs;
        if (up)
            by_branch[b->parent].jobs += by_branch[i].jobs;
        for (int r = 0; r < SHARED_RESOURCES; r++) {
            int64_t kept = idle_kept(b, r), held = by_branch[i].amounts.v[r];
            bool over = branch_over(b, r);
            if (held == 0)
                continue;
            b->usage.v[r] = sched__add(b->usage.v[r], held);
            if (!up)
                continue;
            by_branch[b->parent].amounts.v[r] = sched__add(by_branch[b->parent].amounts.v[r], held);
            up->idle_kept.v[r] = sched__add(up->idle_kept.v[r], idle_kept(b, r) - kept);
            up->over[r] += (int64_t)branch_over(b, r) - (int64_t)over;
        }
    }
}

void sched__tree_start(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask)
{
    change(tree, leaf, ask, (struct change){1, 1, 0});
}

void sched__tree_promise(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask,
                         int jobs)
{
    change(tree, leaf, ask, (struct change){jobs, jobs, jobs});
}

void sched__tree_suppose(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask)
{
    for (uint32_t at = leaf; at != SCHED_NONE; at = tree->branches[at].parent)
        for (int r = 0; r < SHARED_RESOURCES; r++)
            tree->branches[at].usage.v[r] = sched__add(tree->branches[at].usage.v[r], ask->v[r]);
}

/* -- who may hold more ------------------------------------------------------------------------ */

struct level {
    const struct branch *branch, *child; /* child: by which the job comes; NULL at its project */
    int64_t bound[SHARED_RESOURCES];
};

struct refusal {
    enum wait_code code;
    int resource;
    int64_t asked, available;
};

/* With nothing kept at this level what is free may be taken. Else what is promised counts as if it
 * were held: the promise itself was made by this rule. */
static bool kept_allows(const struct level *level, const struct sched_amounts *ask, int r,
                        int64_t *ret_left)
{
    const struct branch *b = level->branch, *child = level->child;
    int64_t others;

    if (!child || !b->keeps[r] || sched__add(child->usage.v[r], ask->v[r]) <= child->kept.v[r])
        return true;
    others = sched__sub(b->idle_kept.v[r], idle_kept(child, r));
    if (others <= 0 && b->promised.v[r] == 0)
        return true;
    others = sched__add(others, b->usage.v[r]);
    if (sched__add(ask->v[r], others) <= level->bound[r])
        return true;
    *ret_left = MAX(0, sched__sub(level->bound[r], others));
    return false;
}

static bool level_admits(const struct level *level, const struct sched_amounts *ask,
                         struct refusal *ret_refusal)
{
    const struct branch *b = level->branch;
    int64_t left;

    if (b->running >= b->jobs_max) {
        *ret_refusal = (struct refusal){WAIT_PARALLEL, RESOURCE_NONE, b->running, b->jobs_max};
        return false;
    }
    for (int r = 0; r < SHARED_RESOURCES; r++) {
        if (ask->v[r] == 0)
            continue;
        if (b->limit.v[r] != SCHED_UNLIMITED &&
            sched__add(b->usage.v[r], ask->v[r]) > b->limit.v[r]) {
            left = MAX(0, sched__sub(b->limit.v[r], b->usage.v[r]));
            *ret_refusal = (struct refusal){WAIT_QUOTA, r, ask->v[r], left};
            return false;
        }
        if (!kept_allows(level, ask, r, &left)) {
            *ret_refusal = (struct refusal){WAIT_LENT_BACK, r, ask->v[r], left};
            return false;
        }
    }
    return true;
}

bool sched__tree_admits(const struct tree *tree, uint32_t leaf, const struct sched_amounts *ask,
                        struct wait *ret_wait, uint32_t *ret_branch)
{
    struct level level = {0};
    struct refusal refusal;

    for (uint32_t at = leaf; at != SCHED_NONE; at = tree->branches[at].parent) {
        level.child = level.branch;
        level.branch = &tree->branches[at];
        for (int r = 0; r < SHARED_RESOURCES; r++)
            level.bound[r] = MIN(level.branch->limit.v[r], tree->capacity.v[r]);
        if (level_admits(&level, ask, &refusal))
            continue;
        *ret_wait = (struct wait){.code = refusal.code,
                                  .resource = (enum resource)refusal.resource,
                                  .asked = refusal.asked,
                                  .available = refusal.available,
                                  .share = level.branch->share->id,
                                  .until = TIME_NONE,
                                  .start_estimate = TIME_NONE};
        *ret_branch = at;
        return false;
    }
    return true;
}

bool sched__tree_admits_empty(const struct tree *tree, uint32_t leaf,
                              const struct sched_amounts *ask)
{
    const struct branch *child = NULL;

    for (uint32_t at = leaf; at != SCHED_NONE; at = tree->branches[at].parent) {
        const struct branch *b = &tree->branches[at];
        for (int r = 0; r < SHARED_RESOURCES; r++) {
            int64_t others = child ? sched__sub(b->all_kept.v[r], child->kept.v[r]) : 0;
            if (ask->v[r] == 0)
                continue;
            if (b->jobs_max < 1 || ask->v[r] > b->limit.v[r])
                return false;
            if (others > 0 && ask->v[r] > child->kept.v[r] &&
                sched__add(ask->v[r], others) > MIN(b->limit.v[r], tree->capacity.v[r]))
                return false;
        }
        child = b;
    }
    return true;
}

bool sched__tree_within(const struct tree *tree, uint32_t branch, const struct sched_amounts *ask)
{
    const struct branch *b = &tree->branches[branch];
    bool any = false;

    for (int r = 0; r < SHARED_RESOURCES; r++) {
        if (ask->v[r] == 0 || !(tree->owned >> r & 1))
            continue;
        if (sched__add(b->usage.v[r], ask->v[r]) > b->quota.v[r])
            return false;
        any = true;
    }
    return any;
}

bool sched__tree_over(const struct tree *tree, uint32_t branch, int resource, int64_t less)
{
    const struct branch *b = &tree->branches[branch];
    int64_t settled = sched__sub(b->usage.v[resource], b->started.v[resource]);

    return sched__sub(settled, less) > b->quota.v[resource];
}

bool sched__tree_below(const struct tree *tree, uint32_t leaf, uint32_t branch)
{
    const struct branch *b = &tree->branches[branch];

    return tree->branches[leaf].enter >= b->enter && tree->branches[leaf].enter < b->leave;
}

/* -- the order ---------------------------------------------------------------------------------*/

struct share_key sched__tree_key(const struct tree *tree, uint32_t branch,
                                 const struct sched_amounts *ask)
{
    const struct branch *b = &tree->branches[branch];
    uint64_t num = 0, of = 1;

    for (int r = 0; r < SHARED_RESOURCES; r++) {
        int64_t beyond = sched__sub(sched__add(b->usage.v[r], ask->v[r]), b->quota.v[r]);
        uint64_t capacity = (uint64_t)MAX(1, tree->capacity.v[r]);
        if (beyond <= 0 ||
            (unsigned __int128)(uint64_t)beyond * of <= (unsigned __int128)num * capacity)
            continue;
        num = (uint64_t)beyond;
        of = capacity;
    }
    return (struct share_key){(unsigned __int128)of * (uint64_t)MAX(1, b->weight), num,
                              b->weight <= 0};
}

/* num * den in 192 bits: the upper 128 and the lower 64. */
static unsigned __int128 product(uint64_t num, unsigned __int128 den, uint64_t *ret_low)
{
    unsigned __int128 low = (unsigned __int128)num * (uint64_t)den;

    *ret_low = (uint64_t)low;
    return (unsigned __int128)num * (uint64_t)(den >> 64) + (uint64_t)(low >> 64);
}

int sched__key_compare(const struct share_key *a, const struct share_key *b)
{
    unsigned __int128 left, right;
    uint64_t left_low, right_low;

    if (a->last != b->last)
        return a->last ? 1 : -1;
    if (a->den == b->den)
        return (a->num > b->num) - (a->num < b->num);
    left = product(a->num, b->den, &left_low);
    right = product(b->num, a->den, &right_low);
    if (left != right)
        return left > right ? 1 : -1;
    return (left_low > right_low) - (left_low < right_low);
}

/* -- making it -------------------------------------------------------------------------------- */

static void branch_limits(struct branch *b, const struct sched_share *share, unsigned parts)
{
    for (int r = 0; r < SHARED_RESOURCES; r++) {
        int64_t quota = share->quota.v[r];
        bool alone = !(parts & SCHED_BORROW) && quota > 0;
        b->quota.v[r] = quota;
        b->limit.v[r] = alone ? quota : sched__add(quota, share->borrow.v[r]);
        b->kept.v[r] = MAX(0, sched__sub(quota, share->lend.v[r]));
    }
}

static void branch_init(struct tree *tree, uint32_t at, const struct sched_share *share,
                        unsigned parts)
{
    struct branch *b = &tree->branches[at];
    const struct branch *up = share->parent == SCHED_NONE ? NULL : &tree->branches[share->parent];

    *b = (struct branch){.share = share,
                         .parent = share->parent,
                         .first_child = SCHED_NONE,
                         .next = SCHED_NONE,
                         .weight = share->weight,
                         .jobs_max = share->jobs_max,
                         .held = share->held || (up && up->held),
                         .hours = up && up->hours,
                         .money = up && up->money};
    branch_limits(b, share, parts);
    for (int k = 0; k < SCHED_PERIODS; k++) {
        b->gpu_ms_left[k] = share->budget.gpu_ms_left[k];
        b->micro_left[k] = share->budget.micro_left[k];
        b->hours |= b->gpu_ms_left[k] != SCHED_UNLIMITED;
        b->money |= b->micro_left[k] != SCHED_UNLIMITED;
    }
}

static void leaf_make(struct tree *tree, uint32_t below)
{
    struct branch *up = &tree->branches[below], *b = &tree->branches[tree->count];

    *b = (struct branch){.share = up->share,
                         .parent = below,
                         .first_child = SCHED_NONE,
                         .next = up->first_child,
                         .weight = 1,
                         .jobs_max = SCHED_UNLIMITED,
                         .held = up->held,
                         .hours = up->hours,
                         .money = up->money};
    for (int r = 0; r < SHARED_RESOURCES; r++)
        b->limit.v[r] = SCHED_UNLIMITED;
    for (int k = 0; k < SCHED_PERIODS; k++)
        b->gpu_ms_left[k] = b->micro_left[k] = SCHED_UNLIMITED;
    up->first_child = tree->count++;
}

/* Numbers the branches so that what is below one is a range. Parents lie before their children, so
 * sizes are summed from the back and places are given from the front. */
static void number(struct tree *tree, struct arena *arena)
{
    uint32_t *size = arena_array(arena, tree->count + 1, sizeof *size), roots = 0;

    for (uint32_t i = tree->count; i-- > 0;) {
        size[i]++;
        if (tree->branches[i].parent != SCHED_NONE)
            size[tree->branches[i].parent] += size[i];
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        struct branch *b = &tree->branches[i];
        uint32_t at;
        if (b->parent == SCHED_NONE) {
            b->enter = roots;
            roots += size[i];
        }
        b->leave = b->enter + size[i];
        at = b->enter + 1;
        for (uint32_t c = b->first_child; c != SCHED_NONE; c = tree->branches[c].next) {
            tree->branches[c].enter = at;
            at += size[c];
        }
    }
}

static void count_kept(struct tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct branch *b = &tree->branches[i];
        for (int r = 0; r < SHARED_RESOURCES; r++) {
            if (b->quota.v[r] > 0)
                tree->owned |= 1U << r;
            if (b->parent != SCHED_NONE) {
                struct branch *up = &tree->branches[b->parent];
                up->idle_kept.v[r] = sched__add(up->idle_kept.v[r], b->kept.v[r]);
                up->all_kept.v[r] = sched__add(up->all_kept.v[r], b->kept.v[r]);
                up->keeps[r] |= b->kept.v[r] > 0;
            }
        }
    }
}

void sched__tree_init(struct tree *tree, const struct sched_snapshot *s, struct arena *arena)
{
    uint32_t *leaf_of = arena_array(arena, s->share_count, sizeof *leaf_of);

    *tree = (struct tree){
        .branches = arena_array(arena, (size_t)s->share_count * 2, sizeof *tree->branches),
        .count = s->share_count,
        .leaf_of = leaf_of,
    };
    for (uint32_t i = 0; i < s->share_count; i++)
        branch_init(tree, i, &s->shares[i], s->policy.parts);
    for (uint32_t i = s->share_count; i-- > 0;) {
        struct branch *b = &tree->branches[i];
        if (b->parent == SCHED_NONE)
            continue;
        b->next = tree->branches[b->parent].first_child;
        tree->branches[b->parent].first_child = i;
    }
    for (uint32_t i = 0; i < s->share_count; i++) {
        leaf_of[i] = i;
        if (tree->branches[i].first_child == SCHED_NONE)
            continue;
        leaf_of[i] = tree->count;
        leaf_make(tree, i);
    }
    number(tree, arena);
    count_kept(tree);
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].state == SCHED_NODE_LIVE)
            sched__take(&tree->capacity, &s->nodes[i].total, -1);
}

void sched__tree_copy(struct tree *tree, const struct tree *from, struct arena *arena)
{
    *tree = *from;
    tree->branches = arena_array(arena, from->count, sizeof *tree->branches);
    if (from->count)
        memcpy(tree->branches, from->branches, from->count * sizeof *tree->branches);
}
