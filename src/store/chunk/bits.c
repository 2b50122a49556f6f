/* Packing of integers. The reader loads eight bytes at once where they are there and falls back to
 * single bytes at the end, so that it never touches a byte outside. */
#include "store/chunk/bits.h"

#include "base/macros.h"

#include <string.h>

void bits_pack(const uint64_t *values, size_t count, unsigned width, uint8_t *out)
{
    unsigned __int128 held = 0;
    unsigned held_bits = 0;

    ENSURE(width <= 64);
    for (size_t i = 0; i < count; i++) {
        held |= (unsigned __int128)values[i] << held_bits;
        for (held_bits += width; held_bits >= 8; held_bits -= 8) {
            *out++ = (uint8_t)held;
            held >>= 8;
        }
    }
    if (held_bits)
        *out = (uint8_t)held;
}

static uint64_t load_some(const uint8_t *data, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)data[i] << (8 * i);
    return value;
}

static uint64_t load_8(const uint8_t *data)
{
    uint64_t value;

    memcpy(&value, data, sizeof value); /* little endian, as the rest of the format */
    return value;
}

/* A value of at most 57 bits lies within eight bytes, whatever bit it starts at. */
static void unpack_narrow(const uint8_t *data, size_t count, unsigned width, uint64_t *ret_values)
{
    size_t bytes = bits_bytes(count, width);
    size_t quick = bytes < 8 ? 0 : (8 * (bytes - 8)) / width + 1;
    uint64_t mask = ((uint64_t)1 << width) - 1;

    if (quick > count)
        quick = count;
    for (size_t i = 0; i < quick; i++) {
        size_t bit = i * width;
        ret_values[i] = load_8(data + bit / 8) >> (bit % 8) & mask;
    }
    for (size_t i = quick; i < count; i++) {
        size_t bit = i * width, at = bit / 8;
        size_t there = bytes - at < 8 ? bytes - at : 8;
        ret_values[i] = load_some(data + at, there) >> (bit % 8) & mask;
    }
}

static void unpack_wide(const uint8_t *data, size_t count, unsigned width, uint64_t *ret_values)
{
    uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    unsigned __int128 held = 0;
    unsigned held_bits = 0;

    for (size_t i = 0; i < count; i++) {
        for (; held_bits < width; held_bits += 8)
            held |= (unsigned __int128)*data++ << held_bits;
        ret_values[i] = (uint64_t)held & mask;
        held >>= width;
        held_bits -= width;
    }
}

void bits_unpack(const uint8_t *data, size_t count, unsigned width, uint64_t *ret_values)
{
    ENSURE(width <= 64);
    if (width == 0)
        memset(ret_values, 0, count * sizeof *ret_values);
    else if (width <= 57)
        unpack_narrow(data, count, width, ret_values);
    else
        unpack_wide(data, count, width, ret_values);
}
