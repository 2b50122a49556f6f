/* The store: everything the server remembers, as typed functions per noun (store_*.h).
 *
 * A `struct store` is one connection and belongs to one thread at a time. The one writable
 * connection of the process runs transactions; each command inside one has a savepoint, so that a
 * refused command leaves nothing behind. Objects that are read live in the arena of the caller.
 * thread: owner of the store; may block */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct db;
struct store {
    struct db *db;
};

/* Opens (and, writable, creates and migrates) the database at `path`. ERR_CONFLICT: it was written
 * by a newer version. ERR_IO, ERR_DISK_FULL. */
MUST_CHECK enum err_code store_open(struct store *store, const char *path, bool writable,
                                    struct err *err);
void store_close(struct store *store); /* accepts a zeroed store */

MUST_CHECK enum err_code store_begin(struct store *store, struct err *err);
/* A snapshot for several reads; ended by store_rollback. */
MUST_CHECK enum err_code store_begin_read(struct store *store, struct err *err);
/* On failure the transaction is gone. ERR_IO of a commit is fatal for the process: what is on disk
 * is not known, only a restart finds out. */
MUST_CHECK enum err_code store_commit(struct store *store, struct err *err);
void store_rollback(struct store *store);
MUST_CHECK enum err_code store_savepoint(struct store *store, struct err *err);
MUST_CHECK enum err_code store_savepoint_keep(struct store *store, struct err *err);
void store_savepoint_undo(struct store *store);
MUST_CHECK enum err_code store_checkpoint(struct store *store, struct err *err);
int store_schema_newest(void);
