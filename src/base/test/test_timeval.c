/* Facts about times and durations as text. */
#include "base/timeval.h"

#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_day_formats_as_the_c_library_says_and_parses_back(void **state)
{
    (void)state;
    for (time_t day = 0; day < 366 * 230; day += 1) {
        time_t at = day * 86400 + 12345;
        char expected[64], text[TIME_TEXT_BYTES];
        struct tm tm;
        time_ms back;

        gmtime_r(&at, &tm);
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.007Z", &tm);
        time_format((time_ms)at * 1000 + 7, text);
        assert_string_equal(text, expected);
        assert_true(time_parse(str_from(text), &back));
        assert_true(back == (time_ms)at * 1000 + 7);
    }
}

static void offsets_and_fractions_are_understood_and_nonsense_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "2026-11-30",
        "2026-11-30T04:05:52",
        "2026-11-30 04:05:52Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T04:05:52.Z",
        "2026-11-30T04:05:52.1234567890Z",
        "2026-11-30T04:05:52Zx",
        "2026-11-30T04:05:52+0200",
        "0000-01-01T00:00:00Z",
    };
    time_ms a, b;

    (void)state;
    assert_true(time_parse(STR("2026-11-30T04:05:52.1239Z"), &a));
    assert_true(time_parse(STR("2026-11-30T06:05:52.123+02:00"), &b));
    assert_true(a == b);
    assert_true(time_parse(STR("2026-11-29T23:35:52.123-04:30"), &b));
    assert_true(a == b);
    assert_true(time_parse(STR("1960-01-01T00:00:00Z"), &a));
    assert_true(a < 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(time_parse(str_from(bad[i]), &a));
}

static void times_outside_the_calendar_are_clamped(void **state)
{
    char text[TIME_TEXT_BYTES];

    (void)state;
    time_format(INT64_MIN, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    time_format(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
}

static void durations_read_well(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {-5, "0 ms"},           {250, "250 ms"},         {4250, "4.2 s"},
        {200000, "3 min 20 s"}, {7500000, "2 h 05 min"}, {273600000, "3 d 4 h"},
    };
    char text[DURATION_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        duration_format(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_formats_as_the_c_library_says_and_parses_back),
        cmocka_unit_test(offsets_and_fractions_are_understood_and_nonsense_is_refused),
        cmocka_unit_test(times_outside_the_calendar_are_clamped),
        cmocka_unit_test(durations_read_well),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
