/* Columns and chunks: every bit comes back, the smallest way is taken, damage is noticed. */
#include "store/chunk/bits.h"
#include "store/chunk/chunk.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N METRIC_CHUNK_POINTS

static uint64_t state_of_random = 88172645463325252ull; /* the seed: runs are repeatable */

static uint64_t random_word(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Puts and takes; returns the bytes, having checked every bit. */
static size_t round_trip(const double *values, size_t count)
{
    struct column_coder *coder = column_coder_new();
    uint8_t out[COLUMN_BYTES_MAX];
    double back[N];
    size_t len = column_put_floats(coder, values, count, out);
    struct str rest = str_n((const char *)out, len);

    assert_int_equal(column_take_floats(coder, &rest, count, back, NULL), OK);
    assert_int_equal(rest.len, 0);
    assert_memory_equal(back, values, count * sizeof *values);
    column_coder_free(coder);
    return len;
}

static size_t round_trip_ints(const int64_t *values, size_t count)
{
    struct column_coder *coder = column_coder_new();
    uint8_t out[COLUMN_BYTES_MAX];
    int64_t back[N];
    size_t len = column_put_ints(coder, values, count, out);
    struct str rest = str_n((const char *)out, len);

    assert_int_equal(column_take_ints(coder, &rest, count, back, NULL), OK);
    assert_int_equal(rest.len, 0);
    assert_memory_equal(back, values, count * sizeof *values);
    column_coder_free(coder);
    return len;
}

static void bits_of_every_width_come_back(void **state)
{
    uint64_t values[67], back[67];
    uint8_t *packed;

    (void)state;
    for (unsigned width = 0; width <= 64; width++)
        for (size_t count = 0; count <= ARRAY_LEN(values); count++) {
            for (size_t i = 0; i < count; i++)
                values[i] = width ? random_word() >> (64 - width) : 0;
            /* exact, so that the sanitizer sees a byte beyond */
            packed = mem_alloc(MAX(bits_bytes(count, width), (size_t)1));
            bits_pack(values, count, width, packed);
            bits_unpack(packed, count, width, back);
            if (count)
                assert_memory_equal(back, values, count * sizeof *values);
            mem_free(packed);
        }
}

static void integers_of_every_kind_come_back(void **state)
{
    int64_t values[N];

    (void)state;
    for (size_t count = 1; count <= N; count += count < 20 ? 1 : 251) {
        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)i;
        assert_true(round_trip_ints(values, count) <= COLUMN_HEADER_BYTES + 17);
        for (size_t i = 0; i < count; i++)
            values[i] = i % 2 ? INT64_MAX : INT64_MIN;
        (void)round_trip_ints(values, count);
        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)random_word();
        (void)round_trip_ints(values, count);
        for (size_t i = 0; i < count; i++)
            values[i] = 1790000000000 + (int64_t)i * 410 + (int64_t)(random_word() % 20);
        (void)round_trip_ints(values, count);
    }
    assert_true(round_trip_ints(values, 1000) < 1000); /* less than a byte each */
}

static void numbers_as_programs_round_them_are_packed_as_decimals(void **state)
{
    double values[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        values[i] = (double)(random_word() % 10000) / 10000;
    assert_true(round_trip(values, N) < N * 2); /* 14 bits */
    for (size_t i = 0; i < N; i++)
        values[i] = (double)(random_word() % 101);
    assert_true(round_trip(values, N) < N); /* 7 bits */
    values[3] = NAN;
    values[700] = -0.0;
    values[1023] = -INFINITY;
    assert_true(round_trip(values, N) < N + 30);
    values[0] = 1.0 / 3;
    (void)round_trip(values, N);
}

static void floats_that_were_float32_take_at_most_four_bytes(void **state)
{
    double values[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        values[i] = (double)(float)(2.3 * exp(-6.0 * (double)i / N) +
                                    (double)(random_word() % 100000) * 1e-6);
    assert_true(round_trip(values, N) < N * 4);
    for (size_t i = 0; i < N; i++)
        values[i] = 0.1;
    assert_true(round_trip(values, N) < 60);
}

static void smooth_floats_are_kept_as_their_differences(void **state)
{
    double values[N];

    (void)state;
    for (size_t i = 0; i < N; i++) /* a learning rate; the exponent of the numbers changes once */
        values[i] = 3e-4 * (0.55 + 0.45 * cos(3.14159265358979 * (double)i / N));
    assert_true(round_trip(values, N) < N * 9 / 2);
    for (size_t i = 0; i < N; i++)
        values[i] = 3e-4 * (0.55 + 0.45 * cos(3.14159265358979 * (double)i / 1e6));
    assert_true(round_trip(values, N) < N);
    for (size_t i = 0; i < N; i++)
        values[i] = (double)(float)values[i];
    assert_true(round_trip(values, N) < N);
    for (size_t i = 0; i < N; i++) /* an epoch with its parts */
        values[i] = (double)i / 1563;
    assert_true(round_trip(values, N) < N);
    for (size_t i = 0; i < N; i++) /* through zero */
        values[i] = ((double)i - 500.25) / 1563;
    (void)round_trip(values, N);
}

static void decimals_that_change_little_take_less_than_their_range(void **state)
{
    double values[N], at = 5000;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        at += (double)(random_word() % 9) - 4;
        values[i] = at / 100;
    }
    assert_true(round_trip(values, N) < N * 3 / 4); /* a range of 9 bits, steps of 3 */
    values[N / 2] = -1e9;
    assert_true(round_trip(values, N) < N);
    for (size_t count = 1; count < 40; count++)
        (void)round_trip(values, count);
}

static void every_bit_of_a_float_comes_back(void **state)
{
    static const uint64_t odd[] = {0,
                                   0x8000000000000000,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000001,
                                   0xfff8000000000000,
                                   0x7ff0000000000001,
                                   1,
                                   0x8000000000000001,
                                   0x000fffffffffffff,
                                   0x7fefffffffffffff,
                                   0x47efffffe0000000,
                                   0x47effffff0000000,
                                   0x3ff0000000000000,
                                   0x4340000000000000,
                                   0x4340000000000001};
    double values[N];

    (void)state;
    for (size_t count = 1; count <= N; count += count < 40 ? 1 : 123) {
        for (size_t i = 0; i < count; i++)
            values[i] = from_bits(odd[i % ARRAY_LEN(odd)]);
        (void)round_trip(values, count);
        for (size_t i = 0; i < count; i++)
            values[i] = from_bits(random_word());
        assert_true(round_trip(values, count) <= COLUMN_HEADER_BYTES + count * 8);
        for (size_t i = 0; i < count; i++) /* decimals with strangers among them */
            values[i] = random_word() % 16 ? (double)(int64_t)(random_word() % 2000) / 8 - 100
                                           : from_bits(odd[random_word() % ARRAY_LEN(odd)]);
        (void)round_trip(values, count);
    }
}

static void a_chunk_comes_back_and_damage_is_noticed(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct column_coder *coder = column_coder_new();
    struct chunk_points *back = ARENA_NEW(&arena, struct chunk_points);
    struct metric_point points[N];
    struct str data;
    char *copy;

    (void)state;
    for (size_t i = 0; i < N; i++)
        points[i] =
            (struct metric_point){(int64_t)i, 5 * (int64_t)i, i % 3 ? 1.0 / (double)i : NAN};
    data = chunk_encode(coder, points, N, &arena);
    assert_int_equal(chunk_decode(coder, data, CHUNK_ALL, back, NULL), OK);
    assert_int_equal(back->count, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(back->steps[i], points[i].step);
        assert_int_equal(back->times[i], points[i].at);
        assert_memory_equal(&back->values[i], &points[i].value, 8);
    }
    for (size_t at = 0; at < data.len; at++) {
        copy = arena_text(&arena, data);
        copy[at] ^= 1;
        assert_int_equal(chunk_decode(coder, str_n(copy, data.len), CHUNK_ALL, back, NULL), ERR_IO);
    }
    for (size_t len = 0; len < data.len; len++)
        assert_int_equal(chunk_decode(coder, str_n(data.data, len), CHUNK_ALL, back, NULL), ERR_IO);
    column_coder_free(coder);
}

static void a_column_that_is_not_asked_for_is_not_read(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct column_coder *coder = column_coder_new();
    struct chunk_points *back = ARENA_NEW(&arena, struct chunk_points);
    struct metric_point point = {7, 1790000000000, 0.5};
    struct str data = chunk_encode(coder, &point, 1, &arena);

    (void)state;
    back->times[0] = -1;
    assert_int_equal(chunk_decode(coder, data, CHUNK_STEPS | CHUNK_VALUES, back, NULL), OK);
    assert_int_equal(back->steps[0], 7);
    assert_int_equal(back->times[0], -1);
    assert_true(back->values[0] == 0.5);
    column_coder_free(coder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_every_width_come_back),
        cmocka_unit_test(integers_of_every_kind_come_back),
        cmocka_unit_test(numbers_as_programs_round_them_are_packed_as_decimals),
        cmocka_unit_test(floats_that_were_float32_take_at_most_four_bytes),
        cmocka_unit_test(smooth_floats_are_kept_as_their_differences),
        cmocka_unit_test(decimals_that_change_little_take_less_than_their_range),
        cmocka_unit_test(every_bit_of_a_float_comes_back),
        cmocka_unit_test(a_chunk_comes_back_and_damage_is_noticed),
        cmocka_unit_test(a_column_that_is_not_asked_for_is_not_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
