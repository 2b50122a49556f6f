/* Facts about time zones. tests/test_zones.py compares all of them with another implementation. */
#include "sys/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static time_ms at(const char *text)
{
    time_ms ms;

    assert_true(time_parse(str_from(text), &ms));
    return ms;
}

static void month_is(const char *zone, const char *moment, const char *start, const char *end)
{
    struct zones *zones = zones_new(ZONE_FOLDER);
    time_ms got_start, got_end;

    assert_true(zones_month(zones, str_from(zone), at(moment), &got_start, &got_end));
    assert_int_equal(got_start, at(start));
    assert_int_equal(got_end, at(end));
    zones_free(zones);
}

static void months_are_half_open(void **state)
{
    (void)state;
    month_is("UTC", "2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
    month_is("UTC", "2026-11-30T23:59:59.999Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z");
    month_is("Etc/UTC", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z");
    month_is("Asia/Tokyo", "2026-11-30T15:00:00Z", "2026-11-30T15:00:00Z", "2026-12-31T15:00:00Z");
    month_is("Pacific/Kiritimati", "2026-11-30T09:59:59Z", "2026-10-31T10:00:00Z",
             "2026-11-30T10:00:00Z");
}

static void months_with_a_change_of_clocks_are_an_hour_longer_or_shorter(void **state)
{
    (void)state;
    month_is("Europe/Berlin", "2026-03-15T00:00:00Z", "2026-02-28T23:00:00Z",
             "2026-03-31T22:00:00Z");
    month_is("Europe/Berlin", "2026-10-15T00:00:00Z", "2026-09-30T22:00:00Z",
             "2026-10-31T23:00:00Z");
    month_is("America/New_York", "2090-03-15T00:00:00Z", "2090-03-01T05:00:00Z",
             "2090-04-01T04:00:00Z"); /* beyond what the file lists */
}

/* Paraguay's clocks went forward at midnight on 1 October 2017 and 2023: there was no midnight. */
static void a_month_without_its_midnight_begins_when_it_is_first_shown(void **state)
{
    (void)state;
    month_is("America/Asuncion", "2023-10-15T00:00:00Z", "2023-10-01T04:00:00Z",
             "2023-11-01T03:00:00Z");
}

static void names_that_could_be_paths_are_not_known(void **state)
{
    static const char *const names[] = {"",
                                        "/etc/passwd",
                                        "../zoneinfo/UTC",
                                        "Europe/../UTC",
                                        "Europe//Berlin",
                                        "Europe/",
                                        "Europe",
                                        "posix/Europe/Berlin",
                                        "right/Europe/Berlin",
                                        "zone.tab",
                                        "leapseconds",
                                        "localtime",
                                        "Europe/Atlantis",
                                        "Europe/Berlin\n",
                                        "europe berlin"};
    struct zones *zones = zones_new(ZONE_FOLDER);
    time_ms a = 1, b = 2;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(zones_known(zones, str_from(names[i])));
        assert_false(zones_month(zones, str_from(names[i]), 0, &a, &b));
    }
    assert_true(a == 1 && b == 2);
    assert_true(zones_known(zones, STR("Europe/Berlin")));
    zones_free(zones);
}

static void without_files_there_is_utc(void **state)
{
    struct zones *zones = zones_new("/nowhere");

    (void)state;
    assert_true(zones_known(zones, STR("UTC")));
    assert_false(zones_known(zones, STR("Europe/Berlin")));
    zones_free(zones);
}

/* A version 2 file without changes: an empty first block, one kind of time, the given last line. */
static struct str file_with(const char *rule, char *bytes, size_t size)
{
    size_t len = 0;

    memset(bytes, 0, size);
    for (int block = 0; block < 2; block++) {
        memcpy(bytes + len, "TZif2", 5);
        bytes[len + 39] = 1; /* kinds of time */
        bytes[len + 43] = 4; /* bytes of names */
        len += 44 + 6 + 4;
    }
    len += (size_t)snprintf(bytes + len, size - len, "\n%s\n", rule);
    return str_n(bytes, len);
}

static void rules_are_read_whole_or_refused(void **state)
{
    static const struct {
        const char *rule;
        bool good;
    } cases[] = {
        {"", true},
        {"UTC0", true},
        {"<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45", true},
        {"IST-2IDT,M3.4.4/26,M10.5.0", true},
        {"XXX3EDT4,0/0,J365/23", true},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", true},
        {"UT0", false},
        {"UTC", false},
        {"CET-1CEST", false},
        {"CET-1CEST,M3.5.0", false},
        {"CET-1CEST,M13.5.0,M10.5.0", false},
        {"CET-1CEST,M3.0.0,M10.5.0", false},
        {"CET-1CEST,M3.5.7,M10.5.0", false},
        {"CET-1CEST,J0,J365", false},
        {"CET-1CEST,366,3", false},
        {"CET-25", false},
        {"CET-1CEST,M3.5.0/168,M10.5.0", false},
        {"CET-1CEST,M3.5.0,M10.5.0 ", false},
        {"<CET-1", false},
        {"CET-99999999999999999999", false},
    };
    static struct zone zone;
    char bytes[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str file = file_with(cases[i].rule, bytes, sizeof bytes);
        assert_int_equal(zone_parse(file, &zone, NULL), cases[i].good ? OK : ERR_INVALID);
    }
}

static void every_cut_and_every_changed_byte_is_read_or_refused(void **state)
{
    static struct zone zone;
    char bytes[256], copy[256];
    struct str file = file_with("CET-1CEST,M3.5.0,M10.5.0/3", bytes, sizeof bytes);

    (void)state;
    for (size_t len = 0; len < file.len; len++)
        assert_int_equal(zone_parse(str_n(file.data, len), &zone, NULL), ERR_INVALID);
    for (size_t i = 0; i < file.len; i++)
        for (int value = 0; value < 256; value += 5) {
            memcpy(copy, bytes, sizeof copy);
            copy[i] = (char)value;
            if (zone_parse(str_n(copy, file.len), &zone, NULL) == OK)
                (void)zone_month_line(&zone, 2026, 11);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(months_are_half_open),
        cmocka_unit_test(months_with_a_change_of_clocks_are_an_hour_longer_or_shorter),
        cmocka_unit_test(a_month_without_its_midnight_begins_when_it_is_first_shown),
        cmocka_unit_test(names_that_could_be_paths_are_not_known),
        cmocka_unit_test(without_files_there_is_utc),
        cmocka_unit_test(rules_are_read_whole_or_refused),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_read_or_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
