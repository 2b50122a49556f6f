/* How the health of a service follows from its answers. */
#include "agent/health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct health_spec spec = {.port = 8000,
                                        .path = {"/", 1},
                                        .every_s = 10,
                                        .timeout_s = 5,
                                        .failures = 3,
                                        .starts_within_s = 60};

static struct health new_health(bool was_good)
{
    struct health h;

    health_init(&h, &spec, 0, was_good, 0);
    return h;
}

static void it_is_starting_until_its_first_good_answer(void **state)
{
    struct health h = new_health(false);

    (void)state;
    assert_int_equal(h.ask_at_ms, 0);
    for (int64_t at = 0; at < 59000; at += 1000)
        assert_false(health_note(&h, "connection refused", at, at)); /* more than `failures` */
    assert_int_equal(h.state, HEALTH_STARTING);
    assert_false(health_note(&h, NULL, 59000, 59500));
    assert_int_equal(h.state, HEALTH_GOOD);
    assert_string_equal(h.problem, "");
}

static void it_is_asked_every_second_while_it_starts_and_then_as_it_says(void **state)
{
    struct health h = new_health(false);

    (void)state;
    (void)health_note(&h, "HTTP 503", 0, 10);
    assert_int_equal(h.ask_at_ms, 1000);
    (void)health_note(&h, "no answer within 5 s", 1000, 6000); /* never two at once */
    assert_int_equal(h.ask_at_ms, 6000);
    (void)health_note(&h, NULL, 6000, 6010);
    assert_int_equal(h.ask_at_ms, 16000);
    (void)health_note(&h, "HTTP 503", 16000, 16010);
    assert_int_equal(h.ask_at_ms, 26000);
}

static void one_that_does_not_come_up_in_time_is_given_up(void **state)
{
    struct health h = new_health(false);
    char reason[HEALTH_REASON_BYTES];

    (void)state;
    assert_false(health_note(&h, "HTTP 503", 59000, 59999));
    assert_true(health_note(&h, "connection refused", 60000, 60000));
    assert_true(health_note(&h, "connection refused", 61000, 61000)); /* said again */
    health_reason(&h, reason);
    assert_string_equal(reason, "it did not come up within 60 s: connection refused");
}

static void the_time_to_come_up_counts_from_the_start_of_its_process(void **state)
{
    struct health h;

    (void)state;
    health_init(&h, &spec, 55000, false, 1000000); /* the agent was started later */
    assert_false(health_note(&h, "HTTP 503", 1004000, 1004000));
    assert_true(health_note(&h, "HTTP 503", 1005000, 1005000));
}

static void so_many_failures_in_a_row_end_it(void **state)
{
    struct health h = new_health(false);
    char reason[HEALTH_REASON_BYTES];

    (void)state;
    (void)health_note(&h, NULL, 0, 0);
    assert_false(health_note(&h, "HTTP 503", 10000, 10000));
    assert_int_equal(h.state, HEALTH_BAD);
    assert_false(health_note(&h, "HTTP 503", 20000, 20000));
    assert_true(health_note(&h, "no answer within 5 s", 30000, 35000));
    health_reason(&h, reason);
    assert_string_equal(reason, "3 health checks in a row failed: no answer within 5 s");
}

static void one_good_answer_makes_up_for_all_failures_before(void **state)
{
    struct health h = new_health(false);

    (void)state;
    (void)health_note(&h, NULL, 0, 0);
    for (int64_t at = 0; at < 100; at += 3) {
        assert_false(health_note(&h, "HTTP 503", at, at));
        assert_false(health_note(&h, "HTTP 503", at + 1, at + 1));
        assert_false(health_note(&h, NULL, at + 2, at + 2));
        assert_int_equal(h.state, HEALTH_GOOD);
    }
}

static void one_failure_can_be_enough(void **state)
{
    struct health_spec strict = spec;
    char reason[HEALTH_REASON_BYTES];
    struct health h;

    (void)state;
    strict.failures = 1;
    health_init(&h, &strict, 0, true, 0);
    assert_true(health_note(&h, "HTTP 500", 0, 0));
    health_reason(&h, reason);
    assert_string_equal(reason, "its health check failed: HTTP 500");
}

static void what_was_healthy_before_the_agent_started_is_not_coming_up(void **state)
{
    struct health h = new_health(true);

    (void)state;
    assert_false(health_tell(&h, 0)); /* what it is now is not known yet */
    assert_false(health_note(&h, "connection refused", 0, 0));
    assert_int_equal(h.state, HEALTH_BAD);
    assert_true(health_tell(&h, 0));
}

static void only_changes_are_told(void **state)
{
    struct health h = new_health(false);

    (void)state;
    assert_true(health_tell(&h, 0));
    assert_false(health_tell(&h, 0));
    (void)health_note(&h, NULL, 0, 1);
    assert_true(health_tell(&h, 1));
    for (int64_t at = 10000; at < 3600000; at += 10000) {
        (void)health_note(&h, NULL, at, at);
        assert_false(health_tell(&h, at));
    }
}

static void another_problem_in_the_same_state_is_told_after_a_while(void **state)
{
    struct health h = new_health(false);

    (void)state;
    assert_true(health_tell(&h, 0));
    (void)health_note(&h, "connection refused", 0, 1);
    assert_false(health_tell(&h, 1));
    assert_true(health_tell(&h, 30000));
    assert_false(health_tell(&h, 60000));
}

static void what_changes_without_end_is_told_once_a_minute(void **state)
{
    struct health h = new_health(false);
    int64_t told = 0;

    (void)state;
    for (int64_t at = 0; at < 3600000; at += 1000) {
        (void)health_note(&h, at / 1000 % 2 ? "HTTP 503" : NULL, at, at);
        told += health_tell(&h, at);
    }
    assert_in_range(told, 55, 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_starting_until_its_first_good_answer),
        cmocka_unit_test(it_is_asked_every_second_while_it_starts_and_then_as_it_says),
        cmocka_unit_test(one_that_does_not_come_up_in_time_is_given_up),
        cmocka_unit_test(the_time_to_come_up_counts_from_the_start_of_its_process),
        cmocka_unit_test(so_many_failures_in_a_row_end_it),
        cmocka_unit_test(one_good_answer_makes_up_for_all_failures_before),
        cmocka_unit_test(one_failure_can_be_enough),
        cmocka_unit_test(what_was_healthy_before_the_agent_started_is_not_coming_up),
        cmocka_unit_test(only_changes_are_told),
        cmocka_unit_test(another_problem_in_the_same_state_is_told_after_a_while),
        cmocka_unit_test(what_changes_without_end_is_told_once_a_minute),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
