/* Statements of sql/statements/run.sql as typed functions. */
#include "store/store_run.h"

#include "model/attribute.h"
#include "store/db.h"

#define RUN_COLUMNS 32 /* of the list run_columns */

enum err_code store_run_insert(struct store *store, struct run *run, struct err *err)
{
    return db__insert(
        store->db, SQL_RUN_INSERT,
        ARGS(ARG_ID("public_id", &run->public_id), ARG_I64("project_id", run->project.v),
             ARG_TEXT("name", run->name), ARG_TEXT("state", str_from(run_state_name(run->state))),
             ARG_I64("owner_id", run->owner.v), ARG_ID_OPT("job_public_id", &run->job_public_id),
             ARG_TEXT("run_group", run->group), ARG_TEXT("job_type", run->job_type),
             ARG_TEXT("notes", run->notes), ARG_TEXT("tags", run->tags),
             ARG_TEXT("command", run->command), ARG_I64("created_ms", run->created),
             ARG_BYTES("create_hash", str_n((const char *)run->create_hash, HASH_BYTES)),
             ARG_I64("indexed", RUN_INDEX_VERSION)),
        &run->id.v, err);
}

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (hash ^ len) * 0x100000001b3u; /* so that texts side by side cannot trade bytes */
}

uint64_t store_run_mark(const struct run *run)
{
    const struct str *const texts[] = {&run->name, &run->group, &run->job_type, &run->host,
                                       &run->tags};
    const int64_t numbers[] = {run->state, run->started, run->ended, run->cost_micro,
                               run->exit_code};
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        hash = mix(hash, texts[i]->data, texts[i]->len);
    return mix(hash, numbers, sizeof numbers);
}

static void run_read(const struct db_result *r, struct arena *arena, struct run *ret_run)
{
    *ret_run = (struct run){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .project = {db__i64(r, 2)},
        .project_name = db__text(r, 3, arena),
        .name = db__text(r, 4, arena),
        .state = run_state_from_name(db__view(r, 5)),
        .owner = {db__i64(r, 6)},
        .owner_login = db__text(r, 7, arena),
        .job_public_id = db__id(r, 8),
        .group = db__text(r, 9, arena),
        .job_type = db__text(r, 10, arena),
        .host = db__text(r, 11, arena),
        .notes = db__text(r, 12, arena),
        .tags = db__text(r, 13, arena),
        .command = db__text(r, 14, arena),
        .reason = db__text(r, 15, arena),
        .exit_code = db__exit(r, 16),
        .exit_signal = db__exit(r, 17),
        .oom = db__i64(r, 18) != 0,
        .created = db__i64(r, 19),
        .started = db__time(r, 20),
        .ended = db__time(r, 21),
        .seen = db__time(r, 22),
        .cost_micro = db__null(r, 23) ? -1 : db__i64(r, 23),
        .console_bytes = db__i64(r, 24),
        .console_final = db__i64(r, 25) != 0,
        .parent = db__id(r, 27),
        .parent_step = db__time(r, 28),
        .redacted = db__i64(r, 29),
        .stop_asked = db__time(r, 30),
        .facts_cut = db__i64(r, 31) != 0,
    };
    db__hash(r, 26, ret_run->create_hash);
    ret_run->read_mark = store_run_mark(ret_run);
}

static enum err_code run_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                             struct arena *arena, struct run *ret_run)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, &row, NULL));
    if (!row)
        return ERR_NOT_FOUND;
    run_read(&r, arena, ret_run);
    return OK;
}

enum err_code store_run_get(struct store *store, const struct id *id, struct arena *arena,
                            struct run *ret_run, struct err *err)
{
    enum err_code code =
        run_one(store, SQL_RUN_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)), arena, ret_run);
    return code == OK ? OK : err_set(err, code, "run %s not found", id->text);
}

enum err_code store_run_by_id(struct store *store, run_id id, struct arena *arena,
                              struct run *ret_run, struct err *err)
{
    enum err_code code = run_one(store, SQL_RUN_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_run);
    return code == OK ? OK : err_set(err, code, "the run is gone");
}

enum err_code store_run_project(struct store *store, run_id id, project_id *ret_project,
                                struct err *err)
{
    return db__number(store->db, SQL_RUN_PROJECT, ARGS(ARG_I64("id", id.v)), &ret_project->v, err);
}

enum err_code store_run_put(struct store *store, const struct run *run, struct err *err)
{
    return db__run(store->db, SQL_RUN_UPDATE,
                   ARGS(ARG_I64("id", run->id.v), ARG_TEXT("name", run->name),
                        ARG_TEXT("state", str_from(run_state_name(run->state))),
                        ARG_TEXT("run_group", run->group), ARG_TEXT("job_type", run->job_type),
                        ARG_TEXT("host", run->host), ARG_TEXT("notes", run->notes),
                        ARG_TEXT("tags", run->tags), ARG_TEXT("command", run->command),
                        ARG_TEXT("reason", run->reason), ARG_EXIT("exit_code", run->exit_code),
                        ARG_EXIT("exit_signal", run->exit_signal), ARG_BOOL("oom", run->oom),
                        ARG_TIME("started_ms", run->started), ARG_TIME("ended_ms", run->ended),
                        ARG_TIME("seen_ms", run->seen), ARG_EXIT("cost_micro", run->cost_micro),
                        ARG_ID_OPT("parent_public_id", &run->parent),
                        ARG_TIME("parent_step", run->parent_step),
                        ARG_I64("redacted", run->redacted),
                        ARG_TIME("stop_asked_ms", run->stop_asked)),
                   NULL, err);
}

enum err_code store_run_facts_stale(struct store *store, run_id run, bool stale, struct err *err)
{
    return db__run(store->db, SQL_RUN_FACTS_STALE,
                   ARGS(ARG_I64("id", run.v), ARG_BOOL("stale", stale)), NULL, err);
}

enum err_code store_run_facts_state(struct store *store, run_id run, enum run_facts *ret_state,
                                    struct err *err)
{
    int64_t state;

    TRY(db__number(store->db, SQL_RUN_FACTS_STATE, ARGS(ARG_I64("id", run.v)), &state, err));
    *ret_state = (enum run_facts)state;
    return OK;
}

enum err_code store_run_facts_turn(struct store *store, run_id run, enum run_facts expected,
                                   enum run_facts state, bool *ret_turned, struct err *err)
{
    int64_t changes = 0;

    TRY(db__run(store->db, SQL_RUN_FACTS_TURN,
                ARGS(ARG_I64("id", run.v), ARG_I64("expected", expected), ARG_I64("state", state)),
                &changes, err));
    *ret_turned = changes != 0;
    return OK;
}

enum err_code store_run_facts_cut(struct store *store, run_id run, bool cut, struct err *err)
{
    return db__run(store->db, SQL_RUN_FACTS_CUT, ARGS(ARG_I64("id", run.v), ARG_BOOL("cut", cut)),
                   NULL, err);
}

enum err_code store_run_facts_stale_below(struct store *store, const struct id *parent,
                                          int64_t above_step, struct err *err)
{
    return db__run(store->db, SQL_RUN_FACTS_STALE_BELOW,
                   ARGS(ARG_ID("parent_public_id", parent), ARG_I64("above_step", above_step)),
                   NULL, err);
}

static enum err_code ids_read(struct db_result *r, run_id *ret_ids, size_t *ret_count,
                              struct err *err)
{
    size_t count = 0;
    bool row = false;

    for (TRY(db__next(r, &row, err)); row; TRY(db__next(r, &row, err)))
        ret_ids[count++] = (run_id){db__i64(r, 0)};
    *ret_count = count;
    return OK;
}

enum err_code store_run_facts_stale_list(struct store *store, bool coming, int limit,
                                         run_id *ret_ids, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(
        store->db, SQL_RUN_FACTS_STALE_LIST,
        ARGS(ARG_I64("most", coming ? RUN_FACTS_COMING : RUN_FACTS_STALE), ARG_I64("limit", limit)),
        &r, err));
    return ids_read(&r, ret_ids, ret_count, err);
}

enum err_code store_run_branch_list(struct store *store, const struct id *parent, int limit,
                                    run_id *ret_ids, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(store->db, SQL_RUN_BRANCH_LIST,
                  ARGS(ARG_ID("parent_public_id", parent), ARG_I64("limit", limit)), &r, err));
    return ids_read(&r, ret_ids, ret_count, err);
}

enum err_code store_run_silent(struct store *store, time_ms now, int64_t silent_ms, int limit,
                               run_id *ret_ids, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(
        store->db, SQL_RUN_SILENT_LIST,
        ARGS(ARG_I64("now_ms", now), ARG_I64("silent_ms", silent_ms), ARG_I64("limit", limit)), &r,
        err));
    return ids_read(&r, ret_ids, ret_count, err);
}

enum err_code store_run_seen_all(struct store *store, time_ms now, struct err *err)
{
    return db__run(store->db, SQL_RUN_SEEN_ALL, ARGS(ARG_I64("now_ms", now)), NULL, err);
}

enum err_code store_run_import_get(struct store *store, run_id id, int64_t *ret_line,
                                   struct err *err)
{
    return db__number(store->db, SQL_RUN_IMPORT_GET, ARGS(ARG_I64("id", id.v)), ret_line, err);
}

enum err_code store_run_import_set(struct store *store, run_id id, int64_t line, struct err *err)
{
    return db__run(store->db, SQL_RUN_IMPORT_SET,
                   ARGS(ARG_I64("id", id.v), ARG_EXIT("import_line", line)), NULL, err);
}

enum err_code store_run_trash(struct store *store, run_id id, struct err *err)
{
    TRY(db__run(store->db, SQL_RUN_DELETE_ALERTS,
                ARGS(ARG_I64("run_id", id.v), ARG_I64("limit", INT64_MAX)), NULL, err));
    TRY(db__run(store->db, SQL_RUN_TRASH_WRITERS, ARGS(ARG_I64("run_id", id.v)), NULL, err));
    return db__run(store->db, SQL_RUN_TRASH, ARGS(ARG_I64("run_id", id.v)), NULL, err);
}

enum err_code store_run_trash_next(struct store *store, run_id *ret_id, struct err *err)
{
    return db__number(store->db, SQL_RUN_TRASH_NEXT, NO_ARGS, &ret_id->v, err);
}

enum err_code store_run_purge(struct store *store, run_id id, int64_t rows_max, bool *ret_gone,
                              struct err *err)
{
    static const enum sql_id parts[] = {
        SQL_RUN_DELETE_CHUNKS,      SQL_RUN_DELETE_LEVELS,         SQL_RUN_DELETE_SERIES,
        SQL_RUN_DELETE_METRICS,     SQL_RUN_DELETE_BLOBS,          SQL_RUN_DELETE_RECORDS,
        SQL_RUN_DELETE_NAMES,       SQL_RUN_DELETE_CONSOLE,        SQL_RUN_DELETE_FILES,
        SQL_RUN_DELETE_WRITER_DOCS, SQL_RUN_DELETE_WRITER_CONSOLE, SQL_RUN_DELETE_GONE,
        SQL_RUN_DELETE_ALERTS,      SQL_RUN_DELETE_DOCS,           SQL_RUN_DELETE_WRITERS,
    };

    *ret_gone = false;
    for (size_t i = 0; i < ARRAY_LEN(parts) && rows_max > 0; i++) {
        int64_t rows = 0;
        TRY(db__run(store->db, parts[i], ARGS(ARG_I64("run_id", id.v), ARG_I64("limit", rows_max)),
                    &rows, err));
        rows_max -= rows;
    }
    if (rows_max <= 0)
        return OK;
    *ret_gone = true;
    return db__run(store->db, SQL_RUN_DELETE, ARGS(ARG_I64("run_id", id.v)), NULL, err);
}

enum err_code store_run_unknown_count(struct store *store, run_id id, int64_t *ret_count,
                                      struct err *err)
{
    return db__number(store->db, SQL_RUN_UNKNOWN_COUNT, ARGS(ARG_I64("run_id", id.v)), ret_count,
                      err);
}

enum err_code store_run_doc_get(struct store *store, run_id run, enum run_doc kind,
                                struct arena *arena, struct str *ret_body, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_RUN_DOC_GET,
                  ARGS(ARG_I64("run_id", run.v), ARG_TEXT("kind", str_from(run_doc_name(kind)))),
                  &r, err));
    TRY(db__next(&r, &row, err));
    *ret_body = row ? db__text(&r, 0, arena) : (struct str){0};
    return OK;
}

enum err_code store_run_doc_set(struct store *store, run_id run, enum run_doc kind, struct str body,
                                struct err *err)
{
    return db__run(store->db, SQL_RUN_DOC_SET,
                   ARGS(ARG_I64("run_id", run.v), ARG_TEXT("kind", str_from(run_doc_name(kind))),
                        ARG_TEXT("body", body)),
                   NULL, err);
}

enum err_code store_run_file_set(struct store *store, run_id run, struct str path,
                                 struct str detail, struct err *err)
{
    return db__run(
        store->db, SQL_RUN_FILE_SET,
        ARGS(ARG_I64("run_id", run.v), ARG_TEXT("path", path), ARG_TEXT("detail", detail)), NULL,
        err);
}

enum err_code store_console_append(struct store *store, struct run *run, struct str text,
                                   struct err *err)
{
    int64_t end = run->console_bytes + (int64_t)text.len;

    if (text.len == 0)
        return OK;
    TRY(db__run(store->db, SQL_RUN_CONSOLE_INSERT,
                ARGS(ARG_I64("run_id", run->id.v), ARG_I64("start_offset", run->console_bytes),
                     ARG_I64("end_offset", end), ARG_BYTES("data", text)),
                NULL, err));
    TRY(db__run(store->db, SQL_RUN_CONSOLE_SET,
                ARGS(ARG_I64("id", run->id.v), ARG_I64("console_bytes", end),
                     ARG_BOOL("console_final", run->console_final)),
                NULL, err));
    run->console_bytes = end;
    return OK;
}

enum err_code store_console_set_final(struct store *store, struct run *run, bool final,
                                      struct err *err)
{
    run->console_final = final;
    return db__run(store->db, SQL_RUN_CONSOLE_SET,
                   ARGS(ARG_I64("id", run->id.v), ARG_I64("console_bytes", run->console_bytes),
                        ARG_BOOL("console_final", final)),
                   NULL, err);
}

enum err_code store_console_read(struct store *store, run_id run, int64_t offset, int64_t bytes_max,
                                 struct buf *out, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    int64_t to = offset + MIN(bytes_max, (int64_t)CONSOLE_READ_BYTES_MAX);

    TRY(db__query(store->db, SQL_RUN_CONSOLE_READ,
                  ARGS(ARG_I64("run_id", run.v), ARG_I64("from_offset", offset),
                       ARG_I64("to_offset", to), ARG_I64("limit", 100000)),
                  &r, err));
    return db__take_pieces(&r, offset, to, out, err);
}
