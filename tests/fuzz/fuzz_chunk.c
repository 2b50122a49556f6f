/* Fuzz target: metric chunks and rows of the pyramid. The first byte chooses: the rest is one of
 * them as it lies in the store, with its checksums made right; or values, which have to come back
 * bit for bit. */
#include "runlog/crc.h"
#include "store/chunk/chunk.h"
#include "store/chunk/level.h"
#include "store/chunk/times.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes the checksums right, so that the fuzzer gets past them. */
static void mend(uint8_t *data, size_t size)
{
    for (size_t at = CHUNK_HEADER_BYTES; size - at >= COLUMN_HEADER_BYTES;) {
        size_t len = data[at + 1] | (size_t)data[at + 2] << 8 | (size_t)data[at + 3] << 16;
        size_t left = size - at - COLUMN_HEADER_BYTES;
        uint32_t crc;
        if (len > left)
            return;
        crc = runlog_crc(0, data + at + COLUMN_HEADER_BYTES, len);
        for (int i = 0; i < 4; i++)
            data[at + 4 + (size_t)i] = (uint8_t)(crc >> (8 * i));
        at += COLUMN_HEADER_BYTES + len;
    }
}

static void must_be_good_or_damaged(enum err_code code)
{
    if (code != OK && code != ERR_IO)
        abort();
}

static void decode_any(struct column_coder *coder, enum timed kind, struct str blob)
{
    static struct chunk_points points;
    static struct level_row row;
    size_t count;

    if (kind == TIMED_CHUNK) {
        must_be_good_or_damaged(chunk_decode(coder, blob, CHUNK_ALL, &points, NULL));
        must_be_good_or_damaged(chunk_decode(coder, blob, CHUNK_VALUES, &points, NULL));
    } else {
        struct str rest = blob, skipped = blob;
        enum err_code code = level_row_take(coder, &rest, LEVEL_BOTH, &row, &count, NULL);
        must_be_good_or_damaged(code);
        if (code == OK && (level_row_skip(&skipped, NULL) != OK || skipped.len != rest.len))
            abort();
        must_be_good_or_damaged(level_row_take(coder, &blob, LEVEL_STEPS, &row, &count, NULL));
    }
}

static void decode(struct column_coder *coder, enum timed kind, const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    uint8_t *copy = mem_alloc(MAX(size, (size_t)1)); /* exact: a byte beyond is noticed */
    struct str blob = str_n((const char *)copy, size), without, whole;

    memcpy(copy, data, size);
    if (size > CHUNK_HEADER_BYTES)
        mend(copy, size);
    decode_any(coder, kind, blob);
    if (times_of(kind, blob).len && blob.data[1] == 0) {
        without = times_drop(kind, blob, &arena);
        decode_any(coder, kind, without);
        if (times_restore(kind, without, blob, &arena, &whole, NULL) != OK || !str_eq(whole, blob))
            abort();
    }
    mem_free(copy);
}

static void round_trip(struct column_coder *coder, const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static struct metric_point points[METRIC_CHUNK_POINTS];
    static struct chunk_points back;
    size_t count = MIN(size / 10, (size_t)METRIC_CHUNK_POINTS);

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        memcpy(&points[i].value, data + 10 * i, 8);
        points[i].step = (int64_t)(data[10 * i + 8] * i);
        points[i].at = (int64_t)(data[10 * i + 9] * (uint64_t)0x0101010101010101);
    }
    struct str chunk = chunk_encode(coder, points, count, &arena);
    if (chunk_decode(coder, chunk, CHUNK_ALL, &back, NULL) != OK || back.count != count)
        abort();
    for (size_t i = 0; i < count; i++)
        if (back.steps[i] != points[i].step || back.times[i] != points[i].at ||
            memcmp(&back.values[i], &points[i].value, 8) != 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct column_coder *coder;

    if (size == 0)
        return 0;
    coder = column_coder_new();
    if (data[0] & 1)
        decode(coder, data[0] & 2 ? TIMED_LEVEL : TIMED_CHUNK, data + 1, size - 1);
    else
        round_trip(coder, data + 1, size - 1);
    column_coder_free(coder);
    return 0;
}
