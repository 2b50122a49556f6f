/* Statements of sql/statements/target.sql as typed functions. */
#include "store/store_target.h"

#include "store/db.h"

#include "base/json.h"

#define ARGS_OF_TARGET(t)                                                                          \
    ARG_I64("price_hour_micro", (t)->price_hour_micro),                                            \
        ARG_I64("price_gpu_hour_micro", (t)->price_gpu_hour_micro),                                \
        ARG_TEXT("labels", (t)->labels), ARG_BOOL("spot", (t)->spot),                              \
        ARG_TEXT("excluded", (t)->excluded), ARG_TEXT("tolerations", (t)->tolerations),            \
        ARG_TEXT("settings", (t)->settings), ARG_TEXT("volumes", (t)->volumes),                    \
        ARG_TEXT("buckets", (t)->buckets)

enum err_code store_target_insert(struct store *store, struct target *t, time_ms now,
                                  struct err *err)
{
    return db__insert(
        store->db, SQL_TARGET_INSERT,
        ARGS(ARG_TEXT("name", t->name), ARG_I64("created_ms", now), ARGS_OF_TARGET(t)), &t->id.v,
        err);
}

enum err_code store_target_update(struct store *store, const struct target *t, struct err *err)
{
    return db__run(store->db, SQL_TARGET_UPDATE, ARGS(ARG_I64("id", t->id.v), ARGS_OF_TARGET(t)),
                   NULL, err);
}

enum err_code store_target_maintain(struct store *store, const struct target *t, struct err *err)
{
    struct db_arg reason = ARG_TEXT("maintenance", t->maintenance_reason);

    if (!t->maintenance)
        reason.kind = DB_NULL;
    return db__run(store->db, SQL_TARGET_MAINTENANCE,
                   ARGS(ARG_I64("id", t->id.v), reason, ARG_TIME("until_ms", t->maintenance_until)),
                   NULL, err);
}

/* A list of texts, which was checked when it was set. */
static void names_read(struct str json, struct arena *arena, struct str **ret_names,
                       size_t *ret_count)
{
    CLEANUP(json_release) json_t *array = NULL;
    struct str *names;

    *ret_names = NULL;
    *ret_count = 0;
    if (str_eq_c(json, "[]") || json_parse(json, TARGET_SETTINGS_BYTES_MAX, &array, NULL) != OK ||
        !json_is_array(array))
        return;
    names = arena_array(arena, json_array_size(array) + 1, sizeof *names);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (json_is_string(item))
            names[(*ret_count)++] =
                arena_copy(arena, str_n(json_string_value(item), json_string_length(item)));
    }
    *ret_names = names;
}

static struct target target_read(const struct db_result *r, struct arena *arena)
{
    struct target t = {
        .id = {db__i64(r, 0)},
        .name = db__text(r, 1, arena),
        .price_hour_micro = db__i64(r, 2),
        .price_gpu_hour_micro = db__i64(r, 3),
        .labels = db__text(r, 4, arena),
        .spot = db__i64(r, 5) != 0,
        .excluded = db__text(r, 6, arena),
        .tolerations = db__text(r, 7, arena),
        .settings = db__text(r, 8, arena),
        .volumes = db__text(r, 9, arena),
        .buckets = db__text(r, 10, arena),
        .maintenance = !db__null(r, 11),
        .maintenance_until = db__time(r, 12),
    };

    t.maintenance_reason = t.maintenance ? db__text(r, 11, arena) : STR("");
    names_read(t.excluded, arena, &t.excluded_names, &t.excluded_count);
    return t;
}

static enum err_code target_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                                struct arena *arena, struct target *ret_target)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, &row, NULL));
    if (!row)
        return ERR_NOT_FOUND;
    *ret_target = target_read(&r, arena);
    return OK;
}

enum err_code store_target_get(struct store *store, struct str name, struct arena *arena,
                               struct target *ret_target, struct err *err)
{
    enum err_code code =
        target_one(store, SQL_TARGET_BY_NAME, ARGS(ARG_TEXT("name", name)), arena, ret_target);
    return code == OK ? OK : err_set(err, code, "target \"%.*s\" not found", STR_ARG(name));
}

enum err_code store_target_by_id(struct store *store, target_id id, struct arena *arena,
                                 struct target *ret_target, struct err *err)
{
    enum err_code code =
        target_one(store, SQL_TARGET_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_target);
    return code == OK ? OK : err_set(err, code, "the target is gone");
}

enum err_code store_target_list(struct store *store, struct str after, int limit,
                                struct arena *arena, struct target **ret_targets, size_t *ret_count,
                                struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct target *targets = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_TARGET_LIST,
                  ARGS(ARG_TEXT("after_name", after), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        targets = arena_more(arena, targets, count, &room, sizeof *targets);
        targets[count++] = target_read(&r, arena);
    }
    *ret_targets = targets;
    *ret_count = count;
    return OK;
}

enum err_code store_target_uses(struct store *store, target_id id, struct arena *arena,
                                struct target_uses *ret_uses, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_TARGET_USES, ARGS(ARG_I64("id", id.v)), &r, err));
    TRY(db__next(&r, &row, err));
    ENSURE(row);
    *ret_uses = (struct target_uses){
        .agents = db__i64(&r, 0),
        .queues = db__i64(&r, 1),
        .shares = db__i64(&r, 2),
        .queue = db__null(&r, 3) ? STR("") : db__text(&r, 3, arena),
        .share = db__null(&r, 4) ? STR("") : db__text(&r, 4, arena),
    };
    /* As a step of a shape's text is written. */
    return db__number(store->db, SQL_TARGET_OPEN_JOBS,
                      ARGS(ARG_I64("id", id.v),
                           ARG_TEXT("step", str_from(arena_printf(arena, "%%\"target\":%lld,%%",
                                                                  (long long)id.v)))),
                      &ret_uses->open_jobs, err);
}

enum err_code store_target_remove(struct store *store, const struct target *t, time_ms now,
                                  struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *freed = arena_printf(&arena, "%.*s (removed %lld)", STR_ARG(t->name), (long long)t->id.v);

    return db__run(store->db, SQL_TARGET_REMOVE,
                   ARGS(ARG_I64("id", t->id.v), ARG_I64("now_ms", now),
                        ARG_TEXT("freed_name", str_from(freed))),
                   NULL, err);
}

enum err_code store_target_price_add(struct store *store, target_id target,
                                     const struct target_price *price, struct err *err)
{
    return db__run(store->db, SQL_TARGET_PRICE_INSERT,
                   ARGS(ARG_I64("target_id", target.v), ARG_I64("from_ms", price->from),
                        ARG_I64("price_hour_micro", price->price_hour_micro),
                        ARG_I64("price_gpu_hour_micro", price->price_gpu_hour_micro)),
                   NULL, err);
}

enum err_code store_target_price_list(struct store *store, target_id target, time_ms before,
                                      int limit, struct arena *arena,
                                      struct target_price **ret_prices, size_t *ret_count,
                                      struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct target_price *prices = arena_array(arena, (size_t)limit, sizeof *prices);
    size_t count = 0;
    bool row = false;

    TRY(db__query(
        store->db, SQL_TARGET_PRICE_LIST,
        ARGS(ARG_I64("target_id", target.v), ARG_I64("before_ms", before), ARG_I64("limit", limit)),
        &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        prices[count++] = (struct target_price){db__i64(&r, 0), db__i64(&r, 1), db__i64(&r, 2)};
    *ret_prices = prices;
    *ret_count = count;
    return OK;
}

enum err_code store_target_price_forget(struct store *store, target_id target, time_ms now,
                                        struct err *err)
{
    return db__run(store->db, SQL_TARGET_PRICE_DELETE_LATER,
                   ARGS(ARG_I64("target_id", target.v), ARG_I64("now_ms", now)), NULL, err);
}

enum err_code store_target_prices_apply(struct store *store, time_ms now, struct arena *arena,
                                        bool *ret_changed, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct target *due = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_TARGET_PRICE_DUE,
                  ARGS(ARG_I64("now_ms", now), ARG_I64("limit", TARGETS_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        due = arena_more(arena, due, count, &room, sizeof *due);
        due[count++] = (struct target){.id = {db__i64(&r, 0)},
                                       .price_hour_micro = db__i64(&r, 2),
                                       .price_gpu_hour_micro = db__i64(&r, 3)};
    }
    for (size_t i = 0; i < count; i++)
        TRY(db__run(store->db, SQL_TARGET_PRICE_NOW,
                    ARGS(ARG_I64("id", due[i].id.v),
                         ARG_I64("price_hour_micro", due[i].price_hour_micro),
                         ARG_I64("price_gpu_hour_micro", due[i].price_gpu_hour_micro)),
                    NULL, err));
    *ret_changed = count > 0;
    return OK;
}

enum err_code store_target_settings_get(struct store *store, target_id target, project_id project,
                                        struct arena *arena, struct str *ret_settings,
                                        struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_TARGET_PROJECT_GET,
                  ARGS(ARG_I64("target_id", target.v), ARG_I64("project_id", project.v)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_settings = row ? db__text(&r, 0, arena) : STR("{}");
    return OK;
}

enum err_code store_target_settings_set(struct store *store, target_id target, project_id project,
                                        struct str settings, struct err *err)
{
    return db__run(store->db, SQL_TARGET_PROJECT_SET,
                   ARGS(ARG_I64("target_id", target.v), ARG_I64("project_id", project.v),
                        ARG_TEXT("settings", settings)),
                   NULL, err);
}

enum err_code store_target_settings_delete(struct store *store, target_id target,
                                           project_id project, struct err *err)
{
    return db__run(store->db, SQL_TARGET_PROJECT_DELETE,
                   ARGS(ARG_I64("target_id", target.v), ARG_I64("project_id", project.v)), NULL,
                   err);
}
