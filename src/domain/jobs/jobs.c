/* Listing, cancelling and releasing jobs. */
#include "domain/jobs/jobs.h"

#include "base/json.h"
#include "domain/audit/audit.h"
#include "domain/jobs/jobs_act.h"
#include "domain/jobs/jobs_state.h"
#include "domain/projects/projects.h"

#define SPEC_BYTES_MAX   (16u * 1024 * 1024)
#define ELEMENTS_AT_ONCE 1000 /* of an array, read together */

enum err_code jobs_require(struct cmd *cmd, const struct id *id, enum role need,
                           struct job *ret_job, struct err *err)
{
    struct job job;

    if (store_job_get(cmd->store, id, cmd->arena, &job, NULL) != OK)
        TRY(store_job_array_first(cmd->store, id, cmd->arena, &job, err));
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

static enum err_code cancel(struct cmd *cmd, struct job *job, struct err *err)
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

    if (job->attempt.v) {
        TRY(jobs__ranks_get(cmd, job->attempt, &ranks, err));
        of = &ranks;
    }
    return jobs__stop(cmd, job, of, &event, err);
}

/* It is stopping or has ended otherwise: repeating changes nothing. */
static bool can_cancel(const struct job *job)
{
    return !job->cancel_asked && job_event_is_legal(job->state, JOB_EVENT_CANCEL);
}

static enum err_code audit_job(struct cmd *cmd, const struct id *id, const char *what,
                               struct err *err)
{
    return audit_add(cmd, str_from(arena_printf(cmd->arena, "job %s", id->text)), str_from(what),
                     err);
}

enum err_code jobs_cancel(struct cmd *cmd, struct job *job, struct err *err)
{
    if (!can_cancel(job))
        return OK;
    TRY(cancel(cmd, job, err));
    return audit_job(cmd, &job->public_id, "cancel asked", err);
}

static enum err_code release(struct cmd *cmd, struct job *job, struct err *err)
{
    struct job_event event = {.kind = JOB_EVENT_RELEASED, .at = cmd->now};

    return jobs__happen(cmd, job, NULL, &event, err);
}

static bool can_release(const struct job *job)
{
    return job_event_is_legal(job->state, JOB_EVENT_RELEASED);
}

enum err_code jobs_release(struct cmd *cmd, struct job *job, struct err *err)
{
    if (!can_release(job))
        return OK;
    TRY(release(cmd, job, err));
    return audit_job(cmd, &job->public_id, "released", err);
}

/* What happens to every element of an array for which it can. */
struct to_each {
    bool (*can)(const struct job *job);
    enum err_code (*happen)(struct cmd *cmd, struct job *job, struct err *err);
    const char *audit;
};

static enum err_code to_each(struct cmd *cmd, struct job *first, const struct to_each *what,
                             struct err *err)
{
    struct job_filter filter = {.array = id_str(&first->array_public_id),
                                .state = JOB_STATE_COUNT,
                                .open = true,
                                .everything = true,
                                .limit = ELEMENTS_AT_ONCE};
    bool any = false;
    size_t count = 0;

    do {
        struct job *jobs;
        TRY(store_job_list(cmd->store, &filter, cmd->arena, &jobs, &count, err));
        for (size_t i = 0; i < count; i++) {
            filter.before_id = jobs[i].id.v;
            if (!what->can(&jobs[i]))
                continue;
            any = true;
            TRY(what->happen(cmd, &jobs[i], err));
        }
    } while (count == ELEMENTS_AT_ONCE);
    if (any)
        TRY(audit_job(cmd, &first->array_public_id, what->audit, err));
    return store_job_by_id(cmd->store, first->id, cmd->arena, first, err);
}

enum err_code jobs_cancel_array(struct cmd *cmd, struct job *job, struct err *err)
{
    return to_each(cmd, job, &(struct to_each){can_cancel, cancel, "cancel asked of all"}, err);
}

enum err_code jobs_release_array(struct cmd *cmd, struct job *job, struct err *err)
{
    return to_each(cmd, job, &(struct to_each){can_release, release, "all released"}, err);
}

enum err_code jobs_array_states(struct cmd *cmd, const struct id *array,
                                int64_t ret_counts[JOB_STATE_COUNT], struct err *err)
{
    return store_job_array_states(cmd->store, array, ret_counts, err);
}

enum err_code jobs_array_healthy(struct cmd *cmd, const struct job *first, int64_t *ret_count,
                                 struct err *err)
{
    *ret_count = -1;
    if (first->kind != JOB_SERVICE || !jobs_spec_member(cmd, first, "health").len)
        return OK;
    return store_job_array_healthy(cmd->store, &first->array_public_id, ret_count, err);
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
