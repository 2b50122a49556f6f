/* Runs, their documents and console text in the store. thread: owner of the store; may block */
#pragma once

#include "base/buf.h"
#include "model/run.h"
#include "store/store.h"

#define CONSOLE_READ_BYTES_MAX 1048576

MUST_CHECK enum err_code store_run_insert(struct store *store, struct run *run, struct err *err);
MUST_CHECK enum err_code store_run_get(struct store *store, const struct id *id,
                                       struct arena *arena, struct run *ret_run, struct err *err);
MUST_CHECK enum err_code store_run_by_id(struct store *store, run_id id, struct arena *arena,
                                         struct run *ret_run, struct err *err);
MUST_CHECK enum err_code store_run_project(struct store *store, run_id id, project_id *ret_project,
                                           struct err *err);
/* A hash of the fields that the runs table is filtered by; run->read_mark has it as it was read. */
uint64_t store_run_mark(const struct run *run);
/* Everything but ids, owner, creation and console. */
MUST_CHECK enum err_code store_run_put(struct store *store, const struct run *run, struct err *err);
/* Ids of running runs without a job that were not heard for as long as their project says, or for
 * `silent_ms` where it says nothing. */
MUST_CHECK enum err_code store_run_silent(struct store *store, time_ms now, int64_t silent_ms,
                                          int limit, run_id *ret_ids, size_t *ret_count,
                                          struct err *err);
/* Whether what is known of its metrics has to be worked out anew: points came that do not count,
 * or what counts changed. */
MUST_CHECK enum err_code store_run_facts_stale(struct store *store, run_id run, bool stale,
                                               struct err *err);
/* The same, and whether a part of its points does not count from now on. */
MUST_CHECK enum err_code store_run_facts_cut(struct store *store, run_id run, bool cut,
                                             struct err *err);
/* The same for all runs that inherit steps above `above_step` from `parent`. */
MUST_CHECK enum err_code store_run_facts_stale_below(struct store *store, const struct id *parent,
                                                     int64_t above_step, struct err *err);
/* They are brought in piece by piece, each piece while they are coming still: whoever finds that
 * they are stale, or another piece's work left undone, works them out anew. */
enum run_facts { RUN_FACTS_RIGHT, RUN_FACTS_STALE, RUN_FACTS_COMING };
MUST_CHECK enum err_code store_run_facts_state(struct store *store, run_id run,
                                               enum run_facts *ret_state, struct err *err);
/* *ret_turned: the state was `expected`. */
MUST_CHECK enum err_code store_run_facts_turn(struct store *store, run_id run,
                                              enum run_facts expected, enum run_facts state,
                                              bool *ret_turned, struct err *err);
/* Runs whose facts are stale; with `coming` also those where they are coming. */
MUST_CHECK enum err_code store_run_facts_stale_list(struct store *store, bool coming, int limit,
                                                    run_id *ret_ids, size_t *ret_count,
                                                    struct err *err);
/* The runs that branch from `parent`, and those that branch from them, parents first; a run that is
 * being deleted may be among them. */
MUST_CHECK enum err_code store_run_branch_list(struct store *store, const struct id *parent,
                                               int limit, run_id *ret_ids, size_t *ret_count,
                                               struct err *err);
/* A server that starts gives everybody a full term. */
MUST_CHECK enum err_code store_run_seen_all(struct store *store, time_ms now, struct err *err);
/* Lines of an import that are written; -1: none is under way. */
MUST_CHECK enum err_code store_run_import_get(struct store *store, run_id id, int64_t *ret_line,
                                              struct err *err);
MUST_CHECK enum err_code store_run_import_set(struct store *store, run_id id, int64_t line,
                                              struct err *err);
/* Takes the run out of its project: nobody finds it any more but by id, with an empty name of a
 * project. Its values for the runs table and its job are the caller's. */
MUST_CHECK enum err_code store_run_trash(struct store *store, run_id id, struct err *err);
/* A run that is to be purged; 0 when there is none. */
MUST_CHECK enum err_code store_run_trash_next(struct store *store, run_id *ret_id, struct err *err);
/* Deletes up to `rows_max` rows of what it recorded, at last the run itself. */
MUST_CHECK enum err_code store_run_purge(struct store *store, run_id id, int64_t rows_max,
                                         bool *ret_gone, struct err *err);
MUST_CHECK enum err_code store_run_unknown_count(struct store *store, run_id id, int64_t *ret_count,
                                                 struct err *err);

/* JSON text; `{0}` when there is none. */
MUST_CHECK enum err_code store_run_doc_get(struct store *store, run_id run, enum run_doc kind,
                                           struct arena *arena, struct str *ret_body,
                                           struct err *err);
MUST_CHECK enum err_code store_run_doc_set(struct store *store, run_id run, enum run_doc kind,
                                           struct str body, struct err *err);
MUST_CHECK enum err_code store_run_file_set(struct store *store, run_id run, struct str path,
                                            struct str detail, struct err *err);

/* Adds text at the end and moves run->console_bytes. */
MUST_CHECK enum err_code store_console_append(struct store *store, struct run *run, struct str text,
                                              struct err *err);
MUST_CHECK enum err_code store_console_set_final(struct store *store, struct run *run, bool final,
                                                 struct err *err);
/* At most `bytes_max` (CONSOLE_READ_BYTES_MAX) from `offset`; empty at the end. */
MUST_CHECK enum err_code store_console_read(struct store *store, run_id run, int64_t offset,
                                            int64_t bytes_max, struct buf *out, struct err *err);
