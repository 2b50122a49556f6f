/* Records of the pyramid, and their rows. */
#include "store/chunk/level.h"

#include "base/macros.h"

#include <math.h>

#define VERSION      1
#define HEADER_BYTES 4
#define INT_COLUMNS  5
#define COLUMNS      10

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

struct str level_row_encode(struct column_coder *coder, const struct level_row *row,
                            struct arena *arena)
{
    const int64_t *ints[INT_COLUMNS] = {row->step_first, row->step_last, row->time_first,
                                        row->time_last, row->not_finite};
    const double *floats[] = {row->min, row->max, row->sum, row->first, row->last};
    uint8_t *out = arena_alloc(
        arena, HEADER_BYTES + COLUMNS * (COLUMN_HEADER_BYTES + (size_t)LEVEL_ROW_RECORDS * 8));
    size_t len = HEADER_BYTES;

    out[0] = VERSION;
    out[2] = (uint8_t)(LEVEL_ROW_RECORDS & 0xff);
    out[3] = (uint8_t)(LEVEL_ROW_RECORDS >> 8);
    for (size_t i = 0; i < ARRAY_LEN(ints); i++)
        len += column_put_ints(coder, ints[i], LEVEL_ROW_RECORDS, out + len);
    for (size_t i = 0; i < ARRAY_LEN(floats); i++)
        len += column_put_floats(coder, floats[i], LEVEL_ROW_RECORDS, out + len);
    return str_n((const char *)out, len);
}

enum err_code level_row_decode(struct column_coder *coder, struct str data, enum level_axis axis,
                               struct level_row *ret_row, struct err *err)
{
    int64_t *ints[INT_COLUMNS] = {ret_row->step_first, ret_row->step_last, ret_row->time_first,
                                  ret_row->time_last, ret_row->not_finite};
    const bool wanted[INT_COLUMNS] = {axis & LEVEL_STEPS, axis & LEVEL_STEPS, axis & LEVEL_TIMES,
                                      axis & LEVEL_TIMES, true};
    double *floats[] = {ret_row->min, ret_row->max, ret_row->sum, ret_row->first, ret_row->last};
    const uint8_t *head = (const uint8_t *)data.data;
    struct str rest;

    if (data.len < HEADER_BYTES || head[0] != VERSION || head[1] != 0 ||
        (head[2] | head[3] << 8) != LEVEL_ROW_RECORDS)
        return err_set(err, ERR_IO, "a row of metric levels is damaged or of a later version");
    rest = str_n(data.data + HEADER_BYTES, data.len - HEADER_BYTES);
    for (size_t i = 0; i < INT_COLUMNS; i++)
        if (wanted[i])
            TRY(column_take_ints(coder, &rest, LEVEL_ROW_RECORDS, ints[i], err));
        else
            TRY(column_skip(&rest, err));
    for (size_t i = 0; i < ARRAY_LEN(floats); i++)
        TRY(column_take_floats(coder, &rest, LEVEL_ROW_RECORDS, floats[i], err));
    return OK;
}
