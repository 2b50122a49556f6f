/* Submitting, listing, cancelling, scheduling and sweeping jobs. */
#include "domain/jobs/jobs.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_state.h"
#include "domain/projects/projects.h"
#include "domain/runs/attributes.h"
#include "domain/targets/targets.h"
#include "store/store_agent.h"
#include "store/store_log.h"
#include "store/store_run.h"

#define QUEUE_LOOK_MAX 10000
#define SWEEP_MAX      1000
#define SPEC_BYTES_MAX (16u * 1024 * 1024)

static enum err_code make_run(struct cmd *cmd, const struct project *project,
                              const struct job_spec *spec, struct run *ret_run, struct err *err)
{
    struct run_spec run_spec = {
        .id = spec->run,
        .name = spec->name,
        .notes = spec->notes,
        .tags = spec->tags,
        .command = spec->command,
        .created = TIME_NONE,
        .job = spec->id,
    };
    bool created = false;

    memcpy(run_spec.hash, spec->hash, HASH_BYTES);
    TRY(runs_create(cmd, project->id, project->name, &run_spec, ret_run, &created, err));
    if (!created)
        return err_set_field(err, ERR_CONFLICT, "run", "run %s exists already", spec->run.text);
    if (spec->config.len)
        TRY(attributes_doc_set(cmd, ret_run->id, RUN_DOC_CONFIG, spec->config, err));
    if (spec->git.len)
        TRY(attributes_doc_set(
            cmd, ret_run->id, RUN_DOC_CODE,
            str_from(arena_printf(cmd->arena, "{\"git\":%.*s}", STR_ARG(spec->git))), err));
    return OK;
}

static enum err_code check_references(struct cmd *cmd, const struct project *project,
                                      const struct job_spec *spec, target_id *ret_target,
                                      struct err *err)
{
    struct target target = {0};
    int64_t bytes = 0;

    if (spec->target.len &&
        store_target_get(cmd->store, spec->target, cmd->arena, &target, err) != OK)
        return err_set_field(err, ERR_UNPROCESSABLE, "spec.target", "target \"%.*s\" not found",
                             STR_ARG(spec->target));
    if (spec->code.len && store_blob_get(cmd->store, project->id, spec->code, &bytes, err) != OK)
        return err_set_field(err, ERR_UNPROCESSABLE, "spec.code",
                             "this project has no file with digest %.*s", STR_ARG(spec->code));
    *ret_target = target.id;
    return OK;
}

enum err_code jobs_submit(struct cmd *cmd, const struct project *project,
                          const struct job_spec *spec, struct job *ret_job, bool *ret_created,
                          struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_SUBMITTED, .at = cmd->now};
    struct job job;
    struct run run;

    if (store_job_get(cmd->store, &spec->id, cmd->arena, &job, NULL) == OK) {
        if (job.project.v != project->id.v || memcmp(job.create_hash, spec->hash, HASH_BYTES) != 0)
            return err_set(err, ERR_CONFLICT, "job %s exists already, made with another body",
                           spec->id.text);
        *ret_job = job;
        *ret_created = false;
        return OK;
    }
    job = (struct job){
        .public_id = spec->id,
        .project = project->id,
        .owner = cmd->who->user,
        .name = spec->name.data ? spec->name : arena_copy(cmd->arena, id_str(&spec->id)),
        .state = spec->held ? JOB_HELD : JOB_QUEUED,
        .priority = spec->priority,
        .spec = spec->spec,
        .need = spec->need,
        .timeout_s = spec->timeout_s,
        .grace_s = spec->grace_s,
        .retries = spec->retries,
        .created = cmd->now,
        .queued = spec->held ? TIME_NONE : cmd->now,
    };
    memcpy(job.create_hash, spec->hash, HASH_BYTES);
    TRY(check_references(cmd, project, spec, &job.target, err));
    TRY(make_run(cmd, project, spec, &run, err));
    job.run = run.id;
    TRY(store_job_insert(cmd->store, &job, err));
    TRY(store_job_by_id(cmd->store, job.id, cmd->arena, &job, err));
    TRY(jobs__happen(cmd, &job, NULL, &event, err));
    TRY(audit_add(cmd, str_from(arena_printf(cmd->arena, "job %s", spec->id.text)), job.name, err));
    *ret_job = job;
    *ret_created = true;
    return OK;
}

enum err_code jobs_require(struct cmd *cmd, const struct id *id, enum role need,
                           struct job *ret_job, struct err *err)
{
    struct job job;

    TRY(store_job_get(cmd->store, id, cmd->arena, &job, err));
    TRY(projects_require_for(cmd, job.project, need, "job", id->text, err));
    *ret_job = job;
    return OK;
}

enum err_code jobs_list(struct cmd *cmd, struct job_filter *filter, struct job **ret_jobs,
                        size_t *ret_count, struct err *err)
{
    filter->user = cmd->who->user;
    filter->everything = cmd->who->admin;
    return store_job_list(cmd->store, filter, cmd->arena, ret_jobs, ret_count, err);
}

enum err_code jobs_attempts(struct cmd *cmd, job_id job, struct attempt **ret_attempts,
                            size_t *ret_count, struct err *err)
{
    return store_attempt_list(cmd->store, job, cmd->arena, ret_attempts, ret_count, err);
}

enum err_code jobs_events(struct cmd *cmd, job_id job, int64_t after_seq, int limit,
                          struct job_event_row **ret_events, size_t *ret_count, struct err *err)
{
    return store_job_event_list(cmd->store, job, after_seq, limit, cmd->arena, ret_events,
                                ret_count, err);
}

enum err_code jobs_cancel(struct cmd *cmd, struct job *job, struct err *err)
{
    struct job_event event = {
        .kind = JOB_EVENT_CANCEL,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = str_from(arena_printf(cmd->arena, "cancelled by %.*s", STR_ARG(cmd->who->name))),
    };
    struct job_event last = {.kind = JOB_EVENT_FINAL, .at = cmd->now};
    struct attempt attempt, *of = NULL;

    if (!job_event_is_legal(job->state, JOB_EVENT_CANCEL))
        return OK; /* it is stopping or has ended: repeating changes nothing */
    if (job->attempt.v) {
        TRY(store_attempt_by_id(cmd->store, job->attempt, cmd->arena, &attempt, err));
        of = &attempt;
    }
    TRY(jobs__happen(cmd, job, of, &event, err));
    if (job_state_ended(job->state))
        TRY(jobs__happen(cmd, job, of, &last, err));
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "job %s", job->public_id.text)),
                     STR("cancel asked"), err);
}

enum err_code jobs_release(struct cmd *cmd, struct job *job, struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_RELEASED, .at = cmd->now};

    if (!job_event_is_legal(job->state, JOB_EVENT_RELEASED))
        return OK;
    TRY(jobs__happen(cmd, job, NULL, &event, err));
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "job %s", job->public_id.text)),
                     STR("released"), err);
}

enum err_code jobs_delete_of_run(struct cmd *cmd, const struct run *run, struct err *err)
{
    struct job job;

    if (!run->job_public_id.text[0])
        return OK;
    TRY(store_job_get(cmd->store, &run->job_public_id, cmd->arena, &job, err));
    if (!job_state_ended(job.state))
        return err_set(err, ERR_CONFLICT, "run %s belongs to job %s, which is %s",
                       run->public_id.text, job.public_id.text, job_state_name(job.state));
    cmd_notice(cmd, NOTICE_JOB, job.project, job.project_name, &job.public_id);
    return store_job_delete(cmd->store, job.id, err);
}

static int64_t known_silence_ms(struct cmd *cmd, const struct agent *agent)
{
    if (agent->seen == TIME_NONE)
        return INT64_MAX;
    lease_observe(cmd, agent);
    return lease_silent_ms(cmd, &agent->public_id);
}

/* Everything the scheduler looks at. On a read connection leases are not at hand: there an agent
 * is live by its last call on the wall clock. */
static enum err_code snapshot(struct cmd *cmd, bool by_lease, struct first_snapshot *ret,
                              struct err *err)
{
    struct first_agent *agents;
    struct first_job *jobs;
    struct agent *have;
    struct job *queue;
    size_t agent_count = 0, job_count = 0;

    TRY(store_agent_list(cmd->store, (agent_id){0}, AGENTS_MAX, cmd->arena, &have, &agent_count,
                         err));
    TRY(store_job_queue(cmd->store, QUEUE_LOOK_MAX, cmd->arena, &queue, &job_count, err));
    agents = arena_array(cmd->arena, agent_count, sizeof *agents);
    jobs = arena_array(cmd->arena, job_count, sizeof *jobs);
    for (size_t i = 0; i < agent_count; i++) {
        const struct agent *a = &have[i];
        int64_t silent = a->seen == TIME_NONE ? INT64_MAX
                         : by_lease           ? known_silence_ms(cmd, a)
                                              : cmd->now - a->seen;
        agents[i] = (struct first_agent){
            .id = a->id,
            .target = a->target,
            .live = silent <= cmd->domain->config.agent_silent_ms,
            .slots_free = a->slots - a->running,
            .free = {a->cpus - a->cpus_used, a->gpus - a->gpus_used,
                     a->memory_bytes - a->memory_used},
            .total = {a->cpus, a->gpus, a->memory_bytes},
        };
    }
    for (size_t i = 0; i < job_count; i++)
        jobs[i] = (struct first_job){queue[i].id, queue[i].priority, queue[i].queued, queue[i].need,
                                     queue[i].target};
    *ret = (struct first_snapshot){jobs, job_count, agents, agent_count};
    return OK;
}

enum err_code jobs_waits(struct cmd *cmd, struct first_wait **ret_waits, size_t *ret_count,
                         struct err *err)
{
    struct first_snapshot s;
    struct first_result result;

    TRY(snapshot(cmd, false, &s, err));
    first_run(&s, cmd->arena, &result);
    *ret_waits = result.waits;
    *ret_count = result.wait_count;
    return OK;
}

static enum err_code offer(struct cmd *cmd, const struct first_start *start, struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_OFFERED, .at = cmd->now};
    char token[44]; /* never leaves: the agent gets a fresh one with the offer */
    struct attempt attempt;
    struct target target;
    struct agent agent;
    struct run run;
    struct job job;

    TRY(store_job_by_id(cmd->store, start->job, cmd->arena, &job, err));
    TRY(store_agent_by_id(cmd->store, start->agent, cmd->arena, &agent, err));
    TRY(store_target_by_id(cmd->store, agent.target, cmd->arena, &target, err));
    TRY(store_run_by_id(cmd->store, job.run, cmd->arena, &run, err));
    attempt = (struct attempt){
        .public_id = random_port_id(&cmd->domain->random, ID_ATTEMPT),
        .job = job.id,
        .run = job.run,
        .number = job.attempt_count + 1,
        .state = ATTEMPT_OFFERED,
        .agent = agent.id,
        .agent_name = agent.name,
        .target = target.id,
        .target_name = target.name,
        .offered = cmd->now,
        .started = TIME_NONE,
        .ended = TIME_NONE,
        .price_hour_micro = target.price_hour_micro,
        .price_gpu_hour_micro = target.price_gpu_hour_micro,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
        .console_start = run.console_bytes,
    };
    token_make(token, attempt.token_hash);
    TRY(store_attempt_insert(cmd->store, &attempt, err));
    job.attempt = attempt.id;
    TRY(jobs__happen(cmd, &job, &attempt, &event, err));
    cmd_notice(cmd, NOTICE_POKE, (project_id){0}, STR(""), &agent.public_id);
    return OK;
}

enum err_code jobs_schedule(struct cmd *cmd, struct err *err)
{
    struct first_snapshot s;
    struct first_result result;

    TRY(snapshot(cmd, true, &s, err));
    if (s.job_count == 0)
        return OK;
    first_run(&s, cmd->arena, &result);
    for (size_t i = 0; i < result.start_count; i++)
        TRY(offer(cmd, &result.starts[i], err));
    return OK;
}

static enum err_code sweep_lost(struct cmd *cmd, struct attempt *attempt, struct job *job,
                                const char *why, struct err *err)
{
    struct job_event event = {
        .kind = attempt->state == ATTEMPT_OFFERED ? JOB_EVENT_WITHDRAWN : JOB_EVENT_LOST,
        .at = cmd->now,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = str_from(why),
    };
    struct job_event last = {.kind = JOB_EVENT_FINAL, .at = cmd->now};

    if (attempt->started != TIME_NONE)
        event.run_time_ms = MAX(cmd->now - attempt->started, 0);
    event.gpu_ms = event.run_time_ms * job->need.gpus;
    event.cost_micro = job_cost_micro(event.run_time_ms, attempt->price_hour_micro,
                                      attempt->price_gpu_hour_micro, job->need.gpus);
    TRY(jobs__happen(cmd, job, attempt, &event, err));
    return job_state_ended(job->state) ? jobs__happen(cmd, job, attempt, &last, err) : OK;
}

static enum err_code sweep_one(struct cmd *cmd, struct attempt *attempt, struct err *err)
{
    const struct domain_config *config = &cmd->domain->config;
    struct job_event last = {.kind = JOB_EVENT_FINAL, .at = cmd->now};
    struct agent agent;
    struct job job;
    int64_t silent;

    TRY(store_job_by_id(cmd->store, attempt->job, cmd->arena, &job, err));
    TRY(store_agent_by_id(cmd->store, attempt->agent, cmd->arena, &agent, err));
    lease_observe(cmd, &agent);
    silent = lease_silent_ms(cmd, &agent.public_id);
    if (attempt_state_ended(attempt->state)) {
        if (cmd->now - attempt->ended > config->final_within_ms)
            return jobs__happen(cmd, &job, attempt, &last, err);
        return OK;
    }
    if (attempt->state == ATTEMPT_OFFERED && silent > config->agent_silent_ms &&
        cmd->now - attempt->offered > config->offer_ms)
        return sweep_lost(cmd, attempt, &job, "the agent did not take the offer", err);
    if (attempt->state != ATTEMPT_OFFERED && silent > config->lost_after_ms)
        return sweep_lost(cmd, attempt, &job,
                          arena_printf(cmd->arena, "nothing was heard of agent %.*s for %lld s",
                                       STR_ARG(agent.name), (long long)(silent / 1000)),
                          err);
    return OK;
}

enum err_code jobs_sweep(struct cmd *cmd, struct err *err)
{
    struct attempt *attempts;
    attempt_id after = {0};
    size_t count = 0;

    do {
        TRY(store_attempt_open(cmd->store, (agent_id){0}, after, SWEEP_MAX, cmd->arena, &attempts,
                               &count, err));
        for (size_t i = 0; i < count; i++)
            TRY(sweep_one(cmd, &attempts[i], err));
        if (count)
            after = attempts[count - 1].id;
    } while (count == SWEEP_MAX);
    return OK;
}

struct str jobs_spec_member(struct cmd *cmd, const struct job *job, const char *name)
{
    CLEANUP(json_release) json_t *spec = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    json_t *member;

    if (json_parse(job->spec, SPEC_BYTES_MAX, &spec, NULL) != OK)
        return (struct str){0};
    member = json_object_get(spec, name);
    if (!member)
        return (struct str){0};
    buf_init(&out, SPEC_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, member);
    return arena_copy(cmd->arena, buf_str(&out));
}
