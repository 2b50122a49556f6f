/* A metric chunk: up to METRIC_CHUNK_POINTS points of one metric from one writer, column by column.
 *
 *     u8 version (2) | u8 flags | u16 count | column of steps | column of times | column of values
 *
 * Each column has its own checksum, so that a chart over steps never looks at the times. Flag 1:
 * the column of times is not here (times.h). thread: any, a coder is used by one at a time */
#pragma once

#include "base/arena.h"
#include "store/chunk/column.h"

#define CHUNK_HEADER_BYTES 4
#define CHUNK_BYTES_MAX    (CHUNK_HEADER_BYTES + 3 * COLUMN_BYTES_MAX)

/* `count` is 1 to METRIC_CHUNK_POINTS. The bytes live in the arena. */
struct str chunk_encode(struct column_coder *coder, const struct metric_point *points, size_t count,
                        struct arena *arena);

enum chunk_column { CHUNK_STEPS = 1, CHUNK_TIMES = 2, CHUNK_VALUES = 4, CHUNK_ALL = 7 };

/* A chunk as it is read; columns that were not asked for are left as they were. */
struct chunk_points {
    size_t count;
    int64_t steps[METRIC_CHUNK_POINTS];
    time_ms times[METRIC_CHUNK_POINTS];
    double values[METRIC_CHUNK_POINTS];
};

/* `columns`: enum chunk_column, added up. ERR_IO: damaged, of a later version, or without the times
 * that were asked for. */
MUST_CHECK enum err_code chunk_decode(struct column_coder *coder, struct str data, unsigned columns,
                                      struct chunk_points *ret_points, struct err *err);
