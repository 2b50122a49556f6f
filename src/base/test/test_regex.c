/* Facts about regular expressions. */
#include "base/regex.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool found(const char *pattern, struct str text)
{
    CLEANUP(regex_release) struct regex *regex = NULL;
    bool yes = false;
    struct err err;

    assert_int_equal(regex_new(str_from(pattern), NULL, &regex, &err), OK);
    assert_int_equal(regex_search(regex, text, &yes, &err), OK);
    return yes;
}

static void it_is_found_anywhere_in_the_text(void **state)
{
    (void)state;
    assert_true(found("oss", STR("val/loss")));
    assert_true(found("^val/", STR("val/loss")));
    assert_false(found("^loss", STR("val/loss")));
    assert_true(found("(?i)LOSS$", STR("val/loss")));
    assert_true(found("", STR("")));
    assert_true(found("^.$", STR("\xc3\xa4"))); /* one character, two bytes */
    assert_true(found("\\d{3}", STR("layer 117")));
}

static void bytes_that_are_not_utf8_match_nothing(void **state)
{
    (void)state;
    assert_false(found("^..$", STR("a\xff")));
    assert_true(found("a", STR("\xff a")));
}

static void a_fault_names_its_byte(void **state)
{
    struct regex *regex = NULL;
    size_t at = 0;
    struct err err;

    (void)state;
    assert_int_equal(regex_new(STR("ab(c"), &at, &regex, &err), ERR_INVALID);
    assert_int_equal(at, 4);
    assert_string_equal(err.text,
                        "the regular expression is wrong at byte 4: missing closing parenthesis");
    assert_int_equal(regex_new(STR("a*+*"), &at, &regex, &err), ERR_INVALID);
    assert_int_equal(regex_new(STR("a\\C"), &at, &regex, &err), ERR_INVALID);
    assert_int_equal(regex_new(STR("a\xff"), &at, &regex, &err), ERR_INVALID);
    assert_null(regex);
}

static void length_and_nesting_have_limits(void **state)
{
    char text[REGEX_PATTERN_BYTES_MAX + 1];
    struct regex *regex = NULL;
    struct err err;

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(regex_new(str_n(text, sizeof text), NULL, &regex, &err), ERR_INVALID);
    assert_int_equal(regex_new(str_n(text, sizeof text - 1), NULL, &regex, &err), OK);
    regex_free(regex);
    memset(text, '(', 100);
    memset(text + 100, ')', 100);
    regex = NULL;
    assert_int_equal(regex_new(str_n(text, 200), NULL, &regex, &err), ERR_INVALID);
    assert_null(regex);
}

static void an_expression_that_explodes_is_refused(void **state)
{
    CLEANUP(regex_release) struct regex *regex = NULL;
    bool yes = false;
    struct err err;

    (void)state;
    assert_int_equal(regex_new(STR("^(a+)+$"), NULL, &regex, &err), OK);
    assert_int_equal(regex_search(regex, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"), &yes, &err),
                     ERR_LIMIT);
    assert_int_equal(regex_search(regex, STR("aaaa"), &yes, &err), OK);
    assert_true(yes);
}

static void costly_searches_are_counted(void **state)
{
    CLEANUP(regex_release) struct regex *regex = NULL;
    struct str text = STR("aaaaaaaaaaaab"); /* some thousand steps */
    enum err_code code = OK;
    bool yes = false;
    struct err err;
    int count = 0;

    (void)state;
    assert_int_equal(regex_new(STR("^(a+)+$"), NULL, &regex, &err), OK);
    while (code == OK && count <= REGEX_COSTLY_MAX) {
        code = regex_search(regex, text, &yes, &err);
        count += code == OK;
    }
    assert_int_equal(code, ERR_LIMIT);
    assert_int_equal(count, REGEX_COSTLY_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_anywhere_in_the_text),
        cmocka_unit_test(bytes_that_are_not_utf8_match_nothing),
        cmocka_unit_test(a_fault_names_its_byte),
        cmocka_unit_test(length_and_nesting_have_limits),
        cmocka_unit_test(an_expression_that_explodes_is_refused),
        cmocka_unit_test(costly_searches_are_counted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
