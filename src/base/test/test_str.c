/* Facts about views of bytes. */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void numbers_are_whole_decimal_and_in_range(void **state)
{
    int64_t value;
    double real;

    (void)state;
    assert_true(str_to_i64(STR("-9223372036854775808"), &value));
    assert_true(value == INT64_MIN);
    assert_true(str_to_i64(STR("9223372036854775807"), &value));
    assert_true(value == INT64_MAX);
    assert_false(str_to_i64(STR("9223372036854775808"), &value));
    assert_false(str_to_i64(STR(""), &value));
    assert_false(str_to_i64(STR("-"), &value));
    assert_false(str_to_i64(STR("+1"), &value));
    assert_false(str_to_i64(STR("1 "), &value));
    assert_false(str_to_i64(STR("1\0002"), &value));
    assert_true(str_to_f64(STR("1.5e3"), &real));
    assert_true(real == 1500.0);
    assert_false(str_to_f64(STR("1e400"), &real));
    assert_false(str_to_f64(STR("nan"), &real));
    assert_false(str_to_f64(STR("0x10"), &real));
    assert_false(str_to_f64(STR(" 1"), &real));
    assert_false(str_to_f64(STR("1\000"), &real));
}

static void utf8_is_strict_and_the_bad_byte_is_named(void **state)
{
    size_t at = 99;

    (void)state;
    assert_true(str_is_utf8(STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), NULL));
    assert_false(str_is_utf8(STR("ab\xff"), &at));
    assert_int_equal(at, 2);
    assert_false(str_is_utf8(STR("\xc0\x80"), NULL));         /* overlong NUL */
    assert_false(str_is_utf8(STR("\xe0\x80\x80"), NULL));     /* overlong */
    assert_false(str_is_utf8(STR("\xed\xa0\x80"), NULL));     /* surrogate */
    assert_false(str_is_utf8(STR("\xf4\x90\x80\x80"), NULL)); /* beyond U+10FFFF */
    assert_false(str_is_utf8(STR("\xe2\x82"), NULL));         /* cut */
}

static void cutting_gives_head_and_rest(void **state)
{
    struct str rest = STR("a=b=c"), head;

    (void)state;
    assert_true(str_cut(&rest, '=', &head));
    assert_true(str_eq_c(head, "a"));
    assert_true(str_cut(&rest, '=', &head));
    assert_true(str_eq_c(rest, "c"));
    assert_false(str_cut(&rest, '=', &head));
    assert_true(str_eq_c(head, "c"));
    assert_int_equal(rest.len, 0);
    assert_false(str_cut(&rest, '=', &head));
    assert_int_equal(head.len, 0);
    assert_true(str_eq_c(str_trim(STR(" \t a b\r\n")), "a b"));
    assert_true(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")));
}

static void labels_and_control_bytes_are_told(void **state)
{
    (void)state;
    assert_true(str_is_label(STR("a100-x"), 63));
    assert_false(str_is_label(STR("-a"), 63));
    assert_false(str_is_label(STR("a-"), 63));
    assert_false(str_is_label(STR("A"), 63));
    assert_false(str_is_label(STR("abcd"), 3));
    assert_false(str_is_label(STR(""), 3));
    assert_true(str_has_control(STR("a\tb")));
    assert_true(str_has_control(STR("a\x7f")));
    assert_true(str_has_control(STR("a\xc2\x85")));
    assert_false(str_has_control(STR("a\xc2\xa0")));
}

static void texts_come_in_the_order_of_their_bytes(void **state)
{
    const struct str none = {0};

    (void)state;
    assert_true(str_compare(STR("a"), STR("b")) < 0);
    assert_true(str_compare(STR("b"), STR("a")) > 0);
    assert_true(str_compare(STR("a"), STR("ab")) < 0);
    assert_true(str_compare(STR("\xc3"), STR("z")) > 0);
    assert_true(str_compare(STR("a\0b"), STR("a\0a")) > 0);
    assert_int_equal(str_compare(STR("ab"), STR("ab")), 0);
    assert_int_equal(str_compare(none, STR("")), 0);
    assert_true(str_compare(none, STR("a")) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_whole_decimal_and_in_range),
        cmocka_unit_test(utf8_is_strict_and_the_bad_byte_is_named),
        cmocka_unit_test(cutting_gives_head_and_rest),
        cmocka_unit_test(texts_come_in_the_order_of_their_bytes),
        cmocka_unit_test(labels_and_control_bytes_are_told),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
