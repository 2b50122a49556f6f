/* The PostgreSQL driver: statements and transactions.
 *
 * The connection is in libpq's pipeline mode. A statement whose rows nobody waits for is sent and
 * not waited for; whatever is asked next waits for both, in order. So a savepoint costs no round
 * trip and a command that writes a thousand rows costs a few. The tricky part: the error of such a
 * statement shows up later, at the next statement that waits, at the end of the savepoint or at the
 * commit, and everything after it fails the same way until the savepoint is undone.
 *
 * A writing transaction first takes one advisory lock of the database: the batches of all servers
 * follow each other, each sees all of those before, and numbers are handed out in commit order.
 *
 * Results are read whole: every list has a LIMIT. Values travel in binary, so all are exact. */
#include "store/postgres_impl.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define PENDING_BYTES_MAX 1048576
#define TYPE_BOOL         16
#define TYPE_BYTEA        17
#define TYPE_INT8         20
#define TYPE_INT2         21
#define TYPE_INT4         23
#define TYPE_TEXT         25
#define TYPE_VARCHAR      1043
/* The lock of writing transactions; any number that no other program of the database uses. */
#define WRITE_LOCK "SELECT pg_advisory_xact_lock(4987391184)"

/* What follows from a lost connection inside a transaction. */
static enum err_code ready(struct pg *s, struct err *err)
{
    if (s->state == PG_BROKEN)
        return db__trouble(&s->db, err, ERR_UNAVAILABLE,
                           "the connection to PostgreSQL was lost in a transaction");
    return pg__connect(s, err);
}

static enum err_code sent(struct pg *s, int code, const char *name, size_t bytes, struct err *err)
{
    if (code != 1)
        return pg__lost(s, err);
    ENSURE(s->pending < ARRAY_LEN(s->pending_names));
    s->pending_names[s->pending++] = name;
    s->pending_bytes += bytes;
    return OK;
}

enum err_code pg__send_text(struct pg *s, const char *sql, const char *param, struct err *err)
{
    TRY(ready(s, err));
    return sent(s,
                libpq.PQsendQueryParams(s->conn, sql, param ? 1 : 0, NULL, &param, NULL, NULL, 1),
                sql, strlen(sql), err);
}

/* Takes one result off the pipeline; NULL in *ret_result when the connection is gone. */
static void take(struct pg *s, PGresult **ret_result)
{
    PGresult *result = libpq.PQgetResult(s->conn), *more;

    while (result && libpq.PQstatus(s->conn) == CONNECTION_OK &&
           (more = libpq.PQgetResult(s->conn)))
        libpq.PQclear(more); /* a statement gives one result, then NULL */
    if (result && libpq.PQstatus(s->conn) != CONNECTION_OK &&
        libpq.PQresultStatus(result) != PGRES_FATAL_ERROR) {
        libpq.PQclear(result);
        result = NULL;
    }
    *ret_result = result;
}

static void remember(struct pg *s, enum err_code code, const struct err *err)
{
    if (s->failed != OK || s->state == PG_IDLE)
        return;
    s->failed = code;
    s->failure = *err;
}

/* Reads the answers of everything pending; the first error wins. */
static enum err_code read_pending(struct pg *s, PGresult **ret_last, struct err *err)
{
    enum err_code code = OK;
    size_t count = s->pending;

    for (size_t i = 0; i < count; i++) {
        PGresult *result;
        ExecStatusType status;
        take(s, &result);
        status = libpq.PQresultStatus(result);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
            if (ret_last && i == count - 1 && code == OK)
                *ret_last = result;
            else
                libpq.PQclear(result);
            continue;
        }
        if (code == OK)
            code = pg__error(s, result, s->pending_names[i], err);
        libpq.PQclear(result);
        if (!s->conn)
            return code;
    }
    s->pending = s->pending_bytes = 0;
    return code;
}

enum err_code pg__collect(struct pg *s, PGresult **ret_last, struct err *err)
{
    struct err own;
    PGresult *sync;
    enum err_code code;

    err = err ? err : &own;
    if (s->pending == 0)
        return OK;
    if (libpq.PQpipelineSync(s->conn) != 1)
        return pg__lost(s, err);
    code = read_pending(s, ret_last, err);
    if (s->conn) {
        sync = libpq.PQgetResult(s->conn);
        if (libpq.PQresultStatus(sync) != PGRES_PIPELINE_SYNC)
            code = pg__lost(s, err);
        libpq.PQclear(sync);
    }
    if (code != OK) {
        remember(s, code, err);
        if (ret_last && *ret_last) {
            libpq.PQclear(*ret_last);
            *ret_last = NULL;
        }
    }
    return code;
}

/* Statements that PostgreSQL would infer a small integer for are prepared again with int8, which is
 * what we always send. */
static enum err_code prepare_as(struct pg *s, enum sql_id id, const Oid *types, Oid *ret_types,
                                bool *ret_narrow, struct err *err)
{
    const struct sql_statement *sql = &sql_statements[id];
    PGresult *result = NULL;

    TRY(sent(s,
             libpq.PQsendPrepare(s->conn, sql->name, sql->postgres,
                                 types ? (int)sql->param_count : 0, types),
             sql->name, strlen(sql->postgres), err));
    TRY(sent(s, libpq.PQsendDescribePrepared(s->conn, sql->name), sql->name, 0, err));
    TRY(pg__collect(s, &result, err));
    ENSURE(libpq.PQnparams(result) == (int)sql->param_count);
    for (int i = 0; i < libpq.PQnparams(result); i++) {
        ret_types[i] = libpq.PQparamtype(result, i);
        if (ret_types[i] == TYPE_INT4 || ret_types[i] == TYPE_INT2) {
            ret_types[i] = TYPE_INT8;
            *ret_narrow = true;
        }
    }
    libpq.PQclear(result);
    return OK;
}

static enum err_code prepare(struct pg *s, enum sql_id id, struct err *err)
{
    const struct sql_statement *sql = &sql_statements[id];
    Oid types[PG_PARAMS_MAX] = {0};
    bool narrow = false;
    char text[96];

    ENSURE(sql->param_count <= PG_PARAMS_MAX);
    if (s->statements[id].types)
        return OK;
    TRY(prepare_as(s, id, NULL, types, &narrow, err));
    if (narrow) {
        snprintf(text, sizeof text, "DEALLOCATE %s", sql->name);
        TRY(pg__send_text(s, text, NULL, err));
        TRY(pg__collect(s, NULL, err)); /* `text` is on this stack */
        TRY(prepare_as(s, id, types, types, &narrow, err));
    }
    s->statements[id].types = mem_copy(types, sizeof types);
    return OK;
}

/* Parameters as they are sent. */
struct bound {
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
    uint64_t numbers[PG_PARAMS_MAX];
    size_t bytes;
};

static void bind_one(struct bound *b, size_t index, Oid type, const struct db_arg *arg)
{
    b->formats[index] = 1;
    switch (arg->kind) {
    case DB_NULL: return;
    case DB_I64:
        ENSURE(type == TYPE_INT8);
        b->numbers[index] = __builtin_bswap64((uint64_t)arg->number);
        b->values[index] = (const char *)&b->numbers[index];
        b->lengths[index] = sizeof b->numbers[index];
        return;
    case DB_TEXT:
    case DB_BYTES:
        ENSURE(arg->kind == DB_TEXT ? type == TYPE_TEXT || type == TYPE_VARCHAR
                                    : type == TYPE_BYTEA);
        ENSURE(arg->bytes.len <= INT32_MAX);
        b->values[index] = arg->bytes.len ? arg->bytes.data : "";
        b->lengths[index] = (int)arg->bytes.len;
        b->bytes += arg->bytes.len;
        return;
    case DB_END: break;
    }
    ENSURE(false);
}

/* Every parameter must be given and every argument used: a mismatch is our own bug. */
static void bind_all(struct bound *b, const struct sql_statement *sql, const Oid *types,
                     const struct db_arg *args)
{
    size_t count = 0;

    for (; args[count].kind != DB_END; count++) {
        size_t index = 0;
        while (index < sql->param_count && strcmp(sql->params[index], args[count].name) != 0)
            index++;
        if (index == sql->param_count)
            fprintf(stderr, "statement %s has no parameter %s\n", sql->name, args[count].name);
        ENSURE(index < sql->param_count);
        bind_one(b, index, types[index], &args[count]);
    }
    if (count != sql->param_count)
        fprintf(stderr, "statement %s wants %zu arguments, got %zu\n", sql->name, sql->param_count,
                count);
    ENSURE(count == sql->param_count);
}

/* Waits for what is pending when there is much of it. */
static enum err_code make_room(struct pg *s, struct err *err)
{
    if (s->pending < PG_PENDING_MAX && s->pending_bytes < PENDING_BYTES_MAX)
        return OK;
    return pg__collect(s, NULL, err);
}

static enum err_code send_statement(struct pg *s, enum sql_id id, const struct db_arg *args,
                                    struct err *err)
{
    const struct sql_statement *sql = &sql_statements[id];
    struct bound bound = {0};

    ENSURE(id < SQL_COUNT);
    TRY(ready(s, err));
    if (s->failed != OK) { /* the transaction is of no use until it is undone */
        if (err)
            *err = s->failure;
        return s->failed;
    }
    TRY(make_room(s, err));
    TRY(prepare(s, id, err));
    bind_all(&bound, sql, s->statements[id].types, args);
    return sent(s,
                libpq.PQsendQueryPrepared(s->conn, sql->name, (int)sql->param_count, bound.values,
                                          bound.lengths, bound.formats, 1),
                sql->name, bound.bytes, err);
}

static enum err_code postgres_start(struct db *db, enum sql_id id, const struct db_arg *args,
                                    struct db_rows **ret_rows, struct err *err)
{
    struct pg *s = pg__of(db);
    struct db_rows *rows = &s->rows[id];

    ENSURE(id < SQL_COUNT && !rows->busy);
    TRY(send_statement(s, id, args, err));
    TRY(pg__collect(s, &rows->result, err));
    rows->owner = s;
    rows->row = -1;
    rows->busy = true;
    *ret_rows = rows;
    return OK;
}

static enum err_code postgres_queue(struct db *db, enum sql_id id, const struct db_arg *args,
                                    struct err *err)
{
    struct pg *s = pg__of(db);

    TRY(send_statement(s, id, args, err));
    return s->state == PG_IDLE ? pg__collect(s, NULL, err) : OK;
}

static enum err_code postgres_next(struct db_rows *rows, bool *ret_row, struct err *err)
{
    (void)err;
    *ret_row = ++rows->row < libpq.PQntuples(rows->result);
    return OK;
}

static bool postgres_is_null(struct db_rows *rows, int column)
{
    return libpq.PQgetisnull(rows->result, rows->row, column);
}

static int64_t postgres_number(struct db_rows *rows, int column)
{
    const char *value = libpq.PQgetvalue(rows->result, rows->row, column);
    uint64_t wide;
    uint32_t middle;
    uint16_t narrow;

    if (libpq.PQgetisnull(rows->result, rows->row, column))
        return 0;
    switch (libpq.PQftype(rows->result, column)) {
    case TYPE_INT8: memcpy(&wide, value, sizeof wide); return (int64_t)__builtin_bswap64(wide);
    case TYPE_INT4:
        memcpy(&middle, value, sizeof middle);
        return (int32_t)__builtin_bswap32(middle);
    case TYPE_INT2:
        memcpy(&narrow, value, sizeof narrow);
        return (int16_t)__builtin_bswap16(narrow);
    case TYPE_BOOL: return *value != 0;
    default: break;
    }
    fprintf(stderr, "column %d of a statement is no integer (type %u)\n", column,
            libpq.PQftype(rows->result, column));
    ENSURE(false);
    return 0;
}

static struct str postgres_bytes(struct db_rows *rows, int column)
{
    if (libpq.PQgetisnull(rows->result, rows->row, column))
        return STR("");
    return (struct str){libpq.PQgetvalue(rows->result, rows->row, column),
                        (size_t)libpq.PQgetlength(rows->result, rows->row, column)};
}

static int64_t postgres_changes(struct db_rows *rows)
{
    int64_t count = 0;

    (void)str_to_i64(str_from(libpq.PQcmdTuples(rows->result)),
                     &count); /* "" where none is counted */
    return count;
}

static void postgres_finish(struct db_rows *rows)
{
    if (!rows)
        return;
    libpq.PQclear(rows->result);
    rows->result = NULL;
    rows->busy = false;
}

static void end_transaction(struct pg *s)
{
    s->state = PG_IDLE;
    s->failed = OK;
}

static enum err_code begin_once(struct pg *s, const char *how, const char *lock, struct err *err)
{
    enum err_code code;

    TRY(pg__connect(s, err));
    TRY(pg__send_text(s, how, NULL, err));
    if (lock)
        TRY(pg__send_text(s, lock, NULL, err));
    code = pg__collect(s, NULL, err);
    if (code == OK)
        s->state = PG_INSIDE;
    return code;
}

/* A connection that died while nobody used it is noticed here, and made anew. */
static enum err_code begin(struct db *db, const char *how, const char *lock, struct err *err)
{
    struct pg *s = pg__of(db);
    bool was_there = s->conn != NULL;
    enum err_code code;

    db__trouble_clear(db);
    end_transaction(s);
    code = begin_once(s, how, lock, err);
    if (code != OK && was_there && !s->conn) {
        db__trouble_clear(db);
        code = begin_once(s, how, lock, err);
    }
    if (code != OK && s->conn)
        (void)pg__script(s, "ROLLBACK", NULL); /* BEGIN may have worked where the lock did not */
    return code;
}

static enum err_code postgres_begin(struct db *db, struct err *err)
{
    return begin(db, "BEGIN ISOLATION LEVEL READ COMMITTED", WRITE_LOCK, err);
}

static enum err_code postgres_begin_read(struct db *db, struct err *err)
{
    return begin(db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", NULL, err);
}

static void postgres_rollback(struct db *db)
{
    struct pg *s = pg__of(db);
    bool inside = s->state == PG_INSIDE;

    end_transaction(s);
    if (!s->conn || !inside)
        return;
    (void)pg__collect(s, NULL, NULL); /* whatever they say is undone */
    if (s->conn && pg__send_text(s, "ROLLBACK", NULL, NULL) == OK)
        (void)pg__collect(s, NULL, NULL); /* fails only with the connection, which undoes too */
}

/* A COMMIT of a transaction with an error in it is answered "ROLLBACK", without an error. A
 * connection lost meanwhile leaves open whether the changes were kept: repeating finds out. */
static enum err_code postgres_commit(struct db *db, struct err *err)
{
    struct pg *s = pg__of(db);
    PGresult *result = NULL;
    enum err_code code;
    bool kept;

    if (s->failed != OK) {
        if (err)
            *err = s->failure;
        return s->failed;
    }
    TRY(pg__send_text(s, "COMMIT", NULL, err));
    code = pg__collect(s, &result, err);
    if (code == OK) {
        kept = strcmp(libpq.PQcmdStatus(result), "COMMIT") == 0;
        libpq.PQclear(result);
        end_transaction(s);
        return kept ? OK : err_set(err, ERR_UNAVAILABLE, "the transaction was rolled back");
    }
    if (code == ERR_IO) { /* PostgreSQL answered: nothing of it was kept */
        err_prefix(err, "commit");
        code = ERR_UNAVAILABLE;
        if (err)
            err->code = code;
    }
    return code;
}

static enum err_code postgres_savepoint(struct db *db, struct err *err)
{
    struct pg *s = pg__of(db);

    TRY(ready(s, err));
    db__trouble_clear(db);
    if (s->failed != OK)
        return db__trouble(db, err, s->failed, "%s", s->failure.text);
    TRY(make_room(s, err));
    return pg__send_text(s, "SAVEPOINT command", NULL, err);
}

static enum err_code postgres_savepoint_keep(struct db *db, struct err *err)
{
    struct pg *s = pg__of(db);

    TRY(ready(s, err));
    TRY(pg__collect(s, NULL, err)); /* the errors of what was not waited for belong to this one */
    if (s->failed != OK) {
        if (err)
            *err = s->failure;
        return s->failed;
    }
    return pg__send_text(s, "RELEASE SAVEPOINT command", NULL, err);
}

static void postgres_savepoint_undo(struct db *db)
{
    struct pg *s = pg__of(db);

    if (s->state != PG_INSIDE)
        return;
    (void)pg__collect(s, NULL, NULL); /* undone with the rest */
    if (!s->conn)
        return;
    s->failed = OK;
    if (pg__send_text(s, "ROLLBACK TO SAVEPOINT command", NULL, NULL) == OK &&
        pg__send_text(s, "RELEASE SAVEPOINT command", NULL, NULL) == OK)
        (void)pg__collect(s, NULL, NULL); /* kept in `failed` for the commit */
}

static enum err_code postgres_script(struct db *db, const char *sql, struct err *err)
{
    TRY(ready(pg__of(db), err));
    return pg__script(pg__of(db), sql, err);
}

static enum err_code postgres_checkpoint(struct db *db, struct err *err)
{
    (void)db;
    (void)err;
    return OK; /* PostgreSQL does its own */
}

static enum err_code postgres_schema_get(struct db *db, int *ret_number, struct err *err)
{
    PGresult *result = NULL;
    int64_t number = 0;
    bool there;

    TRY(pg__send_text(pg__of(db), "SELECT to_regclass('schema_number') IS NOT NULL", NULL, err));
    TRY(pg__collect(pg__of(db), &result, err));
    there = *libpq.PQgetvalue(result, 0, 0) != 0;
    libpq.PQclear(result);
    if (there)
        TRY(db__number(db, SQL_SCHEMA_NUMBER_GET, NO_ARGS, &number, err));
    *ret_number = (int)number;
    return OK;
}

static enum err_code postgres_schema_set(struct db *db, int number, struct err *err)
{
    return db__run(db, SQL_SCHEMA_NUMBER_SET, ARGS(ARG_I64("number", number)), NULL, err);
}

static void postgres_close(struct db *db)
{
    struct pg *s;

    if (!db)
        return;
    s = pg__of(db);
    pg__disconnect(s);
    mem_free(s->conninfo);
    mem_free(s);
}

static enum err_code postgres_open(const char *where, bool writable, struct db **ret_db,
                                   struct err *err)
{
    struct pg *s = MEM_NEW(struct pg);
    enum err_code code;

    s->db.driver = &db_postgres;
    s->conninfo = mem_copy_text(where);
    s->writable = writable;
    code = libpq_load(err);
    if (code == OK)
        code = pg__connect(s, err);
    if (code != OK) {
        postgres_close(&s->db);
        return code;
    }
    *ret_db = &s->db;
    return OK;
}

const struct db_driver db_postgres = {
    .name = "postgresql",
    .open = postgres_open,
    .close = postgres_close,
    .script = postgres_script,
    .begin = postgres_begin,
    .begin_read = postgres_begin_read,
    .commit = postgres_commit,
    .rollback = postgres_rollback,
    .savepoint = postgres_savepoint,
    .savepoint_keep = postgres_savepoint_keep,
    .savepoint_undo = postgres_savepoint_undo,
    .checkpoint = postgres_checkpoint,
    .schema_get = postgres_schema_get,
    .schema_set = postgres_schema_set,
    .queue = postgres_queue,
    .lead = pg__lead,
    .notify = pg__notify,
    .listen = pg__listen,
    .hear = pg__hear,
    .start = postgres_start,
    .next = postgres_next,
    .is_null = postgres_is_null,
    .number = postgres_number,
    .bytes = postgres_bytes,
    .changes = postgres_changes,
    .finish = postgres_finish,
};
