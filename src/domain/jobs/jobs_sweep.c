/* What is overdue: offers nobody took, agents nobody heard of, records nobody closed. */
#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_act.h"
#include "domain/targets/targets.h"
#include "store/store_agent.h"

#define LOST_MAX 10000 /* of one agent */

static enum err_code silence_of(struct cmd *cmd, const struct placement *p, int64_t *ret_silent_ms,
                                struct err *err)
{
    struct agent agent;

    TRY(store_agent_by_id(cmd->store, p->agent, cmd->arena, &agent, err));
    lease_observe(cmd, &agent);
    *ret_silent_ms = lease_silent_ms(cmd, &agent.public_id);
    return OK;
}

static enum err_code withdraw(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                              const struct placement *of, struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_WITHDRAWN,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ending = ENDING_NOT_TAKEN,
        .actor = STR("system"),
        .reason = str_from(
            arena_printf(cmd->arena, "agent %.*s did not take the offer", STR_ARG(of->agent_name))),
    };

    return jobs__stop(cmd, job, ranks, &event, err);
}

/* An offer is withdrawn when its agent is silent, or when others of its gang have waited too long
 * for it. */
static enum err_code sweep_offer(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                                 struct err *err)
{
    for (size_t i = 0; i < ranks->count; i++) {
        const struct placement *p = &ranks->placements[i];
        int64_t silent;
        if (p->state != ATTEMPT_OFFERED)
            continue;
        TRY(silence_of(cmd, p, &silent, err));
        if (silent > cmd->domain->config.agent_silent_ms || ranks->count > 1)
            return withdraw(cmd, job, ranks, p, err);
    }
    return OK;
}

/* The record is closed as it is. */
static enum err_code sweep_record(struct cmd *cmd, struct job *job, struct jobs_ranks *ranks,
                                  struct err *err)
{
    struct job_event last = {.kind = JOB_EVENT_FINAL, .at = cmd->now, .actor = STR("system")};

    for (size_t i = 0; i < ranks->count; i++)
        if (!ranks->placements[i].final)
            TRY(jobs__said(cmd, job, ranks, i, &last, err));
    return OK;
}

static enum err_code sweep_overdue(struct cmd *cmd, struct err *err)
{
    const struct domain_config *config = &cmd->domain->config;
    struct attempt *attempts;
    size_t count = 0;

    TRY(store_attempt_overdue(cmd->store, cmd->now - config->final_within_ms,
                              cmd->now - config->offer_ms, cmd->arena, &attempts, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct jobs_ranks ranks;
        struct job job;
        TRY(store_job_by_id(cmd->store, attempts[i].job, cmd->arena, &job, err));
        TRY(jobs__ranks_get(cmd, attempts[i].id, &ranks, err));
        if (attempt_state_ended(attempts[i].state))
            TRY(sweep_record(cmd, &job, &ranks, err));
        else
            TRY(sweep_offer(cmd, &job, &ranks, err));
    }
    return OK;
}

static enum err_code lose(struct cmd *cmd, const struct placement *placement, int64_t silent_ms,
                          struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_LOST,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ending = ENDING_NODE_LOST,
        .actor = STR("system"),
        .reason =
            str_from(arena_printf(cmd->arena, "nothing was heard of agent %.*s for %lld s",
                                  STR_ARG(placement->agent_name), (long long)(silent_ms / 1000))),
    };
    struct jobs_ranks ranks;
    struct job job;

    if (placement->started != TIME_NONE)
        event.run_time_ms = MAX(cmd->now - placement->started, 0);
    TRY(jobs__ranks_get(cmd, placement->attempt, &ranks, err));
    TRY(store_job_by_id(cmd->store, ranks.attempt.job, cmd->arena, &job, err));
    for (size_t i = 0; i < ranks.count; i++)
        if (ranks.placements[i].id.v == placement->id.v)
            TRY(jobs__said(cmd, &job, &ranks, i, &event, err));
    return OK;
}

/* An agent that is silent for too long has lost all it holds. */
static enum err_code sweep_silent(struct cmd *cmd, struct err *err)
{
    struct agent *agents;
    size_t count = 0;

    TRY(store_agent_holding(cmd->store, AGENTS_MAX, cmd->arena, &agents, &count, err));
    for (size_t i = 0; i < count; i++) {
        struct placement *placements;
        size_t held = 0;
        int64_t silent;
        lease_observe(cmd, &agents[i]);
        silent = lease_silent_ms(cmd, &agents[i].public_id);
        if (silent <= cmd->domain->config.lost_after_ms)
            continue;
        TRY(store_placement_of_agent(cmd->store, agents[i].id, LOST_MAX, cmd->arena, &placements,
                                     &held, err));
        for (size_t k = 0; k < held; k++)
            if (!attempt_state_ended(placements[k].state))
                TRY(lose(cmd, &placements[k], silent, err));
    }
    return OK;
}

enum err_code jobs_sweep(struct cmd *cmd, struct err *err)
{
    TRY(sweep_overdue(cmd, err));
    return sweep_silent(cmd, err);
}
