/* Grids and buckets. A record that straddles an edge goes whole into the bucket where it begins, so
 * the edge moves by at most half a bucket; each bucket says the x of its first and last point, and
 * all it says is exact for these. */
#include "domain/metrics/bucket.h"

#include <math.h>

struct bucket_grid bucket_grid_make(int64_t lo, int64_t hi, int64_t count)
{
    struct bucket_grid grid = {.lo = lo, .hi = hi, .count = count};

    ENSURE(lo <= hi && count >= 1 && count <= METRIC_BUCKETS_MAX);
    grid.width = ((uint64_t)hi - (uint64_t)lo) / (uint64_t)count;
    grid.width += grid.width < UINT64_MAX;
    return grid;
}

size_t bucket_grid_at(const struct bucket_grid *grid, int64_t x)
{
    uint64_t index = ((uint64_t)x - (uint64_t)grid->lo) / grid->width;

    return (size_t)MIN(index, (uint64_t)grid->count - 1);
}

bool bucket_grid_takes(const struct bucket_grid *grid, int64_t first, int64_t last)
{
    uint64_t span = (uint64_t)last - (uint64_t)first;

    return span <= grid->width / 2 || bucket_grid_at(grid, first) == bucket_grid_at(grid, last);
}

static void begin(struct metric_bucket *b, int64_t x_first, int64_t x_last)
{
    *b = (struct metric_bucket){.x_first = x_first, .x_last = x_last, .min = NAN, .max = NAN};
}

void bucket_add_point(struct metric_bucket *b, int64_t x, double value)
{
    bool finite = isfinite(value);

    if (b->count == 0)
        begin(b, x, x);
    if (b->count == 0 || x < b->x_first) {
        b->x_first = x;
        b->first = value;
    }
    if (x >= b->x_last) {
        b->x_last = x;
        b->last = value;
    }
    if (finite) {
        if (!(value >= b->min))
            b->min = value;
        if (!(value <= b->max))
            b->max = value;
        b->sum += value;
    }
    b->not_finite += !finite;
    b->count++;
}

void bucket_add_record(struct metric_bucket *b, struct level_ends x,
                       const struct level_record *record, int64_t points)
{
    if (b->count == 0)
        begin(b, x.first, x.last);
    if (b->count == 0 || x.first < b->x_first) {
        b->x_first = x.first;
        b->first = record->first;
    }
    if (x.last >= b->x_last) {
        b->x_last = x.last;
        b->last = record->last;
    }
    if (!(record->min >= b->min) && !isnan(record->min))
        b->min = record->min;
    if (!(record->max <= b->max) && !isnan(record->max))
        b->max = record->max;
    b->sum += record->sum;
    b->not_finite += record->not_finite;
    b->count += points;
}

double bucket_mean(const struct metric_bucket *b)
{
    int64_t finite = b->count - b->not_finite;

    return finite > 0 ? b->sum / (double)finite : NAN;
}

size_t bucket_squeeze(struct metric_bucket *buckets, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (buckets[i].count)
            buckets[kept++] = buckets[i];
    return kept;
}
