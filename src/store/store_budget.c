/* Statements of sql/statements/budget.sql as typed functions. */
#include "store/store_budget.h"

#include "store/db.h"

#define ARG_LIMITED(n, v)                                                                          \
    {                                                                                              \
        .name = (n), .kind = (v) == BUDGET_UNLIMITED ? DB_NULL : DB_I64, .number = (v)             \
    }

static struct budget budget_read(const struct db_result *r, struct arena *arena)
{
    return (struct budget){
        .project = {db__i64(r, 0)},
        .gpu_ms_max = db__null(r, 1) ? BUDGET_UNLIMITED : db__i64(r, 1),
        .micro_max = db__null(r, 2) ? BUDGET_UNLIMITED : db__i64(r, 2),
        .zone = db__text(r, 3, arena),
    };
}

enum err_code store_budget_get(struct store *store, project_id project, struct arena *arena,
                               struct budget *ret_budget, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_BUDGET_BY_PROJECT, ARGS(ARG_I64("project_id", project.v)), &r,
                  err));
    TRY(db__next(&r, &row, err));
    *ret_budget = row ? budget_read(&r, arena)
                      : (struct budget){project, BUDGET_UNLIMITED, BUDGET_UNLIMITED, STR("")};
    return OK;
}

enum err_code store_budget_set(struct store *store, const struct budget *budget, struct err *err)
{
    return db__run(store->db, SQL_BUDGET_SET,
                   ARGS(ARG_I64("project_id", budget->project.v),
                        ARG_LIMITED("gpu_ms_max", budget->gpu_ms_max),
                        ARG_LIMITED("micro_max", budget->micro_max),
                        ARG_TEXT("zone", budget->zone)),
                   NULL, err);
}

enum err_code store_budget_list(struct store *store, struct arena *arena,
                                struct budget **ret_budgets, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct budget *budgets = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_BUDGET_LIST, ARGS(ARG_I64("limit", BUDGETS_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        budgets = arena_more(arena, budgets, count, &room, sizeof *budgets);
        budgets[count++] = budget_read(&r, arena);
    }
    *ret_budgets = budgets;
    *ret_count = count;
    return OK;
}

enum err_code store_budget_delete(struct store *store, project_id project, struct err *err)
{
    TRY(db__run(store->db, SQL_LEDGER_DELETE, ARGS(ARG_I64("project_id", project.v)), NULL, err));
    return db__run(store->db, SQL_BUDGET_DELETE, ARGS(ARG_I64("project_id", project.v)), NULL, err);
}

static struct budget_period period_read(const struct db_result *r, struct arena *arena)
{
    return (struct budget_period){
        .start = db__i64(r, 0),
        .end = db__i64(r, 1),
        .zone = db__text(r, 2, arena),
        .gpu_ms_used = db__i64(r, 3),
        .micro_used = db__i64(r, 4),
        .gpu_ms_lost = db__i64(r, 5),
    };
}

static enum err_code period_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                                struct arena *arena, struct budget_period *ret_period,
                                bool *ret_there)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, ret_there, NULL));
    if (*ret_there)
        *ret_period = period_read(&r, arena);
    return OK;
}

enum err_code store_ledger_at(struct store *store, project_id project, time_ms at,
                              struct arena *arena, struct budget_period *ret_period,
                              bool *ret_there, struct err *err)
{
    enum err_code code = period_one(store, SQL_LEDGER_AT,
                                    ARGS(ARG_I64("project_id", project.v), ARG_I64("at_ms", at)),
                                    arena, ret_period, ret_there);
    return code == OK ? OK : err_set(err, code, "the ledger cannot be read");
}

enum err_code store_ledger_after(struct store *store, project_id project, time_ms at,
                                 struct arena *arena, struct budget_period *ret_period,
                                 bool *ret_there, struct err *err)
{
    enum err_code code = period_one(store, SQL_LEDGER_AFTER,
                                    ARGS(ARG_I64("project_id", project.v), ARG_I64("at_ms", at)),
                                    arena, ret_period, ret_there);
    return code == OK ? OK : err_set(err, code, "the ledger cannot be read");
}

enum err_code store_ledger_list(struct store *store, project_id project, time_ms before, int limit,
                                struct arena *arena, struct budget_period **ret_periods,
                                size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct budget_period *periods = arena_array(arena, (size_t)limit, sizeof *periods);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_LEDGER_LIST,
                  ARGS(ARG_I64("project_id", project.v), ARG_I64("before_ms", before),
                       ARG_I64("limit", limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        periods[count++] = period_read(&r, arena);
    *ret_periods = periods;
    *ret_count = count;
    return OK;
}

enum err_code store_ledger_set(struct store *store, project_id project,
                               const struct budget_period *p, struct err *err)
{
    return db__run(store->db, SQL_LEDGER_SET,
                   ARGS(ARG_I64("project_id", project.v), ARG_I64("start_ms", p->start),
                        ARG_I64("end_ms", p->end), ARG_TEXT("zone", p->zone),
                        ARG_I64("gpu_ms_used", p->gpu_ms_used),
                        ARG_I64("micro_used", p->micro_used),
                        ARG_I64("gpu_ms_lost", p->gpu_ms_lost)),
                   NULL, err);
}
