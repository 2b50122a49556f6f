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

/* Gives every row and system sample of a stretch of log to `take`, in the order of the log, with
 * its offset in `data`. */
struct runlog_row;
typedef void series_row_fn(void *ctx, const struct runlog_row *row, int64_t offset);
void series_each_row(struct str data, series_row_fn *take, void *ctx);

/* A metric whose open tail is wanted. */
struct series_tail {
    metric_id metric;
    int64_t from; /* log offset: what lies before is in chunks */
    struct point_list points;
};
/* Adds the points of each tail that lie in the log of a writer between the tail's offset and the
 * writer's applied offset. */
MUST_CHECK enum err_code series_tails(struct cmd *cmd, const struct writer *writer,
                                      struct series_tail *tails, size_t tail_count,
                                      struct err *err);
