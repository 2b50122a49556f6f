/* Jobs, their attempts and placements, and agents. thread: any */
#pragma once

#include "model/ending.h"
#include "model/health.h"
#include "model/run.h"
#include "model/target.h"

/*      state            name         ended */
#define JOB_STATES(X)                                                                              \
    X(JOB_HELD, "held", false)                                                                     \
    X(JOB_QUEUED, "queued", false)                                                                 \
    X(JOB_OFFERED, "offered", false)                                                               \
    X(JOB_CLAIMED, "claimed", false)                                                               \
    X(JOB_STARTING, "starting", false)                                                             \
    X(JOB_RUNNING, "running", false)                                                               \
    X(JOB_STOPPING, "stopping", false)                                                             \
    X(JOB_SUCCEEDED, "succeeded", true)                                                            \
    X(JOB_FAILED, "failed", true)                                                                  \
    X(JOB_CANCELLED, "cancelled", true)

enum job_state {
#define X(state, name, ended) state,
    JOB_STATES(X)
#undef X
        JOB_STATE_COUNT
};
const char *job_state_name(enum job_state state);
bool job_state_ended(enum job_state state);
enum job_state job_state_from_name(struct str name); /* JOB_STATE_COUNT when unknown */

/* An attempt has the states of its job from `offered` on, and two ends of its own. */
#define ATTEMPT_STATES(X)                                                                          \
    X(ATTEMPT_OFFERED, "offered", false)                                                           \
    X(ATTEMPT_CLAIMED, "claimed", false)                                                           \
    X(ATTEMPT_STARTING, "starting", false)                                                         \
    X(ATTEMPT_RUNNING, "running", false)                                                           \
    X(ATTEMPT_STOPPING, "stopping", false)                                                         \
    X(ATTEMPT_SUCCEEDED, "succeeded", true)                                                        \
    X(ATTEMPT_FAILED, "failed", true)                                                              \
    X(ATTEMPT_CANCELLED, "cancelled", true)                                                        \
    X(ATTEMPT_PREEMPTED, "preempted", true)                                                        \
    X(ATTEMPT_LOST, "lost", true)

enum attempt_state {
#define X(state, name, ended) state,
    ATTEMPT_STATES(X)
#undef X
        ATTEMPT_STATE_COUNT
};
const char *attempt_state_name(enum attempt_state state);
bool attempt_state_ended(enum attempt_state state);
enum attempt_state attempt_state_from_name(struct str name);

/* What happens to a job. Every change of a job is one of these, applied by job_apply alone. */
#define JOB_EVENTS(X)                                                                              \
    X(JOB_EVENT_SUBMITTED, "submitted")                                                            \
    X(JOB_EVENT_RELEASED, "released")                                                              \
    X(JOB_EVENT_HELD, "held")                                                                      \
    X(JOB_EVENT_CHANGED, "changed")                                                                \
    X(JOB_EVENT_OFFERED, "offered")                                                                \
    X(JOB_EVENT_WITHDRAWN, "withdrawn")                                                            \
    X(JOB_EVENT_ACCEPTED, "accepted")                                                              \
    X(JOB_EVENT_STARTING, "starting")                                                              \
    X(JOB_EVENT_RUNNING, "running")                                                                \
    X(JOB_EVENT_CANCEL, "cancel_asked")                                                            \
    X(JOB_EVENT_EVICT, "evict_asked")                                                              \
    X(JOB_EVENT_RANK, "rank")                                                                      \
    X(JOB_EVENT_HEALTH, "health")                                                                  \
    X(JOB_EVENT_ENDED, "ended")                                                                    \
    X(JOB_EVENT_LOST, "lost")                                                                      \
    X(JOB_EVENT_FINAL, "record_complete")

enum job_event_kind {
#define X(kind, name) kind,
    JOB_EVENTS(X)
#undef X
        JOB_EVENT_COUNT
};
const char *job_event_kind_name(enum job_event_kind kind);
enum job_event_kind job_event_kind_from_name(struct str name); /* JOB_EVENT_COUNT when unknown */

/* On each node. */
struct job_need {
    int64_t cpus, gpus, memory_bytes;
};

/* What a job may ask for that not every kind of agent can do. An agent says which of them it can,
 * a job needs those that its spec uses; as sets, a bit each. */
#define JOB_FEATURES(X)                                                                            \
    X(FEATURE_IMAGE, "image")                                                                      \
    X(FEATURE_SHM, "shm")                                                                          \
    X(FEATURE_PIDS, "pids")                                                                        \
    X(FEATURE_DISK, "disk")                                                                        \
    X(FEATURE_READ_ONLY_ROOT, "read_only_root")                                                    \
    X(FEATURE_REGISTRY, "registry")                                                                \
    X(FEATURE_VOLUMES, "volumes")                                                                  \
    X(FEATURE_BUCKETS, "buckets")                                                                  \
    X(FEATURE_LAUNCHER, "launcher") /* torchrun, deepspeed */                                      \
    X(FEATURE_NODES, "nodes")       /* ranks that find each other */                               \
    X(FEATURE_HEALTH, "health")

enum job_feature {
#define X(feature, name) feature,
    JOB_FEATURES(X)
#undef X
        FEATURE_COUNT
};
#define FEATURE_BIT(feature) (UINT64_C(1) << (feature))
#define FEATURES_ALL         (FEATURE_BIT(FEATURE_COUNT) - 1)
const char *job_feature_name(enum job_feature feature);
enum job_feature job_feature_from_name(struct str name); /* FEATURE_COUNT when unknown */

#define JOB_INSIDE "/euvyra" /* where a job in a container sees its own files */

#define JOB_NODES_MAX      1024
#define JOB_ARRAY_MAX      1000 /* elements */
#define JOB_STEPS_MAX      8    /* targets of its list */
#define JOB_GPU_TYPES_MAX  16
#define JOB_EXCLUDED_MAX   1000 /* agents */
#define GPU_TYPE_BYTES_MAX 63

enum job_kind { JOB_BATCH, JOB_SERVICE }; /* a service has no end of its own */

struct job {
    job_id id;
    struct id public_id;
    project_id project;
    struct str project_name;
    run_id run;
    struct id run_public_id;
    user_id owner;
    struct str owner_login, name;
    enum job_kind kind;
    enum job_state state;
    queue_id queue;
    struct str queue_name;
    int64_t priority;
    struct str spec; /* JSON, as validated */
    int64_t node_count;
    struct job_need need;
    struct str shape;  /* JSON of what else the scheduler goes by: domain/jobs/jobs_shape.h */
    int64_t timeout_s; /* 0: none, as of most services */
    int64_t grace_s;
    int64_t retries; /* new attempts after lost ones, and after failed ones if retry_failed */
    bool retry_failed;
    int64_t attempt_count;
    int64_t failures;    /* attempts that count against the retries */
    int64_t withdrawals; /* offers in a row that nobody took */
    attempt_id attempt;  /* the current one, 0: none */
    struct id attempt_public_id;
    job_id array;                     /* the first element's, 0: not of an array */
    struct id array_public_id;        /* text[0] == 0: not of an array */
    int64_t array_index, array_limit; /* at once; 0: no limit */
    int64_t array_count;              /* elements */
    int64_t step_from;                /* steps of the target list before it are passed */
    time_ms ladder_at;  /* from when the steps count; TIME_NONE: since it was queued */
    time_ms not_before; /* after a failed start; TIME_NONE */
    time_ms created, queued, started, ended; /* TIME_NONE */
    int64_t run_time_ms, cost_micro, gpu_ms;
    int exit_code, exit_signal; /* EXIT_NONE */
    bool oom, cancel_asked, final;
    enum ending stop_for; /* why its attempt is being ended, ENDING_NONE: it is not */
    enum ending ending;
    struct str reason;
    int64_t event_count; /* seq of the newest event */
    int64_t after_count; /* jobs it comes after; only where the scheduler reads it */
    uint8_t create_hash[HASH_BYTES];
};

/* One try to run a job, on one target: a placement on each agent that takes part. */
struct attempt {
    attempt_id id;
    struct id public_id;
    job_id job;
    struct id job_public_id;
    run_id run;
    int64_t number;
    enum attempt_state state;
    target_id target;
    struct str target_name;
    int64_t step;                    /* of the target list */
    time_ms offered, started, ended; /* TIME_NONE */
    time_ms charged;                 /* up to when it was charged to its project; TIME_NONE */
    int64_t run_time_ms, gpu_ms, cost_micro;
    int64_t price_hour_micro, price_gpu_hour_micro; /* as offered */
    int exit_code, exit_signal;
    bool oom, final;
    enum ending ending;
    struct str reason;
    enum health_state health;  /* of a service that is asked, as it was said last */
    time_ms health_since;      /* TIME_NONE */
    struct str health_problem; /* of the last question; len 0: none */
    struct str image;          /* as it runs, "NAME@sha256:..."; len 0: none, not known */
    struct str rendezvous;     /* "HOST:PORT" where its ranks meet; len 0: not known, or one rank */
    struct str progress;       /* of a start that takes long; len 0: nothing to say */
    int64_t energy_mj;         /* that its GPUs took, as far as they can tell */
    time_ms idle;              /* since when all its GPUs are idle; TIME_NONE: they are not */
};

/* The ranks of an attempt that one agent runs. What an agent says, it says of its placement, which
 * is known by its token. */
struct placement {
    placement_id id;
    attempt_id attempt;
    int64_t rank, rank_count; /* from rank on */
    agent_id agent;
    struct str agent_name;
    struct id agent_public_id;
    enum attempt_state state;
    uint8_t token_hash[HASH_BYTES];
    time_ms started, ended; /* TIME_NONE */
    int64_t run_time_ms;
    int exit_code, exit_signal;
    bool oom, final;
    bool verdict; /* its end is the attempt's */
    enum ending ending;
    struct str reason;
    int64_t console_start; /* where it begins in the run's console text */
    int64_t console_bytes;
};

#define JOB_PRIORITY_SAME INT64_MIN

struct job_event {
    enum job_event_kind kind;
    int64_t seq;
    time_ms at;
    enum job_state state; /* after it */
    struct id attempt;    /* text[0] == 0: none */
    struct str actor;
    /* of JOB_EVENT_ENDED, LOST and of a rank's end */
    int exit_code, exit_signal;
    bool oom, failed_to_start, timed_out;
    bool stopped;   /* it ended because it was told to */
    bool unhealthy; /* the agent ended it because it did not answer well */
    int64_t run_time_ms, gpu_ms, cost_micro;
    int64_t node_ms;    /* run time summed over nodes, from which the others follow */
    enum ending ending; /* of LOST, WITHDRAWN, CANCEL, EVICT; of ENDED it follows from the rest */
    int64_t rank;       /* of JOB_EVENT_RANK */
    enum attempt_state rank_state;
    enum health_state health; /* of JOB_EVENT_HEALTH; the problem is the reason */
    int64_t next_step;        /* of LOST: go on with this step of the target list; 0: stay */
    /* Of JOB_EVENT_SUBMITTED and CHANGED: what stays as it is, is JOB_PRIORITY_SAME, a queue of
     * id 0, a text of len 0. */
    int64_t priority;
    queue_id queue;
    struct str queue_name;
    struct str shape;
    struct str targets; /* JSON of the spec's: "NAME", or the list */
    struct str spec;    /* with these targets; not kept: job_event_spec makes it anew */
    struct str reason;
};

struct agent {
    agent_id id;
    struct id public_id;
    struct str name;
    target_id target;
    struct str target_name, boot, version, executor;
    int64_t slots, cpus, memory_bytes, gpus;
    struct str gpu_type; /* "A100"; len 0: none, or not known */
    int64_t gpu_memory_bytes;
    bool several;      /* ranks of one job may share it: it stands for more than one machine */
    uint64_t features; /* that it can do */
    int64_t running;   /* attempts it holds */
    int64_t cpus_used, gpus_used, memory_used;
    time_ms created, seen; /* seen: TIME_NONE before its first call */
    time_ms conflict;      /* since when two machines call with its key; TIME_NONE: they do not */
    bool maintenance;      /* starts nothing, see agent_in_maintenance */
    struct str maintenance_reason;
    time_ms maintenance_until; /* TIME_NONE: open end */
};

static inline bool agent_in_maintenance(const struct agent *agent, time_ms now)
{
    return agent->maintenance &&
           (agent->maintenance_until == TIME_NONE || agent->maintenance_until > now);
}
