/* Which writers a chart of a run reads, and which of their steps: those of the run itself, without
 * what later epochs set aside, and before them those of the runs it branches from.
 * thread: any owner of a store */
#pragma once

#include "domain/cmd.h"
#include "model/run.h"

enum series_part {
    SERIES_VISIBLE, /* what counts */
    SERIES_HIDDEN,  /* what later epochs of the run itself set aside */
};

/* A writer whose points a run shows, and from which step to below which. */
struct series_writer {
    struct writer writer;
    int64_t visible_from;  /* INT64_MIN: from the first */
    int64_t visible_below; /* INT64_MAX: all */
};
static inline bool series_is_cut(int64_t from, int64_t below)
{
    return from != INT64_MIN || below != INT64_MAX;
}

/* In the order of the points: those inherited, then (start of the writer, its id). A run of which
 * the run branches and that is gone, or in another project, gives nothing. */
MUST_CHECK enum err_code series_writers(struct cmd *cmd, const struct run *run,
                                        enum series_part part, struct series_writer **ret_writers,
                                        size_t *ret_count, struct err *err);
