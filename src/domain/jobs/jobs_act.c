/* Carrying out what a job's new state wants, in the transaction of the event. */
#include "domain/jobs/jobs_act.h"

#include "domain/identity/identity.h"
#include "domain/jobs/jobs_plan.h"
#include "domain/jobs/jobs_state.h"
#include "store/store_agent.h"
#include "store/store_identity.h"
#include "store/store_run.h"

static enum err_code act_on_run(struct cmd *cmd, const struct job *job, enum run_state state,
                                time_ms at, struct err *err)
{
    struct run run;
    struct run_event event = {
        .kind = state == RUN_PENDING   ? RUN_EVENT_PENDING
                : state == RUN_RUNNING ? RUN_EVENT_RUNNING
                                       : RUN_EVENT_ENDED,
        .at = at,
        .from_job = true,
        .end = state,
        .exit_code = job->exit_code,
        .exit_signal = job->exit_signal,
        .oom = job->oom,
        .reason = job->reason,
    };

    TRY(store_run_by_id(cmd->store, job->run, cmd->arena, &run, err));
    if (run.state == state && run.cost_micro == job->cost_micro)
        return OK;
    run.cost_micro = job->cost_micro;
    return runs_happen(cmd, &run, &event, err);
}

static enum err_code act_close_console(struct cmd *cmd, const struct job *job, struct err *err)
{
    struct run run;

    TRY(store_run_by_id(cmd->store, job->run, cmd->arena, &run, err));
    if (run.console_final)
        return OK;
    cmd_notice(cmd, NOTICE_CONSOLE, run.project, run.project_name, &run.public_id);
    return store_console_set_final(cmd->store, &run, true, err);
}

static enum err_code act_stop(struct cmd *cmd, const struct attempt *attempt, struct err *err)
{
    struct agent agent;

    if (!attempt)
        return OK;
    TRY(store_agent_by_id(cmd->store, attempt->agent, cmd->arena, &agent, err));
    cmd_notice(cmd, NOTICE_POKE, (project_id){0}, STR(""), &agent.public_id);
    return OK;
}

static enum err_code act(struct cmd *cmd, const struct job *job, const struct attempt *attempt,
                         const struct job_action *action, struct err *err)
{
    switch (action->kind) {
    case JOB_ACTION_RUN_STATE: return act_on_run(cmd, job, action->run_state, cmd->now, err);
    case JOB_ACTION_WAKE_SCHEDULER: cmd->wake_scheduler = true; return OK;
    case JOB_ACTION_STOP_WORK: return act_stop(cmd, attempt, err);
    case JOB_ACTION_REVOKE_KEY:
        return store_key_revoke_by_attempt(cmd->store, attempt->id, cmd->now, err);
    case JOB_ACTION_LIMIT_KEY:
        return store_key_limit_by_attempt(cmd->store, attempt->id, cmd->now + FENCED_KEY_MS, err);
    case JOB_ACTION_CLOSE_CONSOLE: return act_close_console(cmd, job, err);
    }
    return OK;
}

enum err_code jobs__happen(struct cmd *cmd, struct job *job, struct attempt *attempt,
                           struct job_event *event, struct err *err)
{
    struct job_actions actions;

    event->at = event->at == TIME_NONE ? cmd->now : event->at;
    event->actor = event->actor.data ? event->actor : cmd_actor(cmd);
    if (attempt)
        event->attempt = attempt->public_id;
    TRY(job_apply(job, event, err));
    event->seq = job->event_count;
    if (attempt) {
        attempt_apply(attempt, event, job->cancel_asked);
        TRY(store_attempt_put(cmd->store, attempt, err));
    }
    TRY(store_job_put(cmd->store, job, event, job_event_encode(event, cmd->arena), err));
    cmd_notice(cmd, NOTICE_JOB, job->project, job->project_name, &job->public_id);
    job_plan(job, attempt, &actions);
    for (size_t i = 0; i < actions.count; i++)
        TRY(act(cmd, job, attempt, &actions.items[i], err));
    return OK;
}
