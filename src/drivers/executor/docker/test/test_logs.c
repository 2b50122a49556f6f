/* Facts about taking a container's output up where it was left. */
#include "drivers/executor/docker/logs.h"

#include "sys/file.h"

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
        assert_int_equal(logs_take(&cursor, 1, str_from(wrong[i]), &out, &err), ERR_INTERNAL);
    assert_int_equal(out.len, 0);
}

static void a_line_that_lost_its_beginning_does_not_hide_what_follows(void **state)
{
    static const struct entry piece = {1796000000000000001, 1, "piece"},
                              last = {1796000000000000001, 1, "end\n"},
                              next = {1796000000000000002, 1, "next\n"};
    CLEANUP(buf_release) struct buf out = {0};
    struct logs_cursor cursor = {0};

    (void)state;
    buf_init(&out, 4096);
    for (int i = 0; i < 100; i++)
        put(&cursor, &piece, &out);
    buf_clear(&out);
    logs_resume(&cursor);
    for (int i = 0; i < 20; i++) /* the engine has dropped 80, and got 20 that were not seen */
        put(&cursor, &piece, &out);
    put(&cursor, &last, &out);
    put(&cursor, &next, &out);
    assert_non_null(out.data);
    assert_string_equal(out.data,
                        "\neuvyra-agent: some console text is missing here: the Docker engine "
                        "has dropped it\nnext\n");
}

/* ---- With files */

static char folder[64];

static int folder_make(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/euvyra-logs.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(folder, &err) == OK ? 0 : -1;
}

static void write_text(const char *name, const char *text)
{
    char path[128];
    struct err err;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_write_atomic(path, str_from(text), 0600, &err), OK);
}

static struct logs *open_logs(int64_t console_bytes_max)
{
    struct logs_options options = {.folder = folder, .console_bytes_max = console_bytes_max};
    struct logs *logs = NULL;
    struct err err;

    assert_int_equal(logs_open(&logs, &options, &err), OK);
    return logs;
}

static void expect_console(const char *wanted)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[128];
    struct err err;

    (void)snprintf(path, sizeof(path), "%s/console", folder);
    assert_int_equal(file_read(path, 1 << 20, &text, &err), OK);
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.data, wanted, text.len);
}

static void a_restart_knows_how_full_the_engine_s_log_is(void **state)
{
    struct logs *logs;
    int64_t ms;

    (void)state;
    /* Little text in very many entries: what the engine writes beside each fills its file. */
    write_text("logs.json", "{\"anchor\":\"5\",\"last\":\"9\",\"entries\":\"300000\","
                            "\"bytes\":\"900000\"}");
    logs = open_logs(8 << 20);
    assert_true(logs_must_poll(logs, &ms));
    logs_free(logs);
    write_text("logs.json", "{\"anchor\":\"5\",\"last\":\"9\",\"entries\":\"300\","
                            "\"bytes\":\"900\"}");
    logs = open_logs(8 << 20);
    assert_false(logs_must_poll(logs, &ms));
    logs_free(logs);
}

static void text_after_the_last_known_place_is_cut_and_comes_again(void **state)
{
    struct logs *logs;
    struct err err;

    (void)state;
    write_text("logs.json", "{\"anchor\":\"5\",\"taken\":\"1\",\"bytes\":\"6\"}");
    write_text("console", "known\nnot kn");
    logs = open_logs(8 << 20);
    assert_int_equal(logs_bytes(logs), 6);
    expect_console("known\n");
    assert_int_equal(logs_say(logs, "so it is", &err), OK);
    assert_int_equal(logs_finish(logs, &err), OK);
    assert_int_equal(logs_bytes(logs), logs_bytes_in(folder));
    logs_free(logs);
    expect_console("known\n\neuvyra-agent: so it is\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_taken_once_however_often_one_begins_again),
        cmocka_unit_test(the_place_alone_is_enough_to_go_on),
        cmocka_unit_test(what_the_engine_has_dropped_is_said),
        cmocka_unit_test(pieces_of_a_long_line_are_joined),
        cmocka_unit_test(an_entry_without_a_time_is_an_error),
        cmocka_unit_test(a_line_that_lost_its_beginning_does_not_hide_what_follows),
        cmocka_unit_test_setup_teardown(a_restart_knows_how_full_the_engine_s_log_is, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(text_after_the_last_known_place_is_cut_and_comes_again,
                                        folder_make, folder_remove),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
