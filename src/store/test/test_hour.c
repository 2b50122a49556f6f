/* Facts about an hour of readings in columns: every number comes back, buckets add up, damage is
 * noticed. */
#include "store/chunk/hour.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR   (INT64_C(1796000400000) / NODE_HOUR_MS * NODE_HOUR_MS)
#define COUNT  360
#define MINUTE 60000
#define SERIES (NODE_SERIES * 3)

/* Two GPUs; the second is there from the hundredth reading on, and one in seven numbers is missing.
 */
static struct node_sample *make_samples(struct arena *arena)
{
    struct node_sample *samples = arena_array(arena, COUNT, sizeof *samples);

    for (int i = 0; i < COUNT; i++) {
        samples[i].at = HOUR + i * 10000 + i % 7;
        samples[i].places = i < 100 ? 1 : 2;
        for (int s = 0; s < NODE_SERIES * (1 + samples[i].places); s++)
            samples[i].values[s] = (i + s) % 7 ? (double)(i * 31 % 97 + s) / 10 : (double)NAN;
    }
    return samples;
}

struct tally {
    int64_t count[SERIES], buckets[SERIES];
    double sum[SERIES], min[SERIES], max[SERIES];
};

static void take(void *ctx, int series, const struct hour_part *part)
{
    struct tally *t = ctx;

    assert_in_range(series, 0, SERIES - 1);
    assert_true(part->at >= HOUR && part->at < HOUR + NODE_HOUR_MS);
    t->min[series] = t->count[series] ? fmin(t->min[series], part->min) : part->min;
    t->max[series] = t->count[series] ? fmax(t->max[series], part->max) : part->max;
    t->count[series] += part->count;
    t->sum[series] += part->sum;
    t->buckets[series]++;
}

static void compare(const struct tally *a, const struct tally *b)
{
    for (int s = 0; s < SERIES; s++) {
        assert_int_equal(a->count[s], b->count[s]);
        assert_true(fabs(a->sum[s] - b->sum[s]) < 1e-6);
        assert_true(a->min[s] == b->min[s] && a->max[s] == b->max[s]);
    }
}

static void buckets_of_every_length_add_up_to_the_readings(void **state)
{
    static const struct {
        int64_t ms, most;
    } levels[] = {{MINUTE, 60}, {10 * MINUTE, 6}, {NODE_HOUR_MS, 1}};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    struct node_sample *samples = make_samples(&arena);
    struct tally all = {0};
    struct hour_sink sink = {&all, take};
    (void)state;

    struct str data = hour_encode(coder, HOUR, samples, COUNT, &arena);
    assert_int_equal(hour_read(coder, data, HOUR, &sink, NULL), OK);
    assert_int_equal(all.count[0], COUNT - (COUNT + 6) / 7);
    assert_true(all.count[NODE_SERIES * 2] < all.count[0]);
    assert_true(data.len < COUNT * SERIES * sizeof(double) / 3);
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        struct tally level = {0};
        sink.ctx = &level;
        data = hour_buckets_encode(coder, HOUR, levels[i].ms, samples, COUNT, &arena);
        assert_int_equal(hour_buckets_read(coder, data, HOUR, levels[i].ms, &sink, NULL), OK);
        compare(&level, &all);
        assert_true(level.buckets[0] <= levels[i].most);
    }
}

static void one_reading_without_gpus_is_an_hour_too(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    struct node_sample *sample = ARENA_NEW(&arena, struct node_sample);
    struct tally all = {0};
    struct hour_sink sink = {&all, take};
    (void)state;

    sample->at = HOUR + NODE_HOUR_MS - 1;
    for (int s = 0; s < NODE_SERIES; s++)
        sample->values[s] = s == 1 ? (double)NAN : s;
    struct str data = hour_buckets_encode(coder, HOUR, MINUTE, sample, 1, &arena);
    assert_int_equal(hour_buckets_read(coder, data, HOUR, MINUTE, &sink, NULL), OK);
    assert_int_equal(all.count[0], 1);
    assert_int_equal(all.count[1], 0);
    assert_true(all.sum[3] == 3);
}

static void damage_is_noticed(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    struct node_sample *samples = make_samples(&arena);
    struct tally all = {0};
    struct hour_sink sink = {&all, take};
    struct str data = hour_encode(coder, HOUR, samples, COUNT, &arena);
    struct err err = {0};
    (void)state;

    for (size_t cut = 0; cut < data.len; cut += 101)
        assert_int_equal(hour_read(coder, str_n(data.data, cut), HOUR, &sink, &err), ERR_IO);
    for (size_t at = 12; at < data.len; at += 997) {
        char *copy = arena_text(&arena, data);
        memcpy(copy, data.data, data.len);
        copy[at] = (char)(copy[at] ^ 0x55);
        assert_int_not_equal(hour_read(coder, str_n(copy, data.len), HOUR, &sink, &err), OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_of_every_length_add_up_to_the_readings),
        cmocka_unit_test(one_reading_without_gpus_is_an_hour_too),
        cmocka_unit_test(damage_is_noticed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
