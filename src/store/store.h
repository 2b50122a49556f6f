/* The store: everything the server remembers, as typed functions per noun (store_*.h).
 *
 * A `struct store` is one connection and belongs to one thread at a time. The one writable
 * connection of the process runs transactions; each command inside one has a savepoint, so that a
 * refused command leaves nothing behind. Objects that are read live in the arena of the caller.
 * thread: owner of the store; may block */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"

struct db;
struct store {
    struct db *db;
};

/* Opens (and, writable, migrates) the database at `where`: the path of an SQLite file, which is
 * made when it is missing, or "postgresql://..." or "postgresql:" and key=value pairs of libpq.
 * ERR_CONFLICT: it was written by a newer version, or is none we can use. ERR_IO, ERR_DISK_FULL,
 * ERR_UNAVAILABLE. A PostgreSQL connection that is lost later is made anew by the next begin. */
MUST_CHECK enum err_code store_open(struct store *store, const char *where, bool writable,
                                    struct err *err);
bool store_is_postgres(const char *where);
/* Checks what an administrator gave as a database and returns it as `where`, in heap memory.
 * ERR_INVALID, without quoting it: no PostgreSQL conninfo, or one with a password although
 * `is_secret` is false (it came over the command line). */
MUST_CHECK enum err_code store_where_postgres(struct str text, bool is_secret, char **ret_where,
                                              struct err *err);
void store_close(struct store *store); /* accepts a zeroed store */

MUST_CHECK enum err_code store_begin(struct store *store, struct err *err);
/* A snapshot for several reads; ended by store_rollback. */
MUST_CHECK enum err_code store_begin_read(struct store *store, struct err *err);
/* On failure the transaction is gone. ERR_IO of a commit is fatal for the process: what is on disk
 * is not known, only a restart finds out. (PostgreSQL never says so. ERR_UNAVAILABLE: the changes
 * are not kept, or, where the connection broke, perhaps; repeating them finds out.) */
MUST_CHECK enum err_code store_commit(struct store *store, struct err *err);
void store_rollback(struct store *store);
MUST_CHECK enum err_code store_savepoint(struct store *store, struct err *err);
MUST_CHECK enum err_code store_savepoint_keep(struct store *store, struct err *err);
void store_savepoint_undo(struct store *store);
MUST_CHECK enum err_code store_checkpoint(struct store *store, struct err *err);
/* Gives some of the space that deleting left back to the file system; *ret_more: call again. */
MUST_CHECK enum err_code store_trim(struct store *store, bool *ret_more, struct err *err);
int store_schema_newest(void);

/* What went wrong with the database itself since the last begin or savepoint: connection or disk.
 * OK: nothing. It overrules what a caller made of the failure ("not found"). */
enum err_code store_trouble(const struct store *store, struct err *err);
/* The failure was a deadlock or a serialization failure: undo the savepoint and run it again. */
bool store_lost_a_race(const struct store *store);

/* Several servers may share a PostgreSQL database; an SQLite file has one. */
bool store_is_shared(const struct store *store);
/* Whether this server leads; *fence is its number, 0 when another one leads. *ret_took_over: it has
 * become the leader just now (the number is new). Inside a transaction of the writable store. */
MUST_CHECK enum err_code store_lead(struct store *store, int64_t *fence, bool *ret_took_over,
                                    struct err *err);
/* ERR_FENCED when `fence` is not the leader's number any more. In the transaction of what is
 * decided. */
MUST_CHECK enum err_code store_lead_check(struct store *store, int64_t fence, struct err *err);

/* The name that the folder of files carries; empty: none was noted yet. */
MUST_CHECK enum err_code store_blobs_name_get(struct store *store, struct id *ret_name,
                                              struct err *err);
MUST_CHECK enum err_code store_blobs_name_set(struct store *store, const struct id *name,
                                              struct err *err);

/* Tells the other servers something with the commit; nothing on SQLite. */
#define STORE_NOTICE_BYTES_MAX 7900
MUST_CHECK enum err_code store_notify(struct store *store, struct str text, struct err *err);
/* For a store of its own that does nothing else. listen connects again after a loss; hear waits up
 * to timeout_ms and returns all texts one after the other, also one's own. ERR_UNAVAILABLE: what
 * was said meanwhile is lost. */
MUST_CHECK enum err_code store_listen(struct store *store, struct err *err);
MUST_CHECK enum err_code store_hear(struct store *store, int timeout_ms, struct arena *arena,
                                    struct str *ret_text, struct err *err);
