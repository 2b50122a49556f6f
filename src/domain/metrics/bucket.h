/* A range of x cut into buckets of the same width, and filling them. Pure. thread: any */
#pragma once

#include "domain/metrics/metrics.h"
#include "store/chunk/level.h"

/* Buckets over the range lo to hi, both included. */
struct bucket_grid {
    int64_t lo, hi;
    uint64_t width;
    int64_t count;
};

/* lo <= hi, 1 <= count <= METRIC_BUCKETS_MAX. */
struct bucket_grid bucket_grid_make(int64_t lo, int64_t hi, int64_t count);
/* `x` lies in the range. */
size_t bucket_grid_at(const struct bucket_grid *grid, int64_t x);
/* A record whose points lie from `first` to `last` may go into one bucket as a whole: it lies in
 * one, or is at most half as wide as one. */
bool bucket_grid_takes(const struct bucket_grid *grid, int64_t first, int64_t last);

/* Buckets that are all zero are empty. */
void bucket_add_point(struct metric_bucket *bucket, int64_t x, double value);
void bucket_add_record(struct metric_bucket *bucket, struct level_ends x,
                       const struct level_record *record, int64_t points);
/* The mean of the finite values; NaN when there is none. */
double bucket_mean(const struct metric_bucket *bucket);
/* Moves those with points to the front; returns how many. */
size_t bucket_squeeze(struct metric_bucket *buckets, size_t count);
