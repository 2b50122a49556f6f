/* Records of the pyramid, and their rows. */
#include "store/chunk/level.h"

#include "base/macros.h"
#include "store/chunk/times.h"

#include <math.h>
#include <string.h>

#define VERSION      2
#define HEADER_BYTES 4
#define INT_COLUMNS  5
#define VALUES       4 /* minima, maxima, first, last: one column, because they look alike */
#define COLUMNS      (INT_COLUMNS + 2)

_Static_assert(VALUES *LEVEL_ROW_RECORDS <= METRIC_CHUNK_POINTS, "they are one column");

struct level_record level_record_of(const struct metric_point *point)
{
    bool finite = isfinite(point->value);

    return (struct level_record){
        .steps = {point->step, point->step},
        .times = {point->at, point->at},
        .not_finite = !finite,
        .min = finite ? point->value : NAN,
        .max = finite ? point->value : NAN,
        .sum = finite ? point->value : 0,
        .first = point->value,
        .last = point->value,
    };
}

static struct level_ends join_ends(struct level_ends a, struct level_ends b)
{
    bool ordered = level_ends_ordered(a) && level_ends_ordered(b) && a.last <= b.first;
    int64_t least = MIN(MIN(a.first, a.last), MIN(b.first, b.last));
    int64_t most = MAX(MAX(a.first, a.last), MAX(b.first, b.last));

    return ordered ? (struct level_ends){least, most} : (struct level_ends){most, least};
}

void level_record_join(struct level_record *earlier, const struct level_record *later)
{
    earlier->steps = join_ends(earlier->steps, later->steps);
    earlier->times = join_ends(earlier->times, later->times);
    earlier->not_finite += later->not_finite;
    if (!(earlier->min <= later->min) && !isnan(later->min))
        earlier->min = later->min;
    if (!(earlier->max >= later->max) && !isnan(later->max))
        earlier->max = later->max;
    earlier->sum += later->sum;
    earlier->last = later->last;
}

struct level_record level_row_get(const struct level_row *row, size_t i)
{
    return (struct level_record){
        .steps = {row->step_first[i], row->step_last[i]},
        .times = {row->time_first[i], row->time_last[i]},
        .not_finite = row->not_finite[i],
        .min = row->min[i],
        .max = row->max[i],
        .sum = row->sum[i],
        .first = row->first[i],
        .last = row->last[i],
    };
}

void level_row_set(struct level_row *row, size_t i, const struct level_record *record)
{
    row->step_first[i] = record->steps.first;
    row->step_last[i] = record->steps.last;
    row->time_first[i] = record->times.first;
    row->time_last[i] = record->times.last;
    row->not_finite[i] = record->not_finite;
    row->min[i] = record->min;
    row->max[i] = record->max;
    row->sum[i] = record->sum;
    row->first[i] = record->first;
    row->last[i] = record->last;
}

struct str level_row_encode(struct column_coder *coder, const struct level_row *row, size_t count,
                            struct arena *arena)
{
    const int64_t *ints[INT_COLUMNS] = {row->step_first, row->step_last, row->time_first,
                                        row->time_last, row->not_finite};
    const double *floats[VALUES] = {row->min, row->max, row->first, row->last};
    uint8_t *out = arena_alloc(arena, HEADER_BYTES + COLUMNS * COLUMN_HEADER_BYTES +
                                          (INT_COLUMNS + VALUES + 1) * count * 8);
    double values[VALUES * LEVEL_ROW_RECORDS];
    size_t len = HEADER_BYTES;

    ENSURE(count >= 1 && count <= LEVEL_ROW_RECORDS);
    out[0] = VERSION;
    out[1] = 0;
    out[2] = (uint8_t)(count & 0xff);
    out[3] = (uint8_t)(count >> 8);
    for (size_t i = 0; i < INT_COLUMNS; i++)
        len += column_put_ints(coder, ints[i], count, out + len);
    for (size_t i = 0; i < VALUES; i++)
        memcpy(values + i * count, floats[i], count * sizeof *values);
    len += column_put_floats(coder, values, VALUES * count, out + len);
    len += column_put_floats(coder, row->sum, count, out + len);
    return str_n((const char *)out, len);
}

/* Cuts the head off. */
static enum err_code take_head(struct str *rest, size_t *ret_count, bool *ret_has_times,
                               struct err *err)
{
    const uint8_t *head = (const uint8_t *)rest->data;

    if (rest->len < HEADER_BYTES || head[0] != VERSION || head[1] > TIMES_ELSEWHERE)
        return err_set(err, ERR_IO, "a row of metric levels is damaged or of a later version");
    *ret_has_times = head[1] != TIMES_ELSEWHERE;
    *ret_count = (size_t)head[2] | (size_t)head[3] << 8;
    if (*ret_count < 1 || *ret_count > LEVEL_ROW_RECORDS)
        return err_set(err, ERR_IO, "a row of metric levels is damaged: it says %zu records",
                       *ret_count);
    *rest = str_n(rest->data + HEADER_BYTES, rest->len - HEADER_BYTES);
    return OK;
}

enum err_code level_row_take(struct column_coder *coder, struct str *rest, enum level_axis axis,
                             struct level_row *ret_row, size_t *ret_count, struct err *err)
{
    int64_t *ints[INT_COLUMNS] = {ret_row->step_first, ret_row->step_last, ret_row->time_first,
                                  ret_row->time_last, ret_row->not_finite};
    const unsigned axes[INT_COLUMNS] = {LEVEL_STEPS, LEVEL_STEPS, LEVEL_TIMES, LEVEL_TIMES,
                                        LEVEL_BOTH};
    double *floats[VALUES] = {ret_row->min, ret_row->max, ret_row->first, ret_row->last};
    double values[VALUES * LEVEL_ROW_RECORDS];
    bool has_times;
    size_t count;

    TRY(take_head(rest, &count, &has_times, err));
    if (!has_times && axis & LEVEL_TIMES)
        return err_set(err, ERR_IO, "a row of metric levels is without its times");
    for (size_t i = 0; i < INT_COLUMNS; i++) {
        if (axes[i] & axis)
            TRY(column_take_ints(coder, rest, count, ints[i], err));
        else if (has_times || axes[i] != LEVEL_TIMES)
            TRY(column_skip(rest, err));
    }
    TRY(column_take_floats(coder, rest, VALUES * count, values, err));
    for (size_t i = 0; i < VALUES; i++)
        memcpy(floats[i], values + i * count, count * sizeof *values);
    TRY(column_take_floats(coder, rest, count, ret_row->sum, err));
    *ret_count = count;
    return OK;
}

enum err_code level_row_skip(struct str *rest, struct err *err)
{
    bool has_times;
    size_t count;

    TRY(take_head(rest, &count, &has_times, err));
    for (size_t i = has_times ? 0 : 2; i < COLUMNS; i++)
        TRY(column_skip(rest, err));
    return OK;
}
