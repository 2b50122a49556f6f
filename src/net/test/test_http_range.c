/* Facts about ranges of files. */
#include "net/http_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct sample {
    const char *header;
    int64_t size, offset, bytes;
};

static void one_range_of_bytes_is_a_part(void **state)
{
    static const struct sample samples[] = {
        {"bytes=0-0", 10, 0, 1},
        {"bytes=0-9", 10, 0, 10},
        {"bytes=3-5", 10, 3, 3},
        {"bytes=3-", 10, 3, 7},
        {"bytes=9-", 10, 9, 1},
        {"bytes=-1", 10, 9, 1},
        {"bytes=-10", 10, 0, 10},
        {"bytes=-99", 10, 0, 10},
        {"bytes=5-99", 10, 5, 5},
        {"Bytes= 3-5 ", 10, 3, 3},
        {"bytes=0-9223372036854775807", 10, 0, 10},
        {"bytes=-99999999999999999999999", 10, 0, 10},
        {"bytes=1-99999999999999999999999", 10, 1, 9},
        {"bytes=0-9223372036854775806", INT64_MAX, 0, INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct http_range range = {-1, -1};

        assert_int_equal(http_range_read(str_from(samples[i].header), samples[i].size, &range),
                         HTTP_RANGE_PART);
        assert_int_equal(range.offset, samples[i].offset);
        assert_int_equal(range.bytes, samples[i].bytes);
    }
}

static void what_lies_behind_the_end_is_nothing(void **state)
{
    static const struct sample samples[] = {
        {"bytes=10-", 10, 0, 0}, {"bytes=10-20", 10, 0, 0},
        {"bytes=-0", 10, 0, 0},  {"bytes=0-", 0, 0, 0},
        {"bytes=-5", 0, 0, 0},   {"bytes=99999999999999999999-", 10, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct http_range range;

        assert_int_equal(http_range_read(str_from(samples[i].header), samples[i].size, &range),
                         HTTP_RANGE_NONE);
    }
}

static void what_is_no_range_means_the_whole_file(void **state)
{
    static const char *const headers[] = {
        "",           "bytes",       "bytes=",     "bytes=-",     "bytes=5-3",   "bytes=0-1,3-4",
        "bytes=a-b",  "bytes=1",     "lines=1-2",  "bytes=1-2-3", "bytes=--1",   "bytes=1 -2",
        "bytes=+1-2", "bytes=0x1-2", "bytes=1-2;", "bytes:1-2",   "bytes=1-2 3",
    };
    struct http_range range;
    char longest[HTTP_RANGE_BYTES_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        assert_int_equal(http_range_read(str_from(headers[i]), 10, &range), HTTP_RANGE_WHOLE);
    assert_int_equal(http_range_read((struct str){0}, 10, &range), HTTP_RANGE_WHOLE);
    memset(longest, '0', sizeof longest);
    memcpy(longest, "bytes=", 6);
    longest[HTTP_RANGE_BYTES_MAX] = '-';
    assert_int_equal(http_range_read(str_n(longest, HTTP_RANGE_BYTES_MAX + 1), 10, &range),
                     HTTP_RANGE_WHOLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_range_of_bytes_is_a_part),
        cmocka_unit_test(what_lies_behind_the_end_is_nothing),
        cmocka_unit_test(what_is_no_range_means_the_whole_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
