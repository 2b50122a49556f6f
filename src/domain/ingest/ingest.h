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
/* A run of many metrics would hold up everybody else if all of them were written at once. So a
 * batch with more than INGEST_NAMES_MAX names gives them away piece by piece before it is applied
 * (names without points hurt nobody), and one with facts of more than INGEST_FACTS_MAX metrics
 * keeps them back: the run is marked until the pieces after it have brought them in. Where that is
 * cut short, or something else happens to the run meanwhile, the facts are worked out anew from the
 * points. */
#define INGEST_NAMES_MAX 500
#define INGEST_FACTS_MAX 1000

struct ingest_work {
    writer_id writer;
    run_id run; /* set by ingest_apply */
    struct ingest_batch *batch;
    struct ingest_entry *entries; /* facts that are still to come; set by ingest_apply */
    size_t entry_count, entries_done;
};

/* The next names of a batch that has too many; again while batch->name_count is too large.
 * thread: command */
MUST_CHECK enum err_code ingest_apply_names(struct cmd *cmd, struct ingest_work *work,
                                            struct err *err);
/* Writes what was decoded. Sets work->entries, in `arena`, where facts are to come in pieces.
 * ERR_CONFLICT: somebody else did. thread: command */
MUST_CHECK enum err_code ingest_apply(struct cmd *cmd, struct ingest_work *work,
                                      struct arena *arena, struct err *err);
/* The next facts; again while entries_done is less than entry_count. thread: command */
MUST_CHECK enum err_code ingest_apply_facts(struct cmd *cmd, struct ingest_work *work,
                                            struct err *err);
/* How far each log of a run has come, in the order in which their points count. */
MUST_CHECK enum err_code ingest_writers(struct cmd *cmd, run_id run, struct writer **ret_writers,
                                        size_t *ret_count, struct err *err);
