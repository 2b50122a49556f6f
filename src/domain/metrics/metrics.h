/* Metrics: names with their facts, chart queries that count every point, and compaction of logs
 * into chunks. thread: any owner of a store for reads; compaction as each function says */
#pragma once

#include "domain/cmd.h"
#include "model/metric.h"
#include "store/store_metric.h"

#define METRIC_QUERY_RUNS_MAX    100
#define METRIC_QUERY_METRICS_MAX 100
#define METRIC_BUCKETS_MAX       4096

enum metric_axis { AXIS_STEP, AXIS_TIME, AXIS_RELATIVE };

struct metric_query {
    const struct id *runs;
    size_t run_count;
    const struct str *metrics;
    size_t metric_count;
    enum metric_axis axis;
    int64_t from, to; /* INT64_MIN and INT64_MAX: open */
    int64_t buckets;
};

struct metric_bucket {
    int64_t x_first, x_last, count;
    double min, max; /* NaN when no point is finite */
    double first, last;
};

struct metric_series {
    struct id run;
    struct str metric;
    int64_t count, not_finite;
    struct metric_bucket *buckets; /* only those with points, by x */
    size_t bucket_count;
};

MUST_CHECK enum err_code metrics_list(struct cmd *cmd, run_id run,
                                      const struct metric_filter *filter,
                                      struct metric_facts **ret_facts, size_t *ret_count,
                                      struct err *err);
/* Runs must belong to the project (ERR_NOT_FOUND names the one that does not). A metric that a run
 * does not have gives no series. */
MUST_CHECK enum err_code metrics_query(struct cmd *cmd, project_id project,
                                       const struct metric_query *query,
                                       struct metric_series **ret_series, size_t *ret_count,
                                       struct err *err);

/* Compaction in two steps: the slow one reads, on a read connection; the short one writes.
 * The plan lives in the arena of the reading cmd. */
struct compact_plan {
    writer_id writer;
    int64_t from, to;
    struct metric_chunk *chunks;
    size_t chunk_count;
};
/* At most about `bytes_max` of log, at least one blob. *ret_plan has from == to when there is
 * nothing to do. thread: ingest */
MUST_CHECK enum err_code metrics_compact_read(struct cmd *cmd, const struct writer *writer,
                                              int64_t bytes_max, struct compact_plan *ret_plan,
                                              struct err *err);
/* ERR_CONFLICT when the log was compacted meanwhile. thread: command */
MUST_CHECK enum err_code metrics_compact_write(struct cmd *cmd, const struct compact_plan *plan,
                                               struct err *err);
