/* What can be compared: ours, ours with one part switched off, first come first served with and
 * without backfill, and placement by fragmentation gradient descent.
 *
 * Fragmentation gradient descent (Weng et al., USENIX ATC 2023): the fragmentation of a node for a
 * class of tasks is the GPUs that are free on it and of no use to that class: all of them where the
 * class does not fit or wants none. A node's fragmentation is the mean over the classes by how
 * often they come; a task goes where it makes that grow least. GPUs are whole here. */
#include "sim/policy.h"

#include <stdlib.h>

#define FGD_CLASSES_MAX 64

static const struct sim_policy policies[] = {
    {"fifo", "first come, first served; nobody passes", SCHED_BORROW | SCHED_PACK, false},
    {"fifo+backfill", "first come, first served; others pass where they do not delay the first",
     SCHED_BORROW | SCHED_PACK | SCHED_RESERVE | SCHED_BACKFILL, false},
    {"fgd", "as fifo+backfill, placed by fragmentation gradient descent",
     SCHED_BORROW | SCHED_RESERVE | SCHED_BACKFILL, true},
    {"euvyra", "as the server schedules", SCHED_ALL, false},
    {"no-fair", "without order by share", SCHED_ALL & ~SCHED_FAIR, false},
    {"no-borrow", "without use beyond the quota", SCHED_ALL & ~SCHED_BORROW, false},
    {"no-reclaim", "without taking back what is lent", SCHED_ALL & ~SCHED_RECLAIM, false},
    {"no-outrank", "without ending lower priorities", SCHED_ALL & ~SCHED_OUTRANK, false},
    {"no-reserve", "without holding room for the first", SCHED_ALL & ~SCHED_RESERVE, false},
    {"no-backfill", "without passing", SCHED_ALL & ~SCHED_BACKFILL, false},
    {"no-aging", "without priority by waiting", SCHED_ALL & ~SCHED_AGING, false},
    {"no-pack", "the first node that fits", SCHED_ALL & ~SCHED_PACK, false},
    {"no-types", "the tightest node, whoever is bound to its type of GPU", SCHED_ALL & ~SCHED_TYPES,
     false},
};

const struct sim_policy *sim_policies(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(policies);
    return policies;
}

const struct sim_policy *sim_policy_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        if (str_eq_c(name, policies[i].name))
            return &policies[i];
    }
    return NULL;
}

struct fgd_class {
    struct sched_amounts need;
    uint64_t gpu_types;
    int64_t count;
};

struct fgd {
    struct fgd_class *classes;
    size_t count;
};

/* GPUs of the node that are of no use, times how often who cannot use them comes. */
static int64_t fragmentation(const struct fgd *fgd, const struct sched_node *node,
                             const struct sched_amounts *free)
{
    int64_t sum = 0, gpus = free->v[RESOURCE_GPU];

    if (gpus <= 0)
        return 0;
    for (size_t i = 0; i < fgd->count; i++) {
        const struct fgd_class *class = &fgd->classes[i];
        bool fits = class->need.v[RESOURCE_GPU] > 0 &&
                    (!class->gpu_types || (class->gpu_types >> node->gpu_type & 1));

        for (size_t r = 0; r < RESOURCE_COUNT; r++)
            fits &= free->v[r] >= class->need.v[r];
        if (!fits)
            sum += gpus * class->count;
    }
    return sum;
}

static int64_t fgd_score(const void *context, const struct sched_node *node,
                         const struct sched_shape *shape)
{
    const struct fgd *fgd = context;
    struct sched_amounts after = node->free;

    for (size_t r = 0; r < RESOURCE_COUNT; r++)
        after.v[r] -= shape->need.v[r];
    return fragmentation(fgd, node, &after) - fragmentation(fgd, node, &node->free);
}

static int by_count(const void *a, const void *b)
{
    const struct fgd_class *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return memcmp(x, y, sizeof *x);
}

static const struct fgd *fgd_make(const struct sim_world *world, struct arena *arena)
{
    struct fgd *fgd = ARENA_NEW(arena, struct fgd);

    fgd->classes = arena_array(arena, world->shape_count, sizeof *fgd->classes);
    fgd->count = world->shape_count;
    for (uint32_t i = 0; i < world->shape_count; i++)
        fgd->classes[i] = (struct fgd_class){.need = world->shapes[i].need,
                                             .gpu_types = world->shapes[i].gpu_types};
    for (uint32_t i = 0; i < world->job_count; i++)
        fgd->classes[world->jobs[i].shape].count++;
    qsort(fgd->classes, fgd->count, sizeof *fgd->classes, by_count);
    fgd->count = MIN(fgd->count, FGD_CLASSES_MAX);
    return fgd;
}

void sim_policy_use(const struct sim_policy *policy, const struct sim_world *world,
                    struct sim_options *options, struct arena *arena)
{
    options->name = policy->name;
    options->policy.parts = policy->parts;
    if (policy->fgd) {
        options->policy.node_score = fgd_score;
        options->policy.node_score_context = fgd_make(world, arena);
    }
}
