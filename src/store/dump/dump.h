/* What a run recorded, as lines of JSON, and back: docs/export.md has the format. Ids of the
 * database are told by name, so that lines mean the same in another one. thread: owner of the
 * store; may block */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "model/run.h"
#include "store/store.h"

/* A place between two lines. */
struct dump_place {
    int table;           /* 0 at the start */
    int64_t metric_skip; /* metrics behind us */
    int64_t skip;        /* rows of the table behind us */
};

/* Adds lines from *at on until `out` has `bytes_goal` bytes (a long line may pass it) and moves
 * *at. *ret_end: that was the last one. */
MUST_CHECK enum err_code dump_read(struct store *store, run_id run, struct dump_place *at,
                                   size_t bytes_goal, struct buf *out, bool *ret_end,
                                   struct err *err);

struct dump_load {
    struct arena *arena; /* for the texts of one line; reset it between lines */
    project_id project;
    run_id run;    /* 0: its line has not come yet */
    struct id as;  /* the id that the run gets */
    user_id owner; /* where its own owner is unknown here */
    int64_t line;  /* for messages, from 1 */
};
/* Writes the row of one line. ERR_INVALID names line and column. ERR_CONFLICT: it is there
 * already. */
MUST_CHECK enum err_code dump_write(struct store *store, struct dump_load *load, json_t *line,
                                    struct err *err);
/* Changes whenever the rows of a run may have changed: an export of several parts compares it. */
MUST_CHECK enum err_code dump_stamp(struct store *store, run_id run, uint64_t *ret_stamp,
                                    struct err *err);
