#include "runlog/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void header_comes_back_as_written(void **state)
{
    struct runlog_segment in = {.number = 5,
                                .writer = "wabcdefgh2345",
                                .base = 1ull << 40,
                                .created_ms = 1764475932123,
                                .hint_bytes = 77};
    struct runlog_segment out;
    uint8_t header[RUNLOG_HEADER_BYTES];
    (void)state;

    runlog_segment_encode(&in, header);
    assert_true(runlog_segment_decode(header, sizeof header, &out));
    assert_string_equal(out.writer, in.writer);
    assert_int_equal(out.number, 5);
    assert_true(out.base == in.base && out.created_ms == in.created_ms);
    assert_int_equal(out.hint_bytes, 77);
}

static void damaged_header_is_refused(void **state)
{
    struct runlog_segment in = {.writer = "wabcdefgh2345"};
    struct runlog_segment out;
    uint8_t header[RUNLOG_HEADER_BYTES];
    (void)state;

    runlog_segment_encode(&in, header);
    for (size_t i = 0; i < 52; i++) {
        header[i] ^= 1;
        assert_false(runlog_segment_decode(header, sizeof header, &out));
        header[i] ^= 1;
    }
    assert_false(runlog_segment_decode(header, sizeof header - 1, &out));
    header[56] ^= 1; /* the hint is outside the checksum */
    assert_true(runlog_segment_decode(header, sizeof header, &out));
}

static void file_names_go_both_ways(void **state)
{
    char name[RUNLOG_FILE_NAME_BYTES], writer[RUNLOG_ID_LEN + 1];
    uint32_t number;
    (void)state;

    runlog_file_name("wabcdefgh2345", 42, name);
    assert_string_equal(name, "wabcdefgh2345.000042.log");
    assert_true(runlog_file_name_parse(name, writer, &number));
    assert_string_equal(writer, "wabcdefgh2345");
    assert_int_equal(number, 42);
    static const char *const bad[] = {"",
                                      "run.json",
                                      "wabcdefgh2345.00042.log",
                                      "rabcdefgh2345.000042.log",
                                      "wABCDEFGH2345.000042.log",
                                      "wabcdefgh2345.00004x.log",
                                      "wabcdefgh2345.000042.logx",
                                      "wabcdefgh2345-000042.log",
                                      "wabcdefgh2345.000042.txt"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(runlog_file_name_parse(bad[i], writer, &number));
}

static void ids_are_a_letter_and_twelve_of_base32(void **state)
{
    char text[RUNLOG_ID_LEN + 1];
    (void)state;

    runlog_id_make('r', 0, text);
    assert_string_equal(text, "raaaaaaaaaaaa");
    runlog_id_make('w', UINT64_MAX, text);
    assert_string_equal(text, "w777777777777");
    assert_true(runlog_id_is_valid(text, 'w'));
    assert_false(runlog_id_is_valid(text, 'r'));
    assert_false(runlog_id_is_valid("w77777777777", 'w'));
    assert_false(runlog_id_is_valid("w7777777777777", 'w'));
    assert_false(runlog_id_is_valid("w777777777771", 'w'));
    assert_false(runlog_id_is_valid("", 'w'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_comes_back_as_written),
        cmocka_unit_test(damaged_header_is_refused),
        cmocka_unit_test(file_names_go_both_ways),
        cmocka_unit_test(ids_are_a_letter_and_twelve_of_base32),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
