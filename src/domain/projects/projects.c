/* Projects and roles. */
#include "domain/projects/projects.h"

#include "domain/audit/audit.h"
#include "store/store_budget.h"
#include "store/store_identity.h"
#include "store/store_project.h"
#include "store/store_share.h"

#include <stdio.h>

enum err_code projects_role(struct cmd *cmd, project_id project, enum role *ret_role,
                            struct err *err)
{
    const struct principal *who = cmd->who;

    if (who->kind == PRINCIPAL_JOB) {
        *ret_role = who->project.v == project.v && !who->attempt_fenced ? ROLE_EDITOR : ROLE_NONE;
        return OK;
    }
    if (who->kind == PRINCIPAL_AGENT || who->kind == PRINCIPAL_NOBODY) {
        *ret_role = ROLE_NONE;
        return OK;
    }
    if (who->admin) {
        *ret_role = ROLE_OWNER;
        return OK;
    }
    return store_member_role(cmd->store, project, who->user, ret_role, err);
}

enum err_code projects_require_for(struct cmd *cmd, project_id project, enum role need,
                                   const char *what, const char *id, struct err *err)
{
    enum role role = ROLE_NONE;

    TRY(projects_role(cmd, project, &role, err));
    if (role == ROLE_NONE)
        return err_set(err, ERR_NOT_FOUND, "%s %s not found", what, id);
    if (role < need) {
        (void)err_set(err, ERR_FORBIDDEN, "this needs the role %s, yours is %s", role_name(need),
                      role_name(role));
        err_hint(err, "an owner of the project can give it to you");
        return ERR_FORBIDDEN;
    }
    return OK;
}

enum err_code projects_require(struct cmd *cmd, struct str name, enum role need,
                               struct project *ret_project, struct err *err)
{
    char quoted[PROJECT_NAME_BYTES_MAX + 4];
    struct project project;

    TRY(store_project_get(cmd->store, name, cmd->arena, &project, err));
    snprintf(quoted, sizeof quoted, "\"%.*s\"", STR_ARG(name));
    TRY(projects_require_for(cmd, project.id, need, "project", quoted, err));
    TRY(projects_role(cmd, project.id, &project.role, err));
    *ret_project = project;
    return OK;
}

/* For people: the number that counts, also where the project has none. */
static void show_silent(const struct cmd *cmd, struct project *project)
{
    project->silent_is_default = project->silent_s == 0;
    if (project->silent_is_default)
        project->silent_s = cmd->domain->config.run_silent_ms / 1000;
}

enum err_code projects_create(struct cmd *cmd, struct str name, const struct project_spec *spec,
                              struct project *ret_project, bool *ret_created, struct err *err)
{
    struct str title = spec->title.data ? spec->title : name;
    struct project project;

    if (store_project_get(cmd->store, name, cmd->arena, &project, NULL) == OK) {
        TRY(projects_role(cmd, project.id, &project.role, err));
        if (project.role == ROLE_NONE || !str_eq(project.title, title) ||
            !str_eq(project.description, spec->description))
            return err_set(err, ERR_CONFLICT, "project \"%.*s\" exists already", STR_ARG(name));
        *ret_project = project;
        *ret_created = false;
        return projects_show(cmd, ret_project, err);
    }
    project = (struct project){
        .name = name,
        .title = title,
        .description = spec->description.data ? spec->description : STR(""),
        .created = cmd->now,
        .role = ROLE_OWNER,
        .last_run = TIME_NONE,
        .idle_minutes = PROJECT_IDLE_MINUTES,
    };
    TRY(store_project_insert(cmd->store, &project, err));
    TRY(store_member_set(cmd->store, project.id, cmd->who->user, ROLE_OWNER, err));
    TRY(store_share_add_project(cmd->store, project.id, cmd->now, err));
    TRY(audit_add(cmd, name, STR("project created"), err));
    show_silent(cmd, &project);
    *ret_project = project;
    *ret_created = true;
    return OK;
}

enum err_code projects_update(struct cmd *cmd, struct project *project,
                              const struct project_spec *spec, struct err *err)
{
    if (spec->title.data)
        project->title = spec->title;
    if (spec->description.data)
        project->description = spec->description;
    if (spec->silent_s >= 0)
        project->silent_s = spec->silent_s;
    if (spec->retain_days >= 0)
        project->retain_days = spec->retain_days;
    if (spec->idle_stop >= 0)
        project->idle_stop = spec->idle_stop;
    if (spec->idle_minutes >= 0)
        project->idle_minutes = spec->idle_minutes;
    TRY(store_project_update(cmd->store, project, err));
    TRY(audit_add(cmd, project->name, STR("project changed"), err));
    return projects_show(cmd, project, err);
}

enum err_code projects_delete(struct cmd *cmd, const struct project *project, struct err *err)
{
    struct project numbers = *project;

    TRY(store_project_numbers(cmd->store, &numbers, err));
    if (numbers.run_count > 0) {
        (void)err_set(err, ERR_CONFLICT, "project \"%.*s\" still has %lld runs",
                      STR_ARG(project->name), (long long)numbers.run_count);
        err_hint(err, "delete its runs first");
        return ERR_CONFLICT;
    }
    TRY(store_share_remove_project(cmd->store, project->id, err));
    TRY(store_budget_delete(cmd->store, project->id, err));
    TRY(store_project_delete(cmd->store, project->id, err));
    return audit_add(cmd, project->name, STR("project deleted"), err);
}

enum err_code projects_show(struct cmd *cmd, struct project *project, struct err *err)
{
    TRY(store_project_numbers(cmd->store, project, err));
    show_silent(cmd, project);
    return OK;
}

enum err_code projects_list(struct cmd *cmd, struct str after, int limit,
                            struct project **ret_projects, size_t *ret_count, struct err *err)
{
    bool everything = cmd->who->admin;

    TRY(store_project_list(cmd->store, cmd->who->user, everything, after, limit, cmd->arena,
                           ret_projects, ret_count, err));
    for (size_t i = 0; i < *ret_count; i++) {
        if (everything)
            (*ret_projects)[i].role = ROLE_OWNER;
        show_silent(cmd, &(*ret_projects)[i]);
    }
    return OK;
}

enum err_code projects_member_list(struct cmd *cmd, project_id project, struct str after, int limit,
                                   struct member **ret_members, size_t *ret_count, struct err *err)
{
    return store_member_list(cmd->store, project, after, limit, cmd->arena, ret_members, ret_count,
                             err);
}

/* Whether taking the owner's role from this user would leave none. */
static enum err_code keep_an_owner(struct cmd *cmd, const struct project *project, user_id user,
                                   struct err *err)
{
    enum role role = ROLE_NONE;
    int64_t owners = 0;

    TRY(store_member_role(cmd->store, project->id, user, &role, err));
    TRY(store_member_owner_count(cmd->store, project->id, &owners, err));
    if (role == ROLE_OWNER && owners == 1)
        return err_set(err, ERR_CONFLICT, "project \"%.*s\" would have no owner left",
                       STR_ARG(project->name));
    return OK;
}

enum err_code projects_member_set(struct cmd *cmd, const struct project *project, struct str login,
                                  enum role role, struct err *err)
{
    struct user user;
    const char *detail;

    TRY(store_user_by_login(cmd->store, login, cmd->arena, &user, err));
    if (role != ROLE_OWNER)
        TRY(keep_an_owner(cmd, project, user.id, err));
    TRY(store_member_set(cmd->store, project->id, user.id, role, err));
    detail = arena_printf(cmd->arena, "%.*s is %s", STR_ARG(login), role_name(role));
    return audit_add(cmd, project->name, str_from(detail), err);
}

enum err_code projects_member_delete(struct cmd *cmd, const struct project *project,
                                     struct str login, struct err *err)
{
    struct user user;
    const char *detail;

    TRY(store_user_by_login(cmd->store, login, cmd->arena, &user, err));
    TRY(keep_an_owner(cmd, project, user.id, err));
    TRY(store_member_delete(cmd->store, project->id, user.id, err));
    detail = arena_printf(cmd->arena, "%.*s is no member any more", STR_ARG(login));
    return audit_add(cmd, project->name, str_from(detail), err);
}
