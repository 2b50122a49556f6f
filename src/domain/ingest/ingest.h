/* Run logs arriving at the server: exactly once, in two transactions.
 *
 * First the bytes are committed as they came; that commit is the acknowledgement. Then they are
 * decoded (ingest_decode, on an ingest thread) and applied, which moves the applied offset. Both
 * offsets only move by compare-and-set, so that repeating anything changes nothing. */
#pragma once

#include "domain/cmd.h"
#include "domain/ingest/ingest_decode.h"

struct ingest_post {
    int64_t offset;      /* logical offset of the first byte */
    uint32_t crc_before; /* of all bytes before the offset */
    struct str data;     /* whole groups */
    uint32_t crc_after;  /* of all bytes up to the end; ingest_check computes it */
};

/* Whole groups from the first byte to the last, within the size limit. ERR_INVALID says where the
 * first fault is. Computes crc_after. thread: any (slow for large posts: worker) */
MUST_CHECK enum err_code ingest_check(struct ingest_post *post, struct err *err);

/* Commits a post; *ret_writer is the writer after it (or as it is, with ERR_OFFSET).
 * ERR_OFFSET: not the next byte, try writer.committed_offset. ERR_WRITER_DIVERGED: this server
 * has another history before that offset. A post that lies wholly before the committed offset
 * with the right history is OFFSET too: the client learns where it stands. thread: command */
MUST_CHECK enum err_code ingest_commit(struct cmd *cmd, const struct run *run, const struct id *id,
                                       const struct ingest_post *post, struct writer *ret_writer,
                                       struct err *err);
/* Writes what was decoded. ERR_CONFLICT: somebody else did. thread: command */
MUST_CHECK enum err_code ingest_apply(struct cmd *cmd, writer_id writer,
                                      const struct ingest_batch *batch, struct err *err);
/* How far each log of a run has come, in the order in which their points count. */
MUST_CHECK enum err_code ingest_writers(struct cmd *cmd, run_id run, struct writer **ret_writers,
                                        size_t *ret_count, struct err *err);
