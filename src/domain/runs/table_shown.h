/* Which figure of a metric each run shows as its value: runs say so themselves, so one table may
 * hold runs that differ. Private to the runs table. thread: any owner of a store */
#pragma once

#include "domain/runs/table_find.h"

/* Finds out, for the key `summary.NAME`, what says anything about the metric. Part of
 * table__source. */
MUST_CHECK enum err_code table__shown_find(struct table_search *s, struct table_source *source,
                                           struct err *err);
/* Reads it for every run: before table__cells, which takes the last value without it. */
MUST_CHECK enum err_code table__shown_load(struct table_search *s, struct table_source *source,
                                           struct err *err);
/* The figure that stands for the metric in this run; STAT_END: none is shown. */
enum metric_stat table__figure(const struct table_source *source, run_id run);
