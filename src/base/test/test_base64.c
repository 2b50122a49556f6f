/* Facts about base64. */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_examples_of_the_standard_hold(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        CLEANUP(buf_release) struct buf out = {0};
        CLEANUP(arena_release) struct arena arena = {0};
        struct str back;
        buf_init(&out, 100);
        assert_true(base64_add(&out, str_from(pairs[i][0])));
        assert_true(str_eq_c(buf_str(&out), pairs[i][1]));
        assert_true(base64_decode(buf_str(&out), &arena, &back));
        assert_true(str_eq_c(back, pairs[i][0]));
    }
}

static void every_byte_comes_back(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char bytes[300];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    for (size_t len = 0; len < sizeof bytes; len++) {
        CLEANUP(buf_release) struct buf out = {0};
        struct str back;
        buf_init(&out, 1000);
        assert_true(base64_add(&out, str_n(bytes, len)));
        assert_true(base64_decode(buf_str(&out), &arena, &back));
        assert_true(str_eq(back, str_n(bytes, len)));
    }
}

static void other_text_is_refused(void **state)
{
    static const char *const texts[] = {"Zg=", "Zg", "Z===", "Zg==Zg==", "Zm9-", "Zm9\n"};
    CLEANUP(arena_release) struct arena arena = {0};
    struct str back;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_false(base64_decode(str_from(texts[i]), &arena, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard_hold),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(other_text_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
