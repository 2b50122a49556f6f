/* Writers, log blobs and files by digest: part of sql/statements/ingest.sql. */
#include "store/store_log.h"

#include "store/db.h"

enum err_code store_writer_insert(struct store *store, struct writer *w, struct err *err)
{
    return db__insert(store->db, SQL_WRITER_INSERT,
                      ARGS(ARG_ID("public_id", &w->public_id), ARG_I64("run_id", w->run.v),
                           ARG_I64("started_ms", w->started), ARG_BOOL("fenced", w->fenced)),
                      &w->id.v, err);
}

static void writer_read(const struct db_result *r, struct arena *arena, struct writer *ret_writer)
{
    *ret_writer = (struct writer){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .run = {db__i64(r, 2)},
        .kind = db__text(r, 3, arena),
        .started = db__i64(r, 4),
        .committed_offset = db__i64(r, 5),
        .committed_crc = (uint32_t)db__i64(r, 6),
        .applied_offset = db__i64(r, 7),
        .compacted_offset = db__i64(r, 8),
        .fenced = db__i64(r, 9) != 0,
        .ended = db__i64(r, 10) != 0,
        .host = db__text(r, 11, arena),
        .rank = db__exit(r, 12),
        .local_rank = db__exit(r, 13),
        .world_size = db__exit(r, 14),
        .epoch_kind = epoch_kind_from_name(db__view(r, 15)),
        .epoch_key = db__text(r, 16, arena),
        .epoch_step = db__time(r, 17),
        .first_step = db__time(r, 18),
        .heard = db__time(r, 19),
        .ended_at = db__time(r, 20),
        .exit_code = db__exit(r, 21),
        .exit_signal = db__exit(r, 22),
        .oom = db__i64(r, 23) != 0,
        .reason = db__text(r, 24, arena),
        .preempting = db__i64(r, 25) != 0,
        .redacted = db__i64(r, 26),
        .console_bytes = db__i64(r, 27),
        .gone = TIME_NONE,
    };
}

static enum err_code writer_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                                struct arena *arena, struct writer *ret_writer)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, &row, NULL));
    if (!row)
        return ERR_NOT_FOUND;
    writer_read(&r, arena, ret_writer);
    return OK;
}

static enum err_code writer_many(struct store *store, enum sql_id sql, const struct db_arg *args,
                                 struct arena *arena, struct writer **ret_writers,
                                 size_t *ret_count)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct writer *writers = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    for (TRY(db__next(&r, &row, NULL)); row; TRY(db__next(&r, &row, NULL))) {
        writers = arena_more(arena, writers, count, &room, sizeof *writers);
        writer_read(&r, arena, &writers[count++]);
    }
    *ret_writers = writers;
    *ret_count = count;
    return OK;
}

static enum err_code list_code(enum err_code code, struct err *err)
{
    return code == OK ? OK : err_set(err, code, "the list of writers cannot be read");
}

enum err_code store_writer_get(struct store *store, run_id run, const struct id *id,
                               struct arena *arena, struct writer *ret_writer, struct err *err)
{
    enum err_code code =
        writer_one(store, SQL_WRITER_BY_PUBLIC_ID,
                   ARGS(ARG_I64("run_id", run.v), ARG_ID("public_id", id)), arena, ret_writer);
    return code == OK ? OK : err_set(err, code, "writer %s not found", id->text);
}

enum err_code store_writer_by_id(struct store *store, writer_id id, struct arena *arena,
                                 struct writer *ret_writer, struct err *err)
{
    enum err_code code =
        writer_one(store, SQL_WRITER_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_writer);
    return code == OK ? OK : err_set(err, code, "the writer is gone");
}

enum err_code store_writer_list(struct store *store, run_id run, int limit, struct arena *arena,
                                struct writer **ret_writers, size_t *ret_count, struct err *err)
{
    return list_code(writer_many(store, SQL_WRITER_LIST,
                                 ARGS(ARG_I64("run_id", run.v), ARG_I64("limit", limit)), arena,
                                 ret_writers, ret_count),
                     err);
}

enum err_code store_writer_unapplied(struct store *store, writer_id after, int limit,
                                     struct arena *arena, struct writer **ret_writers,
                                     size_t *ret_count, struct err *err)
{
    return list_code(writer_many(store, SQL_WRITER_UNAPPLIED_LIST,
                                 ARGS(ARG_I64("after_id", after.v), ARG_I64("limit", limit)), arena,
                                 ret_writers, ret_count),
                     err);
}

enum err_code store_writer_uncompacted(struct store *store, int64_t bytes_min, int limit,
                                       struct arena *arena, struct writer **ret_writers,
                                       size_t *ret_count, struct err *err)
{
    return list_code(writer_many(store, SQL_WRITER_UNCOMPACTED_LIST,
                                 ARGS(ARG_I64("bytes_min", bytes_min), ARG_I64("limit", limit)),
                                 arena, ret_writers, ret_count),
                     err);
}

enum err_code store_log_append(struct store *store, struct writer *w, struct str data,
                               uint32_t crc_after, struct err *err)
{
    int64_t end = w->committed_offset + (int64_t)data.len, changes = 0;

    TRY(db__run(store->db, SQL_LOG_BLOB_INSERT,
                ARGS(ARG_I64("writer_id", w->id.v), ARG_I64("start_offset", w->committed_offset),
                     ARG_I64("end_offset", end), ARG_BYTES("data", data)),
                NULL, err));
    TRY(db__run(store->db, SQL_WRITER_COMMITTED,
                ARGS(ARG_I64("id", w->id.v), ARG_I64("committed_offset", end),
                     ARG_I64("committed_crc", crc_after),
                     ARG_I64("expected_offset", w->committed_offset)),
                &changes, err));
    if (changes != 1)
        return err_set(err, ERR_CONFLICT, "the log of writer %s moved meanwhile",
                       w->public_id.text);
    w->committed_offset = end;
    w->committed_crc = crc_after;
    return OK;
}

enum err_code store_writer_applied(struct store *store, const struct writer *w, int64_t expected,
                                   struct err *err)
{
    int64_t changes = 0;

    TRY(db__run(store->db, SQL_WRITER_APPLIED,
                ARGS(ARG_I64("id", w->id.v), ARG_I64("applied_offset", w->applied_offset),
                     ARG_TEXT("kind", w->kind), ARG_I64("started_ms", w->started),
                     ARG_BOOL("ended", w->ended), ARG_TEXT("host", w->host),
                     ARG_EXIT("rank_no", w->rank), ARG_EXIT("local_rank", w->local_rank),
                     ARG_EXIT("world_size", w->world_size),
                     ARG_TEXT("epoch_kind", str_from(epoch_kind_name(w->epoch_kind))),
                     ARG_TEXT("epoch_key", w->epoch_key), ARG_TIME("epoch_step", w->epoch_step),
                     ARG_TIME("first_step", w->first_step), ARG_TIME("heard_ms", w->heard),
                     ARG_TIME("ended_ms", w->ended_at), ARG_EXIT("exit_code", w->exit_code),
                     ARG_EXIT("exit_signal", w->exit_signal), ARG_BOOL("oom", w->oom),
                     ARG_TEXT("reason", w->reason), ARG_BOOL("preempting", w->preempting),
                     ARG_I64("redacted", w->redacted), ARG_I64("console_bytes", w->console_bytes),
                     ARG_I64("expected_offset", expected)),
                &changes, err));
    return changes == 1 ? OK : err_set(err, ERR_CONFLICT, "the log was applied meanwhile");
}

enum err_code store_writer_compacted(struct store *store, const struct writer *w, int64_t expected,
                                     struct err *err)
{
    int64_t changes = 0;

    TRY(db__run(store->db, SQL_WRITER_COMPACTED,
                ARGS(ARG_I64("id", w->id.v), ARG_I64("compacted_offset", w->compacted_offset),
                     ARG_I64("expected_offset", expected)),
                &changes, err));
    if (changes != 1)
        return err_set(err, ERR_CONFLICT, "the log was compacted meanwhile");
    return db__run(
        store->db, SQL_LOG_BLOB_DELETE_BEFORE,
        ARGS(ARG_I64("writer_id", w->id.v), ARG_I64("before_offset", w->compacted_offset)), NULL,
        err);
}

enum err_code store_writer_fence(struct store *store, writer_id id, struct err *err)
{
    return db__run(store->db, SQL_WRITER_FENCE, ARGS(ARG_I64("id", id.v)), NULL, err);
}

enum err_code store_log_blob_next(struct store *store, writer_id writer, int64_t from,
                                  struct arena *arena, struct log_blob *ret_blob, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(
        store->db, SQL_LOG_BLOB_LIST,
        ARGS(ARG_I64("writer_id", writer.v), ARG_I64("from_offset", from), ARG_I64("limit", 1)), &r,
        err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "no log bytes from offset %lld", (long long)from);
    *ret_blob = (struct log_blob){
        .writer = writer,
        .start_offset = db__i64(&r, 0),
        .end_offset = db__i64(&r, 1),
        .data = db__text(&r, 2, arena),
    };
    return OK;
}

enum err_code store_log_record_insert(struct store *store, writer_id writer, int64_t offset,
                                      int type, struct str payload, struct err *err)
{
    return db__run(store->db, SQL_LOG_RECORD_INSERT,
                   ARGS(ARG_I64("writer_id", writer.v), ARG_I64("log_offset", offset),
                        ARG_I64("record_type", type), ARG_BYTES("payload", payload)),
                   NULL, err);
}

enum err_code store_blob_put(struct store *store, project_id project, struct str digest,
                             int64_t bytes, time_ms now, struct err *err)
{
    TRY(db__run(
        store->db, SQL_BLOB_INSERT,
        ARGS(ARG_TEXT("digest", digest), ARG_I64("size_bytes", bytes), ARG_I64("created_ms", now)),
        NULL, err));
    return db__run(store->db, SQL_PROJECT_BLOB_INSERT,
                   ARGS(ARG_I64("project_id", project.v), ARG_TEXT("digest", digest)), NULL, err);
}

enum err_code store_blob_get(struct store *store, project_id project, struct str digest,
                             int64_t *ret_bytes, struct err *err)
{
    enum err_code code = db__number(
        store->db, SQL_PROJECT_BLOB_GET,
        ARGS(ARG_I64("project_id", project.v), ARG_TEXT("digest", digest)), ret_bytes, NULL);
    return code == OK
               ? OK
               : err_set(err, code, "this project has no file with digest %.*s", STR_ARG(digest));
}
