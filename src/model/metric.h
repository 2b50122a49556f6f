/* Metrics: names, points, chunks and answers to chart queries. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"

#define METRIC_NAME_BYTES_MAX 512
#define METRIC_CHUNK_POINTS   1024
#define METRIC_NAMES_MAX      100000 /* in one run */
#define METRIC_DEFINED_MAX    1000   /* definitions in one run */

enum metric_kind { METRIC_PLAIN, METRIC_SYSTEM };
const char *metric_kind_name(enum metric_kind kind);

/* What of a metric is shown as its value. */
/*      stat           name    */
#define METRIC_STATS(X)                                                                            \
    X(STAT_LAST, "last")                                                                           \
    X(STAT_MIN, "min")                                                                             \
    X(STAT_MAX, "max")                                                                             \
    X(STAT_MEAN, "mean")                                                                           \
    X(STAT_FIRST, "first")                                                                         \
    X(STAT_COUNT, "count")

enum metric_stat {
#define X(stat, name) stat,
    METRIC_STATS(X)
#undef X
        STAT_END
};
const char *metric_stat_name(enum metric_stat stat);
enum metric_stat metric_stat_from_name(struct str name); /* STAT_END when unknown */

/* Which of its values is better. */
/*      goal           name        */
#define METRIC_GOALS(X)                                                                            \
    X(GOAL_NONE, "")                                                                               \
    X(GOAL_MINIMIZE, "minimize")                                                                   \
    X(GOAL_MAXIMIZE, "maximize")

enum metric_goal {
#define X(goal, name) goal,
    METRIC_GOALS(X)
#undef X
        GOAL_END
};
const char *metric_goal_name(enum metric_goal goal);
enum metric_goal metric_goal_from_name(struct str name); /* GOAL_END when unknown */

struct metric_point {
    int64_t step;
    time_ms at;
    double value;
};

/* What is known of one metric of one run without reading its points: last is at the greatest step,
 * first at the lowest (of several the latest, and the earliest; of those at one time the greatest
 * value). min, max and sum skip NaN and the infinities; min and max are NaN when there is no finite
 * point, and their steps are the lowest. */
struct metric_facts {
    metric_id id;
    struct str name;
    enum metric_kind kind;
    int64_t count, finite_count;
    double last, first, min, max, sum;
    int64_t last_step, first_step, min_step, max_step; /* where they were */
    time_ms last_at, first_at;
};

/* One metric of one run as one writer logged it. `count` points lie in full chunks and in the tail
 * after them; what comes later in the writer's log begins at log_offset. */
struct metric_series {
    run_id run;
    metric_id metric;
    writer_id writer;
    int64_t count;
    int64_t step_min, step_max;
    time_ms at_min, at_max;
    int64_t log_offset;
};

/* A full chunk of a series, and what is stored of the pyramid over it: a row of level 1, a group of
 * rows of a higher level, or as METRIC_LEVEL_OPEN the row that is not complete yet. Where times_of
 * is not 0 the data have no times: they lie with that metric, which was logged together with this.
 */
struct metric_chunk {
    int64_t seq;
    metric_id times_of;
    struct str data;
};
struct metric_level {
    int level;
    int64_t seq;
    metric_id times_of;
    struct str data;
};
#define METRIC_LEVEL_OPEN (-1)
