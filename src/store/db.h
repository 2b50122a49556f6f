/* One connection to the database behind a driver: sqlite or postgres.
 *
 * Statements are the named ones of sql/statements, prepared once a connection. Arguments are bound
 * by name. A connection belongs to one thread at a time. Folder-private: the rest of the program
 * calls the typed functions of store_*.h. thread: owner of the connection; may block */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/timeval.h"
#include "gen/sql_statements.h"

enum db_kind { DB_END, DB_NULL, DB_I64, DB_TEXT, DB_BYTES };

struct db_arg {
    const char *name; /* a literal */
    enum db_kind kind;
    int64_t number;
    struct str bytes;
};

#define ARG_I64(n, v)                                                                              \
    {                                                                                              \
        .name = (n), .kind = DB_I64, .number = (v)                                                 \
    }
#define ARG_BOOL(n, v)                                                                             \
    {                                                                                              \
        .name = (n), .kind = DB_I64, .number = (v) ? 1 : 0                                         \
    }
#define ARG_TEXT(n, v)                                                                             \
    {                                                                                              \
        .name = (n), .kind = DB_TEXT, .bytes = (v)                                                 \
    }
#define ARG_BYTES(n, v)                                                                            \
    {                                                                                              \
        .name = (n), .kind = DB_BYTES, .bytes = (v)                                                \
    }
#define ARG_ID(n, v)                                                                               \
    {                                                                                              \
        .name = (n), .kind = DB_TEXT, .bytes = id_str(v)                                           \
    }
/* NULL for the value that means "none" */
#define ARG_TIME(n, v)                                                                             \
    {                                                                                              \
        .name = (n), .kind = (v) == TIME_NONE ? DB_NULL : DB_I64, .number = (v)                    \
    }
#define ARG_REF(n, v)                                                                              \
    {                                                                                              \
        .name = (n), .kind = (v) == 0 ? DB_NULL : DB_I64, .number = (v)                            \
    }
#define ARG_EXIT(n, v)                                                                             \
    {                                                                                              \
        .name = (n), .kind = (v) < 0 ? DB_NULL : DB_I64, .number = (v)                             \
    }
#define ARG_ID_OPT(n, v)                                                                           \
    {                                                                                              \
        .name = (n), .kind = (v)->text[0] ? DB_TEXT : DB_NULL, .bytes = id_str(v)                  \
    }
#define ARGS(...) ((const struct db_arg[]){__VA_ARGS__, {.name = NULL, .kind = DB_END}})
#define NO_ARGS   ((const struct db_arg[]){{.name = NULL, .kind = DB_END}})

struct db_rows; /* a running statement; the driver's */

struct db {
    const struct db_driver *driver;
    /* What the caller cannot be blamed for since the last begin or savepoint: the connection, the
     * disk. OK: nothing. Callers that take an error for "not found" are overruled by it. */
    enum err_code trouble;
    struct err trouble_err;
    bool race_lost; /* serialization failure or deadlock: the command may simply run again */
    /* the driver's own fields follow in its struct */
};

struct db_driver {
    const char *name;
    enum err_code (*open)(const char *where, bool writable, struct db **ret_db, struct err *err);
    void (*close)(struct db *db);
    enum err_code (*script)(struct db *db, const char *sql, struct err *err);
    enum err_code (*begin)(struct db *db, struct err *err);
    enum err_code (*begin_read)(struct db *db, struct err *err);
    enum err_code (*commit)(struct db *db, struct err *err);
    void (*rollback)(struct db *db);
    enum err_code (*savepoint)(struct db *db, struct err *err);
    enum err_code (*savepoint_keep)(struct db *db, struct err *err);
    void (*savepoint_undo)(struct db *db);
    enum err_code (*checkpoint)(struct db *db, struct err *err);
    enum err_code (*schema_get)(struct db *db, int *ret_number, struct err *err);
    enum err_code (*schema_set)(struct db *db, int number, struct err *err);
    /* Gives back up to `pages` of the space that deleting left; *ret_more: there is more. NULL: the
     * database does so by itself. In a transaction. */
    enum err_code (*trim)(struct db *db, int pages, bool *ret_more, struct err *err);
    /* NULL where the database has its own tools. copy: all of one moment into a new file, while
     * others write. integrity: calls `fault` with one line a fault. */
    enum err_code (*copy)(struct db *db, const char *path, struct err *err);
    enum err_code (*integrity)(struct db *db, void *ctx, void (*fault)(void *ctx, const char *text),
                               struct err *err);
    /* May be NULL: a statement whose result nobody looks at. Its error may show up later, at the
     * next statement, at savepoint_keep or at commit, before anything of it is kept. */
    enum err_code (*queue)(struct db *db, enum sql_id sql, const struct db_arg *args,
                           struct err *err);
    /* NULL where a database has one server. lead: whether this session leads; it stays the leader
     * until its connection ends. notify: sent with the commit. listen, hear: for a connection that
     * does nothing else. */
    enum err_code (*lead)(struct db *db, bool *ret_leads, struct err *err);
    enum err_code (*notify)(struct db *db, struct str text, struct err *err);
    enum err_code (*listen)(struct db *db, struct err *err);
    enum err_code (*hear)(struct db *db, int timeout_ms, struct arena *arena, struct str *ret_text,
                          struct err *err);
    enum err_code (*start)(struct db *db, enum sql_id sql, const struct db_arg *args,
                           struct db_rows **ret_rows, struct err *err);
    enum err_code (*next)(struct db_rows *rows, bool *ret_row, struct err *err);
    bool (*is_null)(struct db_rows *rows, int column);
    int64_t (*number)(struct db_rows *rows, int column);
    struct str (*bytes)(struct db_rows *rows, int column); /* valid until the next step */
    int64_t (*changes)(struct db_rows *rows);              /* after the last step of a write */
    void (*finish)(struct db_rows *rows);                  /* accepts NULL */
};

extern const struct db_driver db_sqlite;
extern const struct db_driver db_postgres;

/* As err_set, and kept as the connection's trouble. For drivers. */
enum err_code db__trouble(struct db *db, struct err *err, enum err_code code, const char *format,
                          ...) PRINTF_LIKE(4, 5);
void db__trouble_clear(struct db *db);

/* A result being read; finished on every path by CLEANUP(db__result_release). */
struct db_result {
    struct db *db;
    struct db_rows *rows;
};
void db__result_release(struct db_result *result);

MUST_CHECK enum err_code db__query(struct db *db, enum sql_id sql, const struct db_arg *args,
                                   struct db_result *ret_result, struct err *err);
MUST_CHECK enum err_code db__next(struct db_result *result, bool *ret_row, struct err *err);
/* A statement that gives no rows; *ret_changes (may be NULL): rows it touched. */
MUST_CHECK enum err_code db__run(struct db *db, enum sql_id sql, const struct db_arg *args,
                                 int64_t *ret_changes, struct err *err);
/* A statement with RETURNING id. */
MUST_CHECK enum err_code db__insert(struct db *db, enum sql_id sql, const struct db_arg *args,
                                    int64_t *ret_id, struct err *err);
/* One number of one row; ERR_NOT_FOUND (no text) when there is no row. */
MUST_CHECK enum err_code db__number(struct db *db, enum sql_id sql, const struct db_arg *args,
                                    int64_t *ret_number, struct err *err);

static inline int64_t db__i64(const struct db_result *r, int column)
{
    return r->db->driver->number(r->rows, column);
}
static inline bool db__null(const struct db_result *r, int column)
{
    return r->db->driver->is_null(r->rows, column);
}
static inline struct str db__view(const struct db_result *r, int column)
{
    return r->db->driver->bytes(r->rows, column);
}
time_ms db__time(const struct db_result *r, int column); /* NULL: TIME_NONE */
int db__exit(const struct db_result *r, int column);     /* NULL: -1 */
struct str db__text(const struct db_result *r, int column, struct arena *arena);
struct id db__id(const struct db_result *r, int column); /* NULL: empty */
void db__hash(const struct db_result *r, int column, uint8_t ret_hash[32]);
/* Reads a result of pieces of a text (start offset, end offset, data) in their order and adds what
 * lies between two offsets of the text to `out`. */
MUST_CHECK enum err_code db__take_pieces(struct db_result *r, int64_t from, int64_t to,
                                         struct buf *out, struct err *err);
