/* A set of runs of one project: a bit a row id between the lowest and the highest. Pure; lives in
 * an arena. thread: one at a time */
#pragma once

#include "base/arena.h"
#include "model/ids.h"

struct run_set {
    int64_t low;     /* id of the first bit */
    int64_t count;   /* bits */
    uint64_t *words; /* all sets of a query have the same low and count */
};

/* Empty, for ids low to high (high < low: for none). */
struct run_set run_set_new(struct arena *arena, int64_t low, int64_t high);
struct run_set run_set_copy(struct arena *arena, const struct run_set *set);
void run_set_and(struct run_set *set, const struct run_set *other);
void run_set_or(struct run_set *set, const struct run_set *other);
void run_set_minus(struct run_set *set, const struct run_set *other);
/* Drops ids above `newest`. */
void run_set_cut(struct run_set *set, int64_t newest);
int64_t run_set_size(const struct run_set *set);
/* The highest id of the set at or below `at`; 0 when there is none. */
int64_t run_set_below(const struct run_set *set, int64_t at);

static inline bool run_set_fits(const struct run_set *set, run_id run)
{
    return run.v >= set->low && run.v - set->low < set->count;
}
/* A run that came into being after the query began has no bit and is never in it. */
static inline void run_set_add(struct run_set *set, run_id run)
{
    if (run_set_fits(set, run))
        set->words[(run.v - set->low) / 64] |= 1ull << ((run.v - set->low) % 64);
}
static inline bool run_set_has(const struct run_set *set, run_id run)
{
    return run_set_fits(set, run) &&
           (set->words[(run.v - set->low) / 64] >> ((run.v - set->low) % 64) & 1);
}
