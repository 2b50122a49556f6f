/* Differences, taken in place. */
#include "store/chunk/diffs.h"

#include "base/macros.h"
#include "store/chunk/bits.h"

#define ORDER_MAX  2
#define HEAD_BYTES 19

/* Small differences of either sign become small words: 0, -1, 1, -2, ... to 0, 1, 2, 3, ... */
static uint64_t fold(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint64_t unfold(uint64_t word)
{
    return word >> 1 ^ (0 - (word & 1));
}

struct diffs_guess diffs_guess(const uint64_t *numbers, size_t count, unsigned least_order)
{
    size_t bits[ORDER_MAX + 1] = {0};
    struct diffs_guess best = {.bits = 65};

    for (size_t i = 2; i < count; i++) {
        uint64_t step = numbers[i] - numbers[i - 1];
        bits[0] += bits_width(numbers[i]);
        bits[1] += bits_width(fold(step));
        bits[2] += bits_width(fold(step - (numbers[i - 1] - numbers[i - 2])));
    }
    for (unsigned order = least_order; order <= ORDER_MAX; order++) {
        double mean = (double)bits[order] / (double)(count - 2);
        if (mean < best.bits)
            best = (struct diffs_guess){order, mean};
    }
    return best;
}

size_t diffs_put(struct column_coder *coder, struct diffs_choice choice, uint64_t *numbers,
                 size_t count)
{
    uint64_t widest = 0, begins[2] = {choice.base, 0};
    size_t left = count, width;

    ENSURE(count >= DIFFS_COUNT_MIN && choice.order <= ORDER_MAX);
    for (unsigned order = 1; order <= choice.order; order++) {
        begins[order - 1] += numbers[0];
        left--;
        for (size_t i = 0; i < left; i++)
            numbers[i] = numbers[i + 1] - numbers[i];
    }
    for (size_t i = 0; i < left; i++) {
        if (choice.order)
            numbers[i] = fold(numbers[i]);
        widest |= numbers[i];
    }
    width = (bits_width(widest) + 7) / 8;
    coder->attempt[0] = (uint8_t)choice.source;
    coder->attempt[1] = (uint8_t)choice.order;
    coder->attempt[2] = (uint8_t)width;
    put_number(coder->attempt + 3, begins[0], 8);
    put_number(coder->attempt + 11, begins[1], 8);
    return HEAD_BYTES + planes_put(coder, numbers, left, width, HEAD_BYTES);
}

/* Undoes one order: from differences and the number before the first of them. */
static void add_up(uint64_t *numbers, size_t count, uint64_t begin)
{
    for (size_t i = count; i-- > 1;)
        numbers[i] = numbers[i - 1];
    numbers[0] = begin;
    for (size_t i = 1; i < count; i++)
        numbers[i] += numbers[i - 1];
}

bool diffs_take(struct column_coder *coder, struct str data, size_t count, unsigned *ret_source,
                uint64_t *ret_numbers)
{
    const uint8_t *head = (const uint8_t *)data.data;
    unsigned order;
    uint64_t base;

    if (data.len < HEAD_BYTES || head[0] > DIFFS_FLOAT64 || head[1] > ORDER_MAX || head[2] > 8 ||
        count < DIFFS_COUNT_MIN)
        return false;
    order = head[1];
    base = get_number(head + 3, 8);
    if (!planes_take(coder, str_n(data.data + HEAD_BYTES, data.len - HEAD_BYTES), count - order,
                     head[2], ret_numbers))
        return false;
    for (size_t i = 0; i < count - order; i++)
        ret_numbers[i] = order ? unfold(ret_numbers[i]) : ret_numbers[i] + base;
    if (order == 2)
        add_up(ret_numbers, count - 1, get_number(head + 11, 8));
    if (order)
        add_up(ret_numbers, count, base);
    *ret_source = head[0];
    return true;
}
