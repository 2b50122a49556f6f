/* Reading the points of metrics where they lie: sealed chunks first, then what has been committed
 * but not yet compacted, decoded from the log itself. thread: any owner of a store */
#pragma once

#include "domain/cmd.h"
#include "model/metric.h"

struct point_list {
    struct metric_point *points;
    size_t count, room;
};

/* Adds a point; memory from the arena. */
void point_list_add(struct point_list *list, struct arena *arena, struct metric_point point);

/* Gives every row and system sample of a stretch of log to `take`, in the order of the log. */
struct runlog_row;
void series_each_row(struct str data, void (*take)(void *ctx, const struct runlog_row *row),
                     void *ctx);

/* The points of `metrics` (their numbers) that lie in the log of a writer between its compacted
 * and its applied offset; lists[i] belongs to metrics[i]. */
MUST_CHECK enum err_code series_tail(struct cmd *cmd, const struct writer *writer,
                                     const metric_id *metrics, size_t metric_count,
                                     struct point_list *lists, struct err *err);
