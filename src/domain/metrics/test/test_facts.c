/* Facts of metrics do not depend on how points came. */
#include "domain/metrics/facts.h"

#include "base/macros.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define POINTS 40

static uint64_t state_of_random = 88172645463325252ull; /* the seed: runs are repeatable */

static uint64_t random_word(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

/* Few steps, times and values, so that many points meet. */
static struct metric_point random_point(void)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
    uint64_t which = random_word() % 10;

    return (struct metric_point){
        .step = (int64_t)(random_word() % 4) - 1,
        .at = 1000 + (int64_t)(random_word() % 3),
        .value = which < ARRAY_LEN(odd) ? odd[which] : (double)(random_word() % 5) - 2,
    };
}

static void assert_same(const struct metric_facts *a, const struct metric_facts *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->finite_count, b->finite_count);
    assert_memory_equal(&a->last, &b->last, sizeof a->last);
    assert_memory_equal(&a->first, &b->first, sizeof a->first);
    assert_true((isnan(a->min) && isnan(b->min)) || a->min == b->min);
    assert_true((isnan(a->max) && isnan(b->max)) || a->max == b->max);
    assert_true(a->sum == b->sum);
    assert_int_equal(a->last_step, b->last_step);
    assert_int_equal(a->first_step, b->first_step);
    assert_int_equal(a->last_at, b->last_at);
    assert_int_equal(a->first_at, b->first_at);
    if (a->finite_count) {
        assert_int_equal(a->min_step, b->min_step);
        assert_int_equal(a->max_step, b->max_step);
    }
}

static void facts_are_the_same_however_the_points_were_cut_and_ordered(void **state)
{
    struct metric_point points[POINTS];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        size_t count = 1 + random_word() % POINTS;
        struct metric_facts whole = {0}, parts = {0}, part = {0};
        for (size_t i = 0; i < count; i++) {
            points[i] = random_point();
            metric_facts_add(&whole, &points[i]);
        }
        for (size_t i = count; i-- > 1;) {
            size_t j = random_word() % (i + 1);
            struct metric_point other = points[j];
            points[j] = points[i];
            points[i] = other;
        }
        for (size_t i = 0; i < count; i++) {
            metric_facts_add(&part, &points[i]);
            if (random_word() % 4 == 0) {
                metric_facts_join(&parts, &part);
                part = (struct metric_facts){0};
            }
        }
        metric_facts_join(&parts, &part);
        assert_same(&whole, &parts);
    }
}

static void of_points_at_one_place_the_greater_counts(void **state)
{
    struct metric_facts facts = {0};

    (void)state;
    metric_facts_add(&facts, &(struct metric_point){5, 100, 2});
    metric_facts_add(&facts, &(struct metric_point){5, 100, 3});
    metric_facts_add(&facts, &(struct metric_point){5, 100, 1});
    assert_true(facts.last == 3 && facts.first == 3 && facts.min == 1 && facts.max == 3);
    metric_facts_add(&facts, &(struct metric_point){7, 90, 3});
    metric_facts_add(&facts, &(struct metric_point){4, 200, 3});
    assert_true(facts.last_step == 7 && facts.first_step == 4 && facts.max_step == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_the_same_however_the_points_were_cut_and_ordered),
        cmocka_unit_test(of_points_at_one_place_the_greater_counts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
