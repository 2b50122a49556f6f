/* Projects, members, and who may do what in them. thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "model/project.h"

/* The role of the caller in a project: administrators own everything, job keys are editors of
 * their one project, users have the role they were given. */
MUST_CHECK enum err_code projects_role(struct cmd *cmd, project_id project, enum role *ret_role,
                                       struct err *err);
/* Finds a project in which the caller has at least `need`. A project in which the caller has no
 * role at all is ERR_NOT_FOUND, too little a role is ERR_FORBIDDEN that says which is needed. */
MUST_CHECK enum err_code projects_require(struct cmd *cmd, struct str name, enum role need,
                                          struct project *ret_project, struct err *err);
/* The same for something inside a project; `what` and `id` name it in the message. */
MUST_CHECK enum err_code projects_require_for(struct cmd *cmd, project_id project, enum role need,
                                              const char *what, const char *id, struct err *err);

struct project_spec {
    struct str title, description; /* data NULL: leave (update), or the name (create) */
    int64_t silent_s;              /* 0: as the server has it; -1: leave */
    int64_t retain_days;           /* 0: runs are kept; -1: leave */
    int idle_stop;                 /* -1: leave */
    int64_t idle_minutes;          /* -1: leave */
};
MUST_CHECK enum err_code projects_create(struct cmd *cmd, struct str name,
                                         const struct project_spec *spec,
                                         struct project *ret_project, bool *ret_created,
                                         struct err *err);
MUST_CHECK enum err_code projects_update(struct cmd *cmd, struct project *project,
                                         const struct project_spec *spec, struct err *err);
/* ERR_CONFLICT while it has runs. */
MUST_CHECK enum err_code projects_delete(struct cmd *cmd, const struct project *project,
                                         struct err *err);
MUST_CHECK enum err_code projects_show(struct cmd *cmd, struct project *project, struct err *err);
MUST_CHECK enum err_code projects_list(struct cmd *cmd, struct str after, int limit,
                                       struct project **ret_projects, size_t *ret_count,
                                       struct err *err);

MUST_CHECK enum err_code projects_member_list(struct cmd *cmd, project_id project, struct str after,
                                              int limit, struct member **ret_members,
                                              size_t *ret_count, struct err *err);
/* ERR_CONFLICT when it would leave the project without an owner. */
MUST_CHECK enum err_code projects_member_set(struct cmd *cmd, const struct project *project,
                                             struct str login, enum role role, struct err *err);
MUST_CHECK enum err_code projects_member_delete(struct cmd *cmd, const struct project *project,
                                                struct str login, struct err *err);
