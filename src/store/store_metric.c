/* Metric names, facts and chunks: part of sql/statements/ingest.sql. */
#include "store/store_metric.h"

#include "store/chunk/times.h"
#include "store/db.h"

int64_t float_to_bits(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

double float_from_bits(int64_t bits)
{
    double value;

    bits = bits < 0 ? bits ^ INT64_MAX : bits;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum err_code store_metric_name_intern(struct store *store, project_id project,
                                       enum metric_kind kind, struct str name, metric_id *ret_id,
                                       struct err *err)
{
    enum err_code code = db__number(
        store->db, SQL_METRIC_NAME_GET,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("kind", kind), ARG_TEXT("name", name)),
        &ret_id->v, err);

    if (code != ERR_NOT_FOUND)
        return code;
    TRY(db__run(
        store->db, SQL_METRIC_NAME_INSERT,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("kind", kind), ARG_TEXT("name", name)), NULL,
        err));
    return db__number(
        store->db, SQL_METRIC_NAME_GET,
        ARGS(ARG_I64("project_id", project.v), ARG_I64("kind", kind), ARG_TEXT("name", name)),
        &ret_id->v, err);
}

enum err_code store_metric_name_find(struct store *store, project_id project, struct str name,
                                     metric_id ret_ids[2], size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_ID_FIND,
                  ARGS(ARG_I64("project_id", project.v), ARG_TEXT("name", name)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        ret_ids[count++] = (metric_id){db__i64(&r, 0)};
    *ret_count = count;
    return OK;
}

enum err_code store_writer_name_set(struct store *store, writer_id writer,
                                    const struct writer_name *name, struct err *err)
{
    return db__run(store->db, SQL_WRITER_NAME_SET,
                   ARGS(ARG_I64("writer_id", writer.v), ARG_I64("local_id", name->local_id),
                        ARG_I64("metric_id", name->metric.v)),
                   NULL, err);
}

enum err_code store_writer_name_list(struct store *store, writer_id writer, struct arena *arena,
                                     struct writer_name **ret_names, size_t *ret_count,
                                     struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct writer_name *names = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_WRITER_NAME_LIST,
                  ARGS(ARG_I64("writer_id", writer.v), ARG_I64("after_local_id", -1),
                       ARG_I64("limit", METRIC_NAMES_MAX + 1)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        names = arena_more(arena, names, count, &room, sizeof *names);
        names[count++] = (struct writer_name){
            .local_id = (uint32_t)db__i64(&r, 0),
            .metric = {db__i64(&r, 1)},
            .kind = (enum metric_kind)db__i64(&r, 2),
        };
    }
    *ret_names = names;
    *ret_count = count;
    return OK;
}

/* The columns facts_columns. */
static struct metric_facts facts_read(const struct db_result *r)
{
    return (struct metric_facts){
        .count = db__i64(r, 0),
        .finite_count = db__i64(r, 1),
        .last = float_from_bits(db__i64(r, 2)),
        .first = float_from_bits(db__i64(r, 3)),
        .min = float_from_bits(db__i64(r, 4)),
        .max = float_from_bits(db__i64(r, 5)),
        .sum = float_from_bits(db__i64(r, 6)),
        .last_step = db__i64(r, 7),
        .first_step = db__i64(r, 8),
        .min_step = db__i64(r, 9),
        .max_step = db__i64(r, 10),
        .last_at = db__i64(r, 11),
        .first_at = db__i64(r, 12),
    };
}
#define FACTS_COLUMNS 13

enum err_code store_run_metric_get(struct store *store, run_id run, metric_id metric,
                                   struct metric_facts *ret_facts, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_METRIC_GET,
                  ARGS(ARG_I64("run_id", run.v), ARG_I64("metric_id", metric.v)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_facts = row ? facts_read(&r) : (struct metric_facts){0};
    ret_facts->id = metric;
    return OK;
}

enum err_code store_writer_facts_list(struct store *store, const struct writer_facts_range *range,
                                      struct arena *arena, struct writer_facts **ret_facts,
                                      size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct writer_facts *facts = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_WRITER_FACTS_LIST,
                  ARGS(ARG_I64("run_id", range->run.v), ARG_I64("writer_id", range->writer.v),
                       ARG_I64("from_local_id", range->from), ARG_I64("to_local_id", range->to),
                       ARG_I64("limit", (int64_t)range->to - range->from + 1)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        facts = arena_more(arena, facts, count, &room, sizeof *facts);
        facts[count].facts = facts_read(&r); /* zeros where the join found nothing */
        facts[count].local_id = (uint32_t)db__i64(&r, FACTS_COLUMNS);
        facts[count++].facts.id = (metric_id){db__i64(&r, FACTS_COLUMNS + 1)};
    }
    *ret_facts = facts;
    *ret_count = count;
    return OK;
}

enum err_code store_run_metric_delete(struct store *store, run_id run, metric_id metric,
                                      struct err *err)
{
    return db__run(store->db, SQL_RUN_METRIC_DELETE,
                   ARGS(ARG_I64("run_id", run.v), ARG_I64("metric_id", metric.v)), NULL, err);
}

/* An update of one row comes first: SQLite keeps no journal of its own for that, and what it keeps
 * for the other grows with all that the transaction has changed. */
enum err_code store_run_metric_set(struct store *store, run_id run, const struct metric_facts *f,
                                   struct err *err)
{
    static const enum sql_id statements[] = {SQL_RUN_METRIC_UPDATE, SQL_RUN_METRIC_SET};
    int64_t changes = 0;

    for (size_t i = 0; i < ARRAY_LEN(statements) && changes == 0; i++)
        TRY(db__run(store->db, statements[i],
                    ARGS(ARG_I64("run_id", run.v), ARG_I64("metric_id", f->id.v),
                         ARG_I64("point_count", f->count), ARG_I64("finite_count", f->finite_count),
                         ARG_I64("last_bits", float_to_bits(f->last)),
                         ARG_I64("first_bits", float_to_bits(f->first)),
                         ARG_I64("min_bits", float_to_bits(f->min)),
                         ARG_I64("max_bits", float_to_bits(f->max)),
                         ARG_I64("sum_bits", float_to_bits(f->sum)),
                         ARG_I64("last_step", f->last_step), ARG_I64("first_step", f->first_step),
                         ARG_I64("min_step", f->min_step), ARG_I64("max_step", f->max_step),
                         ARG_I64("last_at_ms", f->last_at), ARG_I64("first_at_ms", f->first_at)),
                    &changes, err));
    return OK;
}

/* '%part%' for LIKE; "" for none. */
static struct str like_part(struct arena *arena, struct str part)
{
    char *out;
    size_t len = 0;

    if (part.len == 0)
        return STR("");
    out = arena_alloc(arena, part.len * 2 + 2);
    out[len++] = '%';
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] == '%' || part.data[i] == '_' || part.data[i] == '!')
            out[len++] = '!';
        out[len++] = part.data[i];
    }
    out[len++] = '%';
    return str_n(out, len);
}

/* The least text above all that begin with `prefix`; "" for none. */
static struct str above_prefix(struct arena *arena, struct str prefix)
{
    if (prefix.len == 0)
        return STR("");
    return str_from(arena_printf(arena, "%.*s\xF4\x8F\xBF\xBF", STR_ARG(prefix)));
}

static struct metric_facts named_facts_read(const struct db_result *r, struct arena *arena)
{
    struct metric_facts facts = facts_read(r);

    facts.id = (metric_id){db__i64(r, FACTS_COLUMNS)};
    facts.name = db__text(r, FACTS_COLUMNS + 1, arena);
    facts.kind = (enum metric_kind)db__i64(r, FACTS_COLUMNS + 2);
    return facts;
}

static enum err_code filter_start(struct store *store, enum sql_id sql, run_id run,
                                  const struct metric_filter *f, struct arena *arena,
                                  struct db_result *ret, struct err *err)
{
    struct str from = f->prefix.data ? f->prefix : STR(""),
               after = f->after.data ? f->after : STR("");

    return db__query(
        store->db, sql,
        ARGS(ARG_I64("run_id", run.v), ARG_I64("kind", f->kind),
             ARG_TEXT("from_name", str_compare(from, after) < 0 ? after : from),
             ARG_TEXT("below_name", above_prefix(arena, f->prefix)), ARG_TEXT("after_name", after),
             ARG_I64("after_kind", f->after.len ? (int64_t)f->after_kind : -1),
             ARG_TEXT("contains_like", like_part(arena, f->contains)), ARG_I64("limit", f->limit)),
        ret, err);
}

enum err_code store_run_metric_list(struct store *store, run_id run,
                                    const struct metric_filter *filter, struct arena *arena,
                                    struct metric_facts **ret_facts, size_t *ret_count,
                                    struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct metric_facts *facts = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(filter_start(store, SQL_RUN_METRIC_LIST, run, filter, arena, &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        facts = arena_more(arena, facts, count, &room, sizeof *facts);
        facts[count++] = named_facts_read(&r, arena);
    }
    *ret_facts = facts;
    *ret_count = count;
    return OK;
}

enum err_code store_run_metric_each(struct store *store, run_id run,
                                    const struct metric_filter *filter,
                                    const struct metric_visit *visit, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false, more = true;

    TRY(filter_start(store, SQL_RUN_METRIC_NAMES, run, filter, &arena, &r, err));
    for (TRY(db__next(&r, &row, err)); row && more; TRY(db__next(&r, &row, err)))
        TRY(visit->take(visit->ctx, db__view(&r, 0), (enum metric_kind)db__i64(&r, 1), &more, err));
    return OK;
}

enum err_code store_run_metric_named(struct store *store, run_id run, struct str name,
                                     enum metric_kind kind, struct arena *arena,
                                     struct metric_facts *ret_facts, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_METRIC_BY_NAME,
                  ARGS(ARG_I64("run_id", run.v), ARG_TEXT("name", name), ARG_I64("kind", kind)), &r,
                  err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "the run has no metric \"%.*s\"", STR_ARG(name));
    *ret_facts = named_facts_read(&r, arena);
    return OK;
}

/* The parameters of a statement about a series, and others behind them where it has more. */
#define SERIES_ARGS(series, ...)                                                                   \
    ARGS(ARG_I64("run_id", (series)->run.v), ARG_I64("metric_id", (series)->metric.v),             \
         ARG_I64("writer_id", (series)->writer.v) __VA_OPT__(, ) __VA_ARGS__)

static struct db_arg lender_arg(metric_id times_of)
{
    struct db_arg none = {.name = "times_of", .kind = DB_NULL};

    return times_of.v ? (struct db_arg)ARG_I64("times_of", times_of.v) : none;
}

enum err_code store_chunk_insert(struct store *store, const struct metric_series *series,
                                 const struct metric_chunk *c, struct err *err)
{
    return db__run(store->db, SQL_METRIC_CHUNK_INSERT,
                   SERIES_ARGS(series, ARG_I64("seq", c->seq), lender_arg(c->times_of),
                               ARG_BYTES("data", c->data)),
                   NULL, err);
}

/* The data of a row, with the lender's times where it has none of its own. */
static enum err_code take_data(struct db_result *r, enum timed kind, bool timed,
                               struct arena *arena, struct str *ret_data, struct err *err)
{
    bool row = false;

    TRY(db__next(r, &row, err));
    if (!row)
        return err_set(err, ERR_IO, "%s of a metric is missing",
                       kind == TIMED_CHUNK ? "a chunk" : "a row of the pyramid");
    if (!timed || db__null(r, 1)) {
        *ret_data = db__text(r, 0, arena);
        return OK;
    }
    return times_restore(kind, db__view(r, 0), db__view(r, 1), arena, ret_data, err);
}

enum err_code store_chunk_get(struct store *store, const struct metric_series *series,
                              struct store_chunk_choice choice, struct arena *arena,
                              struct str *ret_data, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(store->db, choice.timed ? SQL_METRIC_CHUNK_GET_TIMED : SQL_METRIC_CHUNK_GET,
                  SERIES_ARGS(series, ARG_I64("seq", choice.seq)), &r, err));
    return take_data(&r, TIMED_CHUNK, choice.timed, arena, ret_data, err);
}

enum err_code store_series_get(struct store *store, struct metric_series *series, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_SERIES_GET, SERIES_ARGS(series), &r, err));
    TRY(db__next(&r, &row, err));
    series->count = row ? db__i64(&r, 0) : 0;
    series->step_min = row ? db__i64(&r, 1) : INT64_MAX;
    series->step_max = row ? db__i64(&r, 2) : INT64_MIN;
    series->at_min = row ? db__i64(&r, 3) : INT64_MAX;
    series->at_max = row ? db__i64(&r, 4) : INT64_MIN;
    series->log_offset = row ? db__i64(&r, 5) : 0;
    return OK;
}

enum err_code store_series_tail(struct store *store, const struct metric_series *series,
                                struct arena *arena, struct str *ret_data, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_METRIC_SERIES_TAIL, SERIES_ARGS(series), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row || db__null(&r, 0))
        return err_set(err, ERR_IO, "the last points of a metric are missing");
    *ret_data = db__text(&r, 0, arena);
    return OK;
}

enum err_code store_series_set(struct store *store, const struct metric_series *series,
                               struct str tail, int64_t expected_offset, struct err *err)
{
    struct db_arg none = {.name = "tail", .kind = DB_NULL};
    int64_t changes = 0;

    TRY(db__run(
        store->db, SQL_METRIC_SERIES_SET,
        SERIES_ARGS(series, ARG_I64("point_count", series->count),
                    ARG_I64("step_min", series->step_min), ARG_I64("step_max", series->step_max),
                    ARG_I64("at_min_ms", series->at_min), ARG_I64("at_max_ms", series->at_max),
                    ARG_I64("log_offset", series->log_offset),
                    tail.len ? (struct db_arg)ARG_BYTES("tail", tail) : none,
                    ARG_I64("expected_offset", expected_offset)),
        &changes, err));
    if (changes != 1)
        return err_set(err, ERR_CONFLICT, "the log was compacted meanwhile");
    return OK;
}

enum err_code store_level_get(struct store *store, const struct metric_series *series,
                              struct store_level_choice choice, struct arena *arena,
                              struct str *ret_data, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(store->db, choice.timed ? SQL_METRIC_LEVEL_GET_TIMED : SQL_METRIC_LEVEL_GET,
                  SERIES_ARGS(series, ARG_I64("level", choice.level), ARG_I64("seq", choice.seq)),
                  &r, err));
    return take_data(&r, TIMED_LEVEL, choice.timed, arena, ret_data, err);
}

enum err_code store_level_set(struct store *store, const struct metric_series *series,
                              const struct metric_level *level, struct err *err)
{
    return db__run(store->db, SQL_METRIC_LEVEL_SET,
                   SERIES_ARGS(series, ARG_I64("level", level->level), ARG_I64("seq", level->seq),
                               lender_arg(level->times_of), ARG_BYTES("data", level->data)),
                   NULL, err);
}
