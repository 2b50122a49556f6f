/* What the codecs of columns share. Folder-private. thread: any, a coder is used by one at a time
 */
#pragma once

#include "store/chunk/column.h"

#include <zstd.h>

#define EXPONENT_MAX 15 /* of the power of ten that a decimal is divided by */

struct column_coder {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    uint64_t words[METRIC_CHUNK_POINTS];
    uint8_t planes[METRIC_CHUNK_POINTS * 8];
    uint8_t attempt[METRIC_CHUNK_POINTS * 8 + 1024]; /* zstd wants some room above the input */
};

static inline void put_number(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t get_number(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Writes the lowest bytes of all words, then the next higher, and so on, `width` of each (0 to 8),
 * as one zstd frame at `attempt + offset`. Returns its bytes. */
size_t planes_put(struct column_coder *coder, const uint64_t *words, size_t count, size_t width,
                  size_t offset);
/* False: damaged. */
MUST_CHECK bool planes_take(struct column_coder *coder, struct str frame, size_t count,
                            size_t width, uint64_t *ret_words);
