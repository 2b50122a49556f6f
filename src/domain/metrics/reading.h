/* One metric of one run as a query reads it: where its points lie, the range of x they have, and
 * filling buckets with them. thread: any owner of a store */
#pragma once

#include "domain/metrics/bucket.h"
#include "domain/metrics/series.h"
#include "domain/metrics/walk.h"
#include "domain/metrics/writers.h"

/* What one writer has of a metric: points in chunks, and after them those of the open tail. */
struct reading_part {
    struct metric_series series;
    int64_t visible_from, visible_below; /* steps that count */
    struct point_list tail;
};
static inline bool reading_shows(const struct reading_part *part, int64_t step)
{
    return step >= part->visible_from && step < part->visible_below;
}

/* A run's parts of several metrics. */
struct run_reading {
    struct run run;
    int64_t version; /* grows with every point */
    size_t writer_count;
    const struct series_writer *writers;
    struct reading_part **parts; /* by metric, then by writer */
};
struct reading_choice {
    const metric_id *metrics;
    size_t metric_count;
    enum series_part part;
};
MUST_CHECK enum err_code reading_open(struct cmd *cmd, const struct run *run,
                                      const struct reading_choice *choice,
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
/* Joins what the visible points of one part say to the facts. */
MUST_CHECK enum err_code reading_facts(struct walker *walker, const struct reading_part *part,
                                       struct metric_facts *facts, struct err *err);
/* All visible points of one part, in the order of the log. */
MUST_CHECK enum err_code reading_points(struct walker *walker, const struct reading_part *part,
                                        struct arena *arena, struct point_list *ret_points,
                                        struct err *err);
