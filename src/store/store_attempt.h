/* Attempts of jobs and their placements in the store. thread: owner of the store; may block */
#pragma once

#include "model/job.h"
#include "store/store.h"

MUST_CHECK enum err_code store_attempt_insert(struct store *store, struct attempt *attempt,
                                              struct err *err);
MUST_CHECK enum err_code store_attempt_get(struct store *store, const struct id *id,
                                           struct arena *arena, struct attempt *ret_attempt,
                                           struct err *err);
MUST_CHECK enum err_code store_attempt_by_id(struct store *store, attempt_id id,
                                             struct arena *arena, struct attempt *ret_attempt,
                                             struct err *err);
/* The newest 100 of a job, oldest first. */
MUST_CHECK enum err_code store_attempt_list(struct store *store, job_id job, struct arena *arena,
                                            struct attempt **ret_attempts, size_t *ret_count,
                                            struct err *err);
/* Attempts whose record is not complete, that ended before one time, or were offered before another
 * and are so still. */
MUST_CHECK enum err_code store_attempt_overdue(struct store *store, time_ms ended_before,
                                               time_ms offered_before, struct arena *arena,
                                               struct attempt **ret_attempts, size_t *ret_count,
                                               struct err *err);
MUST_CHECK enum err_code store_attempt_put(struct store *store, const struct attempt *attempt,
                                           struct err *err);

/* The image as the first attempt of the job resolved it that did, by digest; len 0: none did. */
MUST_CHECK enum err_code store_attempt_image(struct store *store, job_id job, struct arena *arena,
                                             struct str *ret_image, struct err *err);
/* What a running attempt has used and was not charged for. */
struct attempt_charge {
    attempt_id attempt;
    project_id project;
    int64_t node_count, gpus; /* gpus: on each node */
    time_ms charged, heard;   /* heard: TIME_NONE when no agent holds it any more */
    int64_t price_hour_micro, price_gpu_hour_micro;
};
/* Those charged last before `before`, ids above `after`. */
MUST_CHECK enum err_code store_attempt_to_charge(struct store *store, time_ms before,
                                                 attempt_id after, int limit, struct arena *arena,
                                                 struct attempt_charge **ret_charges,
                                                 size_t *ret_count, struct err *err);
/* What the open attempts of a project may still be charged for: from `from` on until `to` at the
 * latest (INT64_MAX: no end of its own). */
struct attempt_commitment {
    int64_t node_count, gpus; /* gpus: on each node */
    time_ms from, to;
    int64_t price_hour_micro, price_gpu_hour_micro;
};
MUST_CHECK enum err_code store_attempt_committed(struct store *store, project_id project,
                                                 struct arena *arena,
                                                 struct attempt_commitment **ret_list,
                                                 size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_attempt_charged(struct store *store, attempt_id id, time_ms charged,
                                               struct err *err);

MUST_CHECK enum err_code store_placement_insert(struct store *store, struct placement *placement,
                                                struct err *err);
/* Of an attempt, by rank. */
MUST_CHECK enum err_code store_placement_list(struct store *store, attempt_id attempt,
                                              struct arena *arena,
                                              struct placement **ret_placements, size_t *ret_count,
                                              struct err *err);
/* Those of an agent whose record is not complete. */
MUST_CHECK enum err_code store_placement_of_agent(struct store *store, agent_id agent, int limit,
                                                  struct arena *arena,
                                                  struct placement **ret_placements,
                                                  size_t *ret_count, struct err *err);
/* Those of an attempt that have not ended: id, attempt, ranks, agent and state are filled. */
MUST_CHECK enum err_code store_placement_held(struct store *store, attempt_id attempt,
                                              struct arena *arena,
                                              struct placement **ret_placements, size_t *ret_count,
                                              struct err *err);
MUST_CHECK enum err_code store_placement_put(struct store *store, const struct placement *placement,
                                             struct err *err);
