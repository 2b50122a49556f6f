/* Unsigned integers of 0 to 64 bits, packed without gaps, lowest bit first. thread: any */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Room that `count` values of `width` bits take. */
static inline size_t bits_bytes(size_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Bits that `value` needs: 0 for 0. */
static inline unsigned bits_width(uint64_t value)
{
    return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

/* Writes bits_bytes(count, width) bytes. Bits of a value above `width` must be 0. */
void bits_pack(const uint64_t *values, size_t count, unsigned width, uint8_t *out);
/* Reads bits_bytes(count, width) bytes and none beyond. width <= 64. */
void bits_unpack(const uint8_t *data, size_t count, unsigned width, uint64_t *ret_values);
