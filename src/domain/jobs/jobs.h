/* Jobs: submitted, scheduled onto agents, watched through their attempts, ended once.
 *
 * Every change is an event: job_apply decides, the row and the event are written together, and what
 * follows from the new state (the run, keys, the scheduler) is done in the same transaction.
 * thread: command for changes, any owner of a store for reads */
#pragma once

#include "crypto/secret.h"
#include "domain/cmd.h"
#include "domain/runs/runs.h"
#include "domain/targets/targets.h"
#include "model/project.h"
#include "store/store_attempt.h"
#include "store/store_job.h"
#include "wire/agent_messages.h"

#define JOB_TIMEOUT_S_DEFAULT (7 * 24 * 3600)
#define JOB_GRACE_S_DEFAULT   30
#define JOB_RETRIES_DEFAULT   3

/* A target of a job's list, by name, and how long it waits before the next one opens too. */
struct job_place {
    struct str target;
    int64_t wait_s;
};

/* A job, or all elements of an array, that the job comes after. */
struct job_before {
    struct id id;
    bool any_end;
};

struct job_spec {
    struct id id, run;            /* of an array: from which those of its elements are made */
    struct str name, tags, notes; /* data NULL: defaults */
    int64_t array_count;          /* 0: it is no array */
    int64_t array_from, array_step, array_limit;
    const struct job_before *before;
    size_t before_count;
    int64_t priority;
    bool held;
    struct str spec;            /* canonical JSON of the spec, checked */
    struct str command, config; /* JSON of those members */
    struct str code;            /* digest, len 0: none */
    struct str git;             /* JSON of where the code came from, len 0: not known */
    enum job_kind kind;
    int64_t replicas; /* of a service; above 1 it is an array of so many */
    int64_t node_count;
    struct job_need need;
    struct str queue;                    /* len 0: the default one */
    const struct job_place *places;      /* none: any target */
    bool one_place;                      /* it came as "target", not as a list */
    const struct str *gpu_types;         /* none: any */
    const struct str *excluded;          /* names of agents */
    const struct str *volumes, *buckets; /* names that its targets have */
    const struct str *secrets;           /* names that the project has */
    size_t place_count, gpu_type_count, excluded_count, volume_count, bucket_count, secret_count;
    int64_t gpu_memory_bytes;
    uint64_t needs;    /* of enum job_feature */
    int64_t timeout_s; /* 0: the queue's, or JOB_TIMEOUT_S_DEFAULT; of a service: none */
    int64_t grace_s, retries;
    bool retry_failed;
    uint8_t hash[HASH_BYTES]; /* of the whole body */
};

/* All elements of an array, or none; *ret_job is the first then. The same again changes nothing.
 * ERR_CONFLICT: made before with another body; ERR_LIMIT: too many open jobs; ERR_UNPROCESSABLE:
 * it names what is not there, or can never start. */
MUST_CHECK enum err_code jobs_submit(struct cmd *cmd, const struct project *project,
                                     const struct job_spec *spec, struct job *ret_job,
                                     bool *ret_created, struct err *err);
/* What may keep it waiting for long, as texts for who submitted it. */
#define JOB_WARNINGS_MAX 4
MUST_CHECK enum err_code jobs_warnings(struct cmd *cmd, const struct job_spec *spec,
                                       struct str ret_texts[JOB_WARNINGS_MAX], size_t *ret_count,
                                       struct err *err);
/* Of the id of an array its first element. */
MUST_CHECK enum err_code jobs_require(struct cmd *cmd, const struct id *id, enum role need,
                                      struct job *ret_job, struct err *err);
MUST_CHECK enum err_code jobs_list(struct cmd *cmd, struct job_filter *filter,
                                   struct job **ret_jobs, size_t *ret_count, struct err *err);
/* Waiting jobs as the scheduler looks at them, the next first: of the filter `project`, `fold` and
 * `limit` count. `fold`: of an array the first of them alone. *passed ranks are left out, and
 * become those that were looked at: 0 when there are no more. */
MUST_CHECK enum err_code jobs_list_ranked(struct cmd *cmd, const struct job_filter *filter,
                                          int64_t *passed, struct job **ret_jobs, size_t *ret_count,
                                          struct err *err);
/* The element that says most of its array: the first that waits, else the first that has not ended,
 * else `job`. */
MUST_CHECK enum err_code jobs_array_next(struct cmd *cmd, const struct job *job,
                                         struct job *ret_job, struct err *err);
MUST_CHECK enum err_code jobs_attempts(struct cmd *cmd, job_id job, struct attempt **ret_attempts,
                                       size_t *ret_count, struct err *err);
/* The placements of one of its attempts, by rank. */
MUST_CHECK enum err_code jobs_placements(struct cmd *cmd, attempt_id attempt,
                                         struct placement **ret_placements, size_t *ret_count,
                                         struct err *err);
MUST_CHECK enum err_code jobs_events(struct cmd *cmd, job_id job, int64_t after_seq, int limit,
                                     struct job_event_row **ret_events, size_t *ret_count,
                                     struct err *err);
MUST_CHECK enum err_code jobs_cancel(struct cmd *cmd, struct job *job, struct err *err);
/* A held job goes into the queue; others stay as they are. */
MUST_CHECK enum err_code jobs_release(struct cmd *cmd, struct job *job, struct err *err);
/* The same to all elements of the array of `job`, which is read anew. */
MUST_CHECK enum err_code jobs_cancel_array(struct cmd *cmd, struct job *job, struct err *err);
MUST_CHECK enum err_code jobs_release_array(struct cmd *cmd, struct job *job, struct err *err);
/* What may be changed of a job while it waits; of one that has started, its priority alone. */
struct job_change {
    bool has_priority;
    int64_t priority;
    int held;                       /* 1, 0; -1: as it is */
    struct str queue;               /* len 0: as it is */
    const struct job_place *places; /* none: as they are */
    size_t place_count;
};
/* ERR_CONFLICT names its state. Of an array (`all`) every element that has not ended. */
MUST_CHECK enum err_code jobs_change(struct cmd *cmd, struct job *job, bool all,
                                     const struct job_change *change, struct err *err);
MUST_CHECK enum err_code jobs_array_states(struct cmd *cmd, const struct id *array,
                                           int64_t ret_counts[JOB_STATE_COUNT], struct err *err);
/* Of an array of services that are asked how they are: how many are healthy; else -1. */
MUST_CHECK enum err_code jobs_array_healthy(struct cmd *cmd, const struct job *first,
                                            int64_t *ret_count, struct err *err);
/* Before a run is deleted: deletes its ended job; ERR_CONFLICT while the job has not ended. */
MUST_CHECK enum err_code jobs_delete_of_run(struct cmd *cmd, const struct run *run,
                                            struct err *err);

/* What the scheduler decided, by the version (event_count) of the job that it saw. A job that has
 * changed since, or an agent that is gone, makes the decision void: it is left out.
 * thread: command */
struct jobs_start {
    job_id job;
    int64_t version;
    target_id target;
    int64_t step;
    const agent_id *agents; /* one a rank; the same one again and again: ranks that share it */
    size_t agent_count;
};
MUST_CHECK enum err_code jobs_start(struct cmd *cmd, const struct jobs_start *starts, size_t count,
                                    struct err *err);
struct jobs_evict {
    job_id job;
    attempt_id attempt;
    enum ending ending;
    job_id for_job;
};
MUST_CHECK enum err_code jobs_evict(struct cmd *cmd, const struct jobs_evict *evicts, size_t count,
                                    struct err *err);
/* Leases, offers and records that are overdue. thread: command */
MUST_CHECK enum err_code jobs_sweep(struct cmd *cmd, struct err *err);

/* What the agents say. An attempt is named with its token; a stale one is ERR_FENCED. */
struct job_offer {
    struct job job;
    struct attempt attempt;
    struct placement placement;
    char token[WIRE_TOKEN_LEN + 1];
    struct key_text key;
    const char **secrets; /* "NAME=value", for its environment; in the cmd's arena */
    size_t secret_count;
    struct str registry_user, registry_secret; /* for its image; len 0: none */
    struct wire_mount *mounts;
    size_t mount_count;
    struct str image; /* as an earlier attempt resolved it; len 0: none did */
};
struct agent_poll_answer {
    struct job_offer *offers;
    size_t offer_count;
    size_t spec_bytes; /* of all offers, for the limit of a message */
    struct id *stops, *fenced;
    size_t stop_count, fenced_count;
    enum agent_call call; /* it gets nothing unless it is taken; its lease goes on */
};
MUST_CHECK enum err_code jobs_agent_poll(struct cmd *cmd, struct agent *agent,
                                         const struct wire_attempt *held, size_t held_count,
                                         struct agent_poll_answer *ret_answer, struct err *err);
/* `rendezvous` is where the ranks of the attempt can meet on the caller's machine (data NULL:
 * nowhere): that of rank 0 counts. *ret_attempt is offered still while other agents of the attempt
 * have not accepted: nothing may start before it is not. */
MUST_CHECK enum err_code jobs_attempt_accept(struct cmd *cmd, const struct wire_attempt *ref,
                                             struct str rendezvous, struct attempt *ret_attempt,
                                             struct err *err);
MUST_CHECK enum err_code jobs_attempt_status(struct cmd *cmd, const struct wire_attempt *ref,
                                             const struct wire_status *status,
                                             struct attempt *ret_attempt, struct err *err);
/* ERR_OFFSET with the right offset in *ret_offset. */
MUST_CHECK enum err_code jobs_attempt_console(struct cmd *cmd, const struct wire_attempt *ref,
                                              int64_t offset, struct str text, int64_t *ret_offset,
                                              struct err *err);
/* Checks agent and token; for reads. */
MUST_CHECK enum err_code jobs_attempt_require(struct cmd *cmd, const struct wire_attempt *ref,
                                              struct job *ret_job, struct err *err);
/* The member `name` of a job's spec as JSON text; {0} when absent. */
struct str jobs_spec_member(struct cmd *cmd, const struct job *job, const char *name);
