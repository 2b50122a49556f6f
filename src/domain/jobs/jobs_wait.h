/* Why a job waits, for people: the scheduler's last word with the names it is about; and what the
 * scheduler makes of what might be.
 * thread: any owner of a store */
#pragma once

#include "domain/jobs/jobs.h"
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

/* What would become of a job. */
struct job_forecast {
    bool known; /* else something of its own keeps it waiting, or the scheduler cannot tell yet */
    struct forecast forecast;
    struct job_wait wait; /* of one that does not start at once */
    struct job *passed;   /* of forecast.passed those that the caller may see */
    size_t passed_count;
};
/* A waiting job with another priority. may block: worker only */
MUST_CHECK enum err_code jobs_forecast_priority(struct cmd *cmd, const struct job *job,
                                                int64_t priority, struct job_forecast *ret_forecast,
                                                struct err *err);
/* A job that is submitted now; of an array its first element. What jobs_submit would refuse for
 * what it names is refused. may block: worker only */
MUST_CHECK enum err_code jobs_forecast_submit(struct cmd *cmd, const struct project *project,
                                              const struct job_spec *spec,
                                              struct job_forecast *ret_forecast, struct err *err);
