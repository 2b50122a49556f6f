/* Walking everything the store keeps, to copy it or to look for damage. */
#include "store/store_maintain.h"

#include "runlog/record.h"
#include "store/chunk/chunk.h"
#include "store/chunk/level.h"
#include "store/chunk/times.h"
#include "store/db.h"

#include <stdio.h>

#define EVERYTHING INT64_MAX
#define PAGE       500 /* rows of metrics in memory at once */

enum err_code store_copy(struct store *store, const char *path, struct err *err)
{
    if (store->db->driver->copy)
        return store->db->driver->copy(store->db, path, err);
    (void)err_set(err, ERR_UNPROCESSABLE, "a PostgreSQL database is backed up by its own tools");
    err_hint(err, "pg_dump the database, then copy the folder of files (--blobs)");
    return ERR_UNPROCESSABLE;
}

enum err_code store_schema_check(struct store *store, struct err *err)
{
    int have = 0;

    TRY(store->db->driver->schema_get(store->db, &have, err));
    if (have == store_schema_newest())
        return OK;
    (void)err_set(err, ERR_CONFLICT, "the database has schema %d, this program knows %d", have,
                  store_schema_newest());
    err_hint(err, "use the euvyrad that wrote it, or start this one once");
    return ERR_CONFLICT;
}

enum err_code store_check_database(struct store *store, const struct store_fault_sink *sink,
                                   struct err *err)
{
    if (!store->db->driver->integrity)
        return OK;
    return store->db->driver->integrity(store->db, sink->ctx, sink->fault, err);
}

PRINTF_LIKE(2, 3)
static void tell(const struct store_fault_sink *sink, const char *format, ...)
{
    char text[1200];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sink->fault(sink->ctx, text);
}

struct log_of {
    writer_id id;
    struct id writer, run;
    int64_t committed, applied, compacted;
};

static void check_offsets(const struct log_of *log, const struct store_fault_sink *sink)
{
    if (log->compacted < 0 || log->compacted > log->applied || log->applied > log->committed)
        tell(sink, "run %s, writer %s: offsets are out of order (%lld, %lld, %lld)", log->run.text,
             log->writer.text, (long long)log->compacted, (long long)log->applied,
             (long long)log->committed);
}

static void check_log_blob(const struct log_of *log, const struct log_blob *blob, int64_t expected,
                           const struct store_fault_sink *sink)
{
    size_t whole = 0;

    if (blob->start_offset != expected)
        tell(sink, "run %s, writer %s: log bytes %lld to %lld are missing", log->run.text,
             log->writer.text, (long long)expected, (long long)blob->start_offset);
    if (blob->end_offset - blob->start_offset != (int64_t)blob->data.len)
        tell(sink, "run %s, writer %s: the log at %lld has %zu bytes, not %lld", log->run.text,
             log->writer.text, (long long)blob->start_offset, blob->data.len,
             (long long)(blob->end_offset - blob->start_offset));
    if (runlog_check((const uint8_t *)blob->data.data, blob->data.len, &whole) != RUNLOG_END)
        tell(sink, "run %s, writer %s: the log is damaged at byte %lld", log->run.text,
             log->writer.text, (long long)(blob->start_offset + (int64_t)whole));
}

static enum err_code check_log(struct store *store, const struct log_of *log,
                               const struct store_fault_sink *sink,
                               struct store_check_counts *counts, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    int64_t expected = -1;
    bool row = false;

    check_offsets(log, sink);
    TRY(db__query(store->db, SQL_MAINTAIN_LOG_BLOBS,
                  ARGS(ARG_I64("writer_id", log->id.v), ARG_I64("limit", EVERYTHING)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct log_blob blob = {log->id, db__i64(&r, 0), db__i64(&r, 1), db__view(&r, 2)};
        /* The first may begin before what is in chunks, never behind it. */
        if (expected < 0)
            expected = MIN(blob.start_offset, log->compacted);
        check_log_blob(log, &blob,
                       blob.start_offset > log->compacted ? expected : blob.start_offset, sink);
        expected = blob.end_offset;
        counts->log_blobs++;
    }
    if (MAX(expected, log->compacted) != log->committed)
        tell(sink, "run %s, writer %s: log bytes %lld to %lld are missing", log->run.text,
             log->writer.text, (long long)MAX(expected, log->compacted), (long long)log->committed);
    return OK;
}

enum err_code store_check_logs(struct store *store, const struct store_fault_sink *sink,
                               struct store_check_counts *counts, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_MAINTAIN_WRITERS, ARGS(ARG_I64("limit", EVERYTHING)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct log_of log = {{db__i64(&r, 0)}, db__id(&r, 1),  db__id(&r, 2),
                             db__i64(&r, 3),   db__i64(&r, 4), db__i64(&r, 5)};
        counts->writers++;
        TRY(check_log(store, &log, sink, counts, err));
    }
    return OK;
}

/* A row of either walk: whose it is. */
static void tell_row(const struct db_result *r, const char *what, const struct err *problem,
                     const struct store_fault_sink *sink)
{
    struct id run = db__id(r, 0), writer = db__id(r, 1);
    struct str name = db__view(r, 2);

    tell(sink, "run %s, metric %.*s, writer %s, %s %lld: %s", run.text, STR_ARG(name), writer.text,
         what, (long long)db__i64(r, 3), problem->text);
}

/* Where a walk over a table of metrics stands: behind this row. */
struct place {
    int64_t run, metric, writer, level, seq;
};

/* What a walk reads: chunks, the tails after them, or the pyramid. */
struct rows {
    const char *what; /* in what is told, before its number */
    enum sql_id sql;
    enum timed kind;
    int key_parts; /* of run, metric, writer, seq, level */
};
static const struct rows chunk_rows = {"chunk", SQL_MAINTAIN_CHUNKS, TIMED_CHUNK, 4};
static const struct rows tail_rows = {"tail after point", SQL_MAINTAIN_TAILS, TIMED_CHUNK, 3};
static const struct rows level_rows = {"pyramid row", SQL_MAINTAIN_LEVELS, TIMED_LEVEL, 5};

struct decoder {
    struct column_coder *coder;
    struct chunk_points *points;
    struct level_row *level;
};

static enum err_code decode(const struct decoder *d, enum timed kind, struct str data,
                            struct err *err)
{
    size_t records;

    if (kind == TIMED_CHUNK)
        return chunk_decode(d->coder, data, CHUNK_ALL, d->points, err);
    do
        TRY(level_row_take(d->coder, &data, LEVEL_BOTH, d->level, &records, err));
    while (data.len);
    return OK;
}

/* With the times of the lender, if there is one. */
static enum err_code decode_row(const struct decoder *d, enum timed kind, const struct db_result *r,
                                struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str data = db__view(r, 4);

    if (!db__null(r, 5))
        TRY(times_restore(kind, data, db__view(r, 5), &arena, &data, err));
    return decode(d, kind, data, err);
}

/* One page of rows; *ret_more is false at the end. */
static enum err_code check_page(struct store *store, const struct rows *rows,
                                const struct decoder *d, struct place *at,
                                const struct store_fault_sink *sink, int64_t *count, bool *ret_more,
                                struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct db_arg args[] = {
        ARG_I64("limit", PAGE),           ARG_I64("run_id", at->run),
        ARG_I64("metric_id", at->metric), ARG_I64("writer_id", at->writer),
        ARG_I64("seq", at->seq),          ARG_I64("level", at->level),
        {.name = NULL, .kind = DB_END},
    };
    int64_t before = *count;
    bool row = false;

    args[1 + rows->key_parts] = args[ARRAY_LEN(args) - 1];
    TRY(db__query(store->db, rows->sql, args, &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct err problem;
        ++*count;
        if (decode_row(d, rows->kind, &r, &problem) != OK)
            tell_row(&r, rows->what, &problem, sink);
        *at = (struct place){db__i64(&r, 6), db__i64(&r, 7), db__i64(&r, 8),
                             rows->kind == TIMED_LEVEL ? db__i64(&r, 9) : 0, db__i64(&r, 3)};
    }
    *ret_more = *count - before == PAGE;
    return OK;
}

static enum err_code check_rows(struct store *store, const struct rows *rows,
                                const struct decoder *d, const struct store_fault_sink *sink,
                                int64_t *count, struct err *err)
{
    struct place at = {-1, -1, -1, -1, -1};
    bool more = true;

    while (more)
        TRY(check_page(store, rows, d, &at, sink, count, &more, err));
    return OK;
}

enum err_code store_check_chunks(struct store *store, const struct store_fault_sink *sink,
                                 struct store_check_counts *counts, struct err *err)
{
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    CLEANUP(arena_release) struct arena arena = {0};
    struct decoder d = {coder, ARENA_NEW(&arena, struct chunk_points),
                        ARENA_NEW(&arena, struct level_row)};

    TRY(check_rows(store, &chunk_rows, &d, sink, &counts->chunks, err));
    TRY(check_rows(store, &tail_rows, &d, sink, &counts->chunks, err));
    return check_rows(store, &level_rows, &d, sink, &counts->levels, err);
}

enum err_code store_blob_walk(struct store *store, const struct store_blob_walk *walk,
                              struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_MAINTAIN_BLOBS, ARGS(ARG_I64("limit", EVERYTHING)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        char digest[80];
        snprintf(digest, sizeof digest, "%.*s", STR_ARG(db__view(&r, 0)));
        TRY(walk->visit(walk->ctx, digest, db__i64(&r, 1), err));
    }
    return OK;
}
