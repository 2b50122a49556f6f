/* What a batch says of its metrics, brought into the facts of the run. Folder-private.
 * thread: command */
#pragma once

#include "domain/ingest/ingest.h"

MUST_CHECK enum err_code ingest__facts_apply(struct cmd *cmd, run_id run, writer_id writer,
                                             const struct ingest_batch *batch, struct err *err);
