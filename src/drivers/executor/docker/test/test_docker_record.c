/* Facts about what lies in the folder of an attempt: it is all that a restart goes on from. */
#include "drivers/executor/docker/docker_record.h"

#include "sys/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char folder[64];

static int folder_make(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/euvyra-record.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(folder, &err) == OK ? 0 : -1;
}

static void a_record_survives_the_round_trip(void **state)
{
    struct docker_record record = {.timeout_s = 1,
                                   .grace_s = 2,
                                   .console_bytes_max = 3,
                                   .disk_bytes = 4,
                                   .rank = 5,
                                   .node_count = 6,
                                   .image = "r/a@sha256:12",
                                   .started = true,
                                   .disk_full = true,
                                   .timed_out = true};
    struct docker_record again;
    struct err err;

    (void)state;
    assert_int_equal(docker_record_read(folder, &again, &err), ERR_NOT_FOUND);
    assert_int_equal(docker_record_write(folder, &record, &err), OK);
    assert_int_equal(docker_record_read(folder, &again, &err), OK);
    assert_int_equal(again.timeout_s, 1);
    assert_int_equal(again.grace_s, 2);
    assert_int_equal(again.console_bytes_max, 3);
    assert_int_equal(again.disk_bytes, 4);
    assert_int_equal(again.rank, 5);
    assert_int_equal(again.node_count, 6);
    assert_string_equal(again.image, "r/a@sha256:12");
    assert_true(again.started && again.disk_full && again.timed_out);
}

static void the_first_request_counts(void **state)
{
    struct err err;

    (void)state;
    assert_true(docker_request_read(folder, "stop") == TIME_NONE);
    assert_int_equal(docker_request_write(folder, "stop", 1000, &err), OK);
    assert_int_equal(docker_request_write(folder, "stop", 2000, &err), OK);
    assert_int_equal(docker_request_read(folder, "stop"), 1000);
    assert_true(docker_request_read(folder, "kill") == TIME_NONE);
}

static void an_end_survives_the_round_trip(void **state)
{
    struct executor_look look = {.phase = EXECUTOR_ENDED,
                                 .started_at = 5000,
                                 .ended_at = 7000,
                                 .run_time_ms = 2000,
                                 .exit_code = 3,
                                 .disk_full = true,
                                 .image = "r/a@sha256:12",
                                 .reason = "it exited with code 3"};
    struct executor_look again;
    struct err err;

    (void)state;
    assert_int_equal(docker_end_read(folder, &again, &err), ERR_NOT_FOUND);
    assert_int_equal(docker_end_write(folder, &look, &err), OK);
    assert_int_equal(docker_end_read(folder, &again, &err), OK);
    assert_int_equal(again.phase, EXECUTOR_ENDED);
    assert_int_equal(again.run_time_ms, 2000);
    assert_int_equal(again.exit_code, 3);
    assert_true(again.disk_full && !again.was_stopped);
    assert_string_equal(again.image, look.image);
    assert_string_equal(again.reason, look.reason);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_survives_the_round_trip, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(the_first_request_counts, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(an_end_survives_the_round_trip, folder_make, folder_remove),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
