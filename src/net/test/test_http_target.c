/* Facts about request targets. */
#include "net/http_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void paths_and_parameters_are_decoded(void **state)
{
    struct arena arena = {0};
    struct http_target target;
    struct err err;

    (void)state;
    assert_int_equal(
        http_target_parse(&arena, STR("/a%20b/%C3%A4+?x=1%262&&y&z=a+b%2F"), &target, &err), OK);
    assert_true(str_eq_c(target.path, "/a b/\xc3\xa4+"));
    assert_int_equal(target.param_count, 3);
    assert_true(str_eq_c(target.params[0].value, "1&2"));
    assert_true(str_eq_c(target.params[1].name, "y") && target.params[1].value.len == 0);
    assert_true(str_eq_c(target.params[2].value, "a b/"));
    assert_int_equal(http_target_parse(&arena, STR("/"), &target, &err), OK);
    assert_int_equal(http_target_parse(&arena, STR("/a/"), &target, &err), OK);
    arena_release(&arena);
}

static void ambiguous_targets_are_refused(void **state)
{
    static const char *const bad[] = {
        "",      "a",     "*",        "http://h/a", "/%00", "/a%2fb",    "/a%5Cb",
        "/a\\b", "/../a", "/a/./b",   "/a//b",      "//a",  "/%2e%2e/a", "/a%",
        "/a%4",  "/a%zz", "/a?x=%00", "/a?x=%4",    "/%0a", "/a/..",     "/%7f",
    };
    struct arena arena = {0};
    struct http_target target;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(http_target_parse(&arena, str_from(bad[i]), &target, &err), ERR_INVALID);
    assert_int_equal(http_target_parse(&arena, STR("/?q=a\000b"), &target, &err), ERR_INVALID);
    assert_int_equal(http_target_parse(&arena, STR("/?q=a b"), &target, &err), ERR_INVALID);
    assert_int_equal(http_target_parse(&arena, STR("/%ff"), &target, &err), ERR_BAD_UTF8);
    assert_int_equal(http_target_parse(&arena, STR("/?x=%ff"), &target, &err), ERR_BAD_UTF8);
    arena_release(&arena);
}

static void limits_hold(void **state)
{
    struct arena arena = {0};
    struct http_target target;
    struct err err;
    static char text[HTTP_TARGET_BYTES_MAX + 2];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[0] = '/';
    assert_int_equal(http_target_parse(&arena, str_n(text, HTTP_TARGET_BYTES_MAX), &target, &err),
                     OK);
    assert_int_equal(
        http_target_parse(&arena, str_n(text, HTTP_TARGET_BYTES_MAX + 1), &target, &err),
        ERR_HEADER_TOO_LARGE);
    memset(text, '&', 300);
    memcpy(text, "/?", 2);
    for (size_t i = 2; i < 132; i += 2)
        text[i] = 'x';
    assert_int_equal(http_target_parse(&arena, str_n(text, 130), &target, &err), OK);
    assert_int_equal(http_target_parse(&arena, str_n(text, 132), &target, &err), ERR_INVALID);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_parameters_are_decoded),
        cmocka_unit_test(ambiguous_targets_are_refused),
        cmocka_unit_test(limits_hold),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
