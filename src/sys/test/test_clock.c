/* Facts about the clocks. */
#include "sys/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void monotonic_time_does_not_go_back_and_wall_time_is_of_this_century(void **state)
{
    int64_t before = clock_mono_ns();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_mono_ns();

        assert_true(now >= before);
        before = now;
    }
    assert_true(clock_mono_ms() >= before / 1000000);
    assert_true(clock_wall_ms() > INT64_C(1700000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_does_not_go_back_and_wall_time_is_of_this_century),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
