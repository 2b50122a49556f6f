/* Queues in the store. thread: owner of the store; may block */
#pragma once

#include "model/share.h"
#include "store/store.h"

/* Sets the queue's id; its targets go in too. */
MUST_CHECK enum err_code store_queue_insert(struct store *store, struct job_queue *queue,
                                            struct err *err);
/* Settings, states and targets. */
MUST_CHECK enum err_code store_queue_update(struct store *store, const struct job_queue *queue,
                                            struct err *err);
MUST_CHECK enum err_code store_queue_get(struct store *store, struct str name, struct arena *arena,
                                         struct job_queue *ret_queue, struct err *err);
/* By name, after `after`; limit QUEUES_MAX: all of them. */
MUST_CHECK enum err_code store_queue_list(struct store *store, struct str after, int limit,
                                          struct arena *arena, struct job_queue **ret_queues,
                                          size_t *ret_count, struct err *err);
/* Counts the jobs of each that have not ended; the others leave that at 0. */
MUST_CHECK enum err_code store_queue_open_jobs(struct store *store, struct job_queue *queues,
                                               size_t count, struct err *err);
/* Out of every list; its name becomes free, the jobs that were in it keep it. */
MUST_CHECK enum err_code store_queue_remove(struct store *store, queue_id id, time_ms now,
                                            struct err *err);
/* "": it is gone. */
MUST_CHECK enum err_code store_queue_name(struct store *store, queue_id id, struct arena *arena,
                                          struct str *ret_name, struct err *err);
