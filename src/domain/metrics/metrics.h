/* Metrics: names with their facts, chart queries that count every point, and compaction of logs
 * into chunks. thread: any owner of a store for reads; compaction as each function says */
#pragma once

#include "domain/cmd.h"
#include "model/metric.h"
#include "model/run.h"
#include "store/store_metric.h"

#define METRIC_QUERY_RUNS_MAX    100
#define METRIC_QUERY_METRICS_MAX 100
#define METRIC_BUCKETS_MAX       4096
#define METRIC_POINTS_MAX        10000 /* a page */

#define METRIC_SERIES_MAX 10000

/* A series of a run is one, or one for each rank or host that logged it. */
enum metric_split { SPLIT_NONE, SPLIT_RANK, SPLIT_HOST };

enum metric_axis { AXIS_STEP, AXIS_TIME, AXIS_RELATIVE, AXIS_METRIC };

struct metric_query {
    const struct id *runs;
    const int64_t
        *since; /* by run: its version at an earlier answer, -1: none; NULL: none at all */
    size_t run_count;
    const struct str *metrics;
    size_t metric_count;
    enum metric_axis axis;
    struct str x_metric; /* AXIS_METRIC */
    int64_t from, to;    /* INT64_MIN and INT64_MAX: open; not on AXIS_METRIC */
    double x_from, x_to; /* AXIS_METRIC alone; -INFINITY and INFINITY: open */
    int64_t buckets;
    struct str group_by; /* dotted path in the configuration; len 0: no groups */
    enum metric_split split;
    bool hidden; /* also, as series of their own, the steps that later epochs set aside */
};

/* Neighbouring points, summed up. Every point of the range is in exactly one bucket, and what the
 * bucket says is exact for the points from x_first to x_last. */
struct metric_bucket {
    int64_t x_first, x_last;
    double fx_first, fx_last; /* instead, on AXIS_METRIC */
    int64_t count, not_finite;
    double min, max, sum; /* of the finite values; min and max NaN when there is none */
    double first, last;
};

struct metric_series_answer {
    struct id run;
    struct str metric;
    bool is_hidden;  /* of steps that a later epoch set aside */
    int rank;        /* with SPLIT_RANK; RANK_NONE: of processes without one */
    struct str host; /* with SPLIT_HOST */
    int64_t count, not_finite;
    struct metric_bucket *buckets; /* only those with points, by x */
    size_t bucket_count;
};

/* One bucket over the runs of a group: statistics of the means that the runs have in it. */
struct metric_group_bucket {
    int64_t x_first, x_last;
    int64_t runs;
    double mean, median, min, max;
    double deviation; /* of the sample; 0 for one run */
};

struct metric_group {
    struct str key; /* JSON of the configuration's value; "null" where a run has none */
    struct str metric;
    int64_t runs;
    struct metric_group_bucket *buckets; /* only those where a run has a finite mean, by x */
    size_t bucket_count;
};

struct metric_answer {
    struct metric_series_answer *series; /* without groups */
    size_t series_count;
    struct metric_group *groups;
    size_t group_count;
    int64_t *versions; /* by run: grows with every point */
};

/* `regex` len 0: none. ERR_INVALID and ERR_LIMIT name the field "regex". */
MUST_CHECK enum err_code metrics_list(struct cmd *cmd, run_id run,
                                      const struct metric_filter *filter, struct str regex,
                                      struct metric_facts **ret_facts, size_t *ret_count,
                                      struct err *err);
/* Runs must belong to the project (ERR_NOT_FOUND names the one that does not). A metric that a run
 * does not have gives no series, and neither does a run whose version is the one in `since`.
 * ERR_INVALID: a split into more than METRIC_SERIES_MAX series. */
MUST_CHECK enum err_code metrics_query(struct cmd *cmd, project_id project,
                                       const struct metric_query *query,
                                       struct metric_answer *ret_answer, struct err *err);

/* The points of a metric as they were logged, writer by writer in the order of the run. */
struct metric_page {
    struct metric_point *points;
    size_t count;
    const char *cursor; /* where the next page begins; at the end: where new points will */
    bool more;
};
/* `cursor` len 0: from the beginning. ERR_INVALID: the cursor is not of this run. */
MUST_CHECK enum err_code metrics_points(struct cmd *cmd, const struct run *run, struct str metric,
                                        struct str cursor, size_t limit,
                                        struct metric_page *ret_page, struct err *err);

/* Working out anew what is known of the metrics of a run whose points do not all count, in two
 * steps like compaction. The plan lives in the arena of the reading cmd. */
struct refresh_plan {
    run_id run;
    int64_t version; /* of the logs it was made from */
    struct metric_facts *facts;
    size_t count, done;
    bool finished;
};
/* thread: ingest */
MUST_CHECK enum err_code metrics_refresh_read(struct cmd *cmd, run_id run,
                                              struct refresh_plan *ret_plan, struct err *err);
/* Writes the next few and sets `finished` with the last. ERR_CONFLICT: the logs went on meanwhile,
 * it has to be read again. thread: command */
MUST_CHECK enum err_code metrics_refresh_write(struct cmd *cmd, struct refresh_plan *plan,
                                               struct err *err);

/* Compaction in two steps: the slow one reads, on a read connection; the short ones write, as many
 * as it takes. The plan lives in the arena of the reading cmd. */
struct compact_series {
    struct metric_series series; /* as it will be */
    enum metric_kind kind;
    int64_t expected_offset; /* its log_offset as it was */
    struct str tail;
    struct metric_chunk *chunks;
    size_t chunk_count;
    struct metric_level *levels;
    size_t level_count, level_room;
};
struct compact_plan {
    writer_id writer;
    int64_t from, to;
    struct compact_series *series;
    size_t series_count, done;
    bool finished;
};
/* At most about `bytes_max` of log (more of a log of many metrics), at least one blob. *ret_plan
 * has from == to when there is nothing to do. thread: ingest */
MUST_CHECK enum err_code metrics_compact_read(struct cmd *cmd, const struct writer *writer,
                                              int64_t bytes_max, struct compact_plan *ret_plan,
                                              struct err *err);
/* Writes the next few rows of the plan and sets `finished` with the last of them. ERR_CONFLICT when
 * the log was compacted meanwhile. thread: command */
MUST_CHECK enum err_code metrics_compact_write(struct cmd *cmd, struct compact_plan *plan,
                                               struct err *err);
