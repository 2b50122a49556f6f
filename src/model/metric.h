/* Metrics: names, points, chunks and answers to chart queries. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"

#define METRIC_NAME_BYTES_MAX 512
#define METRIC_CHUNK_POINTS   1024
#define METRIC_NAMES_MAX      100000 /* in one run */

enum metric_kind { METRIC_PLAIN, METRIC_SYSTEM };
const char *metric_kind_name(enum metric_kind kind);

struct metric_point {
    int64_t step;
    time_ms at;
    double value;
};

/* What is known of one metric of one run without reading its points. min and max skip NaN and
 * the infinities and are NaN when there is no finite point. */
struct metric_facts {
    metric_id id;
    struct str name;
    enum metric_kind kind;
    int64_t count, finite_count, last_step;
    double last, min, max;
};

struct metric_chunk {
    run_id run;
    metric_id metric;
    writer_id writer;
    int64_t seq;
    int64_t count;
    int64_t step_min, step_max;
    time_ms at_min, at_max;
    struct str data;
};
