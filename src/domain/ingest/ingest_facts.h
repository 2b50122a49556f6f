/* What a batch says of its metrics, brought into the facts of the run. Folder-private.
 * thread: command */
#pragma once

#include "domain/ingest/ingest.h"

/* The facts of a batch, in `arena`, in the order of the numbers that its writer gave the names. */
struct ingest_entry *ingest__entries(const struct ingest_batch *batch, struct arena *arena);
/* Brings in the entries from `from` on, `count` of them. */
MUST_CHECK enum err_code ingest__facts_apply(struct cmd *cmd, const struct ingest_work *work,
                                             size_t from, size_t count, struct err *err);
