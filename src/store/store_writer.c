/* Documents, console text and deaths of writers: part of sql/statements/ingest.sql. */
#include "store/store_writer.h"

#include "store/db.h"
#include "store/store_run.h"

enum err_code store_writer_doc_get(struct store *store, writer_id writer, enum writer_doc kind,
                                   struct arena *arena, struct str *ret_body, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(
        store->db, SQL_WRITER_DOC_GET,
        ARGS(ARG_I64("writer_id", writer.v), ARG_TEXT("kind", str_from(writer_doc_name(kind)))), &r,
        err));
    TRY(db__next(&r, &row, err));
    *ret_body = row ? db__text(&r, 0, arena) : (struct str){0};
    return OK;
}

enum err_code store_writer_doc_set(struct store *store, writer_id writer, enum writer_doc kind,
                                   struct str body, struct err *err)
{
    return db__run(store->db, SQL_WRITER_DOC_SET,
                   ARGS(ARG_I64("writer_id", writer.v),
                        ARG_TEXT("kind", str_from(writer_doc_name(kind))), ARG_TEXT("body", body)),
                   NULL, err);
}

enum err_code store_writer_doc_list(struct store *store, run_id run, enum writer_doc kind,
                                    int limit, struct arena *arena, struct str **ret_bodies,
                                    size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct str *bodies = arena_array(arena, (size_t)limit, sizeof *bodies);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_WRITER_DOC_LIST,
                  ARGS(ARG_I64("run_id", run.v), ARG_TEXT("kind", str_from(writer_doc_name(kind))),
                       ARG_I64("limit", limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        bodies[count++] = db__text(&r, 0, arena);
    *ret_bodies = bodies;
    *ret_count = count;
    return OK;
}

enum err_code store_writer_doc_writers(struct store *store, run_id run,
                                       const struct writer_doc_filter *filter, struct arena *arena,
                                       writer_id **ret_writers, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    writer_id *writers = arena_array(arena, (size_t)filter->limit, sizeof *writers);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_WRITER_DOC_WRITERS,
                  ARGS(ARG_I64("run_id", run.v),
                       ARG_TEXT("kind", str_from(writer_doc_name(filter->kind))),
                       ARG_I64("chars_max", filter->chars_max), ARG_I64("limit", filter->limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        writers[count++] = (writer_id){db__i64(&r, 0)};
    *ret_writers = writers;
    *ret_count = count;
    return OK;
}

enum err_code store_writer_doc_is_last(struct store *store, const struct writer *writer,
                                       enum writer_doc kind, bool *ret_last, struct err *err)
{
    int64_t later = 0;

    TRY(db__number(
        store->db, SQL_WRITER_DOC_LATER,
        ARGS(ARG_I64("run_id", writer->run.v), ARG_TEXT("kind", str_from(writer_doc_name(kind))),
             ARG_I64("started_ms", writer->started), ARG_ID("public_id", &writer->public_id)),
        &later, err));
    *ret_last = later == 0;
    return OK;
}

enum err_code store_writer_gone_set(struct store *store, run_id run, const struct writer_gone *gone,
                                    struct err *err)
{
    return db__run(store->db, SQL_WRITER_GONE_SET,
                   ARGS(ARG_I64("run_id", run.v), ARG_ID("writer_public_id", &gone->writer),
                        ARG_I64("at_ms", gone->at), ARG_BOOL("oom", gone->oom)),
                   NULL, err);
}

enum err_code store_writer_gone_list(struct store *store, run_id run, int limit,
                                     struct arena *arena, struct writer_gone **ret_gone,
                                     size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct writer_gone *gone = arena_array(arena, (size_t)limit, sizeof *gone);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_WRITER_GONE_LIST,
                  ARGS(ARG_I64("run_id", run.v), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        gone[count++] = (struct writer_gone){
            .writer = db__id(&r, 0), .at = db__i64(&r, 1), .oom = db__i64(&r, 2) != 0};
    *ret_gone = gone;
    *ret_count = count;
    return OK;
}

enum err_code store_writer_console_append(struct store *store, struct writer *w, struct str text,
                                          struct err *err)
{
    int64_t end = w->console_bytes + (int64_t)text.len;

    if (text.len == 0)
        return OK;
    TRY(db__run(store->db, SQL_WRITER_CONSOLE_INSERT,
                ARGS(ARG_I64("writer_id", w->id.v), ARG_I64("start_offset", w->console_bytes),
                     ARG_I64("end_offset", end), ARG_BYTES("data", text)),
                NULL, err));
    w->console_bytes = end;
    return OK;
}

enum err_code store_writer_console_read(struct store *store, writer_id writer, int64_t offset,
                                        int64_t bytes_max, struct buf *out, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    int64_t to = offset + MIN(bytes_max, (int64_t)CONSOLE_READ_BYTES_MAX);

    TRY(db__query(store->db, SQL_WRITER_CONSOLE_READ,
                  ARGS(ARG_I64("writer_id", writer.v), ARG_I64("from_offset", offset),
                       ARG_I64("to_offset", to), ARG_I64("limit", 100000)),
                  &r, err));
    return db__take_pieces(&r, offset, to, out, err);
}
