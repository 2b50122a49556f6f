/* Facts about errors. */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void code_names_are_unique_and_come_back(void **state)
{
    (void)state;
#define X(code, name, status, exit_code)                                                           \
    assert_int_equal(err_code_from_name(name), code);                                              \
    assert_string_equal(err_code_name(code), name);                                                \
    assert_int_equal(err_code_http_status(code), status);                                          \
    assert_int_equal(err_code_exit(code), exit_code);
    ERR_CODES(X)
#undef X
    assert_int_equal(err_code_from_name("nonsense"), ERR_INTERNAL);
    assert_int_equal(err_code_from_name(NULL), ERR_INTERNAL);
    assert_int_equal(err_code_http_status(OK), 200);
}

static void control_bytes_of_input_do_not_reach_the_text(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err_set_field(&err, ERR_INVALID, "a\nb", "name \"%s\"", "x\x1b[2J\n"),
                     ERR_INVALID);
    assert_string_equal(err.text, "name \"x?[2J?\"");
    assert_string_equal(err.field, "a?b");
    err_hint(&err, "try\r%d", 3);
    assert_string_equal(err.hint, "try?3");
}

static void full_disk_is_a_code_of_its_own(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(err_set_errno(&err, ERR_IO, ENOSPC, "write %s", "x"), ERR_DISK_FULL);
    assert_string_equal(err.text, "write x: No space left on device");
    assert_int_equal(err_set_errno(&err, ERR_IO, EIO, "write %s", "x"), ERR_IO);
    assert_int_equal(err_set_errno(NULL, ERR_IO, EDQUOT, "write"), ERR_DISK_FULL);
}

static void prefix_goes_before_and_text_may_feed_itself(void **state)
{
    struct err err;

    (void)state;
    (void)err_set(&err, ERR_IO, "cannot read");
    err_prefix(&err, "run %s", "r1");
    assert_string_equal(err.text, "run r1: cannot read");
    (void)err_set(&err, ERR_IO, "again: %s", err.text);
    assert_string_equal(err.text, "again: run r1: cannot read");
    for (int i = 0; i < 300; i++)
        err_prefix(&err, "0123456789");
    assert_true(strlen(err.text) < sizeof(err.text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_names_are_unique_and_come_back),
        cmocka_unit_test(control_bytes_of_input_do_not_reach_the_text),
        cmocka_unit_test(full_disk_is_a_code_of_its_own),
        cmocka_unit_test(prefix_goes_before_and_text_may_feed_itself),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
