/* Making events happen: the one place where a job's row changes. Folder-private.
 * thread: command */
#pragma once

#include "domain/jobs/jobs.h"

/* An attempt with all its placements, as they lie in the store. */
struct jobs_ranks {
    struct attempt attempt;
    struct placement *placements;
    size_t count;
};
MUST_CHECK enum err_code jobs__ranks_get(struct cmd *cmd, attempt_id attempt,
                                         struct jobs_ranks *ret_ranks, struct err *err);

/* Targets as the event and the spec have them: the name alone of one that came as "target". */
struct str jobs__targets_text(struct cmd *cmd, const struct job_place *places, size_t count,
                              bool one);

/* Writes a new job with its first event, and fills in what its row says: id, names. Its run is
 * there, and pending. */
MUST_CHECK enum err_code jobs__begin(struct cmd *cmd, struct job *job, struct job_event *submitted,
                                     struct err *err);

/* Applies the event to the job (and to `ranks`, which may be NULL: the placements are taken as they
 * are), writes rows and event, and carries out what the plan wants. */
MUST_CHECK enum err_code jobs__happen(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                                      struct job_event *event, struct err *err);
/* CANCEL, EVICT and WITHDRAWN: all placements are asked to stop, or end at once. */
MUST_CHECK enum err_code jobs__stop(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                                    struct job_event *event, struct err *err);
/* Something was said of one placement; what is late or repeated changes nothing. The run time of an
 * end is that of this placement. */
MUST_CHECK enum err_code jobs__said(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                                    size_t which, const struct job_event *said, struct err *err);
