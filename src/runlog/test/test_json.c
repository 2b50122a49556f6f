#include "runlog/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void values_are_written_as_json(void **state)
{
    char text[512];
    struct runlog_json json;
    (void)state;

    runlog_json_init(&json, text, sizeof text);
    runlog_json_begin(&json, '{');
    runlog_json_key(&json, "a\"\n\x01");
    runlog_json_i64(&json, -5);
    runlog_json_key(&json, "list");
    runlog_json_begin(&json, '[');
    runlog_json_bool(&json, true);
    runlog_json_text(&json, NULL);
    runlog_json_f64(&json, -0.0);
    runlog_json_f64(&json, (double)INFINITY);
    runlog_json_i64(&json, INT64_MIN);
    runlog_json_end(&json, ']');
    runlog_json_end(&json, '}');
    assert_false(json.full);
    text[json.len] = '\0';
    assert_string_equal(text,
                        "{\"a\\\"\\n\\u0001\":-5,\"list\":[true,null,-0.0,{\"$f\":\"Infinity\"},"
                        "{\"$i\":\"-9223372036854775808\"}]}");
}

static void invalid_utf8_becomes_a_replacement(void **state)
{
    char text[64];
    struct runlog_json json;
    (void)state;

    runlog_json_init(&json, text, sizeof text);
    runlog_json_text(&json, "\xff\xc3\xa4\xed\xa0\x80");
    text[json.len] = '\0';
    assert_string_equal(text, "\"\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void doubles_read_back_exactly(void **state)
{
    static const double values[] = {0.0,     1.0,     -1.5,   0.1,       1e300,
                                    DBL_MIN, DBL_MAX, 5e-324, 1.0 / 3.0, 9007199254740993.0,
                                    100000.0};
    char text[RUNLOG_F64_TEXT_BYTES];
    (void)state;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        size_t len = runlog_f64_format(values[i], text);
        assert_int_equal(len, strlen(text));
        assert_true(strtod(text, NULL) == values[i]);
        assert_non_null(strpbrk(text, ".e"));
    }
}

static void tags_name_what_json_lacks(void **state)
{
    double value;
    (void)state;

    assert_true(runlog_f64_from_tag("NaN", 3, &value) && isnan(value));
    assert_true(runlog_f64_from_tag("-Infinity", 9, &value) && value < 0 && isinf(value));
    assert_true(runlog_f64_from_tag("Infinity", 8, &value) && value > 0 && isinf(value));
    assert_false(runlog_f64_from_tag("nan", 3, &value));
}

static void a_full_buffer_is_marked(void **state)
{
    char text[4];
    struct runlog_json json;
    (void)state;

    runlog_json_init(&json, text, sizeof text);
    runlog_json_text(&json, "abcdef");
    assert_true(json.full);
    assert_true(json.len <= sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_as_json),
        cmocka_unit_test(invalid_utf8_becomes_a_replacement),
        cmocka_unit_test(doubles_read_back_exactly),
        cmocka_unit_test(tags_name_what_json_lacks),
        cmocka_unit_test(a_full_buffer_is_marked),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
