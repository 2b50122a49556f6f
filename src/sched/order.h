/* In which order jobs get their turn: queues of higher priority first; within those of the same
 * priority a tournament from the root of the tree down, at each branch the child with the lowest
 * weighted dominant share (its next job counted in), and within a project by priority, to which
 * waiting adds, then age, then id. Without shares: all jobs of a queue by priority and age.
 *
 * A job's place among its project's is `queued - priority * aging_ms`: it never changes while it
 * waits, so nothing has to be sorted again as time goes by. aging_ms 0 counts as so great a step
 * that no age makes up for it. Ties of shares are broken by the same number. thread: any */
#pragma once

#include "sched/tree.h"

struct order_entry {
    __int128 key;
    time_ms queued;
    int64_t id;
    uint32_t job, leaf, share, shape, queue; /* leaf: 0 without shares */
};

struct order_branch {
    struct share_key key;
    uint32_t at, end;         /* a leaf's entries that are left */
    uint32_t best;            /* the entry that goes next below it; SCHED_NONE */
    uint32_t heap, heap_size; /* its children that have some, as a heap in `heaps` */
    uint32_t place;           /* in its parent's heap */
    bool active;
};

struct order {
    const struct sched_snapshot *s;
    const struct tree *tree;
    const uint8_t *states;
    uint8_t wanted; /* of the states: others are passed over */
    bool flat;
    struct order_entry *entries;   /* by group of queues, leaf, key */
    uint32_t count, next;          /* next: the first entry of the next group */
    uint32_t *group_of;            /* by queue; 0: the highest priority */
    struct order_branch *branches; /* one more than the tree: above the roots */
    uint32_t *heaps, *active;
    struct sched_amounts *asks; /* by shape, of all ranks */
    uint32_t active_count;
};

/* Sorts all jobs of the snapshot; `order->tree` is set by the caller: one of its shares. */
void sched__order_init(struct order *order, const struct sched_snapshot *snapshot,
                       struct arena *arena);
/* From the beginning, with the jobs whose state is `wanted` when their turn comes. */
void sched__order_begin(struct order *order, const struct tree *tree, const uint8_t *states,
                        uint8_t wanted);
/* Whose turn it is: NULL at the end. */
const struct order_entry *sched__order_next(struct order *order);
/* Its job; SCHED_NONE at the end. */
uint32_t sched__order_peek(struct order *order);
/* It had its turn. What the tree says of the branches above it may have changed since. */
void sched__order_pass(struct order *order);
