/* Run logs as they arrived: writers, their committed blobs, records of unknown type, and the packed
 * files (blobs by digest). thread: owner of the store; may block */
#pragma once

#include "model/run.h"
#include "store/store.h"

MUST_CHECK enum err_code store_writer_insert(struct store *store, struct writer *writer,
                                             struct err *err);
/* ERR_NOT_FOUND when this run has no such writer yet. */
MUST_CHECK enum err_code store_writer_get(struct store *store, run_id run, const struct id *id,
                                          struct arena *arena, struct writer *ret_writer,
                                          struct err *err);
MUST_CHECK enum err_code store_writer_by_id(struct store *store, writer_id id, struct arena *arena,
                                            struct writer *ret_writer, struct err *err);
/* In the order in which their points count: by start, then id. */
MUST_CHECK enum err_code store_writer_list(struct store *store, run_id run, int limit,
                                           struct arena *arena, struct writer **ret_writers,
                                           size_t *ret_count, struct err *err);
/* Writers with committed bytes that are not applied, ids above `after`. */
MUST_CHECK enum err_code store_writer_unapplied(struct store *store, writer_id after, int limit,
                                                struct arena *arena, struct writer **ret_writers,
                                                size_t *ret_count, struct err *err);
/* Writers with at least `bytes_min` applied bytes that are not in chunks yet, or any when ended. */
MUST_CHECK enum err_code store_writer_uncompacted(struct store *store, int64_t bytes_min, int limit,
                                                  struct arena *arena, struct writer **ret_writers,
                                                  size_t *ret_count, struct err *err);

/* Appends `data` at writer->committed_offset and moves offset and CRC. */
MUST_CHECK enum err_code store_log_append(struct store *store, struct writer *writer,
                                          struct str data, uint32_t crc_after, struct err *err);
/* Moves the applied offset from `expected` to writer->applied_offset, with kind, start and end.
 * ERR_CONFLICT when somebody else moved it. */
MUST_CHECK enum err_code store_writer_applied(struct store *store, const struct writer *writer,
                                              int64_t expected, struct err *err);
/* As above for the compacted offset; drops the blobs that are wholly before it. */
MUST_CHECK enum err_code store_writer_compacted(struct store *store, const struct writer *writer,
                                                int64_t expected, struct err *err);
MUST_CHECK enum err_code store_writer_fence(struct store *store, writer_id id, struct err *err);
/* The blob that starts at `from`, or later; ERR_NOT_FOUND when there is none. */
MUST_CHECK enum err_code store_log_blob_next(struct store *store, writer_id writer, int64_t from,
                                             struct arena *arena, struct log_blob *ret_blob,
                                             struct err *err);
MUST_CHECK enum err_code store_log_record_insert(struct store *store, writer_id writer,
                                                 int64_t offset, int type, struct str payload,
                                                 struct err *err);

/* Files by digest, as 64 hexadecimal characters. */
MUST_CHECK enum err_code store_blob_put(struct store *store, project_id project, struct str digest,
                                        int64_t bytes, time_ms now, struct err *err);
/* Size of a blob that this project stored; ERR_NOT_FOUND. */
MUST_CHECK enum err_code store_blob_get(struct store *store, project_id project, struct str digest,
                                        int64_t *ret_bytes, struct err *err);
