/* Jobs, their events and attempts in the store. thread: owner of the store; may block */
#pragma once

#include "model/job.h"
#include "store/store.h"

MUST_CHECK enum err_code store_job_insert(struct store *store, struct job *job, struct err *err);
MUST_CHECK enum err_code store_job_get(struct store *store, const struct id *id,
                                       struct arena *arena, struct job *ret_job, struct err *err);
MUST_CHECK enum err_code store_job_by_id(struct store *store, job_id id, struct arena *arena,
                                         struct job *ret_job, struct err *err);
struct job_filter {
    user_id user;         /* sees the projects it is a member of */
    bool everything;      /* administrators */
    struct str project;   /* len 0: all */
    enum job_state state; /* JOB_STATE_COUNT: any */
    bool open;            /* only jobs that have not ended */
    int64_t before_id;    /* paging; 0: from the newest */
    int limit;
};
MUST_CHECK enum err_code store_job_list(struct store *store, const struct job_filter *filter,
                                        struct arena *arena, struct job **ret_jobs,
                                        size_t *ret_count, struct err *err);
/* What may change in a job's life, and the event that changed it: row and event together. `detail`
 * is JSON from which the change can be replayed. */
MUST_CHECK enum err_code store_job_put(struct store *store, const struct job *job,
                                       const struct job_event *event, struct str detail,
                                       struct err *err);
MUST_CHECK enum err_code store_job_delete(struct store *store, job_id id, struct err *err);

struct job_event_row {
    int64_t seq;
    time_ms at;
    enum job_event_kind kind;
    enum job_state state;
    struct id attempt;
    struct str actor, detail;
};
MUST_CHECK enum err_code store_job_event_list(struct store *store, job_id job, int64_t after_seq,
                                              int limit, struct arena *arena,
                                              struct job_event_row **ret_events, size_t *ret_count,
                                              struct err *err);

/* Waiting jobs by rank: only id, priority, queued, need and target are filled. */
MUST_CHECK enum err_code store_job_queue(struct store *store, int limit, struct arena *arena,
                                         struct job **ret_jobs, size_t *ret_count, struct err *err);

MUST_CHECK enum err_code store_attempt_insert(struct store *store, struct attempt *attempt,
                                              struct err *err);
MUST_CHECK enum err_code store_attempt_get(struct store *store, const struct id *id,
                                           struct arena *arena, struct attempt *ret_attempt,
                                           struct err *err);
MUST_CHECK enum err_code store_attempt_by_id(struct store *store, attempt_id id,
                                             struct arena *arena, struct attempt *ret_attempt,
                                             struct err *err);
MUST_CHECK enum err_code store_attempt_list(struct store *store, job_id job, struct arena *arena,
                                            struct attempt **ret_attempts, size_t *ret_count,
                                            struct err *err);
/* Attempts whose record is not complete, ids above `after`; of one agent, or of all when 0. */
MUST_CHECK enum err_code store_attempt_open(struct store *store, agent_id agent, attempt_id after,
                                            int limit, struct arena *arena,
                                            struct attempt **ret_attempts, size_t *ret_count,
                                            struct err *err);
MUST_CHECK enum err_code store_attempt_put(struct store *store, const struct attempt *attempt,
                                           struct err *err);
