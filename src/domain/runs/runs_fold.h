/* A run's documents and texts, worked out from what its writers said one by one. The order of the
 * writers decides who has the last word, not the order in which their logs came; what a person
 * changed by hand stays. thread: command */
#pragma once

#include "base/json.h"
#include "domain/runs/runs.h"

/* Merges `patch` (an object) key by key into what the writer said, and works out the run's. */
MUST_CHECK enum err_code runs_fold_merge(struct cmd *cmd, const struct writer *writer,
                                         enum writer_doc kind, json_t *patch, struct err *err);
/* Replaces what the writer said (code, diff). What a job was launched from is known to the job
 * alone and stays. */
MUST_CHECK enum err_code runs_fold_replace(struct cmd *cmd, const struct writer *writer,
                                           enum writer_doc kind, struct str body, struct err *err);

/* Members of the facts of a writer: name, group, job_type, host, notes (texts); command, tags
 * (arrays); tags_set (true: replaces the tags of earlier writers); branch {run, step}. `facts` is
 * merged into what the writer said. Changes `run`, which the caller saves. */
MUST_CHECK enum err_code runs_fold_facts(struct cmd *cmd, struct run *run,
                                         const struct writer *writer, json_t *facts,
                                         struct err *err);
