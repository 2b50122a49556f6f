/* What a backup and a check of the store need: copies of one moment, and walks over everything.
 * thread: owner of the store; may block */
#pragma once

#include "model/run.h"
#include "store/store.h"

/* Everything, as it is at one moment, in a new SQLite file; others may write meanwhile.
 * ERR_UNPROCESSABLE: the database has tools of its own for that (PostgreSQL). */
MUST_CHECK enum err_code store_copy(struct store *store, const char *path, struct err *err);
/* ERR_CONFLICT: the database has another schema than this program knows. */
MUST_CHECK enum err_code store_schema_check(struct store *store, struct err *err);

/* Visitors of the walks below. Texts are valid during the call. */
struct store_fault_sink {
    void *ctx;
    void (*fault)(void *ctx, const char *text); /* one line, without an end */
};
/* Faults that the database finds in itself; nothing on PostgreSQL, which checks its pages. */
MUST_CHECK enum err_code store_check_database(struct store *store,
                                              const struct store_fault_sink *sink, struct err *err);
struct store_check_counts {
    int64_t writers, log_blobs, chunks, levels;
};
/* Logs: offsets in order and every byte between compacted and committed there, records whole.
 * Chunks and pyramid: every column decodes to its checksum. */
MUST_CHECK enum err_code store_check_logs(struct store *store, const struct store_fault_sink *sink,
                                          struct store_check_counts *counts, struct err *err);
MUST_CHECK enum err_code store_check_chunks(struct store *store,
                                            const struct store_fault_sink *sink,
                                            struct store_check_counts *counts, struct err *err);

struct store_blob_walk {
    void *ctx;
    enum err_code (*visit)(void *ctx, const char *digest, int64_t bytes, struct err *err);
};
MUST_CHECK enum err_code store_blob_walk(struct store *store, const struct store_blob_walk *walk,
                                         struct err *err);
