/* Statements of sql/statements/project.sql as typed functions. */
#include "store/store_project.h"

#include "store/db.h"

#define RETAINING_MAX       10000
#define MEMBER_PROJECTS_MAX 100000

enum err_code store_project_insert(struct store *store, struct project *p, struct err *err)
{
    return db__insert(store->db, SQL_PROJECT_INSERT,
                      ARGS(ARG_TEXT("name", p->name), ARG_TEXT("title", p->title),
                           ARG_TEXT("description", p->description),
                           ARG_I64("created_ms", p->created)),
                      &p->id.v, err);
}

static void project_read(const struct db_result *r, struct arena *arena, struct project *ret)
{
    *ret = (struct project){
        .id = {db__i64(r, 0)},
        .name = db__text(r, 1, arena),
        .title = db__text(r, 2, arena),
        .description = db__text(r, 3, arena),
        .created = db__i64(r, 4),
        .last_run = TIME_NONE,
    };
}

static int64_t zero_or(const struct db_result *r, int column)
{
    return db__null(r, column) ? 0 : db__i64(r, column);
}

static void read_idle(const struct db_result *r, int column, struct project *project)
{
    project->idle_stop = str_eq_c(db__view(r, column), "stop");
    project->idle_minutes = db__i64(r, column + 1);
}

enum err_code store_project_get(struct store *store, struct str name, struct arena *arena,
                                struct project *ret_project, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_PROJECT_BY_NAME, ARGS(ARG_TEXT("name", name)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "project \"%.*s\" not found", STR_ARG(name));
    project_read(&r, arena, ret_project);
    ret_project->silent_s = zero_or(&r, 5);
    ret_project->retain_days = zero_or(&r, 6);
    read_idle(&r, 7, ret_project);
    return OK;
}

enum err_code store_project_numbers(struct store *store, struct project *project, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_PROJECT_NUMBERS, ARGS(ARG_I64("project_id", project->id.v)), &r,
                  err));
    TRY(db__next(&r, &row, err));
    ENSURE(row);
    project->run_count = db__i64(&r, 0);
    project->running_count = db__i64(&r, 1);
    project->last_run = db__time(&r, 2);
    project->cost_micro = db__i64(&r, 3);
    return OK;
}

enum err_code store_project_list(struct store *store, user_id user, bool everything,
                                 struct str after, int limit, struct arena *arena,
                                 struct project **ret_projects, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct project *projects = arena_array(arena, (size_t)limit, sizeof *projects);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_PROJECT_LIST,
                  ARGS(ARG_I64("user_id", user.v), ARG_BOOL("everything", everything),
                       ARG_TEXT("after_name", after), ARG_I64("limit", limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct project *p = &projects[count++];
        project_read(&r, arena, p);
        p->role = role_from_name(db__view(&r, 5));
        p->run_count = db__i64(&r, 6);
        p->running_count = db__i64(&r, 7);
        p->last_run = db__time(&r, 8);
        p->cost_micro = db__i64(&r, 9);
        p->silent_s = zero_or(&r, 10);
        p->retain_days = zero_or(&r, 11);
        read_idle(&r, 12, p);
    }
    *ret_projects = projects;
    *ret_count = count;
    return OK;
}

enum err_code store_project_update(struct store *store, const struct project *p, struct err *err)
{
    return db__run(store->db, SQL_PROJECT_UPDATE,
                   ARGS(ARG_I64("id", p->id.v), ARG_TEXT("title", p->title),
                        ARG_TEXT("description", p->description), ARG_REF("silent_s", p->silent_s),
                        ARG_REF("retain_days", p->retain_days),
                        ARG_TEXT("idle_gpus", p->idle_stop ? STR("stop") : STR("warn")),
                        ARG_I64("idle_minutes", p->idle_minutes)),
                   NULL, err);
}

enum err_code store_project_retaining(struct store *store, struct arena *arena,
                                      struct project **ret_projects, size_t *ret_count,
                                      struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct project *projects = arena_array(arena, RETAINING_MAX, sizeof *projects);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_PROJECT_RETAIN_LIST, ARGS(ARG_I64("limit", RETAINING_MAX)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        projects[count++] = (struct project){.id = {db__i64(&r, 0)}, .retain_days = db__i64(&r, 1)};
    *ret_projects = projects;
    *ret_count = count;
    return OK;
}

enum err_code store_project_delete(struct store *store, project_id id, struct err *err)
{
    static const enum sql_id parts[] = {SQL_MEMBER_DELETE_ALL,
                                        SQL_PROJECT_METRIC_NAMES_DELETE,
                                        SQL_PROJECT_ATTRIBUTE_KEYS_DELETE,
                                        SQL_PROJECT_BLOBS_DELETE,
                                        SQL_TARGET_PROJECT_DELETE_ALL,
                                        SQL_SECRET_DELETE_ALL};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        TRY(db__run(store->db, parts[i], ARGS(ARG_I64("project_id", id.v)), NULL, err));
    return db__run(store->db, SQL_PROJECT_DELETE, ARGS(ARG_I64("id", id.v)), NULL, err);
}

enum err_code store_member_role(struct store *store, project_id project, user_id user,
                                enum role *ret_role, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_MEMBER_ROLE,
                  ARGS(ARG_I64("project_id", project.v), ARG_I64("user_id", user.v)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_role = row ? role_from_name(db__view(&r, 0)) : ROLE_NONE;
    return OK;
}

enum err_code store_member_projects(struct store *store, user_id user, struct arena *arena,
                                    project_id **ret_projects, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    project_id *projects = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_MEMBER_PROJECTS,
                  ARGS(ARG_I64("user_id", user.v), ARG_I64("limit", MEMBER_PROJECTS_MAX)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        projects = arena_more(arena, projects, count, &room, sizeof *projects);
        projects[count++] = (project_id){db__i64(&r, 0)};
    }
    *ret_projects = projects;
    *ret_count = count;
    return OK;
}

enum err_code store_member_set(struct store *store, project_id project, user_id user,
                               enum role role, struct err *err)
{
    return db__run(store->db, SQL_MEMBER_SET,
                   ARGS(ARG_I64("project_id", project.v), ARG_I64("user_id", user.v),
                        ARG_TEXT("role", str_from(role_name(role)))),
                   NULL, err);
}

enum err_code store_member_delete(struct store *store, project_id project, user_id user,
                                  struct err *err)
{
    return db__run(store->db, SQL_MEMBER_DELETE,
                   ARGS(ARG_I64("project_id", project.v), ARG_I64("user_id", user.v)), NULL, err);
}

enum err_code store_member_list(struct store *store, project_id project, struct str after,
                                int limit, struct arena *arena, struct member **ret_members,
                                size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct member *members = arena_array(arena, (size_t)limit, sizeof *members);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_MEMBER_LIST,
                  ARGS(ARG_I64("project_id", project.v), ARG_TEXT("after_login", after),
                       ARG_I64("limit", limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        members[count++] = (struct member){.login = db__text(&r, 0, arena),
                                           .role = role_from_name(db__view(&r, 1))};
    *ret_members = members;
    *ret_count = count;
    return OK;
}

enum err_code store_member_owner_count(struct store *store, project_id project, int64_t *ret_count,
                                       struct err *err)
{
    return db__number(store->db, SQL_MEMBER_OWNER_COUNT, ARGS(ARG_I64("project_id", project.v)),
                      ret_count, err);
}

enum err_code store_project_open_jobs(struct store *store, project_id project, int64_t count,
                                      int64_t *ret_open, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_PROJECT_OPEN_JOBS_ADD,
                  ARGS(ARG_I64("id", project.v), ARG_I64("count", count)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        *ret_open = db__i64(&r, 0);
    return OK;
}
