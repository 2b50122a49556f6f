/* Facts about log lines. */
#include "base/log.h"

#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static size_t read_line(int fd, char *text, size_t size)
{
    ssize_t got = read(fd, text, size - 1);

    assert_true(got > 0);
    text[got] = '\0';
    return (size_t)got;
}

static void a_line_has_its_pairs_and_hostile_values_stay_on_it(void **state)
{
    int pipe_fds[2];
    char text[8192], long_value[10000];

    (void)state;
    assert_int_equal(pipe(pipe_fds), 0);
    log_fd_set(pipe_fds[1]);
    log_warn("lease.lost", "job", "j1", "node", "a\nb \"c\"", "count", LOG_I64(-3));
    read_line(pipe_fds[0], text, sizeof(text));
    assert_non_null(strstr(text, "Z warn lease.lost job=j1 node=\"a\\x0ab \\\"c\\\"\" count=-3\n"));

    log_debug("not.shown");
    memset(long_value, 'x', sizeof(long_value));
    long_value[sizeof(long_value) - 1] = '\0';
    log_error("long", "a", long_value, "b", long_value, "c", "end");
    assert_true(read_line(pipe_fds[0], text, sizeof(text)) < 1200);
    assert_non_null(strstr(text, "c=end\n"));
    assert_null(strstr(text, "not.shown"));
    log_fd_set(2);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_its_pairs_and_hostile_values_stay_on_it),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
