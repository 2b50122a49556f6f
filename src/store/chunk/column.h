/* Columns: up to METRIC_CHUNK_POINTS integers or float64s, each written in the way that takes the
 * fewest bytes. A column is
 *
 *     u8 codec | u24 length | u32 CRC-32C of the bytes that follow | bytes
 *
 * little endian. The codecs are specified in docs/internals/metric-store.md; a reader refuses one
 * that it does not know. Every bit of a value comes back: NaN with its payload, -0, denormals.
 * thread: any, a coder is used by one at a time */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "model/metric.h"

#define COLUMN_HEADER_BYTES 8
#define COLUMN_BYTES_MAX    (COLUMN_HEADER_BYTES + METRIC_CHUNK_POINTS * 8)

enum column_codec {
    COLUMN_RAW = 0,       /* int64 or float64, as they are */
    COLUMN_DELTA = 1,     /* integers: differences, packed */
    COLUMN_DECIMAL = 2,   /* floats that are whole numbers after a shift of the decimal point */
    COLUMN_PLANES_32 = 3, /* floats that are float32s: byte planes, zstd */
    COLUMN_PLANES_64 = 4, /* floats: byte planes, zstd */
    COLUMN_DIFFS = 5, /* floats that change little or smoothly: differences, byte planes, zstd */
};

/* Room and compression contexts, so that a column costs no allocation. */
struct column_coder;
struct column_coder *column_coder_new(void);
void column_coder_free(struct column_coder *coder);                  /* accepts NULL */
static inline void column_coder_release(struct column_coder **coder) /* for CLEANUP */
{
    column_coder_free(*coder);
}

/* Writes a column of 1 to METRIC_CHUNK_POINTS values at `out`, which has room for COLUMN_BYTES_MAX.
 * Returns its bytes. */
size_t column_put_ints(struct column_coder *coder, const int64_t *values, size_t count,
                       uint8_t *out);
size_t column_put_floats(struct column_coder *coder, const double *values, size_t count,
                         uint8_t *out);

/* Reads the column at the start of `rest` and cuts it off. ERR_IO: damaged, or of a later version.
 */
MUST_CHECK enum err_code column_take_ints(struct column_coder *coder, struct str *rest,
                                          size_t count, int64_t *ret_values, struct err *err);
MUST_CHECK enum err_code column_take_floats(struct column_coder *coder, struct str *rest,
                                            size_t count, double *ret_values, struct err *err);
/* Cuts the column off without reading or checking what is in it. */
MUST_CHECK enum err_code column_skip(struct str *rest, struct err *err);
