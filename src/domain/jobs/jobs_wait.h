/* Why a job waits, for people: the scheduler's last word with the names it is about.
 * thread: any owner of a store */
#pragma once

#include "domain/cmd.h"
#include "model/wait.h"

struct job_wait {
    struct wait wait;
    struct str share, queue, target; /* names; len 0: it is not about one */
    struct id job;                   /* text[0] == 0: not about one */
};

/* *ret_waits is false for a job that does not wait. */
MUST_CHECK enum err_code jobs_wait(struct cmd *cmd, const struct job *job, bool *ret_waits,
                                   struct job_wait *ret_wait, struct err *err);
/* The same, with an estimate of its start. may block: worker only */
MUST_CHECK enum err_code jobs_why(struct cmd *cmd, const struct job *job, bool *ret_waits,
                                  struct job_wait *ret_wait, struct err *err);
