/* The scheduler: who runs next, where, and at whose cost. A pure function from a snapshot to
 * decisions: no clock, no I/O, no state between calls but the data that goes in and comes out, so
 * that the server and the simulator run the same code, and the same snapshot gives the same answer.
 *
 * Things in a snapshot name each other by their place in its arrays (`uint32_t`, SCHED_NONE: none);
 * what must outlive a snapshot is named by row id. All amounts are int64 in the smallest unit
 * (enum resource); sums saturate. SCHED_UNLIMITED means that there is no bound.
 *
 * The order of a cycle: jobs whose room is being made free; then queue by queue from the highest
 * priority, and within a queue the project with the lowest weighted dominant share (its next job
 * counted in) first; within a project by priority, where waiting adds to it, then by age.
 *
 * thread: any */
#pragma once

#include "base/arena.h"
#include "model/ending.h"
#include "model/wait.h"

#define SCHED_NONE          UINT32_MAX
#define SCHED_UNLIMITED     INT64_MAX
#define SCHED_GPU_TYPES_MAX 64 /* the last stands for all further ones */
#define SCHED_PERIODS       2  /* this month and the next */

struct sched_amounts {
    int64_t v[RESOURCE_COUNT];
};

/* The parts of the policy that can be switched off, for comparisons. */
enum sched_part {
    SCHED_FAIR = 1 << 0,    /* order projects by share; else all jobs of a queue by priority, age */
    SCHED_BORROW = 1 << 1,  /* use beyond the quota while nobody who owns it needs it */
    SCHED_RECLAIM = 1 << 2, /* end borrowers' attempts for those within their quota */
    SCHED_OUTRANK = 1 << 3, /* end attempts of lower priority in the same queue */
    SCHED_RESERVE = 1 << 4, /* hold room for the first that does not fit */
    SCHED_BACKFILL = 1 << 5, /* let others pass those that do not fit; off: strict order */
    SCHED_AGING = 1 << 6,
    SCHED_PACK = 1 << 7,  /* best fit; off: the first node that fits */
    SCHED_TYPES = 1 << 8, /* best fit leaves the GPU types alone that others are bound to */
    SCHED_ALL = (1 << 9) - 1,
};

struct sched_node;
struct sched_shape;

struct sched_policy {
    unsigned parts; /* of enum sched_part */
    /* A job that waited so long gets room held for it, sooner where room changes hands faster. */
    int64_t reserve_after_ms;
    int64_t reservation_ms_max; /* room whose victims do not go is given up after this */
    int64_t evict_pause_ms;     /* A ended B: B ends nothing of A for so long */
    int64_t preempt_looks_max;  /* candidates looked at in a cycle, for all jobs together */
    /* For comparisons with other ways to place, NULL: none. Of the nodes that a rank fits on the
     * one with the lowest score takes it, the first of equals; SCHED_PACK and `spread` are not
     * asked then. `node` is as the cycle has left it so far. Pure. */
    int64_t (*node_score)(const void *context, const struct sched_node *node,
                          const struct sched_shape *shape);
    const void *node_score_context;
};

/* GPU time and money that may still be committed, per calendar month of the project. A job asks
 * each period for the part of its time limit that lies in it; one without a limit for all of it. */
struct sched_budget {
    time_ms period_end[SCHED_PERIODS];  /* the first period is running */
    int64_t gpu_ms_left[SCHED_PERIODS]; /* limit - used - committed; SCHED_UNLIMITED */
    int64_t micro_left[SCHED_PERIODS];
};

/* Organisation, team or project: a node of the tree by which hardware is shared. `quota` is what it
 * is sure to get, 0 where nothing was set; up to `borrow` more it may use while others leave it,
 * and of its quota it lets others use at most `lend` while it does not need it. */
struct sched_share {
    share_id id;
    uint32_t parent; /* SCHED_NONE: the organisation; before its children in the array */
    int64_t weight;  /* > 0; 0: last of all */
    struct sched_amounts quota, borrow, lend;
    int64_t jobs_max; /* running at once, with all below it */
    struct sched_budget budget;
    bool held;               /* starts nothing */
    const uint32_t *targets; /* it may use these; NULL: all */
    uint32_t target_count;
};

struct sched_queue {
    queue_id id;
    int64_t priority; /* between queues: higher goes first */
    int64_t
        aging_ms; /* a job of priority p goes with one of p + 1 that came so much later; 0: never */
    bool held;    /* starts nothing */
    bool spread;  /* over the emptiest nodes, instead of keeping whole nodes free */
    const uint32_t *targets; /* NULL: all */
    uint32_t target_count;
};

struct sched_target {
    target_id id;
    bool spot;
    int64_t price_hour_micro, price_gpu_hour_micro; /* per node and hour; per GPU and hour */
    bool maintenance; /* starts nothing until `until` (TIME_NONE: open end) */
    time_ms until;
};

enum sched_node_state {
    SCHED_NODE_LIVE,
    SCHED_NODE_OFFLINE,
    SCHED_NODE_MAINTENANCE,
    SCHED_NODE_EXCLUDED,
    SCHED_NODE_COMING, /* ordered, there at `until` */
};

struct sched_node {
    agent_id id;
    uint32_t target;
    enum sched_node_state state;
    time_ms until;            /* TIME_NONE: not known */
    unsigned gpu_type;        /* < SCHED_GPU_TYPES_MAX */
    int64_t gpu_memory_bytes; /* of one; 0: not known */
    bool several;      /* ranks of one job may share it: it stands for more than one machine */
    uint64_t features; /* bits of what it can do beside giving amounts */
    struct sched_amounts total;
    struct sched_amounts free; /* total - what attempts hold - use by others; may be negative */
};

/* Where a job may run: a step opens when the waits of those before it have passed. */
struct sched_step {
    uint32_t target; /* SCHED_NONE: any */
    int64_t wait_ms; /* before the next step opens too; SCHED_UNLIMITED: it never does */
};

/* What a job asks for. Jobs that ask for the same share a shape: one that did not fit is not tried
 * again in the same cycle. */
struct sched_shape {
    uint32_t node_count;            /* >= 1; all or none */
    struct sched_amounts need;      /* on each node */
    uint64_t gpu_types;             /* bits; 0: any */
    int64_t gpu_memory_bytes;       /* at least, of one */
    uint64_t needs;                 /* bits that a node's `features` must have */
    const struct sched_step *steps; /* none: any target */
    uint32_t step_count;
    const agent_id *excluded; /* nodes it must not run on, by rising id */
    uint32_t excluded_count;
    bool service;
};

/* A job that may start now as far as its own state goes (queued, nothing before it open). */
struct sched_job {
    job_id id;
    uint32_t share; /* its project */
    uint32_t queue, shape;
    int64_t priority;
    time_ms queued; /* its age; kept over attempts */
    time_ms
        ladder_at; /* from when the steps count; later than `queued` after a reclaimed attempt */
    uint32_t step_from;    /* steps before it are passed */
    int64_t time_limit_ms; /* SCHED_UNLIMITED: none */
    uint32_t array;        /* 1 + its place in array_places; 0: of no array with a limit */
};

/* An attempt that holds room, from its offer until its end is proven. */
struct sched_attempt {
    attempt_id id;
    job_id job;
    uint32_t share, queue, shape;
    int64_t priority;
    time_ms queued; /* its job's age */
    time_ms since;
    time_ms ends_by;        /* by its time limit; SCHED_UNLIMITED */
    time_ms evictable_from; /* its minimum run time has passed; SCHED_UNLIMITED: never */
    bool stopping;          /* it is being ended: its room comes */
    uint32_t array;         /* as of a job */
    const uint32_t *nodes;  /* shape's node_count of them; twice only where `several` */
    uint32_t node_count;
};

/* Room held for a job: given in, and given out anew by each cycle. */
struct sched_reservation {
    job_id job;
    bool victims;  /* attempts were ended for it; else it was first in line and did not fit */
    bool quota;    /* ... within its quota: it holds that, and no nodes */
    time_ms since; /* when it was made */
    time_ms start; /* when its nodes are expected to be free; TIME_NONE: not known */
    const agent_id *nodes;
    uint32_t node_count;
};

/* Who ended whose attempt for whom, lately: kept by the caller for `evict_pause_ms`. */
struct sched_eviction {
    share_id winner, loser;
    time_ms at;
};

struct sched_snapshot {
    time_ms now;
    struct sched_policy policy;
    const struct sched_share *shares;
    const struct sched_queue *queues;
    const struct sched_target *targets;
    const struct sched_node *nodes;
    const struct sched_shape *shapes;
    const struct sched_job *jobs;         /* any order */
    const struct sched_attempt *attempts; /* any order */
    const struct sched_reservation *reservations;
    const struct sched_eviction *evictions;
    const int64_t *array_places; /* how many more of each array may start */
    uint32_t share_count, queue_count, target_count, node_count, shape_count, job_count,
        attempt_count, reservation_count, eviction_count, array_count;
};

struct sched_start {
    uint32_t job;
    uint32_t step;         /* of its shape; 0 where it has none */
    const uint32_t *nodes; /* rank by rank */
    uint32_t node_count;
};

struct sched_evict {
    uint32_t attempt;
    uint32_t job;       /* for whom */
    enum ending ending; /* ENDING_RECLAIMED, ENDING_OUTRANKED */
};

struct sched_wait {
    uint32_t job;
    struct wait wait;
};

/* In the order in which they were decided. */
struct sched_result {
    struct sched_start *starts;
    struct sched_evict *evicts;
    struct sched_wait *waits; /* by rank: all jobs that do not start */
    struct sched_reservation *reservations;
    uint32_t start_count, evict_count, wait_count, reservation_count;
};

/* What holds unless the server's own options say otherwise. */
struct sched_policy sched_policy_default(void);

/* One cycle. Everything in the result lives in the arena; the snapshot is not changed. */
void sched_cycle(const struct sched_snapshot *snapshot, struct arena *arena,
                 struct sched_result *ret_result);

/* When the job may start: cycles in virtual time, in which what runs ends by its time limits, what
 * is ended for others waits again, and what is on its way comes. Looks at `steps_max` moments at
 * most. TIME_NONE: nothing bounds it, or it lies beyond what was looked at. Costs as many cycles:
 * for one job that a person asks about. */
time_ms sched_estimate(const struct sched_snapshot *snapshot, uint32_t job, uint32_t steps_max,
                       struct arena *arena);

/* Asserts what must hold of every snapshot (amounts held add up to what is not free, parents
 * before children, indexes in range) and of what a cycle made of it (no amount given twice, gangs
 * whole, limits kept, nobody within its quota ended). For debug builds, tests and the simulator. */
void sched_check_snapshot(const struct sched_snapshot *snapshot);
void sched_check_result(const struct sched_snapshot *snapshot, const struct sched_result *result);
