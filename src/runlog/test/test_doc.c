/* The example bytes of docs/internals/run-log.md: read by the reader, and written again by the
 * writer, byte for byte. */
#include "runlog/encode.h"
#include "runlog/record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint8_t example[2048];
static size_t example_bytes;

static int load_example(void **state)
{
    FILE *file = fopen(SOURCE_ROOT "/docs/internals/run-log.md", "r");
    char line[512];
    bool inside = false;
    (void)state;

    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "```", 3) == 0)
            inside = strncmp(line, "```hex", 6) == 0;
        else if (inside && line[0] != '#')
            for (const char *p = line; strlen(p) >= 2; p += 3)
                example[example_bytes++] = (uint8_t)strtoul((char[3]){p[0], p[1], 0}, NULL, 16);
    }
    return fclose(file);
}

static void the_reader_reads_the_documented_bytes(void **state)
{
    struct runlog_segment segment;
    struct runlog_group group;
    struct runlog_row row;
    uint16_t types[16];
    size_t count = 0, at = RUNLOG_HEADER_BYTES;
    uint32_t id;
    double value;
    enum runlog_state got;
    (void)state;

    assert_true(runlog_segment_decode(example, example_bytes, &segment));
    assert_string_equal(segment.writer, "wabcdefgh2345");
    assert_true(segment.created_ms == 1764475932123);
    while ((got = runlog_next_group(example, example_bytes, &at, &group)) == RUNLOG_RECORD) {
        types[count++] = group.type;
        if (count == 3) {
            assert_true(runlog_row_decode(&group.first, &row));
            runlog_row_at(&row, 0, &id, &value);
            assert_true(isnan(value));
        }
    }
    assert_int_equal(got, RUNLOG_TORN);
    assert_int_equal(at - RUNLOG_HEADER_BYTES, segment.hint_bytes);
    static const uint16_t want[] = {RUNLOG_NAMES,     RUNLOG_ROW,     RUNLOG_ROW,
                                    RUNLOG_CONFIG,    RUNLOG_CONSOLE, RUNLOG_HEARTBEAT,
                                    RUNLOG_END_OF_RUN};
    assert_int_equal(count, sizeof want / sizeof *want);
    assert_memory_equal(types, want, sizeof want);
}

static void the_encoder_writes_the_documented_bytes(void **state)
{
    struct runlog_segment segment = {.writer = "wabcdefgh2345", .created_ms = 1764475932123};
    struct runlog_record record;
    uint8_t header[RUNLOG_HEADER_BYTES], again[256], payload[128];
    size_t at = RUNLOG_HEADER_BYTES, begin = at;
    (void)state;

    memcpy(&segment.hint_bytes, example + 56, 8);
    runlog_segment_encode(&segment, header);
    assert_memory_equal(header, example, sizeof header);
    while (runlog_next(example, example_bytes, &at, &record) == RUNLOG_RECORD) {
        size_t n =
            runlog_record_encode(record.type, record.flags, record.payload, record.len, again);
        assert_int_equal(n, at - begin);
        assert_memory_equal(again, example + begin, n);
        if (record.type == RUNLOG_ROW && record.len == RUNLOG_ROW_BYTES(2)) {
            runlog_row_begin(payload, 1, 1764475932123, 2);
            runlog_row_put(payload, 0, 0, 0.5);
            runlog_row_put(payload, 1, 1, -0.0);
            assert_memory_equal(payload, record.payload, record.len);
        }
        begin = at;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reader_reads_the_documented_bytes),
        cmocka_unit_test(the_encoder_writes_the_documented_bytes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, load_example, NULL);
}
