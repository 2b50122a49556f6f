/* The definitions of a run, worked out from what its writers said, in their order, on top of those
 * of the run it branches from as they are now. Runs that branch from it follow. thread: command */
#pragma once

#include "domain/cmd.h"
#include "domain/runs/define.h"
#include "model/run.h"

/* Adds to what the writer said; define_fold_settle does the rest. `later` as definitions_join. */
MUST_CHECK enum err_code define_fold_take(struct cmd *cmd, const struct writer *writer,
                                          json_t *later, struct err *err);
/* Works out the run's, and when that changed those of the runs that branch from it. */
MUST_CHECK enum err_code define_fold_settle(struct cmd *cmd, const struct run *run,
                                            struct err *err);
/* Works out those of the runs that branch from `run`, which changed or is gone. */
MUST_CHECK enum err_code define_fold_branches(struct cmd *cmd, const struct run *run,
                                              struct err *err);
/* Of a run, as it was worked out. thread: any owner of a store */
MUST_CHECK enum err_code define_load(struct cmd *cmd, run_id run,
                                     struct definitions *ret_definitions, struct err *err);
