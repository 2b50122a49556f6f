/* Statements of sql/statements/attribute.sql as typed functions. */
#include "store/store_attribute.h"

#include "store/db.h"
#include "store/like.h"
#include "store/store_metric.h"

#include <math.h>

#define DEFINED_MAX 1024      /* a name has at most 512 beginnings */
#define EVERYTHING  INT64_MAX /* LIMIT of walks; visitors end them */

static void key_read(const struct db_result *r, struct arena *arena, struct attribute_key *ret_key)
{
    *ret_key = (struct attribute_key){
        .id = {db__i64(r, 0)},
        .space = (enum attribute_space)db__i64(r, 1),
        .name = arena ? db__text(r, 2, arena) : STR(""),
        .run_count = db__i64(r, 3),
        .value_count = db__i64(r, 4),
    };
}

enum err_code store_attribute_key_get(struct store *store, project_id project,
                                      enum attribute_space space, struct str name,
                                      struct attribute_key *ret_key, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(
        store->db, SQL_ATTRIBUTE_KEY_GET,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("space", space), ARG_TEXT("name", name)), &r,
        err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "no run has \"%.*s\"", (int)MIN(name.len, (size_t)80),
                       name.data);
    key_read(&r, NULL, ret_key);
    ret_key->name = name;
    return OK;
}

enum err_code store_attribute_key_intern(struct store *store, project_id project,
                                         enum attribute_space space, struct str name,
                                         attribute_key_id *ret_id, struct err *err)
{
    struct attribute_key key = {0};
    enum err_code code = store_attribute_key_get(store, project, space, name, &key, err);

    if (code == ERR_NOT_FOUND) {
        TRY(db__run(
            store->db, SQL_ATTRIBUTE_KEY_INSERT,
            ARGS(ARG_I64("project_id", project.v), ARG_I64("space", space), ARG_TEXT("name", name)),
            NULL, err));
        code = store_attribute_key_get(store, project, space, name, &key, err);
    }
    TRY(code);
    *ret_id = key.id;
    return OK;
}

enum err_code store_attribute_key_list(struct store *store, project_id project,
                                       const struct attribute_key_filter *filter,
                                       struct arena *arena, struct attribute_key **ret_keys,
                                       size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attribute_key *keys = arena_array(arena, (size_t)filter->limit, sizeof *keys);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_ATTRIBUTE_KEY_LIST,
                  ARGS(ARG_I64("project_id", project.v), ARG_I64("space", filter->space),
                       ARG_TEXT("search_like", store__like_part(arena, filter->search, true)),
                       ARG_I64("skip", filter->skip), ARG_I64("limit", filter->limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        key_read(&r, arena, &keys[count++]);
    *ret_keys = keys;
    *ret_count = count;
    return OK;
}

enum err_code store_attribute_defined_list(struct store *store, project_id project,
                                           struct str metric, struct arena *arena,
                                           struct attribute_key **ret_keys, size_t *ret_count,
                                           struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attribute_key *keys = arena_array(arena, DEFINED_MAX, sizeof *keys);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_ATTRIBUTE_DEFINED_LIST,
                  ARGS(ARG_I64("project_id", project.v), ARG_I64("space", ATTRIBUTE_DEFINED),
                       ARG_TEXT("name", metric), ARG_I64("limit", DEFINED_MAX)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        key_read(&r, arena, &keys[count++]);
    *ret_keys = keys;
    *ret_count = count;
    return OK;
}

enum err_code store_attribute_list(struct store *store, run_id run, int space, struct arena *arena,
                                   struct attribute **ret_values, size_t *ret_count,
                                   struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attribute *values = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(
        store->db, SQL_ATTRIBUTE_LIST,
        ARGS(ARG_I64("run_id", run.v), ARG_I64("space", space), ARG_I64("limit", EVERYTHING)), &r,
        err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        values = arena_more(arena, values, count, &room, sizeof *values);
        values[count++] = (struct attribute){
            .key = {db__i64(&r, 0)},
            .name = db__text(&r, 2, arena),
            .kind = (enum attribute_kind)db__i64(&r, 3),
            .number = db__i64(&r, 4),
            .text = db__text(&r, 5, arena),
        };
    }
    *ret_values = values;
    *ret_count = count;
    return OK;
}

enum err_code store_attribute_get(struct store *store, run_id run, attribute_key_id key,
                                  struct arena *arena, struct attribute **ret_values,
                                  size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attribute *values = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(
        store->db, SQL_ATTRIBUTE_OF_RUN,
        ARGS(ARG_I64("run_id", run.v), ARG_I64("key_id", key.v), ARG_I64("limit", EVERYTHING)), &r,
        err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        values = arena_more(arena, values, count, &room, sizeof *values);
        values[count++] = (struct attribute){
            .key = key,
            .kind = (enum attribute_kind)db__i64(&r, 0),
            .number = db__i64(&r, 1),
            .text = db__text(&r, 2, arena),
        };
    }
    *ret_values = values;
    *ret_count = count;
    return OK;
}

static enum err_code is_new_value(struct store *store, const struct attribute *value, bool *ret_new,
                                  struct err *err)
{
    int64_t known = 0;

    TRY(db__number(store->db, SQL_ATTRIBUTE_VALUE_KNOWN,
                   ARGS(ARG_I64("key_id", value->key.v), ARG_I64("kind", value->kind),
                        ARG_I64("number", value->number), ARG_BYTES("text", value->text)),
                   &known, err));
    *ret_new = known == 0;
    return OK;
}

static enum err_code count_key(struct store *store, attribute_key_id key, int64_t runs,
                               int64_t values, struct err *err)
{
    if (runs == 0 && values == 0)
        return OK;
    return db__run(
        store->db, SQL_ATTRIBUTE_KEY_COUNT,
        ARGS(ARG_I64("id", key.v), ARG_I64("runs", runs), ARG_I64("more_values", values)), NULL,
        err);
}

enum err_code store_attribute_add(struct store *store, run_id run, const struct attribute *value,
                                  bool counts_run, struct err *err)
{
    bool is_new = false;

    TRY(is_new_value(store, value, &is_new, err));
    TRY(db__run(store->db, SQL_ATTRIBUTE_INSERT,
                ARGS(ARG_I64("key_id", value->key.v), ARG_I64("kind", value->kind),
                     ARG_I64("number", value->number), ARG_BYTES("text", value->text),
                     ARG_I64("run_id", run.v)),
                NULL, err));
    return count_key(store, value->key, counts_run, is_new, err);
}

enum err_code store_attribute_remove(struct store *store, run_id run, const struct attribute *value,
                                     bool counts_run, struct err *err)
{
    bool is_gone = false;

    TRY(db__run(store->db, SQL_ATTRIBUTE_DELETE,
                ARGS(ARG_I64("key_id", value->key.v), ARG_I64("kind", value->kind),
                     ARG_I64("number", value->number), ARG_BYTES("text", value->text),
                     ARG_I64("run_id", run.v)),
                NULL, err));
    TRY(is_new_value(store, value, &is_gone, err));
    return count_key(store, value->key, -(int64_t)counts_run, -(int64_t)is_gone, err);
}

static enum err_code walk_texts(struct store *store, const struct attribute_walk *walk,
                                struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attribute value = {.key = walk->key, .kind = walk->kind};
    struct str to = walk->to.data ? walk->to : STR("\xff"); /* above any UTF-8 */
    bool row = false;

    TRY(db__query(store->db, walk->descending ? SQL_ATTRIBUTE_TEXTS_DOWN : SQL_ATTRIBUTE_TEXTS_UP,
                  ARGS(ARG_I64("key_id", walk->key.v), ARG_I64("kind", walk->kind),
                       ARG_BYTES("low", walk->from), ARG_BYTES("high", to),
                       ARG_I64("limit", EVERYTHING)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        value.text = db__view(&r, 1);
        if (!walk->visit(walk->ctx, (run_id){db__i64(&r, 0)}, &value))
            return OK;
    }
    return OK;
}

enum err_code store_attribute_walk(struct store *store, const struct attribute_walk *walk,
                                   struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attribute value = {.key = walk->key, .kind = walk->kind, .text = STR("")};
    bool row = false;

    if (walk->kind == ATTRIBUTE_TEXT)
        return walk_texts(store, walk, err);
    TRY(db__query(
        store->db, walk->descending ? SQL_ATTRIBUTE_NUMBERS_DOWN : SQL_ATTRIBUTE_NUMBERS_UP,
        ARGS(ARG_I64("key_id", walk->key.v), ARG_I64("kind", walk->kind), ARG_I64("low", walk->low),
             ARG_I64("high", walk->high), ARG_I64("limit", EVERYTHING)),
        &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        value.number = db__i64(&r, 1);
        if (!walk->visit(walk->ctx, (run_id){db__i64(&r, 0)}, &value))
            return OK;
    }
    return OK;
}

enum err_code store_attribute_runs(struct store *store, const struct attribute_walk *walk,
                                   void (*visit)(void *ctx, run_id run), struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool is_text = walk->kind == ATTRIBUTE_TEXT;
    struct str to = walk->to.data ? walk->to : STR("\xff"); /* above any UTF-8 */
    struct db_arg args[] = {
        ARG_I64("key_id", walk->key.v), ARG_I64("kind", walk->kind),
        ARG_I64("low", walk->low),      ARG_I64("high", walk->high),
        ARG_I64("limit", EVERYTHING),   {.name = NULL, .kind = DB_END},
    };
    bool row = false;

    if (is_text) {
        args[2] = (struct db_arg)ARG_BYTES("low", walk->from);
        args[3] = (struct db_arg)ARG_BYTES("high", to);
    }
    TRY(db__query(store->db, is_text ? SQL_ATTRIBUTE_RUNS_BY_TEXT : SQL_ATTRIBUTE_RUNS_BY_NUMBER,
                  args, &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        visit(walk->ctx, (run_id){db__i64(&r, 0)});
    return OK;
}

enum err_code store_run_id_range(struct store *store, project_id project, run_id *ret_low,
                                 run_id *ret_high, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_ID_RANGE, ARGS(ARG_I64("project_id", project.v)), &r, err));
    TRY(db__next(&r, &row, err));
    ENSURE(row); /* an aggregate */
    ret_low->v = db__i64(&r, 0);
    ret_high->v = db__i64(&r, 1);
    return OK;
}

enum err_code store_run_count(struct store *store, project_id project, int64_t newest,
                              int64_t *ret_count, struct err *err)
{
    return db__number(store->db, SQL_RUN_COUNT,
                      ARGS(ARG_I64("project_id", project.v), ARG_I64("newest", newest)), ret_count,
                      err);
}

enum err_code store_run_walk(struct store *store, const struct run_walk *walk, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_ID_LIST,
                  ARGS(ARG_I64("project_id", walk->project.v), ARG_I64("newest", walk->newest),
                       ARG_I64("limit", EVERYTHING)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        if (!walk->visit(walk->ctx, (run_id){db__i64(&r, 0)}))
            return OK;
    return OK;
}

enum err_code store_run_notes_walk(struct store *store, const struct run_notes_walk *walk,
                                   struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_NOTES_LIST,
                  ARGS(ARG_I64("project_id", walk->project.v), ARG_I64("limit", EVERYTHING)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        TRY(walk->visit(walk->ctx, (run_id){db__i64(&r, 0)}, db__view(&r, 1), err));
    return OK;
}

enum err_code store_run_live_list(struct store *store, project_id project, struct arena *arena,
                                  struct live_run **ret_runs, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct live_run *runs = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_LIVE_LIST,
                  ARGS(ARG_I64("project_id", project.v), ARG_I64("limit", EVERYTHING)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        runs = arena_more(arena, runs, count, &room, sizeof *runs);
        runs[count++] = (struct live_run){{db__i64(&r, 0)}, db__i64(&r, 1)};
    }
    *ret_runs = runs;
    *ret_count = count;
    return OK;
}

enum err_code store_run_unindexed(struct store *store, int version, int limit, run_id *ret_ids,
                                  size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_UNINDEXED_LIST,
                  ARGS(ARG_I64("indexed", version), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        ret_ids[count++] = (run_id){db__i64(&r, 0)};
    *ret_count = count;
    return OK;
}

enum err_code store_run_indexed_set(struct store *store, run_id run, int version, struct err *err)
{
    return db__run(store->db, SQL_RUN_INDEXED_SET,
                   ARGS(ARG_I64("id", run.v), ARG_I64("indexed", version)), NULL, err);
}

/* Columns of metric_runs and metric_runs_more by figure; the mean is the sum over the count. */
static double stat_of(const struct db_result *r, enum metric_stat stat)
{
    switch (stat) {
    case STAT_LAST: return float_from_bits(db__i64(r, 1));
    case STAT_MIN: return float_from_bits(db__i64(r, 2));
    case STAT_MAX: return float_from_bits(db__i64(r, 3));
    case STAT_FIRST: return float_from_bits(db__i64(r, 1));
    case STAT_MEAN:
        return db__i64(r, 3) ? float_from_bits(db__i64(r, 2)) / (double)db__i64(r, 3) : (double)NAN;
    case STAT_COUNT: return (double)db__i64(r, 4);
    case STAT_END: break;
    }
    return (double)NAN;
}

/* The rows of one statement; figures that it does not have are the other one's. */
static enum err_code walk_figures(struct store *store, const struct metric_runs_walk *walk,
                                  enum sql_id sql, unsigned figures, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql,
                  ARGS(ARG_I64("metric_id", walk->metric.v), ARG_I64("limit", EVERYTHING)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        run_id run = {db__i64(&r, 0)};
        enum metric_stat figure = walk->figure(walk->ctx, run);
        if ((figures >> figure & 1) && !walk->visit(walk->ctx, run, stat_of(&r, figure)))
            return OK;
    }
    return OK;
}

enum err_code store_metric_runs_walk(struct store *store, const struct metric_runs_walk *walk,
                                     struct err *err)
{
    const unsigned indexed = 1u << STAT_LAST | 1u << STAT_MIN | 1u << STAT_MAX;
    const unsigned others = 1u << STAT_FIRST | 1u << STAT_MEAN | 1u << STAT_COUNT;

    if (walk->figures & indexed)
        TRY(walk_figures(store, walk, SQL_METRIC_RUNS, indexed, err));
    if (walk->figures & others)
        TRY(walk_figures(store, walk, SQL_METRIC_RUNS_MORE, others, err));
    return OK;
}

enum err_code store_metric_runs_newest(struct store *store, metric_id metric, int limit,
                                       struct arena *arena, run_id **ret_runs, size_t *ret_count,
                                       struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    run_id *runs = arena_array(arena, (size_t)limit, sizeof *runs);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_RUNS_NEWEST,
                  ARGS(ARG_I64("metric_id", metric.v), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        runs[count++] = (run_id){db__i64(&r, 0)};
    *ret_runs = runs;
    *ret_count = count;
    return OK;
}

enum err_code store_metric_columns(struct store *store, project_id project,
                                   const struct attribute_key_filter *filter, struct arena *arena,
                                   struct metric_column **ret_columns, size_t *ret_count,
                                   struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct metric_column *columns = arena_array(arena, (size_t)filter->limit, sizeof *columns);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_COLUMNS,
                  ARGS(ARG_I64("project_id", project.v),
                       ARG_I64("count_max", METRIC_COLUMN_RUNS_MAX),
                       ARG_TEXT("after_name", STR("")),
                       ARG_TEXT("search_like", store__like_part(arena, filter->search, true)),
                       ARG_I64("limit", filter->limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        columns[count++] = (struct metric_column){db__text(&r, 0, arena), db__i64(&r, 1)};
    *ret_columns = columns;
    *ret_count = count;
    return OK;
}
