/* Projects and members in the store. thread: owner of the store; may block */
#pragma once

#include "model/project.h"
#include "store/store.h"

MUST_CHECK enum err_code store_project_insert(struct store *store, struct project *project,
                                              struct err *err);
MUST_CHECK enum err_code store_project_get(struct store *store, struct str name,
                                           struct arena *arena, struct project *ret_project,
                                           struct err *err);
/* Fills run_count, running_count, last_run and cost_micro. */
MUST_CHECK enum err_code store_project_numbers(struct store *store, struct project *project,
                                               struct err *err);
/* By name, after `after`; those of which the user is a member, or all when user is 0. */
MUST_CHECK enum err_code store_project_list(struct store *store, user_id user, bool everything,
                                            struct str after, int limit, struct arena *arena,
                                            struct project **ret_projects, size_t *ret_count,
                                            struct err *err);
MUST_CHECK enum err_code store_project_update(struct store *store, const struct project *project,
                                              struct err *err);
/* With members and metric names; the caller has made sure that no run is left. */
/* Id and retain_days of the projects that delete old runs. */
MUST_CHECK enum err_code store_project_retaining(struct store *store, struct arena *arena,
                                                 struct project **ret_projects, size_t *ret_count,
                                                 struct err *err);
MUST_CHECK enum err_code store_project_delete(struct store *store, project_id id, struct err *err);

/* ROLE_NONE when the user is no member. */
MUST_CHECK enum err_code store_member_role(struct store *store, project_id project, user_id user,
                                           enum role *ret_role, struct err *err);
/* The projects in which a user has a role, by rising id. */
MUST_CHECK enum err_code store_member_projects(struct store *store, user_id user,
                                               struct arena *arena, project_id **ret_projects,
                                               size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_member_set(struct store *store, project_id project, user_id user,
                                          enum role role, struct err *err);
MUST_CHECK enum err_code store_member_delete(struct store *store, project_id project, user_id user,
                                             struct err *err);
MUST_CHECK enum err_code store_member_list(struct store *store, project_id project,
                                           struct str after, int limit, struct arena *arena,
                                           struct member **ret_members, size_t *ret_count,
                                           struct err *err);
MUST_CHECK enum err_code store_member_owner_count(struct store *store, project_id project,
                                                  int64_t *ret_count, struct err *err);

/* `count` more jobs of the project have not ended, or as many fewer; *ret_open: how many now. */
MUST_CHECK enum err_code store_project_open_jobs(struct store *store, project_id project,
                                                 int64_t count, int64_t *ret_open, struct err *err);
