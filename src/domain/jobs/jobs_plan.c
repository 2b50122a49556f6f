/* From the state of a job to the actions it wants. */
#include "domain/jobs/jobs_plan.h"

#include "domain/jobs/jobs_state.h"

static void want(struct job_actions *actions, enum job_action_kind kind)
{
    ENSURE(actions->count < JOB_ACTIONS_MAX);
    actions->items[actions->count++] = (struct job_action){.kind = kind};
}

/* It may still run somewhere, unheard. */
static bool is_fenced(const struct attempt *attempt)
{
    return (attempt->state == ATTEMPT_LOST && attempt->ending != ENDING_NOT_TAKEN) ||
           (attempt->state == ATTEMPT_PREEMPTED && attempt->ending == ENDING_SPOT);
}

void job_plan(const struct job *job, const struct attempt *attempt, struct job_actions *ret_actions)
{
    struct job_actions actions = {0};

    want(&actions, JOB_ACTION_RUN_STATE);
    actions.items[0].run_state = job_run_state(job);
    if (job->state == JOB_STOPPING)
        want(&actions, JOB_ACTION_STOP_WORK);
    if (attempt && is_fenced(attempt))
        want(&actions, JOB_ACTION_LIMIT_KEY);
    else if (attempt && attempt->final)
        want(&actions, JOB_ACTION_REVOKE_KEY);
    if (job->final || (job_state_ended(job->state) && job->attempt_count == 0))
        want(&actions, JOB_ACTION_CLOSE_CONSOLE);
    *ret_actions = actions;
}
