/* Jobs, their events and attempts in the store. thread: owner of the store; may block */
#pragma once

#include "model/job.h"
#include "store/store.h"

/* With its first event. The first element of an array comes with `array` 0: it gets its own id
 * there. */
MUST_CHECK enum err_code store_job_insert(struct store *store, struct job *job,
                                          const struct job_event *event, struct str detail,
                                          struct err *err);
MUST_CHECK enum err_code store_job_get(struct store *store, const struct id *id,
                                       struct arena *arena, struct job *ret_job, struct err *err);
MUST_CHECK enum err_code store_job_by_id(struct store *store, job_id id, struct arena *arena,
                                         struct job *ret_job, struct err *err);
struct job_filter {
    user_id user;         /* sees the projects it is a member of */
    bool everything;      /* administrators */
    struct str project;   /* len 0: all */
    struct str array;     /* only its elements, first to last; len 0: newest first */
    bool fold;            /* of an array the first element alone */
    enum job_state state; /* JOB_STATE_COUNT: any */
    bool open;            /* only jobs (folded: arrays, too) that have not ended */
    int64_t before_id;    /* paging, 0: from the beginning; in an array the id before */
    int limit;
};
MUST_CHECK enum err_code store_job_list(struct store *store, const struct job_filter *filter,
                                        struct arena *arena, struct job **ret_jobs,
                                        size_t *ret_count, struct err *err);
/* The first element of an array; ERR_NOT_FOUND: there is none of this id. */
MUST_CHECK enum err_code store_job_array_first(struct store *store, const struct id *array,
                                               struct arena *arena, struct job *ret_job,
                                               struct err *err);
/* Its first element that waits, else the first that has not ended; *ret_found is false when all
 * have ended. */
MUST_CHECK enum err_code store_job_array_next(struct store *store, const struct id *array,
                                              struct arena *arena, struct job *ret_job,
                                              bool *ret_found, struct err *err);
/* How many of its elements are in each state. */
MUST_CHECK enum err_code store_job_array_states(struct store *store, const struct id *array,
                                                int64_t ret_counts[JOB_STATE_COUNT],
                                                struct err *err);
/* How many of its elements run and are healthy. */
MUST_CHECK enum err_code store_job_array_healthy(struct store *store, const struct id *array,
                                                 int64_t *ret_count, struct err *err);
/* What may change in a job's life, and the event that changed it: row and event together. `detail`
 * is JSON from which the change can be replayed. */
MUST_CHECK enum err_code store_job_put(struct store *store, const struct job *job,
                                       const struct job_event *event, struct str detail,
                                       struct err *err);
/* Queue, shape and spec, which store_job_put leaves as they are. */
MUST_CHECK enum err_code store_job_move(struct store *store, const struct job *job,
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

/* Jobs that have not ended, ids above `after`, with what the scheduler goes by: id, public_id,
 * project, kind, state, queue, priority, node_count, need, shape, timeout_s, attempt, array,
 * array_limit, step_from, ladder_at, not_before, created, queued, event_count, after_count. */
MUST_CHECK enum err_code store_job_brief_list(struct store *store, job_id after, int limit,
                                              struct arena *arena, struct job **ret_jobs,
                                              size_t *ret_count, struct err *err);
/* The same of one job; *ret_found is false when it has ended or is gone. */
MUST_CHECK enum err_code store_job_brief_get(struct store *store, const struct id *id,
                                             struct arena *arena, struct job *ret_job,
                                             bool *ret_found, struct err *err);

/* "Starts after that one": when it succeeded, or however it ended (any_end). */
#define JOB_AFTER_MAX 10000 /* before one job */
struct job_after {
    job_id job, before;
    struct id before_public_id;
    enum job_state before_state;
    bool any_end;
};
MUST_CHECK enum err_code store_job_after_add(struct store *store, job_id job, job_id before,
                                             bool any_end, struct err *err);
/* All that come before the job. */
MUST_CHECK enum err_code store_job_after_list(struct store *store, job_id job, struct arena *arena,
                                              struct job_after **ret_after, size_t *ret_count,
                                              struct err *err);
