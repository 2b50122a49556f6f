/* The tree by which hardware is shared: what each branch uses, owns, may borrow and keeps.
 *
 * usage(n) is all that is held below n; limit(n) = quota + borrow; kept(n) = quota - lend, what n
 * never lends. A job below a project may start when at the project and at all above it
 *   usage + ask <= limit, and
 *   usage + ask + what the siblings of the branch it comes by keep and do not use <= the bound,
 * where the bound is the limit and at most all live hardware; the second does not hold up what
 * lies within the kept part of that branch itself. Where no quota is set anywhere, no bound is
 * either and the order alone shares.
 *
 * The order is by weighted dominant share: the greatest, over resources, of what a branch uses
 * beyond its quota with the asked amount, as a part of all live hardware, divided by the weight.
 * Fractions are compared exactly, in integers.
 *
 * Jobs that hang on a branch with children get a leaf of their own below it, without quota and of
 * weight 1, so that jobs are below leaves only. thread: any */
#pragma once

#include "sched/amount.h"

struct branch {
    const struct sched_share *share; /* of a made leaf: its parent's */
    uint32_t parent, first_child, next;
    uint32_t enter, leave; /* what is below it, itself included, enters in [enter, leave) */
    int64_t weight, jobs_max, running;
    struct sched_amounts quota, limit, kept;
    struct sched_amounts usage;
    struct sched_amounts started;   /* the part of usage that this cycle started or promised */
    struct sched_amounts promised;  /* the part of usage that is promised */
    struct sched_amounts idle_kept; /* sum over its children of what they keep and do not use */
    struct sched_amounts all_kept;  /* ... of what they keep */
    bool keeps[SHARED_RESOURCES];   /* one of its children does not lend all of its quota */
    int64_t over[SHARED_RESOURCES]; /* children that use more than their quota, less `started` */
    int64_t gpu_ms_left[SCHED_PERIODS], micro_left[SCHED_PERIODS];
    bool held, hours, money; /* here or above it: starts nothing, has such a budget */
};

struct tree {
    struct branch *branches;
    uint32_t count;
    const uint32_t *leaf_of; /* by share: where its jobs hang */
    struct sched_amounts capacity;
    unsigned owned; /* bits: resources of which somebody has a quota */
};

struct share_key {
    unsigned __int128 den;
    uint64_t num;
    bool last; /* weight 0 */
};

/* A tree in which nothing runs. */
void sched__tree_init(struct tree *tree, const struct sched_snapshot *snapshot,
                      struct arena *arena);
/* A copy that changes on its own. */
void sched__tree_copy(struct tree *tree, const struct tree *from, struct arena *arena);

/* What is held below `leaf` changes by `ask` in `jobs` (1 or -1) jobs. */
void sched__tree_hold(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask, int jobs);
/* Many at once, before anything else changes: what is held directly below each branch, and in how
 * many jobs, is given by branch. */
struct holding {
    struct sched_amounts amounts;
    int64_t jobs;
};
void sched__tree_hold_all(struct tree *tree, struct holding *by_branch);
/* Held from now on by a job that this cycle started. */
void sched__tree_start(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask);
/* Promised to a job whose victims leave (jobs 1) or not any more (-1): it counts against limits. */
void sched__tree_promise(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask,
                         int jobs);

/* As if it ran: for the order alone, nothing else holds of the tree afterwards. */
void sched__tree_suppose(struct tree *tree, uint32_t leaf, const struct sched_amounts *ask);

/* May a job of `leaf` that asks for `ask` hold it? Else *ret_wait says at whose limit it ends and
 * *ret_branch is that branch. */
bool sched__tree_admits(const struct tree *tree, uint32_t leaf, const struct sched_amounts *ask,
                        struct wait *ret_wait, uint32_t *ret_branch);

/* Would it, if nothing ran? */
bool sched__tree_admits_empty(const struct tree *tree, uint32_t leaf,
                              const struct sched_amounts *ask);

/* Is all that it asks for of what is owned within the branch's own quota? */
bool sched__tree_within(const struct tree *tree, uint32_t branch, const struct sched_amounts *ask);
/* Does the branch hold more of the resource than its quota, not counting what has just started, and
 * `less` besides? */
bool sched__tree_over(const struct tree *tree, uint32_t branch, int resource, int64_t less);
bool sched__tree_below(const struct tree *tree, uint32_t leaf, uint32_t branch);

struct share_key sched__tree_key(const struct tree *tree, uint32_t branch,
                                 const struct sched_amounts *ask);
/* < 0: `a` goes first. */
int sched__key_compare(const struct share_key *a, const struct share_key *b);
