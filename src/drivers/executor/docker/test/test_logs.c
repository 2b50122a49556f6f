/* Facts about taking a container's output up where it was left. */
#include "drivers/executor/docker/logs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ENTRIES 4000

struct entry {
    int64_t at_ns;
    int stream;
    char text[24];
};

static struct entry log_of[ENTRIES];

static void make_log(unsigned seed)
{
    int64_t at = 1796000000000000000;

    srand(seed);
    for (int i = 0; i < ENTRIES; i++) {
        at += rand() % 3 == 0 ? 0 : rand() % 40000000; /* often several at one time */
        log_of[i] = (struct entry){.at_ns = at, .stream = 1 + rand() % 2};
        if (rand() % 10 == 0)
            log_of[i].at_ns -= 500000; /* two streams race */
        (void)snprintf(log_of[i].text, sizeof(log_of[i].text), "line %d\n", i);
    }
}

static void put(struct logs_cursor *cursor, const struct entry *entry, struct buf *out)
{
    char line[128], stamp[TIME_TEXT_BYTES];
    struct err err;

    time_format(entry->at_ns / 1000000, stamp);
    (void)snprintf(line, sizeof(line), "%.19s.%09lldZ %s", stamp,
                   (long long)(entry->at_ns % 1000000000), entry->text);
    assert_int_equal(logs_take(cursor, entry->stream, str_from(line), out, &err), OK);
}

/* What the engine gives from a point in time on, of what is there up to `end`. */
static void stream(struct logs_cursor *cursor, int from, int end, struct buf *out)
{
    int64_t anchor = cursor->place.anchor_ns;

    for (int i = from; i < end; i++) {
        if (log_of[i].at_ns >= anchor)
            put(cursor, &log_of[i], out);
    }
}

static void expect_all(const struct buf *out)
{
    CLEANUP(buf_release) struct buf wanted = {0};

    buf_init(&wanted, 1024 * 1024);
    for (int i = 0; i < ENTRIES; i++)
        (void)buf_add_text(&wanted, log_of[i].text);
    assert_int_equal(out->len, wanted.len);
    assert_memory_equal(out->data, wanted.data, wanted.len);
}

static void every_entry_is_taken_once_however_often_one_begins_again(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 50; seed++) {
        CLEANUP(buf_release) struct buf out = {0};
        struct logs_cursor cursor = {0};
        int end = 0;

        buf_init(&out, 1024 * 1024);
        make_log(seed);
        while (end < ENTRIES) {
            int more = rand() % 300;

            end = MIN(end + more, ENTRIES);
            logs_resume(&cursor);
            stream(&cursor, 0, end, &out);
        }
        expect_all(&out);
        assert_true(cursor.place.anchor_ns > log_of[0].at_ns); /* it moves on */
    }
}

static void the_place_alone_is_enough_to_go_on(void **state)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct logs_cursor first = {0}, second = {0};

    (void)state;
    buf_init(&out, 1024 * 1024);
    make_log(99);
    logs_resume(&first);
    stream(&first, 0, 2345, &out);
    second.place = first.place;
    logs_resume(&second);
    stream(&second, 0, ENTRIES, &out);
    expect_all(&out);
}

static void what_the_engine_has_dropped_is_said(void **state)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct logs_cursor cursor = {0};

    (void)state;
    buf_init(&out, 1024 * 1024);
    make_log(7);
    logs_resume(&cursor);
    stream(&cursor, 0, 2000, &out);
    buf_clear(&out);
    logs_resume(&cursor);
    stream(&cursor, 1990, 2100, &out); /* its beginning is gone, nothing is missing */
    assert_null(strstr(out.data, "missing here"));
    assert_int_equal(strncmp(out.data, "line 2000\n", 10), 0);
    buf_clear(&out);
    logs_resume(&cursor);
    stream(&cursor, 3000, 3100, &out);
    assert_non_null(strstr(out.data, "some console text is missing here"));
    assert_non_null(strstr(out.data, "line 3000\n"));
    assert_null(strstr(strstr(out.data, "missing") + 1, "missing")); /* once */
}

static void pieces_of_a_long_line_are_joined(void **state)
{
    static const struct entry pieces[] = {
        {1796000000000000001, 1, "aaa"},    {1796000000000000001, 1, "bbb"},
        {1796000000000000002, 1, "next\n"}, {1796000000000000003, 1, "ccc"},
        {1796000000000000004, 2, "err\n"},  {1796000000000000003, 1, ""},
        {1796000000000000005, 1, "no end"}};
    CLEANUP(buf_release) struct buf out = {0};
    struct logs_cursor cursor = {0};

    (void)state;
    buf_init(&out, 1024);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
        put(&cursor, &pieces[i], &out);
    assert_string_equal(out.data, "aaabbb\nnext\nccc"
                                  "err\n"
                                  "\nno end");
}

static void an_entry_without_a_time_is_an_error(void **state)
{
    static const char *const wrong[] = {"", "x", "2026 x", "line without time"};
    CLEANUP(buf_release) struct buf out = {0};
    struct logs_cursor cursor = {0};
    struct err err;

    (void)state;
    buf_init(&out, 1024);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(logs_take(&cursor, 1, str_from(wrong[i]), &out, &err), ERR_UNAVAILABLE);
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_taken_once_however_often_one_begins_again),
        cmocka_unit_test(the_place_alone_is_enough_to_go_on),
        cmocka_unit_test(what_the_engine_has_dropped_is_said),
        cmocka_unit_test(pieces_of_a_long_line_are_joined),
        cmocka_unit_test(an_entry_without_a_time_is_an_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
