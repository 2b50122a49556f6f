/* A small cluster for tests: arrays with room, filled by what a test names. Everything lives in
 * its arena. thread: any */
#pragma once

#include "sched/sched.h"

#define WORLD_MAX 256
#define HOUR      (3600 * 1000LL)
#define GIB       (1LL << 30)

struct world {
    struct arena arena;
    struct sched_snapshot s;
    struct sched_share shares[WORLD_MAX];
    struct sched_queue queues[WORLD_MAX];
    struct sched_target targets[WORLD_MAX];
    struct sched_node nodes[WORLD_MAX];
    struct sched_shape shapes[WORLD_MAX];
    struct sched_job jobs[WORLD_MAX];
    struct sched_attempt attempts[WORLD_MAX];
    struct sched_reservation reservations[WORLD_MAX];
    struct sched_eviction evictions[WORLD_MAX];
    struct sched_result result;
    int64_t last_id;
};

/* One organisation (share 0, no limits), one queue, one target; the time is an hour. */
void world_init(struct world *w);
void world_release(struct world *w);
/* Each returns the place of what it added; what is not given is unlimited, or none. */
uint32_t world_share(struct world *w, uint32_t parent, int64_t quota_gpus);
uint32_t world_queue(struct world *w, int64_t priority);
uint32_t world_target(struct world *w);
uint32_t world_node(struct world *w, uint32_t target, int64_t gpus);      /* 8 cores, 32 places */
uint32_t world_shape(struct world *w, uint32_t node_count, int64_t gpus); /* no cores, a place */
uint32_t world_job(struct world *w, uint32_t share, uint32_t shape);      /* each a bit younger */
/* Runs since the beginning without a limit and may be ended; takes its room. */
uint32_t world_attempt(struct world *w, uint32_t share, uint32_t shape, uint32_t node);
/* One cycle; snapshot and result are checked. */
void world_cycle(struct world *w);
/* NULL if the job starts. */
const struct wait *world_wait(const struct world *w, uint32_t job);
const struct sched_start *world_start(const struct world *w, uint32_t job);
/* What was decided happens: starts run, evicted attempts are being ended, reservations stay. */
void world_apply(struct world *w);
/* The attempt is over; its room is free. */
void world_end(struct world *w, uint32_t attempt);
