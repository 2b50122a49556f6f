/* Retention. Old runs are found as everybody finds runs: by a filter. */
#include "domain/jobs/jobs_retain.h"

#include "domain/jobs/jobs.h"
#include "domain/runs/runs.h"
#include "domain/runs/table.h"
#include "store/store_project.h"

#define RUNS_A_TURN 20

static enum err_code retain_project(struct cmd *cmd, const struct project *project, bool *ret_more,
                                    struct err *err)
{
    const char *filter = arena_printf(cmd->arena,
                                      "ended < %lldd ago and tags != " RETAIN_TAG
                                      " and state not in (running, pending)",
                                      (long long)project->retain_days);
    struct table_query query = {
        .find = {.project = project->id, .filter = str_from(filter), .state = RUN_STATE_COUNT},
        .sort = STR("ended"),
        .limit = RUNS_A_TURN,
    };
    struct table_page page;

    TRY(table_list(cmd, &query, &page, err));
    for (size_t i = 0; i < page.count; i++) {
        TRY(jobs_delete_of_run(cmd, &page.runs[i], err));
        TRY(runs_delete(cmd, &page.runs[i], err));
    }
    *ret_more = *ret_more || page.next_cursor;
    return OK;
}

enum err_code jobs_retain(struct cmd *cmd, bool *ret_more, struct err *err)
{
    struct project *projects;
    size_t count = 0;

    *ret_more = false;
    cmd->operation = "retain";
    TRY(store_project_retaining(cmd->store, cmd->arena, &projects, &count, err));
    for (size_t i = 0; i < count; i++)
        TRY(retain_project(cmd, &projects[i], ret_more, err));
    return OK;
}
