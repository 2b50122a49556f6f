/* Rebuilding jobs from their events: what the row of a job says is what its events make of it.
 * thread: any owner of a store; may block */
#pragma once

#include "domain/jobs/jobs.h"

/* *ret_job: what the events of `job` make of it as it was submitted. What no event changes (id,
 * run, name, needs, limits) is taken from `job`; the key of the current attempt's row is not
 * rebuilt, its public id is. ERR_IO: the events do not follow each other, or cannot be read. */
MUST_CHECK enum err_code jobs_replay(struct store *store, const struct job *job,
                                     struct arena *arena, struct job *ret_job, struct err *err);

/* Replays every job; `differs` hears one line of each whose row is another. */
struct jobs_replay_sink {
    void *ctx;
    void (*differs)(void *ctx, const char *text);
};
MUST_CHECK enum err_code jobs_replay_all(struct store *store, const struct jobs_replay_sink *sink,
                                         int64_t *ret_count, struct err *err);
