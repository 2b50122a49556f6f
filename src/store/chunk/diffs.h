/* Numbers that change little or smoothly, as the differences of their neighbours, or the
 * differences of those, in byte planes:
 *
 *     u8 source | u8 order (0 to 2) | u8 width | u64 begin | u64 begin of the differences | zstd
 *
 * `source` says what a number is: 0 to 15 a float that is number / 10^source, 16 the bits of a
 * float32, 17 of a float64. Of order 0 the distances from `begin` follow, else the differences of
 * that order, the first ones left out (they are the begins), folded so that small ones of either
 * sign are small. All arithmetic is modulo 2^64. Folder-private. thread: as column.h */
#pragma once

#include "store/chunk/coder.h"

enum { DIFFS_FLOAT32 = EXPONENT_MAX + 1, DIFFS_FLOAT64 };

#define DIFFS_COUNT_MIN 16 /* fewer numbers are not worth it */

/* The order (from `least_order` on) whose numbers need the fewest bits, and how many a number that
 * is on average. */
struct diffs_guess {
    unsigned order;
    double bits;
};
struct diffs_guess diffs_guess(const uint64_t *numbers, size_t count, unsigned least_order);
/* Writes count >= DIFFS_COUNT_MIN numbers, each counted from `base`, into the coder's `attempt`,
 * and overwrites them. Returns the bytes. */
struct diffs_choice {
    unsigned source, order;
    uint64_t base;
};
size_t diffs_put(struct column_coder *coder, struct diffs_choice choice, uint64_t *numbers,
                 size_t count);
/* False: damaged. */
MUST_CHECK bool diffs_take(struct column_coder *coder, struct str data, size_t count,
                           unsigned *ret_source, uint64_t *ret_numbers);
