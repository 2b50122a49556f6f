/* What the runs table is filtered, sorted and grouped by, kept beside the runs: their fields, and
 * configuration and summary flattened ("optim.lr"). Written in the transaction that changes what
 * they come from; only what changed is written. docs/filtering.md says how values are flattened.
 * thread: command */
#pragma once

#include "domain/cmd.h"
#include "model/attribute.h"
#include "model/run.h"

/* After the run was saved: its fields, when they changed since it was read. */
MUST_CHECK enum err_code attributes_of_run(struct cmd *cmd, struct run *run, struct err *err);
/* Saves a document of a run and indexes configuration, summary, code and definitions. */
MUST_CHECK enum err_code attributes_doc_set(struct cmd *cmd, run_id run, enum run_doc kind,
                                            struct str body, struct err *err);
/* Before the run is deleted. */
MUST_CHECK enum err_code attributes_delete(struct cmd *cmd, run_id run, struct err *err);
/* Which hosts a run can be found by, when there are several, from the facts of its writers (objects
 * as JSON texts: runs_fold_facts). */
MUST_CHECK enum err_code attributes_hosts_set(struct cmd *cmd, run_id run, const struct str *facts,
                                              size_t count, struct err *err);
/* Everything of a run, whatever was indexed before. */
MUST_CHECK enum err_code attributes_index(struct cmd *cmd, run_id run, struct err *err);
/* Indexes some runs that older rules (or none) indexed. *ret_more: call again. */
MUST_CHECK enum err_code attributes_catch_up(struct cmd *cmd, bool *ret_more, struct err *err);
