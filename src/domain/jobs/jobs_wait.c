/* What the job's own state says comes first; else what the scheduler said of it last. */
#include "domain/jobs/jobs_wait.h"

#include "domain/jobs/jobs_references.h"
#include "domain/projects/projects.h"
#include "store/store_agent.h"
#include "store/store_queue.h"
#include "store/store_share.h"
#include "store/store_target.h"

static enum err_code name_them(struct cmd *cmd, struct job_wait *w, struct err *err)
{
    struct target target;
    struct job job;

    if (w->wait.share.v)
        TRY(store_share_name(cmd->store, w->wait.share, cmd->arena, &w->share, err));
    if (w->wait.queue.v)
        TRY(store_queue_name(cmd->store, w->wait.queue, cmd->arena, &w->queue, err));
    if (w->wait.target.v &&
        store_target_by_id(cmd->store, w->wait.target, cmd->arena, &target, NULL) == OK)
        w->target = target.name;
    if (w->wait.code == WAIT_MAINTENANCE && w->target.len &&
        !target_in_maintenance(&target, cmd->now))
        w->target = STR(""); /* it is not the target that rests, but machines of it */
    if (w->wait.job.v && store_job_by_id(cmd->store, w->wait.job, cmd->arena, &job, NULL) == OK)
        w->job = job.public_id;
    return store_trouble(cmd->store, err);
}

enum err_code jobs_wait(struct cmd *cmd, const struct job *job, bool *ret_waits,
                        struct job_wait *ret_wait, struct err *err)
{
    const struct waits_port *waits = &cmd->domain->waits;
    struct job_wait w = {
        .wait = {.resource = RESOURCE_NONE, .until = TIME_NONE, .start_estimate = TIME_NONE}};

    *ret_waits = job->state == JOB_HELD || job->state == JOB_QUEUED || job->state == JOB_OFFERED;
    if (!*ret_waits)
        return OK;
    if (job->state == JOB_HELD)
        w.wait.code = WAIT_HELD;
    else if (job->state == JOB_OFFERED)
        w.wait.code = WAIT_OFFERED;
    else if (!waits->find || !waits->find(waits->ctx, job->id, &w.wait))
        w.wait.code = WAIT_NOT_LOOKED;
    TRY(name_them(cmd, &w, err));
    *ret_wait = w;
    return OK;
}

static bool ask(struct cmd *cmd, const struct forecast_question *question,
                struct forecast *ret_forecast)
{
    const struct waits_port *waits = &cmd->domain->waits;

    return waits->forecast && waits->forecast(waits->ctx, question, cmd->arena, ret_forecast);
}

enum err_code jobs_why(struct cmd *cmd, const struct job *job, bool *ret_waits,
                       struct job_wait *ret_wait, struct err *err)
{
    struct forecast_question question = {.job = job->id};
    struct forecast forecast;

    TRY(jobs_wait(cmd, job, ret_waits, ret_wait, err));
    if (job->state != JOB_QUEUED || job->attempt.v ||
        ret_wait->wait.start_estimate != TIME_NONE || /* the last pass knows already */
        !ask(cmd, &question, &forecast) || forecast.starts)
        return OK;
    *ret_wait = (struct job_wait){.wait = forecast.wait};
    return name_them(cmd, ret_wait, err);
}

/* Those of them that the caller may see. */
static enum err_code read_passed(struct cmd *cmd, struct job_forecast *f, struct err *err)
{
    f->passed = arena_array(cmd->arena, f->forecast.passed_count, sizeof(f->passed[0]));
    for (size_t i = 0; i < f->forecast.passed_count; i++) {
        struct job *job = &f->passed[f->passed_count];
        enum role role = ROLE_NONE;
        if (store_job_by_id(cmd->store, f->forecast.passed[i], cmd->arena, job, NULL) == OK)
            TRY(projects_role(cmd, job->project, &role, err));
        f->passed_count += role != ROLE_NONE;
    }
    return store_trouble(cmd->store, err);
}

static enum err_code name_forecast(struct cmd *cmd, struct job_forecast *f, struct err *err)
{
    f->wait.wait = f->forecast.wait;
    return f->known && !f->forecast.starts ? name_them(cmd, &f->wait, err) : OK;
}

enum err_code jobs_forecast_priority(struct cmd *cmd, const struct job *job, int64_t priority,
                                     struct job_forecast *ret_forecast, struct err *err)
{
    struct forecast_question question = {
        .job = job->id, .has_priority = true, .priority = priority};
    struct job_forecast f = {0};

    f.known = job->state == JOB_QUEUED && ask(cmd, &question, &f.forecast);
    TRY(name_forecast(cmd, &f, err));
    TRY(read_passed(cmd, &f, err));
    *ret_forecast = f;
    return OK;
}

/* What keeps it from being looked at as soon as it is there; WAIT_CODE_COUNT: nothing. */
static enum wait_code waits_by_itself(const struct job_spec *spec, size_t before_count)
{
    return spec->held ? WAIT_HELD : before_count ? WAIT_AFTER : WAIT_CODE_COUNT;
}

enum err_code jobs_forecast_submit(struct cmd *cmd, const struct project *project,
                                   const struct job_spec *spec, struct job_forecast *ret_forecast,
                                   struct err *err)
{
    struct job_references refs = {0};
    struct forecast_question question = {0};
    struct job_forecast f = {
        .forecast = {
            .wait = {.resource = RESOURCE_NONE, .until = TIME_NONE, .start_estimate = TIME_NONE}}};
    enum wait_code code;
    struct job job;

    TRY(jobs__references(cmd, project, spec, &refs, err));
    job = jobs__job_of(cmd, project, spec, &refs);
    code = waits_by_itself(spec, refs.before_count);
    question.fresh = &job;
    f.known = true;
    if (code == WAIT_CODE_COUNT) {
        f.known = ask(cmd, &question, &f.forecast);
    } else {
        f.forecast.wait.code = code;
        f.forecast.wait.asked = (int64_t)refs.before_count;
        f.forecast.wait.job = refs.before_count ? refs.before[0].job : (job_id){0};
    }
    TRY(name_forecast(cmd, &f, err));
    *ret_forecast = f;
    return OK;
}
