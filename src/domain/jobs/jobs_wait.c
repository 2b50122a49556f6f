/* What the job's own state says comes first; else what the scheduler said of it last. */
#include "domain/jobs/jobs_wait.h"

#include "domain/jobs/jobs.h"
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

enum err_code jobs_why(struct cmd *cmd, const struct job *job, bool *ret_waits,
                       struct job_wait *ret_wait, struct err *err)
{
    const struct waits_port *waits = &cmd->domain->waits;

    TRY(jobs_wait(cmd, job, ret_waits, ret_wait, err));
    if (job->state == JOB_QUEUED && job->attempt.v == 0 && waits->estimate &&
        ret_wait->wait.start_estimate == TIME_NONE)
        ret_wait->wait.start_estimate = waits->estimate(waits->ctx, job->id);
    return OK;
}
