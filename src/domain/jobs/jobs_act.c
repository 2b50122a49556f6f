/* Carrying out what a job's new state wants, in the transaction of the event. */
#include "domain/jobs/jobs_act.h"

#include "domain/identity/identity.h"
#include "domain/jobs/jobs_charge.h"
#include "domain/jobs/jobs_plan.h"
#include "domain/jobs/jobs_ranks_state.h"
#include "domain/jobs/jobs_state.h"
#include "store/store_agent.h"
#include "store/store_identity.h"
#include "store/store_project.h"
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
    if (run.state == state && MAX(run.cost_micro, 0) == job->cost_micro)
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

/* Agents that have to end something hear of it at once. */
static void poke_stopping(struct cmd *cmd, const struct jobs_ranks *ranks)
{
    for (size_t i = 0; ranks && i < ranks->count; i++)
        if (ranks->placements[i].state == ATTEMPT_STOPPING)
            cmd_notice(cmd, NOTICE_POKE, (project_id){0}, STR(""),
                       &ranks->placements[i].agent_public_id);
}

static enum err_code act(struct cmd *cmd, const struct job *job, const struct jobs_ranks *ranks,
                         const struct job_action *action, struct err *err)
{
    attempt_id attempt = ranks ? ranks->attempt.id : (attempt_id){0};

    switch (action->kind) {
    case JOB_ACTION_RUN_STATE: return act_on_run(cmd, job, action->run_state, cmd->now, err);
    case JOB_ACTION_STOP_WORK: poke_stopping(cmd, ranks); return OK;
    case JOB_ACTION_REVOKE_KEY:
        return store_key_revoke_by_attempt(cmd->store, attempt, cmd->now, err);
    case JOB_ACTION_LIMIT_KEY:
        return store_key_limit_by_attempt(cmd->store, attempt, cmd->now + FENCED_KEY_MS, err);
    case JOB_ACTION_CLOSE_CONSOLE: return act_close_console(cmd, job, err);
    }
    return OK;
}

enum err_code jobs__ranks_get(struct cmd *cmd, attempt_id attempt, struct jobs_ranks *ret_ranks,
                              struct err *err)
{
    TRY(store_attempt_by_id(cmd->store, attempt, cmd->arena, &ret_ranks->attempt, err));
    return store_placement_list(cmd->store, attempt, cmd->arena, &ret_ranks->placements,
                                &ret_ranks->count, err);
}

/* Most steps of a job change nothing of its run, which need not be read then. */
static bool run_may_differ(const struct job *before, const struct job *job)
{
    return job_run_state(before) != job_run_state(job) || before->cost_micro != job->cost_micro;
}

enum err_code jobs__begin(struct cmd *cmd, struct job *job, struct job_event *submitted,
                          struct err *err)
{
    submitted->kind = JOB_EVENT_SUBMITTED;
    submitted->at = cmd->now;
    submitted->actor = cmd_actor(cmd);
    TRY(job_apply(job, submitted, err));
    submitted->seq = job->event_count;
    TRY(store_job_insert(cmd->store, job, submitted, job_event_encode(submitted, cmd->arena), err));
    TRY(store_job_by_id(cmd->store, job->id, cmd->arena, job, err));
    cmd_notice(cmd, NOTICE_JOB, job->project, job->project_name, &job->public_id);
    return OK;
}

enum err_code jobs__happen(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                           struct job_event *event, struct err *err)
{
    struct attempt *attempt = ranks ? &ranks->attempt : NULL;
    struct job_actions actions;
    struct job before = *job;

    event->at = event->at == TIME_NONE ? cmd->now : event->at;
    event->actor = event->actor.data ? event->actor : cmd_actor(cmd);
    if (attempt)
        event->attempt = attempt->public_id;
    TRY(job_apply(job, event, err));
    event->seq = job->event_count;
    if (job_state_ended(job->state) && !job_state_ended(before.state)) {
        int64_t open = 0;
        TRY(store_project_open_jobs(cmd->store, job->project, -1, &open, err));
    }
    if (attempt) {
        attempt_apply(attempt, event, &before);
        if (event->kind == JOB_EVENT_ENDED || event->kind == JOB_EVENT_LOST)
            TRY(jobs__charge_end(cmd, job, attempt, err));
        TRY(store_attempt_put(cmd->store, attempt, err));
    }
    TRY(store_job_put(cmd->store, job, event, job_event_encode(event, cmd->arena), err));
    cmd_notice(cmd, NOTICE_JOB, job->project, job->project_name, &job->public_id);
    job_plan(job, attempt, &actions);
    for (size_t i = 0; i < actions.count; i++)
        if (actions.items[i].kind != JOB_ACTION_RUN_STATE || run_may_differ(&before, job))
            TRY(act(cmd, job, ranks, &actions.items[i], err));
    return OK;
}

static enum err_code put_all(struct cmd *cmd, const struct jobs_ranks *ranks, struct err *err)
{
    for (size_t i = 0; i < ranks->count; i++)
        TRY(store_placement_put(cmd->store, &ranks->placements[i], err));
    return OK;
}

enum err_code jobs__stop(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                         struct job_event *event, struct err *err)
{
    struct job_event last = {.kind = JOB_EVENT_FINAL, .at = cmd->now};

    event->at = event->at == TIME_NONE ? cmd->now : event->at;
    if (ranks) {
        ranks_stop(ranks->placements, ranks->count, event);
        TRY(put_all(cmd, ranks, err));
    }
    TRY(jobs__happen(cmd, job, ranks, event, err));
    if (!job_state_ended(job->state) || (ranks && !ranks->attempt.final))
        return OK;
    return jobs__happen(cmd, job, ranks, &last, err);
}

/* GPU time and cost follow from the run time of all nodes. */
static void price(const struct job *job, const struct attempt *attempt, struct job_event *event)
{
    if (event->kind != JOB_EVENT_ENDED && event->kind != JOB_EVENT_LOST)
        return;
    if (__builtin_mul_overflow(event->node_ms, job->need.gpus, &event->gpu_ms))
        event->gpu_ms = INT64_MAX;
    event->cost_micro = job_cost_micro(event->node_ms, attempt->price_hour_micro,
                                       attempt->price_gpu_hour_micro, job->need.gpus);
}

enum err_code jobs__said(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks, size_t which,
                         const struct job_event *said, struct err *err)
{
    struct job_event event, last = {.kind = JOB_EVENT_FINAL, .at = cmd->now};
    enum ranks_outcome outcome = ranks_apply(ranks->placements, ranks->count, which, said, &event);

    if (outcome == RANKS_NOTHING)
        return OK;
    if (outcome == RANKS_ALL)
        TRY(put_all(cmd, ranks, err));
    else
        TRY(store_placement_put(cmd->store, &ranks->placements[which], err));
    if (outcome == RANKS_ONE || !job_event_is_legal(job->state, event.kind))
        return OK;
    price(job, &ranks->attempt, &event);
    TRY(jobs__happen(cmd, job, ranks, &event, err));
    /* Nothing more comes of a lost rank, and perhaps nothing of the others either. */
    if (said->kind == JOB_EVENT_LOST && job_state_ended(job->state) &&
        ranks_all_final(ranks->placements, ranks->count))
        return jobs__happen(cmd, job, ranks, &last, err);
    return OK;
}
