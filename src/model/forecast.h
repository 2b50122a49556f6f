/* What would become of a waiting job, as far as the limits of today tell: an answer to a question
 * of a person. */
#pragma once

#include "model/job.h"
#include "model/wait.h"

#define FORECAST_PASSED_MAX 10

struct forecast_question {
    job_id job; /* one that waits; 0: `fresh` */
    bool has_priority;
    int64_t priority; /* what if `job` had it */
    const struct job
        *fresh; /* what if it were submitted now: project, queue, needs, shape, limits */
};

struct forecast {
    bool starts;      /* at once */
    struct wait wait; /* else: why it waits then, its rank, when it may start */
    int64_t waiting;  /* jobs that are ready to start and do not, with it */
    /* Of a question about a priority: its rank now (0: it starts), and those that it goes before
     * then and not now, the next first. */
    int64_t rank_now;
    job_id passed[FORECAST_PASSED_MAX];
    size_t passed_count;
    int64_t passed_total;
};
