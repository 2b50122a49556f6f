/* Which targets a job may use: those that its queue, its project and all above it allow. Equal
 * sets have the same number, so that what was found out for one job holds for others. thread: any
 */
#pragma once

#include "sched/memo.h"
#include "sched/tree.h"

struct access {
    uint64_t **sets; /* bits of targets; 0: all of them */
    size_t count, room;
    uint32_t word_count;
    const uint32_t *of_branch, *of_queue;
    struct memo numbers, pairs;
};

void sched__access_init(struct access *access, const struct sched_snapshot *snapshot,
                        const struct tree *tree, struct arena *arena);
/* The number of the set for jobs of this leaf in this queue. */
uint32_t sched__access_get(struct access *access, uint32_t leaf, uint32_t queue);

static inline bool sched__access_has(const struct access *access, uint32_t set, uint32_t target)
{
    return access->sets[set][target / 64] >> (target % 64) & 1;
}
