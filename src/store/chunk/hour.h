/* An hour of a machine's readings, as it lies in a row: columns (column.h) of every reading, and of
 * what buckets of some length have of each series: how many numbers, least, greatest, sum.
 *
 *     readings  u8 version (1) | u8 places | u16 count | times | a column of values for each series
 *     buckets   u8 version (1) | u8 places | u16 count | numbers of buckets | for each series:
 * counts, leasts, greatests, sums (the last three of buckets that have numbers)
 *
 * Times and bucket numbers count from the hour's begin. A number that is not known is NaN, and not
 * counted in any bucket. thread: any, a coder is used by one at a time */
#pragma once

#include "base/arena.h"
#include "model/node.h"
#include "store/chunk/column.h"

#define HOUR_SAMPLES_MAX METRIC_CHUNK_POINTS

/* `count` is 1 to HOUR_SAMPLES_MAX, by time, all within the hour. The bytes live in the arena. */
struct str hour_encode(struct column_coder *coder, time_ms hour, const struct node_sample *samples,
                       size_t count, struct arena *arena);
struct str hour_buckets_encode(struct column_coder *coder, time_ms hour, int64_t bucket_ms,
                               const struct node_sample *samples, size_t count,
                               struct arena *arena);

/* What a reader does with the numbers of one series: `at` is the time of a reading or the begin of
 * a bucket. */
struct hour_part {
    time_ms at;
    int64_t count;
    double min, max, sum;
};
struct hour_sink {
    void *ctx;
    void (*take)(void *ctx, int series, const struct hour_part *part);
};
/* Gives the sink all numbers. ERR_IO: damaged, or of a later version. */
MUST_CHECK enum err_code hour_read(struct column_coder *coder, struct str data, time_ms hour,
                                   const struct hour_sink *sink, struct err *err);
MUST_CHECK enum err_code hour_buckets_read(struct column_coder *coder, struct str data,
                                           time_ms hour, int64_t bucket_ms,
                                           const struct hour_sink *sink, struct err *err);
