/* Submitting, listing, cancelling and releasing jobs. */
#include "domain/jobs/jobs.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_shape.h"
#include "domain/jobs/jobs_state.h"
#include "domain/projects/projects.h"
#include "domain/runs/attributes.h"
#include "store/store_agent.h"
#include "store/store_log.h"
#include "store/store_queue.h"
#include "store/store_run.h"
#include "store/store_target.h"

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

static enum err_code check_queue(struct cmd *cmd, struct str name, struct job_queue *ret_queue,
                                 struct err *err)
{
    if (!name.len)
        name = STR(QUEUE_DEFAULT);
    if (store_queue_get(cmd->store, name, cmd->arena, ret_queue, err) != OK)
        return err_set_field(err, ERR_UNPROCESSABLE, "queue", "queue \"%.*s\" not found",
                             STR_ARG(name));
    if (ret_queue->draining)
        return err_set_field(err, ERR_CONFLICT, "queue",
                             "queue \"%.*s\" is drained: it takes nothing more", STR_ARG(name));
    return OK;
}

static enum err_code check_references(struct cmd *cmd, const struct project *project,
                                      const struct job_spec *spec, struct job_shape *ret_shape,
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
    if (target.id.v) {
        struct job_step *steps = arena_array(cmd->arena, 1, sizeof *steps);
        steps[0] = (struct job_step){.target = target.id};
        ret_shape->steps = steps;
        ret_shape->step_count = 1;
    }
    return OK;
}

enum err_code jobs_submit(struct cmd *cmd, const struct project *project,
                          const struct job_spec *spec, struct job *ret_job, bool *ret_created,
                          struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_SUBMITTED, .at = cmd->now};
    struct job_shape shape = {0};
    struct job_queue queue;
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
    TRY(check_queue(cmd, spec->queue, &queue, err));
    job = (struct job){
        .public_id = spec->id,
        .project = project->id,
        .queue = queue.id,
        .owner = cmd->who->user,
        .name = spec->name.data ? spec->name : arena_copy(cmd->arena, id_str(&spec->id)),
        .state = spec->held ? JOB_HELD : JOB_QUEUED,
        .kind = spec->kind,
        .priority = spec->priority,
        .spec = spec->spec,
        .node_count = spec->node_count,
        .need = spec->need,
        .timeout_s = spec->timeout_s   ? spec->timeout_s
                     : queue.timeout_s ? queue.timeout_s
                                       : JOB_TIMEOUT_S_DEFAULT,
        .grace_s = spec->grace_s,
        .retries = spec->retries,
        .retry_failed = spec->retry_failed,
        .created = cmd->now,
        .queued = spec->held ? TIME_NONE : cmd->now,
    };
    memcpy(job.create_hash, spec->hash, HASH_BYTES);
    TRY(check_references(cmd, project, spec, &shape, err));
    job.shape = job_shape_encode(&shape, cmd->arena);
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

enum err_code jobs_placements(struct cmd *cmd, attempt_id attempt,
                              struct placement **ret_placements, size_t *ret_count, struct err *err)
{
    return store_placement_list(cmd->store, attempt, cmd->arena, ret_placements, ret_count, err);
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
        .ending = ENDING_CANCELLED,
        .reason = str_from(arena_printf(cmd->arena, "cancelled by %.*s", STR_ARG(cmd->who->name))),
    };
    struct jobs_ranks ranks, *of = NULL;

    if (job->cancel_asked || !job_event_is_legal(job->state, JOB_EVENT_CANCEL))
        return OK; /* it is stopping or has ended: repeating changes nothing */
    if (job->attempt.v) {
        TRY(jobs__ranks_get(cmd, job->attempt, &ranks, err));
        of = &ranks;
    }
    TRY(jobs__stop(cmd, job, of, &event, err));
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
