/* Byte planes: bytes of the same worth lie together, where zstd finds what they have in common. */
#include "base/macros.h"
#include "store/chunk/coder.h"

#define ZSTD_LEVEL 1

size_t planes_put(struct column_coder *coder, const uint64_t *words, size_t count, size_t width,
                  size_t offset)
{
    size_t len;

    for (size_t b = 0; b < width; b++)
        for (size_t i = 0; i < count; i++)
            coder->planes[b * count + i] = (uint8_t)(words[i] >> (8 * b));
    len =
        ZSTD_compressCCtx(coder->compressor, coder->attempt + offset,
                          sizeof coder->attempt - offset, coder->planes, width * count, ZSTD_LEVEL);
    ENSURE(!ZSTD_isError(len));
    return len;
}

bool planes_take(struct column_coder *coder, struct str frame, size_t count, size_t width,
                 uint64_t *ret_words)
{
    if (ZSTD_decompressDCtx(coder->decompressor, coder->planes, width * count, frame.data,
                            frame.len) != width * count)
        return false;
    for (size_t i = 0; i < count; i++)
        ret_words[i] = 0;
    for (size_t b = 0; b < width; b++)
        for (size_t i = 0; i < count; i++)
            ret_words[i] |= (uint64_t)coder->planes[b * count + i] << (8 * b);
    return true;
}
