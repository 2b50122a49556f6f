/* Carrying out what the scheduler decided: offers and evictions, as long as what it saw still
 * holds. */
#include "domain/identity/identity.h"
#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_snapshot.h"
#include "domain/jobs/jobs_state.h"
#include "store/store_agent.h"
#include "store/store_run.h"
#include "store/store_target.h"

static enum err_code place(struct cmd *cmd, const struct jobs_start *start, struct attempt *attempt,
                           struct jobs_ranks *ret_ranks, struct err *err)
{
    struct placement *placements = arena_array(cmd->arena, start->agent_count, sizeof *placements);
    char token[WIRE_TOKEN_LEN + 1]; /* never leaves: the agent gets a fresh one with the offer */
    size_t count = 0;
    struct run run;

    TRY(store_run_by_id(cmd->store, attempt->run, cmd->arena, &run, err));
    for (size_t i = 0; i < start->agent_count; i++) {
        struct agent agent;
        if (count && placements[count - 1].agent.v == start->agents[i].v) {
            placements[count - 1].rank_count++;
            continue;
        }
        TRY(store_agent_by_id(cmd->store, start->agents[i], cmd->arena, &agent, err));
        placements[count] = (struct placement){
            .attempt = attempt->id,
            .rank = (int64_t)i,
            .rank_count = 1,
            .agent = agent.id,
            .agent_name = agent.name,
            .agent_public_id = agent.public_id,
            .state = ATTEMPT_OFFERED,
            .started = TIME_NONE,
            .ended = TIME_NONE,
            .exit_code = EXIT_NONE,
            .exit_signal = EXIT_NONE,
            .reason = STR(""),
            .console_start = run.console_bytes,
        };
        token_make(token, placements[count].token_hash);
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        TRY(store_placement_insert(cmd->store, &placements[i], err));
        cmd_notice(cmd, NOTICE_POKE, (project_id){0}, STR(""), &placements[i].agent_public_id);
    }
    *ret_ranks = (struct jobs_ranks){*attempt, placements, count};
    return OK;
}

static enum err_code offer(struct cmd *cmd, const struct jobs_start *start, struct job *job,
                           struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_OFFERED, .at = cmd->now, .actor = STR("system")};
    struct jobs_ranks ranks;
    struct attempt attempt;
    struct target target;

    TRY(store_target_by_id(cmd->store, start->target, cmd->arena, &target, err));
    attempt = (struct attempt){
        .public_id = random_port_id(&cmd->domain->random, ID_ATTEMPT),
        .job = job->id,
        .run = job->run,
        .number = job->attempt_count + 1,
        .state = ATTEMPT_OFFERED,
        .target = target.id,
        .target_name = target.name,
        .step = start->step,
        .offered = cmd->now,
        .started = TIME_NONE,
        .ended = TIME_NONE,
        .charged = TIME_NONE,
        .price_hour_micro = target.price_hour_micro,
        .price_gpu_hour_micro = target.price_gpu_hour_micro,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
        .health_since = TIME_NONE,
        .health_problem = STR(""),
    };
    TRY(store_attempt_insert(cmd->store, &attempt, err));
    job->attempt = attempt.id;
    TRY(place(cmd, start, &attempt, &ranks, err));
    return jobs__happen(cmd, job, &ranks, &event, err);
}

enum err_code jobs_start(struct cmd *cmd, const struct jobs_start *starts, size_t count,
                         struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct job job;
        bool holds = store_job_by_id(cmd->store, starts[i].job, cmd->arena, &job, NULL) == OK &&
                     job.state == JOB_QUEUED && job.attempt.v == 0 &&
                     job.event_count == starts[i].version;
        TRY(store_trouble(cmd->store, err));
        if (!holds)
            continue; /* cancelled, held or changed a moment ago */
        TRY(offer(cmd, &starts[i], &job, err));
    }
    return OK;
}

static enum err_code evict(struct cmd *cmd, const struct jobs_evict *evict, struct job *job,
                           struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_EVICT,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .ending = evict->ending,
        .actor = STR("system"),
        .reason = STR(""),
    };
    struct jobs_ranks ranks;
    struct job winner;

    if (evict->for_job.v &&
        store_job_by_id(cmd->store, evict->for_job, cmd->arena, &winner, NULL) == OK)
        event.reason = str_from(arena_printf(cmd->arena, "for job %s", winner.public_id.text));
    TRY(jobs__ranks_get(cmd, evict->attempt, &ranks, err));
    return jobs__stop(cmd, job, &ranks, &event, err);
}

enum err_code jobs_evict(struct cmd *cmd, const struct jobs_evict *evicts, size_t count,
                         struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct job job;
        bool holds = store_job_by_id(cmd->store, evicts[i].job, cmd->arena, &job, NULL) == OK &&
                     job.attempt.v == evicts[i].attempt.v &&
                     job_event_is_legal(job.state, JOB_EVENT_EVICT);
        TRY(store_trouble(cmd->store, err));
        if (holds)
            TRY(evict(cmd, &evicts[i], &job, err));
    }
    return OK;
}

enum err_code jobs_end_broken(struct cmd *cmd, const job_id *jobs, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct job_event event = {
            .kind = JOB_EVENT_CANCEL,
            .at = cmd->now,
            .exit_code = EXIT_NONE,
            .exit_signal = EXIT_NONE,
            .ending = ENDING_AFTER,
            .actor = STR("system"),
            .reason = STR("a job that it comes after did not succeed"),
        };
        struct job job;
        bool waits = store_job_by_id(cmd->store, jobs[i], cmd->arena, &job, NULL) == OK &&
                     (job.state == JOB_QUEUED || job.state == JOB_HELD) && job.attempt.v == 0;
        TRY(store_trouble(cmd->store, err));
        if (waits)
            TRY(jobs__stop(cmd, &job, NULL, &event, err));
    }
    return OK;
}
