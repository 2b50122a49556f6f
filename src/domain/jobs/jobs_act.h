/* Making events happen: the one place where a job's row changes. Folder-private.
 * thread: command */
#pragma once

#include "domain/jobs/jobs.h"

/* Applies the event to the job (and to `attempt`, which may be NULL), writes rows and event, and
 * carries out what the plan wants. */
MUST_CHECK enum err_code jobs__happen(struct cmd *cmd, struct job *job, struct attempt *attempt,
                                      struct job_event *event, struct err *err);
