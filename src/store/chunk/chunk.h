/* A metric chunk: up to 1,024 points of one metric from one writer, column by column.
 *
 *     u8 version (1) | u8 step codec | u8 time codec | u8 value codec | u32 count | u32 CRC-32C of
 *     what follows | steps | times | values
 *
 * A codec tag names how its column lies there. Tag 0 is raw: little-endian int64 or float64.
 * Readers refuse tags they do not know. thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "model/metric.h"

enum chunk_codec { CHUNK_RAW = 0 };

#define CHUNK_BYTES_MAX (12 + METRIC_CHUNK_POINTS * 24)

/* `count` is 1 to METRIC_CHUNK_POINTS. The bytes live in the arena. */
struct str chunk_encode(const struct metric_point *points, size_t count, struct arena *arena);
/* ERR_IO: damaged, or of a later version. The points live in the arena. */
MUST_CHECK enum err_code chunk_decode(struct str data, struct arena *arena,
                                      struct metric_point **ret_points, size_t *ret_count,
                                      struct err *err);
