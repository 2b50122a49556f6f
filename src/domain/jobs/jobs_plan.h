/* What the world should look like for a job in its state: pure, may be asked again and again.
 * thread: any */
#pragma once

#include "model/job.h"

enum job_action_kind {
    JOB_ACTION_RUN_STATE,     /* bring the run to `run_state` */
    JOB_ACTION_STOP_WORK,     /* tell its agents to end the attempt */
    JOB_ACTION_REVOKE_KEY,    /* its record is complete */
    JOB_ACTION_LIMIT_KEY,     /* its attempt was fenced: an hour for what it still has */
    JOB_ACTION_CLOSE_CONSOLE, /* no more console text will come */
};

struct job_action {
    enum job_action_kind kind;
    enum run_state run_state;
};

#define JOB_ACTIONS_MAX 8
struct job_actions {
    struct job_action items[JOB_ACTIONS_MAX];
    size_t count;
};

/* `attempt` is the one the last event was about, or NULL. */
void job_plan(const struct job *job, const struct attempt *attempt,
              struct job_actions *ret_actions);
