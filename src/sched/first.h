/* The scheduler: who runs next. A pure function from a snapshot to decisions; no clock, no I/O, no
 * state between calls, so that the server and a simulator run the same code.
 *
 * Today's policy: priority, then age, then id; each job takes the agent of its target with the
 * fewest free cores that still fit (best fit). A job that does not fit now does not hold up those
 * behind it. thread: any */
#pragma once

#include "base/arena.h"
#include "model/job.h"

struct first_job {
    job_id id;
    int64_t priority;
    time_ms queued;
    struct job_need need;
    target_id target; /* 0: any */
};

struct first_agent {
    agent_id id;
    target_id target;
    bool live; /* heard of lately: others get nothing new */
    int64_t slots_free;
    struct job_need free;  /* now */
    struct job_need total; /* when empty */
};

struct first_snapshot {
    const struct first_job *jobs; /* any order */
    size_t job_count;
    const struct first_agent *agents;
    size_t agent_count;
};

/*      reason                   name */
#define FIRST_REASONS(X)                                                                           \
    X(FIRST_NO_AGENT, "no_agent")   /* no live agent at all */                                     \
    X(FIRST_NO_TARGET, "no_target") /* none at the wanted target */                                \
    X(FIRST_TOO_BIG, "too_big")     /* would not fit an empty agent */                             \
    X(FIRST_BUSY, "busy")           /* fits once something ends */

enum first_reason {
#define X(reason, name) reason,
    FIRST_REASONS(X)
#undef X
};
const char *first_reason_name(enum first_reason reason);

struct first_start {
    job_id job;
    agent_id agent;
};

/* Why a job waits, with the numbers of the agent that comes nearest. */
struct first_wait {
    job_id job;
    int64_t rank; /* 1: next */
    enum first_reason reason;
    const char *resource; /* "cpus", "gpus", "memory", "slots"; "" where it is not about one */
    int64_t asked, available;
};

struct first_result {
    struct first_start *starts;
    size_t start_count;
    struct first_wait *waits; /* by rank */
    size_t wait_count;
};

/* All arrays of the result live in the arena. */
void first_run(const struct first_snapshot *snapshot, struct arena *arena,
               struct first_result *ret_result);
