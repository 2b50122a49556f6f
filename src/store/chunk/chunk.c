/* Chunks out of columns. */
#include "store/chunk/chunk.h"

#include "store/chunk/times.h"

#include <string.h>

#define VERSION 2

struct str chunk_encode(struct column_coder *coder, const struct metric_point *points, size_t count,
                        struct arena *arena)
{
    uint8_t *out = arena_alloc(arena, CHUNK_HEADER_BYTES + 3 * (COLUMN_HEADER_BYTES + count * 8));
    int64_t numbers[METRIC_CHUNK_POINTS];
    double values[METRIC_CHUNK_POINTS];
    size_t len = CHUNK_HEADER_BYTES;

    ENSURE(count >= 1 && count <= METRIC_CHUNK_POINTS);
    out[0] = VERSION;
    out[2] = (uint8_t)count;
    out[3] = (uint8_t)(count >> 8);
    for (size_t i = 0; i < count; i++)
        numbers[i] = points[i].step;
    len += column_put_ints(coder, numbers, count, out + len);
    for (size_t i = 0; i < count; i++)
        numbers[i] = points[i].at;
    len += column_put_ints(coder, numbers, count, out + len);
    for (size_t i = 0; i < count; i++)
        values[i] = points[i].value;
    len += column_put_floats(coder, values, count, out + len);
    return str_n((const char *)out, len);
}

enum err_code chunk_decode(struct column_coder *coder, struct str data, unsigned columns,
                           struct chunk_points *ret_points, struct err *err)
{
    const uint8_t *head = (const uint8_t *)data.data;
    struct str rest;
    size_t count;

    if (data.len < CHUNK_HEADER_BYTES || head[0] != VERSION || head[1] > TIMES_ELSEWHERE)
        return err_set(err, ERR_IO, "a metric chunk is damaged or of a later version");
    count = (size_t)head[2] | (size_t)head[3] << 8;
    if (count < 1 || count > METRIC_CHUNK_POINTS)
        return err_set(err, ERR_IO, "a metric chunk is damaged: it says %zu points", count);
    rest = str_n(data.data + CHUNK_HEADER_BYTES, data.len - CHUNK_HEADER_BYTES);
    if (columns & CHUNK_STEPS)
        TRY(column_take_ints(coder, &rest, count, ret_points->steps, err));
    else
        TRY(column_skip(&rest, err));
    if (head[1] == TIMES_ELSEWHERE && columns & CHUNK_TIMES)
        return err_set(err, ERR_IO, "a metric chunk is without its times");
    if (columns & CHUNK_TIMES)
        TRY(column_take_ints(coder, &rest, count, ret_points->times, err));
    else if (head[1] != TIMES_ELSEWHERE)
        TRY(column_skip(&rest, err));
    if (columns & CHUNK_VALUES)
        TRY(column_take_floats(coder, &rest, count, ret_points->values, err));
    else
        TRY(column_skip(&rest, err));
    if (rest.len)
        return err_set(err, ERR_IO, "a metric chunk is damaged: %zu bytes too many", rest.len);
    ret_points->count = count;
    return OK;
}
