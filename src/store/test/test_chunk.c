/* Columns and chunks: every bit comes back, the smallest way is taken, damage is noticed. */
#include "store/chunk/bits.h"
#include "store/chunk/chunk.h"
#include "store/chunk/level.h"
#include "store/chunk/times.h"

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

static void fill_row(struct level_row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct metric_point point = {(int64_t)i * 16, 1790000000000 + (int64_t)i * 6000,
                                     (double)(random_word() % 1000) / 8};
        struct level_record record = level_record_of(&point);
        for (int j = 1; j < 16; j++) {
            point.step++;
            point.at += (int64_t)(random_word() % 400);
            point.value = j == 7 ? NAN : (double)(random_word() % 1000) / 8;
            struct level_record next = level_record_of(&point);
            level_record_join(&record, &next);
        }
        level_row_set(row, i, &record);
    }
}

static void rows_of_the_pyramid_come_back_one_after_the_other(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct column_coder *coder = column_coder_new();
    struct level_row *row = ARENA_NEW(&arena, struct level_row);
    struct level_row *back = ARENA_NEW(&arena, struct level_row);
    const size_t counts[] = {1, 16, 240, 256};
    char *joined = arena_alloc(&arena, 100000);
    size_t len = 0, count = 0;
    struct str rest;

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
        struct str data;
        fill_row(row, counts[k]);
        data = level_row_encode(coder, row, counts[k], &arena);
        memcpy(joined + len, data.data, data.len);
        len += data.len;
    }
    rest = str_n(joined, len);
    for (size_t k = 0; k + 1 < ARRAY_LEN(counts); k++)
        assert_int_equal(level_row_skip(&rest, NULL), OK);
    assert_int_equal(level_row_take(coder, &rest, LEVEL_BOTH, back, &count, NULL), OK);
    assert_int_equal(count, 256);
    assert_int_equal(rest.len, 0);
    assert_memory_equal(back, row, sizeof *row);
    column_coder_free(coder);
}

static void times_are_lent_and_put_back(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct column_coder *coder = column_coder_new();
    struct level_row *row = ARENA_NEW(&arena, struct level_row);
    struct chunk_points *back = ARENA_NEW(&arena, struct chunk_points);
    struct metric_point points[N];
    struct str chunk, level, without, whole;
    size_t count;

    (void)state;
    for (size_t i = 0; i < N; i++)
        points[i] = (struct metric_point){(int64_t)i, (int64_t)(random_word() % 99999), 0.5};
    chunk = chunk_encode(coder, points, N, &arena);
    without = times_drop(TIMED_CHUNK, chunk, &arena);
    assert_int_equal(without.len + times_of(TIMED_CHUNK, chunk).len, chunk.len);
    assert_int_equal(times_of(TIMED_CHUNK, without).len, 0);
    assert_int_equal(chunk_decode(coder, without, CHUNK_STEPS | CHUNK_VALUES, back, NULL), OK);
    assert_int_equal(back->steps[N - 1], N - 1);
    assert_int_equal(chunk_decode(coder, without, CHUNK_ALL, back, NULL), ERR_IO);
    assert_int_equal(times_restore(TIMED_CHUNK, without, chunk, &arena, &whole, NULL), OK);
    assert_true(str_eq(whole, chunk));
    assert_int_equal(times_restore(TIMED_CHUNK, without, without, &arena, &whole, NULL), ERR_IO);
    assert_int_equal(times_restore(TIMED_CHUNK, chunk, chunk, &arena, &whole, NULL), ERR_IO);
    assert_int_equal(times_restore(TIMED_CHUNK, without, STR(""), &arena, &whole, NULL), ERR_IO);

    fill_row(row, 256);
    level = level_row_encode(coder, row, 256, &arena);
    without = times_drop(TIMED_LEVEL, level, &arena);
    whole = without;
    assert_int_equal(level_row_take(coder, &whole, LEVEL_TIMES, row, &count, NULL), ERR_IO);
    whole = without;
    assert_int_equal(level_row_take(coder, &whole, LEVEL_STEPS, row, &count, NULL), OK);
    assert_int_equal(times_restore(TIMED_LEVEL, without, level, &arena, &whole, NULL), OK);
    assert_true(str_eq(whole, level));
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
        cmocka_unit_test(rows_of_the_pyramid_come_back_one_after_the_other),
        cmocka_unit_test(times_are_lent_and_put_back),
        cmocka_unit_test(a_chunk_comes_back_and_damage_is_noticed),
        cmocka_unit_test(a_column_that_is_not_asked_for_is_not_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
