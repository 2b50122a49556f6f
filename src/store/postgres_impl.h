/* What the files of the PostgreSQL driver share. Folder-private. thread: owner of the connection;
 * may block */
#pragma once

#include "store/db.h"
#include "store/libpq.h"

#define PG_PARAMS_MAX  32
#define PG_PENDING_MAX 64 /* statements that are sent and not answered yet */

/* Where the connection is in a transaction. Broken: it was lost inside one; everything fails until
 * the transaction is ended. */
enum pg_state { PG_IDLE, PG_INSIDE, PG_BROKEN };

struct pg_statement {
    Oid *types; /* of its parameters; NULL: not prepared on this connection */
};

struct db_rows {
    struct pg *owner;
    PGresult *result;
    int row;
    bool busy;
};

struct pg {
    struct db db;
    PGconn *conn;   /* NULL while there is none */
    char *conninfo; /* may hold a password: never logged */
    bool writable, leads, listens;
    enum pg_state state;
    int64_t tried_mono_ms; /* last failed attempt to connect */
    struct err refused;    /* and what it said */
    size_t pending, pending_bytes;
    const char *pending_names[PG_PENDING_MAX + 4];
    enum err_code failed; /* of a statement in this transaction, until it is undone */
    struct err failure;
    struct pg_statement statements[SQL_COUNT];
    struct db_rows rows[SQL_COUNT];
};

static inline struct pg *pg__of(struct db *db)
{
    ENSURE(db->driver == &db_postgres);
    return (struct pg *)(void *)db;
}

/* Connects when there is no connection. ERR_UNAVAILABLE; ERR_CONFLICT: not a database we can use.
 */
MUST_CHECK enum err_code pg__connect(struct pg *s, struct err *err);
/* The connection is gone: forgets it and says so in `err`. Returns ERR_UNAVAILABLE. */
enum err_code pg__lost(struct pg *s, struct err *err);
void pg__disconnect(struct pg *s);
/* Error of a result. FATAL ones drop the connection. */
enum err_code pg__error(struct pg *s, const PGresult *result, const char *what, struct err *err);
/* Several statements in one text, outside the pipeline. */
enum err_code pg__script(struct pg *s, const char *sql, struct err *err);

/* Sends a text without parameters (or with one text) and does not wait. */
enum err_code pg__send_text(struct pg *s, const char *sql, const char *param, struct err *err);
/* Waits for all that was sent. *ret_last (may be NULL): the result of the last one; caller clears.
 */
enum err_code pg__collect(struct pg *s, PGresult **ret_last, struct err *err);

MUST_CHECK enum err_code pg__lead(struct db *db, bool *ret_leads, struct err *err);
MUST_CHECK enum err_code pg__notify(struct db *db, struct str text, struct err *err);
MUST_CHECK enum err_code pg__listen(struct db *db, struct err *err);
MUST_CHECK enum err_code pg__hear(struct db *db, int timeout_ms, struct arena *arena,
                                  struct str *ret_text, struct err *err);
