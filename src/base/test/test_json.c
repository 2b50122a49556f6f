/* Facts about reading and writing JSON. */
#include "base/json.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum err_code parse(struct str text, struct err *err)
{
    CLEANUP(json_release) json_t *value = NULL;

    return json_parse(text, 1 << 20, &value, err);
}

static void bad_documents_are_refused_with_their_code(void **state)
{
    struct err err;
    char deep[400];

    (void)state;
    assert_int_equal(parse(STR("{\"a\":1,\"a\":2}"), &err), ERR_BAD_JSON);
    assert_non_null(strstr(err.text, "line 1, column"));
    assert_int_equal(parse(STR("{} x"), &err), ERR_BAD_JSON);
    assert_int_equal(parse(STR(""), &err), ERR_BAD_JSON);
    assert_int_equal(parse(STR("\"a\\u0000b\""), &err), ERR_BAD_JSON);
    assert_int_equal(parse(STR("[1e400]"), &err), ERR_BAD_JSON);
    assert_int_equal(parse(STR("[NaN]"), &err), ERR_BAD_JSON);
    assert_int_equal(parse(STR("[\"\xff\"]"), &err), ERR_BAD_UTF8);
    assert_string_equal(err.text, "byte 2 is not valid UTF-8");
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    assert_int_equal(parse(str_n(deep + 136, 128), &err), OK); /* 64 levels */
    assert_int_equal(parse(str_n(deep + 135, 130), &err), ERR_BAD_JSON);
    assert_int_equal(parse(STR("[\"[[[[[[\\\"[[[[[[\"]"), &err), OK);

    CLEANUP(json_release) json_t *value = NULL;

    assert_int_equal(json_parse(STR("[1,2,3]"), 6, &value, &err), ERR_TOO_LARGE);
    assert_int_equal(json_parse(STR("7"), 6, &value, &err), OK);
    assert_true(json_is_integer(value));
}

static void reader_takes_fields_and_names_the_unknown_one(void **state)
{
    CLEANUP(json_release) json_t *value = NULL;
    struct json_reader r;
    struct err err;
    struct str name = {0}, note = {0}, absent = STR("kept");
    int64_t gpus = 0, cpus = 9;
    double rate = 0;
    bool on = false;
    time_ms at = 0;
    json_t *config = NULL, *list = NULL, *any = NULL;

    (void)state;
    assert_int_equal(
        json_parse(STR("{\"name\":\"x\",\"note\":\"a\\nb\",\"gpus\":8,\"cpus\":null,\"rate\":1,"
                       "\"on\":true,\"at\":\"1970-01-01T00:00:01Z\",\"config\":{},\"list\":[1],"
                       "\"any\":false,\"evil\":1}"),
                   1000, &value, &err),
        OK);
    json_reader_init(&r, value, "spec.", &err);
    json_take_text(&r, "name", 10, &name);
    json_take_note_opt(&r, "note", 10, &note);
    json_take_text_opt(&r, "absent", 10, &absent);
    json_take_i64(&r, "gpus", 0, 8, &gpus);
    json_take_i64_opt(&r, "cpus", 0, 8, &cpus);
    json_take_f64_opt(&r, "rate", &rate);
    json_take_bool_opt(&r, "on", &on);
    json_take_time_opt(&r, "at", &at);
    json_take_object_opt(&r, "config", &config);
    json_take_array_opt(&r, "list", 1, &list);
    json_take_any_opt(&r, "any", &any);
    assert_int_equal(json_reader_end(&r), ERR_UNKNOWN_FIELD);
    assert_string_equal(err.field, "spec.evil");
    assert_true(str_eq_c(name, "x") && str_eq_c(note, "a\nb") && str_eq_c(absent, "kept"));
    assert_true(gpus == 8 && cpus == 9 && rate == 1.0 && on && at == 1000);
    assert_true(json_is_object(config) && json_is_array(list) && json_is_false(any));
}

/* Reads {"a": <json>} with one taker and returns the code. */
static enum err_code take(const char *json, int what, struct err *err)
{
    CLEANUP(json_release) json_t *value = NULL;
    struct json_reader r;
    struct str text = {0};
    int64_t number = 0;
    double real = 0;
    bool flag = false;
    time_ms at = 0;
    json_t *group = NULL;

    assert_int_equal(json_parse(str_from(json), 1000, &value, err), OK);
    json_reader_init(&r, value, "", err);
    switch (what) {
    case 't': json_take_text(&r, "a", 3, &text); break;
    case 'n': json_take_note_opt(&r, "a", 5, &text); break;
    case 'i': json_take_i64(&r, "a", 1, 3, &number); break;
    case 'f': json_take_f64_opt(&r, "a", &real); break;
    case 'b': json_take_bool_opt(&r, "a", &flag); break;
    case 'd': json_take_time_opt(&r, "a", &at); break;
    case 'o': json_take_object_opt(&r, "a", &group); break;
    default: json_take_array_opt(&r, "a", 2, &group); break;
    }
    return json_reader_end(&r);
}

static void wrong_values_are_named_by_field(void **state)
{
    static const struct {
        int what;
        const char *json;
        const char *text;
    } cases[] = {
        {'t', "{}", "a: is required"},
        {'t', "{\"a\":\"\"}", "a: is empty"},
        {'t', "{\"a\":7}", "a: expected text"},
        {'t', "{\"a\":\"1234\"}", "a: is longer than 3 bytes"},
        {'t', "{\"a\":\"\\n\"}", "a: has control characters"},
        {'n', "{\"a\":\"x\\n\\r\"}", "a: has control characters"},
        {'i', "{\"a\":1.0}", "a: expected an integer"},
        {'i', "{\"a\":4}", "a: 4 is not between 1 and 3"},
        {'f', "{\"a\":\"1\"}", "a: expected a number"},
        {'b', "{\"a\":1}", "a: expected true or false"},
        {'d', "{\"a\":\"now\"}", "a: expected a time such as 2026-11-30T04:05:52.123Z"},
        {'o', "{\"a\":[]}", "a: expected an object"},
        {'l', "{\"a\":{}}", "a: expected a list"},
        {'l', "{\"a\":[1,2,3]}", "a: has more than 2 items"},
        {'l', "[]", "expected an object"},
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(take(cases[i].json, cases[i].what, &err), ERR_INVALID);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void writer_places_commas_and_escapes(void **state)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    (void)state;
    buf_init(&out, 4096);
    json_writer_init(&w, &out);
    json_begin_object(&w);
    json_put_key(&w, "a\"b");
    json_begin_array(&w);
    json_put_i64(&w, 1);
    json_put_i64(&w, INT64_C(9007199254740993));
    json_put_bool(&w, true);
    json_put_null(&w);
    json_put_str(&w, STR("x\xff\xc3\xa4\x01\n\\"));
    json_put_text(&w, NULL);
    json_end_array(&w);
    json_put_key(&w, "o");
    json_begin_object(&w);
    json_end_object(&w);
    json_put_key(&w, "t");
    json_put_time(&w, 1000);
    json_put_key(&w, "n");
    json_put_time(&w, TIME_NONE);
    json_put_key(&w, "r");
    json_put_raw(&w, STR("[1]"));
    json_end_object(&w);
    assert_string_equal(out.data, "{\"a\\\"b\":[1,\"9007199254740993\",true,null,"
                                  "\"x\xef\xbf\xbd\xc3\xa4\\u0001\\n\\\\\",null],\"o\":{},"
                                  "\"t\":\"1970-01-01T00:00:01.000Z\",\"n\":null,\"r\":[1]}");
}

static void numbers_are_short_and_read_back_the_same(void **state)
{
    static const double values[] = {0.1,  1.0 / 3,     5e-324, 1.7976931348623157e308,
                                    -0.0, 123456789.0, 1e22};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        CLEANUP(buf_release) struct buf out = {0};
        struct json_writer w;

        buf_init(&out, 100);
        json_writer_init(&w, &out);
        json_put_f64(&w, values[i]);

        double back = strtod(out.data, NULL);

        assert_memory_equal(&back, &values[i], sizeof(back));
        if (i == 0)
            assert_string_equal(out.data, "0.1");
    }

    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, 100);
    json_writer_init(&w, &out);
    json_put_f64(&w, (double)NAN);
    json_put_f64(&w, (double)INFINITY);
    json_put_f64(&w, -(double)INFINITY);
    json_put_f64(&w, -0.0);
    assert_string_equal(out.data, "\"NaN\",\"Infinity\",\"-Infinity\",-0.0");
}

static void whole_values_are_copied_exactly(void **state)
{
    static const char text[] = "{\"a\":[1,{\"b\":[]},\"x\",1.0,-0.0,0.1,9007199254740993,true,"
                               "false,null],\"c\":{\"d\":{}}}";
    CLEANUP(json_release) json_t *value = NULL;
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;
    struct err err;

    (void)state;
    buf_init(&out, 4096);
    assert_int_equal(json_parse(str_from(text), 1000, &value, &err), OK);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    assert_string_equal(out.data, text);
    buf_clear(&out);
    json_writer_init(&w, &out);
    json_begin_array(&w);
    json_put_value(&w, json_object_get(value, "c"));
    json_put_i64(&w, 2);
    json_end_array(&w);
    assert_string_equal(out.data, "[{\"d\":{}},2]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_documents_are_refused_with_their_code),
        cmocka_unit_test(reader_takes_fields_and_names_the_unknown_one),
        cmocka_unit_test(wrong_values_are_named_by_field),
        cmocka_unit_test(writer_places_commas_and_escapes),
        cmocka_unit_test(numbers_are_short_and_read_back_the_same),
        cmocka_unit_test(whole_values_are_copied_exactly),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
