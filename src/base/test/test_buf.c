/* Facts about growable buffers. */
#include "base/buf.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void append_past_the_maximum_adds_nothing_and_is_told(void **state)
{
    CLEANUP(buf_release) struct buf buf = {0};
    struct err err;

    (void)state;
    buf_init(&buf, 10);
    assert_true(buf_add_text(&buf, "12345"));
    assert_false(buf_add_text(&buf, "678901"));
    assert_false(buf_add_text(&buf, "6"));
    assert_true(str_eq_c(buf_str(&buf), "12345"));
    assert_int_equal(buf_check(&buf, "the page", &err), ERR_TOO_LARGE);
    assert_string_equal(err.text, "the page is larger than 10 bytes");
    buf_clear(&buf);
    assert_true(buf_printf(&buf, "%010d", 7));
    assert_int_equal(buf_check(&buf, "the page", &err), OK);
    assert_string_equal(buf.data, "0000000007");
}

static void dropping_the_front_keeps_the_rest(void **state)
{
    CLEANUP(buf_release) struct buf buf = {0};

    (void)state;
    buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++)
        assert_true(buf_add_char(&buf, (char)('0' + i % 10)));
    buf_drop_front(&buf, 95);
    assert_string_equal(buf.data, "56789");
}

static void taking_leaves_a_usable_empty_buffer(void **state)
{
    CLEANUP(buf_release) struct buf buf = {0};
    size_t len = 9;

    (void)state;
    buf_init(&buf, 1000);

    char *empty = buf_take(&buf, &len);

    assert_int_equal(len, 0);
    mem_free(empty);
    assert_true(buf_add_str(&buf, STR("abc")));

    char *text = buf_take(&buf, &len);

    assert_string_equal(text, "abc");
    assert_int_equal(len, 3);
    mem_free(text);
    assert_true(buf_add_str(&buf, STR("again")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(append_past_the_maximum_adds_nothing_and_is_told),
        cmocka_unit_test(dropping_the_front_keeps_the_rest),
        cmocka_unit_test(taking_leaves_a_usable_empty_buffer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
