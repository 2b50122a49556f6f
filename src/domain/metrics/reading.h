/* One metric of one run as a query reads it: where its points lie, the range of x they have, and
 * filling buckets with them. thread: any owner of a store */
#pragma once

#include "domain/metrics/bucket.h"
#include "domain/metrics/series.h"
#include "domain/metrics/walk.h"

/* What one writer has of a metric: points in chunks, and after them those of the open tail. */
struct reading_part {
    struct metric_series series;
    int64_t visible_below;
    struct point_list tail;
};

/* A run's parts of several metrics. */
struct run_reading {
    struct run run;
    int64_t version; /* grows with every point */
    size_t writer_count;
    struct id *writers;
    struct reading_part **parts; /* by metric, then by writer */
};
MUST_CHECK enum err_code reading_open(struct cmd *cmd, const struct run *run,
                                      const metric_id *metrics, size_t metric_count,
                                      struct run_reading *ret_reading, struct err *err);

/* Which x the points have, and which of them count. */
struct reading_range {
    enum metric_axis axis; /* not AXIS_METRIC */
    int64_t origin;        /* of relative time */
    int64_t from, to;
};
struct reading_range reading_range_of(const struct metric_query *query, const struct run *run);
/* Widens *lo and *hi to what the range of x that the parts have and the query's have in common. */
void reading_extent(const struct reading_part *parts, size_t count,
                    const struct reading_range *range, int64_t *lo, int64_t *hi);
/* Fills the buckets of the grid. */
struct reading_buckets {
    const struct bucket_grid *grid;
    struct metric_bucket *buckets;
};
MUST_CHECK enum err_code reading_fill(struct walker *walker, const struct reading_part *parts,
                                      size_t count, const struct reading_range *range,
                                      const struct reading_buckets *into, struct err *err);
/* All visible points of one part, in the order of the log. */
MUST_CHECK enum err_code reading_points(struct walker *walker, const struct reading_part *part,
                                        struct arena *arena, struct point_list *ret_points,
                                        struct err *err);
