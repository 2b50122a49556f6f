/* Reading a run as lines. Simple tables are read one after the other; what belongs to a metric is
 * read metric by metric, in the order of names, so that two exports of the same run are equal
 * whatever the numbers of its rows are. */
#include "store/dump/dump.h"

#include "base/base64.h"
#include "store/db.h"
#include "store/dump/dump_tables.h"
#include "store/store_log.h"

#define ROWS_A_QUERY    200
#define METRICS_A_QUERY 500

struct reading {
    struct store *store;
    run_id run;
    struct dump_place *at;
    size_t bytes_goal;
    struct buf *out;
};

static bool is_full(const struct reading *r)
{
    return r->out->len >= r->bytes_goal || r->out->full;
}

static void put_bytes(struct json_writer *w, struct str bytes)
{
    json_put_str(w, STR("")); /* the quotes, with nothing between */
    w->out->len--;
    (void)base64_add(w->out, bytes);
    (void)buf_add_char(w->out, '"');
}

static void put_column(struct json_writer *w, const struct dump_column *column,
                       const struct db_result *row, int index)
{
    json_put_key(w, column->name);
    if (db__null(row, index)) {
        json_put_null(w);
        return;
    }
    switch (column->kind) {
    case DUMP_I64:
    case DUMP_METRIC_KIND: json_put_i64(w, db__i64(row, index)); break;
    case DUMP_BYTES: put_bytes(w, db__view(row, index)); break;
    default: json_put_str(w, db__view(row, index)); break;
    }
}

static void put_row(struct reading *r, const struct dump_table *table, const struct db_result *row)
{
    struct json_writer w;

    json_writer_init(&w, r->out);
    json_begin_object(&w);
    json_put_key(&w, "t");
    json_put_text(&w, table->name);
    for (size_t i = 0; i < table->column_count; i++)
        put_column(&w, &table->columns[i], row, (int)i);
    json_end_object(&w);
    (void)buf_add_char(r->out, '\n');
}

/* Rows of one query; *ret_more is false when the table has no more. */
static enum err_code read_rows(struct reading *r, const struct dump_table *table, int64_t metric,
                               bool *ret_more, struct err *err)
{
    CLEANUP(db__result_release) struct db_result rows = {0};
    struct db_arg args[] = {
        ARG_I64("run_id", r->run.v),  ARG_I64("limit", ROWS_A_QUERY), ARG_I64("skip", r->at->skip),
        ARG_I64("metric_id", metric), {.name = NULL, .kind = DB_END},
    };
    int count = 0;
    bool row = false;

    if (table->owner != OWNED_BY_SERIES)
        args[3] = args[4];
    if (table->owner == OWNED_BY_PROJECT)
        args[1] = args[4];
    TRY(db__query(r->store->db, table->read, args, &rows, err));
    while (!is_full(r)) {
        TRY(db__next(&rows, &row, err));
        if (!row)
            break;
        put_row(r, table, &rows);
        r->at->skip++;
        count++;
    }
    *ret_more = is_full(r) || count == ROWS_A_QUERY;
    return OK;
}

/* One table to its end, or until the part is full. */
static enum err_code read_table(struct reading *r, int64_t metric, struct err *err)
{
    const struct dump_table *table = &dump_tables[r->at->table];
    bool more = true;

    while (more && !is_full(r)) {
        TRY(read_rows(r, table, metric, &more, err));
        more = more && table->owner != OWNED_BY_PROJECT;
    }
    if (!more) {
        r->at->table++;
        r->at->skip = 0;
    }
    return OK;
}

/* The row of a metric is passed already; what hangs on it follows. */
static enum err_code read_metric(struct reading *r, const struct db_result *row, struct err *err)
{
    const struct dump_table *table = &dump_tables[DUMP_TABLE_METRIC];
    int64_t metric = db__i64(row, (int)table->column_count);

    if (r->at->table == DUMP_TABLE_METRIC) {
        put_row(r, table, row);
        r->at->table++;
        r->at->skip = 0;
    }
    while (r->at->table < DUMP_TABLE_COUNT && !is_full(r))
        TRY(read_table(r, metric, err));
    if (r->at->table == DUMP_TABLE_COUNT) {
        r->at->table = DUMP_TABLE_METRIC;
        r->at->metric_skip++;
    }
    return OK;
}

static enum err_code read_metrics(struct reading *r, bool *ret_end, struct err *err)
{
    CLEANUP(db__result_release) struct db_result rows = {0};
    int count = 0;
    bool row = true;

    TRY(db__query(r->store->db, SQL_DUMP_METRIC_READ,
                  ARGS(ARG_I64("run_id", r->run.v), ARG_I64("limit", METRICS_A_QUERY),
                       ARG_I64("skip", r->at->metric_skip)),
                  &rows, err));
    while (!is_full(r)) {
        TRY(db__next(&rows, &row, err));
        if (!row)
            break;
        TRY(read_metric(r, &rows, err));
        count++;
    }
    *ret_end = !row && count < METRICS_A_QUERY;
    return OK;
}

enum err_code dump_read(struct store *store, run_id run, struct dump_place *at, size_t bytes_goal,
                        struct buf *out, bool *ret_end, struct err *err)
{
    struct reading r = {store, run, at, out->len + bytes_goal, out};

    *ret_end = false;
    while (at->table < DUMP_TABLE_METRIC && !is_full(&r))
        TRY(read_table(&r, 0, err));
    while (at->table >= DUMP_TABLE_METRIC && !is_full(&r) && !*ret_end)
        TRY(read_metrics(&r, ret_end, err));
    return buf_check(out, "a part of the export", err);
}

enum err_code dump_stamp(struct store *store, run_id run, uint64_t *ret_stamp, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    uint64_t stamp = 0xcbf29ce484222325u;
    bool row = false;

    TRY(db__query(store->db, SQL_DUMP_STAMP, ARGS(ARG_I64("run_id", run.v)), &r, err));
    TRY(db__next(&r, &row, err));
    ENSURE(row); /* an aggregate */
    for (int i = 0; i < 5; i++)
        stamp = (stamp ^ (uint64_t)db__i64(&r, i)) * 0x100000001b3u;
    *ret_stamp = stamp & INT64_MAX;
    return OK;
}
