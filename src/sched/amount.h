/* Arithmetic that saturates, so that a huge ask is refused and never wraps into a small one.
 * thread: any */
#pragma once

#include "sched/sched.h"

/* Those before it are shared by quota: places on a node (RESOURCE_SLOT) are not. */
#define SHARED_RESOURCES RESOURCE_SLOT

static inline int64_t sched__add(int64_t a, int64_t b)
{
    int64_t sum;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t sched__sub(int64_t a, int64_t b)
{
    int64_t left;

    if (!__builtin_sub_overflow(a, b, &left))
        return left;
    return b > 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t sched__mul(int64_t a, int64_t b)
{
    int64_t product;

    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
}

/* A bound that something is taken off; what has none keeps none. */
static inline int64_t sched__less(int64_t bound, int64_t amount)
{
    return bound == SCHED_UNLIMITED ? bound : sched__sub(bound, amount);
}

/* When something that begins now and is limited is over at the latest. */
static inline time_ms sched__ends(time_ms now, int64_t limit_ms)
{
    return limit_ms == SCHED_UNLIMITED ? SCHED_UNLIMITED : sched__add(now, limit_ms);
}

static inline void sched__take(struct sched_amounts *from, const struct sched_amounts *what,
                               int64_t times)
{
    for (int r = 0; r < RESOURCE_COUNT; r++)
        from->v[r] = sched__sub(from->v[r], sched__mul(what->v[r], times));
}

/* What all ranks ask for together. */
static inline struct sched_amounts sched__ask(const struct sched_shape *shape)
{
    struct sched_amounts ask = {{0}};

    sched__take(&ask, &shape->need, -(int64_t)shape->node_count);
    return ask;
}

/* Of what is asked for, is there enough? What is not asked for is never a reason. */
static inline bool sched__covers(const struct sched_amounts *room, const struct sched_amounts *need)
{
    for (int r = 0; r < RESOURCE_COUNT; r++)
        if (need->v[r] > 0 && room->v[r] < need->v[r])
            return false;
    return true;
}

/* How many times `need` fits, at most `times_max`. Divides only where it has to: this is asked for
 * every node. */
static inline int64_t sched__times(const struct sched_amounts *room,
                                   const struct sched_amounts *need, int64_t times_max)
{
    int64_t times = times_max;

    for (int r = 0; r < RESOURCE_COUNT; r++) {
        if (need->v[r] <= 0)
            continue;
        if (room->v[r] < need->v[r])
            return 0;
        if (times > 1 && room->v[r] < sched__mul(need->v[r], times))
            times = room->v[r] / need->v[r];
    }
    return times;
}

/* A job's place in its queue, the smaller first: waiting makes up for priority, at the queue's
 * rate. */
static inline __int128 sched__place(const struct sched_snapshot *s, uint32_t queue,
                                    int64_t priority, time_ms queued)
{
    int64_t aging = s->policy.parts & SCHED_AGING ? s->queues[queue].aging_ms : 0;

    return (__int128)queued - (__int128)priority * (aging > 0 ? aging : INT64_MAX);
}

/* How many ranks of a job the node takes with so much room: one, unless they may share it. */
static inline int64_t sched__ranks(const struct sched_node *node, const struct sched_amounts *room,
                                   const struct sched_shape *shape)
{
    return sched__times(room, &shape->need, node->several ? shape->node_count : 1);
}
