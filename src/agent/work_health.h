/* The health of an attempt's service, as far as its work goes by it: what is to be told, and
 * whether it was given up. What must outlive the agent lies in the attempt's folder: `healthy` (it
 * was well once) and `unhealthy` (it was given up, and why). thread: the attempt's */
#pragma once

#include "agent/health_watch.h"
#include "agent/work.h"

struct work_health {
    struct health_spec spec; /* port 0: it is not asked */
    struct health_watch *watch;
    int64_t retry_at_ms; /* after a watch that could not begin */
    const char *folder;  /* borrowed, as are these */
    const struct executor_port *executor;
    const struct id *attempt;
    void (*wake)(void *ctx); /* as of health_watch.h */
    void *ctx;
    bool was_good;
    bool due; /* `news` is to be told */
    struct health_news news;
    bool given_up; /* end it */
    char reason[HEALTH_REASON_BYTES];
};

/* From the offer and what the folder remembers; what is borrowed is set before. The arena keeps the
 * path. */
MUST_CHECK enum err_code work_health_init(struct work_health *h, struct arena *arena,
                                          const struct wire_offer *offer, struct err *err);
void work_health_release(struct work_health *h); /* waits for a question on its way */
/* The port that the service is asked at, in an environment; 0: it is not asked. */
MUST_CHECK enum err_code work_health_port(const struct work_env *env,
                                          const struct wire_offer *offer, int64_t *ret_port,
                                          struct err *err);
/* Asks while the attempt runs and nobody ends it; takes in what was found. */
void work_health_tend(struct work_health *h, const struct executor_look *look, bool ending);
