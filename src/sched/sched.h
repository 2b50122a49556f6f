/* The scheduler: who runs next. A pure function from a snapshot to decisions; no clock, no I/O, no
 * state between calls, so that the server and a simulator run the same code.
 *
 * Today's policy: priority, then age, then id; each job takes the agent of its target with the
 * fewest free cores that still fit (best fit). A job that does not fit now does not hold up those
 * behind it. thread: any */
#pragma once

#include "base/arena.h"
#include "model/job.h"

struct sched_job {
    job_id id;
    int64_t priority;
    time_ms queued;
    struct job_need need;
    target_id target; /* 0: any */
};

struct sched_agent {
    agent_id id;
    target_id target;
    bool live; /* heard of lately: others get nothing new */
    int64_t slots_free;
    struct job_need free;  /* now */
    struct job_need total; /* when empty */
};

struct sched_snapshot {
    const struct sched_job *jobs; /* any order */
    size_t job_count;
    const struct sched_agent *agents;
    size_t agent_count;
};

/*      reason                   name */
#define SCHED_REASONS(X)                                                                           \
    X(SCHED_NO_AGENT, "no_agent")   /* no live agent at all */                                     \
    X(SCHED_NO_TARGET, "no_target") /* none at the wanted target */                                \
    X(SCHED_TOO_BIG, "too_big")     /* would not fit an empty agent */                             \
    X(SCHED_BUSY, "busy")           /* fits once something ends */

enum sched_reason {
#define X(reason, name) reason,
    SCHED_REASONS(X)
#undef X
};
const char *sched_reason_name(enum sched_reason reason);

struct sched_start {
    job_id job;
    agent_id agent;
};

/* Why a job waits, with the numbers of the agent that comes nearest. */
struct sched_wait {
    job_id job;
    int64_t rank; /* 1: next */
    enum sched_reason reason;
    const char *resource; /* "cpus", "gpus", "memory", "slots"; "" where it is not about one */
    int64_t asked, available;
};

struct sched_result {
    struct sched_start *starts;
    size_t start_count;
    struct sched_wait *waits; /* by rank */
    size_t wait_count;
};

/* All arrays of the result live in the arena. */
void sched_run(const struct sched_snapshot *snapshot, struct arena *arena,
               struct sched_result *ret_result);
