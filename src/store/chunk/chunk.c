/* Encoding and decoding of chunks. */
#include "store/chunk/chunk.h"

#include "runlog/crc.h"

#define HEADER_BYTES 12

static void put_u32(char *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(v >> (8 * i));
}

static uint32_t get_u32(const char *at)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v |= (uint32_t)(uint8_t)at[i] << (8 * i);
    return v;
}

static void put_u64(char *at, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        at[i] = (char)(v >> (8 * i));
}

static uint64_t get_u64(const char *at)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v |= (uint64_t)(uint8_t)at[i] << (8 * i);
    return v;
}

struct str chunk_encode(const struct metric_point *points, size_t count, struct arena *arena)
{
    size_t len = HEADER_BYTES + count * 24;
    char *out = arena_alloc(arena, len), *at = out + HEADER_BYTES;

    ENSURE(count >= 1 && count <= METRIC_CHUNK_POINTS);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &points[i].value, sizeof bits);
        put_u64(at + 8 * i, (uint64_t)points[i].step);
        put_u64(at + 8 * (count + i), (uint64_t)points[i].at);
        put_u64(at + 8 * (2 * count + i), bits);
    }
    out[0] = 1;
    out[1] = out[2] = out[3] = CHUNK_RAW;
    put_u32(out + 4, (uint32_t)count);
    put_u32(out + 8, runlog_crc(0, out + HEADER_BYTES, len - HEADER_BYTES));
    return str_n(out, len);
}

enum err_code chunk_decode(struct str data, struct arena *arena, struct metric_point **ret_points,
                           size_t *ret_count, struct err *err)
{
    const char *at = data.data + HEADER_BYTES;
    struct metric_point *points;
    size_t count;

    if (data.len < HEADER_BYTES || data.data[0] != 1 || data.data[1] || data.data[2] ||
        data.data[3])
        return err_set(err, ERR_IO, "a metric chunk is of a later version or damaged");
    count = get_u32(data.data + 4);
    if (count < 1 || count > METRIC_CHUNK_POINTS || data.len != HEADER_BYTES + count * 24 ||
        runlog_crc(0, at, data.len - HEADER_BYTES) != get_u32(data.data + 8))
        return err_set(err, ERR_IO, "a metric chunk is damaged");
    points = arena_array(arena, count, sizeof *points);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = get_u64(at + 8 * (2 * count + i));
        points[i].step = (int64_t)get_u64(at + 8 * i);
        points[i].at = (int64_t)get_u64(at + 8 * (count + i));
        memcpy(&points[i].value, &bits, sizeof bits);
    }
    *ret_points = points;
    *ret_count = count;
    return OK;
}
