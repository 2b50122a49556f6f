/* Lists of waiting jobs by rank. The order is that of the scheduler's last pass; what has started
 * since is left out. Only what is shown is read from the store. */
#include "domain/jobs/jobs.h"

#include "domain/projects/projects.h"
#include "store/store_project.h"

#define PLACES_AT_ONCE 4096

/* A project that was met, and whether its jobs are shown. */
struct met {
    project_id project;
    bool shown;
};

struct ranked {
    struct cmd *cmd;
    const struct job_filter *filter;
    project_id only; /* 0: all */
    struct met *met;
    size_t met_count, met_room;
    job_id *arrays; /* that have their line */
    size_t array_count;
    struct job *jobs;
    size_t count;
};

static enum err_code is_shown(struct ranked *r, project_id project, bool *ret_shown,
                              struct err *err)
{
    enum role role = ROLE_NONE;

    *ret_shown = false;
    if (r->only.v && r->only.v != project.v)
        return OK;
    for (size_t i = 0; i < r->met_count; i++)
        if (r->met[i].project.v == project.v) {
            *ret_shown = r->met[i].shown;
            return OK;
        }
    TRY(projects_role(r->cmd, project, &role, err));
    *ret_shown = role != ROLE_NONE;
    r->met = arena_more(r->cmd->arena, r->met, r->met_count, &r->met_room, sizeof *r->met);
    r->met[r->met_count++] = (struct met){project, *ret_shown};
    return OK;
}

static bool has_line(const struct ranked *r, job_id array)
{
    for (size_t i = r->array_count; i > 0; i--) /* the elements of an array often lie together */
        if (r->arrays[i - 1].v == array.v)
            return true;
    return false;
}

static enum err_code look(struct ranked *r, const struct wait_place *place, struct err *err)
{
    struct job *job = &r->jobs[r->count];
    bool shown = false;

    TRY(is_shown(r, place->project, &shown, err));
    if (!shown || (r->filter->fold && place->array.v && has_line(r, place->array)))
        return OK;
    if (store_job_by_id(r->cmd->store, place->job, r->cmd->arena, job, NULL) != OK)
        return store_trouble(r->cmd->store, err);
    if (job->state != JOB_QUEUED)
        return OK;
    if (place->array.v)
        r->arrays[r->array_count++] = place->array;
    r->count++;
    return OK;
}

enum err_code jobs_list_ranked(struct cmd *cmd, const struct job_filter *filter, int64_t *passed,
                               struct job **ret_jobs, size_t *ret_count, struct err *err)
{
    const struct waits_port *waits = &cmd->domain->waits;
    size_t limit = (size_t)filter->limit, found = waits->ranked ? 1 : 0;
    struct wait_place *places = arena_array(cmd->arena, PLACES_AT_ONCE, sizeof *places);
    struct ranked r = {.cmd = cmd,
                       .filter = filter,
                       .arrays = arena_array(cmd->arena, limit, sizeof(job_id)),
                       .jobs = arena_array(cmd->arena, limit, sizeof(struct job))};

    if (filter->project.len) {
        struct project project;
        TRY(projects_require(cmd, filter->project, ROLE_VIEWER, &project, err));
        r.only = project.id;
    }
    while (found && r.count < limit) {
        found = waits->ranked(waits->ctx, *passed, places, PLACES_AT_ONCE);
        for (size_t i = 0; i < found && r.count < limit; i++, (*passed)++)
            TRY(look(&r, &places[i], err));
    }
    if (!found)
        *passed = 0;
    *ret_jobs = r.jobs;
    *ret_count = r.count;
    return OK;
}

enum err_code jobs_array_next(struct cmd *cmd, const struct job *job, struct job *ret_job,
                              struct err *err)
{
    bool found = false;

    TRY(store_job_array_next(cmd->store, &job->array_public_id, cmd->arena, ret_job, &found, err));
    if (!found)
        *ret_job = *job;
    return OK;
}
