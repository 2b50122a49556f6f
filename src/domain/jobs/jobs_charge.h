/* Charging projects for what their attempts use. thread: command */
#pragma once

#include "domain/jobs/jobs_act.h"

/* Charges what runs up to when its agents were heard last; a part of it at a time: *ret_more. */
MUST_CHECK enum err_code jobs_charge(struct cmd *cmd, bool *ret_more, struct err *err);
/* What the running jobs of a project may still be charged for before `until`: up to their time
 * limits. thread: any owner of a store */
MUST_CHECK enum err_code jobs_committed(struct cmd *cmd, project_id project, time_ms until,
                                        int64_t *ret_gpu_ms, int64_t *ret_micro, struct err *err);
/* The rest, when the attempt has ended; what was for nothing is marked as such. */
MUST_CHECK enum err_code jobs__charge_end(struct cmd *cmd, const struct job *job,
                                          struct attempt *attempt, struct err *err);
