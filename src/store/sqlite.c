/* The SQLite driver.
 *
 * WAL with synchronous=FULL: a commit is on disk. One connection of the process writes and
 * checkpoints (bookworm's 3.40 corrupts the WAL when two do); readers never checkpoint. Values are
 * bound by the index of their name, because SQLite would bind $2,$1 by position. */
#include "store/db.h"

#include "base/mem.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

#define PAGE_CACHE_KIB  8192
#define BUSY_TIMEOUT_MS 5000
#define WAL_PAGES_MAX   2000 /* checkpoint beyond */
#define FREE_PAGES_KEPT 256  /* for what comes next */

/* Names are literals: the same caller gives the same pointers, and a name is looked up once. */
struct place {
    const char *name;
    int index;
};

struct db_rows {
    sqlite3_stmt *stmt;
    struct sqlite *owner;
    struct place *places; /* by the order of the arguments */
    bool busy;
};

/* Statements of every command, without a name of their own; prepared at the first use, together:
 * undoing a command takes no memory that may not be there. */
enum step {
    STEP_BEGIN,
    STEP_COMMIT,
    STEP_ROLLBACK,
    STEP_SAVEPOINT,
    STEP_KEEP,
    STEP_UNDO,
    STEP_COUNT,
};

struct sqlite {
    struct db db;
    sqlite3 *handle;
    struct db_rows statements[SQL_COUNT];
    sqlite3_stmt *steps[STEP_COUNT];
    bool undo_failed; /* a part of a command that failed is still there: nothing may be committed */
};

static struct sqlite *of(struct db *db)
{
    ENSURE(db->driver == &db_sqlite);
    return (struct sqlite *)(void *)db;
}

static enum err_code failed(struct sqlite *s, const char *what, struct err *err)
{
    int code = sqlite3_extended_errcode(s->handle);

    if ((code & 0xff) == SQLITE_FULL)
        return db__trouble(&s->db, err, ERR_DISK_FULL, "the disk of the data folder is full");
    if ((code & 0xff) == SQLITE_CONSTRAINT)
        return err_set(err, ERR_CONFLICT, "%s: %s", what, sqlite3_errmsg(s->handle));
    if ((code & 0xff) == SQLITE_BUSY)
        return db__trouble(&s->db, err, ERR_UNAVAILABLE, "%s: the database is locked", what);
    return db__trouble(&s->db, err, ERR_IO, "%s: %s (%d)", what, sqlite3_errmsg(s->handle), code);
}

static enum err_code sqlite_script(struct db *db, const char *sql, struct err *err)
{
    struct sqlite *s = of(db);

    if (sqlite3_exec(s->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return failed(s, "database", err);
    return OK;
}

static enum err_code prepare_steps(struct sqlite *s, struct err *err)
{
    static const char *const texts[STEP_COUNT] = {
        [STEP_BEGIN] = "BEGIN IMMEDIATE", [STEP_COMMIT] = "COMMIT",
        [STEP_ROLLBACK] = "ROLLBACK",     [STEP_SAVEPOINT] = "SAVEPOINT command",
        [STEP_KEEP] = "RELEASE command",  [STEP_UNDO] = "ROLLBACK TO command",
    };

    for (size_t i = 0; i < STEP_COUNT; i++)
        if (!s->steps[i] && sqlite3_prepare_v3(s->handle, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                               &s->steps[i], NULL) != SQLITE_OK)
            return failed(s, "database", err);
    return OK;
}

static enum err_code run_step(struct sqlite *s, enum step step, struct err *err)
{
    enum err_code code = OK;

    TRY(prepare_steps(s, err));
    if (sqlite3_step(s->steps[step]) != SQLITE_DONE)
        code = failed(s, "database", err);
    (void)sqlite3_reset(s->steps[step]); /* its code repeats what step said */
    return code;
}

static void sqlite_close(struct db *db)
{
    struct sqlite *s;

    if (!db)
        return;
    s = of(db);
    for (size_t i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(s->statements[i].stmt);
        mem_free(s->statements[i].places);
    }
    for (size_t i = 0; i < STEP_COUNT; i++)
        sqlite3_finalize(s->steps[i]);
    (void)sqlite3_close(s->handle); /* all statements are finalized: it cannot refuse */
    mem_free(s);
}

static enum err_code set_up(struct sqlite *s, bool writable, struct err *err)
{
    char pragmas[400];

    sqlite3_busy_timeout(s->handle, BUSY_TIMEOUT_MS);
    (void)sqlite3_db_config(s->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    if (!writable)
        (void)sqlite3_db_config(s->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA cache_size=-%d; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; "
             "PRAGMA case_sensitive_like=ON; %s%d; %s",
             PAGE_CACHE_KIB, "PRAGMA wal_autocheckpoint=", writable ? WAL_PAGES_MAX : 0,
             writable ? "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; "
                        "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864;"
                      : "PRAGMA query_only=ON;");
    return sqlite_script(&s->db, pragmas, err);
}

/* Nobody asks how much memory SQLite uses, and counting it takes a lock of the whole process at
 * every allocation. */
static void set_up_process(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static enum err_code sqlite_open(const char *where, bool writable, struct db **ret_db,
                                 struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sqlite *s = MEM_NEW(struct sqlite);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (writable ? SQLITE_OPEN_CREATE : 0);
    enum err_code code;

    (void)pthread_once(&once, set_up_process);
    s->db.driver = &db_sqlite;
    if (sqlite3_open_v2(where, &s->handle, flags, NULL) != SQLITE_OK)
        code = failed(s, where, err);
    else
        code = set_up(s, writable, err);
    if (code != OK) {
        sqlite_close(&s->db);
        return code;
    }
    *ret_db = &s->db;
    return OK;
}

static enum err_code sqlite_begin(struct db *db, struct err *err)
{
    db__trouble_clear(db);
    return run_step(of(db), STEP_BEGIN, err);
}

static enum err_code sqlite_begin_read(struct db *db, struct err *err)
{
    db__trouble_clear(db);
    return sqlite_script(db, "BEGIN", err);
}

static enum err_code sqlite_commit(struct db *db, struct err *err)
{
    if (of(db)->undo_failed)
        return db__trouble(db, err, ERR_IO, "a command that failed could not be undone");
    return run_step(of(db), STEP_COMMIT, err);
}

static void sqlite_rollback(struct db *db)
{
    struct sqlite *s = of(db);

    /* some failures have rolled back already */
    if (sqlite3_get_autocommit(s->handle) || run_step(s, STEP_ROLLBACK, NULL) == OK)
        s->undo_failed = false;
}

static enum err_code sqlite_savepoint(struct db *db, struct err *err)
{
    db__trouble_clear(db);
    return run_step(of(db), STEP_SAVEPOINT, err);
}

static enum err_code sqlite_savepoint_keep(struct db *db, struct err *err)
{
    return run_step(of(db), STEP_KEEP, err);
}

static void sqlite_savepoint_undo(struct db *db)
{
    struct sqlite *s = of(db);

    if (sqlite3_get_autocommit(s->handle)) /* all of the transaction is gone already */
        return;
    if (run_step(s, STEP_UNDO, NULL) != OK || run_step(s, STEP_KEEP, NULL) != OK)
        s->undo_failed = true;
}

static enum err_code sqlite_checkpoint(struct db *db, struct err *err)
{
    struct sqlite *s = of(db);

    if (sqlite3_wal_checkpoint_v2(s->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) !=
        SQLITE_OK)
        return failed(s, "checkpoint", err);
    return OK;
}

static enum err_code pragma_number(struct sqlite *s, const char *pragma, int *ret_number,
                                   struct err *err)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(s->handle, pragma, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW) {
        enum err_code code = failed(s, "database", err);
        sqlite3_finalize(stmt);
        return code;
    }
    *ret_number = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return OK;
}

static enum err_code sqlite_schema_get(struct db *db, int *ret_number, struct err *err)
{
    return pragma_number(of(db), "PRAGMA user_version", ret_number, err);
}

static enum err_code sqlite_trim(struct db *db, int pages, bool *ret_more, struct err *err)
{
    char sql[64];
    int left = 0;

    snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%d)", pages);
    TRY(sqlite_script(db, sql, err));
    TRY(pragma_number(of(db), "PRAGMA freelist_count", &left, err));
    *ret_more = left > FREE_PAGES_KEPT;
    return OK;
}

static enum err_code sqlite_schema_set(struct db *db, int number, struct err *err)
{
    char sql[48];

    snprintf(sql, sizeof sql, "PRAGMA user_version=%d", number);
    return sqlite_script(db, sql, err);
}

struct sqlite_faults {
    void *ctx;
    void (*tell)(void *ctx, const char *text);
};

/* In one step: a backup that lets go of its lock begins again with every write of another
 * connection, and under load never ends. Readers and the writer go on meanwhile; the log grows. */
static enum err_code sqlite_copy(struct db *db, const char *path, struct err *err)
{
    struct sqlite *s = of(db);
    sqlite3 *to = NULL;
    sqlite3_backup *backup = NULL;
    enum err_code code = OK;
    int result = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

    if (result == SQLITE_OK)
        backup = sqlite3_backup_init(to, "main", s->handle, "main");
    if (backup) {
        do {
            result = sqlite3_backup_step(backup, -1);
        } while (result == SQLITE_BUSY || result == SQLITE_LOCKED); /* the writer just commits */
        (void)sqlite3_backup_finish(backup);                        /* says what step said */
    }
    if (!backup || result != SQLITE_DONE)
        code = err_set(err, result == SQLITE_FULL ? ERR_DISK_FULL : ERR_IO, "%s: %s", path,
                       backup ? sqlite3_errstr(result) : sqlite3_errmsg(to));
    (void)sqlite3_close(to); /* nothing is open in it */
    return code;
}

/* The first column of each row of a pragma, behind `prefix`. */
static enum err_code sqlite_check_one(struct sqlite *s, const char *pragma, const char *prefix,
                                      const struct sqlite_faults *faults, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = sqlite3_prepare_v2(s->handle, pragma, -1, &stmt, NULL);

    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(stmt);
        if (result == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(stmt, 0);
            char line[1200];
            snprintf(line, sizeof line, "%s%s", prefix, text ? text : "");
            if (strcmp(line, "database: ok") != 0)
                faults->tell(faults->ctx, line);
        }
    }
    sqlite3_finalize(stmt);
    return result == SQLITE_DONE ? OK : failed(s, "database", err);
}

static enum err_code sqlite_integrity(struct db *db, void *ctx,
                                      void (*fault)(void *ctx, const char *text), struct err *err)
{
    const struct sqlite_faults faults = {ctx, fault};
    struct sqlite *s = of(db);

    TRY(sqlite_check_one(s, "PRAGMA integrity_check(100)", "database: ", &faults, err));
    return sqlite_check_one(s, "PRAGMA foreign_key_check",
                            "database: a row refers to one that is not there, in table ", &faults,
                            err);
}

static int bind_one(sqlite3_stmt *stmt, int index, const struct db_arg *arg)
{
    switch (arg->kind) {
    case DB_NULL: return sqlite3_bind_null(stmt, index);
    case DB_I64: return sqlite3_bind_int64(stmt, index, arg->number);
    case DB_TEXT:
        return sqlite3_bind_text64(stmt, index, arg->bytes.len ? arg->bytes.data : "",
                                   arg->bytes.len, SQLITE_STATIC, SQLITE_UTF8);
    case DB_BYTES:
        return sqlite3_bind_blob64(stmt, index, arg->bytes.len ? arg->bytes.data : "",
                                   arg->bytes.len, SQLITE_STATIC);
    case DB_END: break;
    }
    return SQLITE_MISUSE;
}

static int find_place(const struct db_rows *rows, const char *arg, const char *statement)
{
    char name[64];
    int index;

    snprintf(name, sizeof name, ":%s", arg);
    index = sqlite3_bind_parameter_index(rows->stmt, name);
    if (index == 0)
        fprintf(stderr, "statement %s has no parameter %s\n", statement, arg);
    ENSURE(index > 0);
    return index;
}

/* Every parameter must be given and every argument used: a mismatch is our own bug. */
static void bind_all(struct db_rows *rows, const struct sql_statement *sql,
                     const struct db_arg *args)
{
    size_t count = 0;

    for (; args[count].kind != DB_END && count < sql->param_count; count++) {
        struct place *place = &rows->places[count];
        if (place->name != args[count].name)
            *place =
                (struct place){args[count].name, find_place(rows, args[count].name, sql->name)};
        ENSURE(bind_one(rows->stmt, place->index, &args[count]) == SQLITE_OK);
    }
    if (count != sql->param_count || args[count].kind != DB_END)
        fprintf(stderr, "statement %s wants %zu arguments\n", sql->name, sql->param_count);
    ENSURE(count == sql->param_count && args[count].kind == DB_END);
}

static enum err_code sqlite_start(struct db *db, enum sql_id id, const struct db_arg *args,
                                  struct db_rows **ret_rows, struct err *err)
{
    struct sqlite *s = of(db);
    struct db_rows *rows = &s->statements[id];

    ENSURE(id < SQL_COUNT && !rows->busy);
    if (!rows->stmt) {
        rows->owner = s;
        if (sqlite3_prepare_v3(s->handle, sql_statements[id].sqlite, -1, SQLITE_PREPARE_PERSISTENT,
                               &rows->stmt, NULL) != SQLITE_OK)
            return failed(s, sql_statements[id].name, err);
        rows->places = mem_array(sql_statements[id].param_count, sizeof *rows->places);
    }
    bind_all(rows, &sql_statements[id], args);
    rows->busy = true;
    *ret_rows = rows;
    return OK;
}

static enum err_code sqlite_next(struct db_rows *rows, bool *ret_row, struct err *err)
{
    int code = sqlite3_step(rows->stmt);

    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        *ret_row = code == SQLITE_ROW;
        return OK;
    }
    return failed(rows->owner, sqlite3_sql(rows->stmt) ? "statement" : "database", err);
}

static bool sqlite_is_null(struct db_rows *rows, int column)
{
    return sqlite3_column_type(rows->stmt, column) == SQLITE_NULL;
}

static int64_t sqlite_number(struct db_rows *rows, int column)
{
    return sqlite3_column_int64(rows->stmt, column);
}

static struct str sqlite_bytes(struct db_rows *rows, int column)
{
    const char *data = sqlite3_column_blob(rows->stmt, column);
    return (struct str){data ? data : "", (size_t)sqlite3_column_bytes(rows->stmt, column)};
}

static int64_t sqlite_changes(struct db_rows *rows)
{
    return sqlite3_changes64(rows->owner->handle);
}

static void sqlite_finish(struct db_rows *rows)
{
    if (!rows)
        return;
    (void)sqlite3_reset(rows->stmt); /* its code repeats what step said */
    (void)sqlite3_clear_bindings(rows->stmt);
    rows->busy = false;
}

const struct db_driver db_sqlite = {
    .name = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .script = sqlite_script,
    .begin = sqlite_begin,
    .begin_read = sqlite_begin_read,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .savepoint = sqlite_savepoint,
    .savepoint_keep = sqlite_savepoint_keep,
    .savepoint_undo = sqlite_savepoint_undo,
    .checkpoint = sqlite_checkpoint,
    .schema_get = sqlite_schema_get,
    .schema_set = sqlite_schema_set,
    .trim = sqlite_trim,
    .copy = sqlite_copy,
    .integrity = sqlite_integrity,
    .start = sqlite_start,
    .next = sqlite_next,
    .is_null = sqlite_is_null,
    .number = sqlite_number,
    .bytes = sqlite_bytes,
    .changes = sqlite_changes,
    .finish = sqlite_finish,
};
