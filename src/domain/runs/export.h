/* Export and import of whole runs, as lines of JSON (docs/export.md). Both go part by part, so that
 * neither holds much memory nor the command thread for long; an import that breaks off goes on
 * where it stopped. thread: any owner of a store; import: command */
#pragma once

#include "base/buf.h"
#include "domain/cmd.h"
#include "model/run.h"

#define EXPORT_FORMAT          1
#define EXPORT_PART_BYTES_GOAL (4u * 1024 * 1024)
#define IMPORT_PART_BYTES_MAX  (32u * 1024 * 1024)
#define IMPORT_LINES_MAX       20000 /* in one part */

/* Adds lines to `out`. The last one is {"t":"more","cursor":...} or, at the end, {"t":"end"}.
 * ERR_CONFLICT: something was written to the run since the first part. */
MUST_CHECK enum err_code runs_export(struct cmd *cmd, const struct run *run, struct str cursor,
                                     struct buf *out, struct err *err);

struct import_part {
    struct id run;      /* the id that it gets here */
    int64_t first_line; /* lines in the parts before */
    struct str lines;   /* whole lines; {"t":"end"} finishes it */
};
/* *ret_line: lines written so far, also with ERR_OFFSET: the part does not go on there.
 * ERR_CONFLICT: there is such a run. ERR_INVALID names line and column; nothing of the part is
 * kept. */
MUST_CHECK enum err_code runs_import(struct cmd *cmd, project_id project, struct str project_name,
                                     const struct import_part *part, int64_t *ret_line,
                                     bool *ret_done, struct err *err);
