/* Facts about signals on a descriptor. */
#include "sys/signals.h"

#include <signal.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_signal_arrives_on_the_descriptor(void **state)
{
    const int wanted[] = {SIGUSR1, SIGTERM, 0};
    struct err err;
    int fd = -1;

    (void)state;
    assert_int_equal(signals_open(wanted, &fd, &err), OK);
    assert_int_equal(signals_wait(fd, 0), 0);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_int_equal(signals_wait(fd, -1), SIGTERM);
    assert_int_equal(signals_wait(fd, 1), 0);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_arrives_on_the_descriptor),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
