#include "runlog/encode.h"
#include "runlog/record.h"

#include "runlog/bytes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t add_row(uint8_t *at, int64_t step, double value)
{
    uint8_t payload[64];

    runlog_row_begin(payload, step, 1700000000000 + step, 2);
    runlog_row_put(payload, 0, 7, value);
    runlog_row_put(payload, 1, 8, -value);
    return runlog_record_encode(RUNLOG_ROW, 0, payload, RUNLOG_ROW_BYTES(2), at);
}

static void records_come_back_as_they_were_written(void **state)
{
    uint8_t data[512];
    struct runlog_record record;
    struct runlog_row row;
    size_t len = 0, offset = 0;
    (void)state;

    len += add_row(data + len, 1, 0.5);
    len += add_row(data + len, -2, (double)NAN);
    assert_int_equal(runlog_next(data, len, &offset, &record), RUNLOG_RECORD);
    assert_true(runlog_row_decode(&record, &row));
    assert_int_equal(row.step, 1);
    assert_int_equal(row.time_ms, 1700000000001);
    uint32_t id;
    double value;
    runlog_row_at(&row, 1, &id, &value);
    assert_int_equal(id, 8);
    assert_true(value == -0.5);
    assert_int_equal(runlog_next(data, len, &offset, &record), RUNLOG_RECORD);
    assert_true(runlog_row_decode(&record, &row));
    assert_int_equal(row.step, -2);
    runlog_row_at(&row, 0, &id, &value);
    assert_true(isnan(value));
    assert_int_equal(runlog_next(data, len, &offset, &record), RUNLOG_END);
}

static void negative_zero_keeps_its_sign(void **state)
{
    uint8_t data[128];
    struct runlog_record record;
    struct runlog_row row;
    size_t offset = 0, len = add_row(data, 0, 0.0);
    uint32_t id;
    double value;
    (void)state;

    assert_int_equal(runlog_next(data, len, &offset, &record), RUNLOG_RECORD);
    assert_true(runlog_row_decode(&record, &row));
    runlog_row_at(&row, 1, &id, &value);
    assert_true(value == 0.0 && signbit(value));
}

static void every_cut_is_a_torn_tail(void **state)
{
    uint8_t data[256];
    struct runlog_record record;
    (void)state;

    size_t first = add_row(data, 1, 1.0);
    size_t whole = first + add_row(data + first, 2, 2.0);
    for (size_t len = first + 1; len < whole; len++) {
        size_t offset = first;
        assert_int_equal(runlog_next(data, len, &offset, &record), RUNLOG_TORN);
        assert_int_equal(offset, first);
    }
    memset(data + first, 0, whole - first);
    size_t offset = first;
    assert_int_equal(runlog_next(data, whole, &offset, &record), RUNLOG_TORN);
}

static void every_flipped_bit_is_noticed(void **state)
{
    uint8_t data[128];
    struct runlog_record record;
    size_t len = add_row(data, 1, 1.0);
    (void)state;

    for (size_t bit = 0; bit < len * 8; bit++) {
        size_t offset = 0;
        data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_not_equal(runlog_next(data, len, &offset, &record), RUNLOG_RECORD);
        data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
}

static void a_split_payload_is_joined(void **state)
{
    uint8_t data[256], joined[64];
    struct runlog_group group;
    size_t len = 0, offset = 0, whole = 0;
    (void)state;

    len += runlog_record_encode(RUNLOG_CONFIG, RUNLOG_FLAG_CONTINUED, "{\"a\":", 5, data);
    size_t cut = len;
    len += runlog_record_encode(RUNLOG_CONFIG, 0, "1}", 2, data + len);
    assert_int_equal(runlog_next_group(data, len, &offset, &group), RUNLOG_RECORD);
    assert_int_equal(group.payload_bytes, 7);
    assert_int_equal(group.part_count, 2);
    runlog_group_copy(&group, joined);
    assert_memory_equal(joined, "{\"a\":1}", 7);
    assert_int_equal(runlog_check(data, cut, &whole), RUNLOG_TORN);
    assert_int_equal(whole, 0);
    assert_int_equal(runlog_check(data, len, &whole), RUNLOG_END);
    assert_int_equal(whole, len);
}

static void a_group_of_two_types_is_bad(void **state)
{
    uint8_t data[256];
    struct runlog_group group;
    size_t len = 0, offset = 0;
    (void)state;

    len += runlog_record_encode(RUNLOG_CONFIG, RUNLOG_FLAG_CONTINUED, "{", 1, data);
    len += runlog_record_encode(RUNLOG_SUMMARY, 0, "}", 1, data + len);
    assert_int_equal(runlog_next_group(data, len, &offset, &group), RUNLOG_BAD);
    assert_int_equal(offset, 0);
}

static void unknown_types_are_passed_on(void **state)
{
    uint8_t data[64];
    struct runlog_record record;
    size_t offset = 0, len = runlog_record_encode(4711, 0, "x", 1, data);
    (void)state;

    assert_int_equal(runlog_next(data, len, &offset, &record), RUNLOG_RECORD);
    assert_int_equal(record.type, 4711);
    assert_null(runlog_type_name(4711));
}

static void names_are_read_one_by_one(void **state)
{
    uint8_t payload[600];
    struct runlog_names names;
    struct runlog_name name;
    (void)state;

    size_t len = runlog_name_encode(3, RUNLOG_NAME_SYSTEM, "gpu", 3, payload);
    struct runlog_record record = {.type = RUNLOG_NAMES, .len = (uint32_t)len, .payload = payload};
    assert_true(runlog_names_decode(&record, &names));
    assert_true(runlog_names_next(&names, &name));
    assert_int_equal(name.id, 3);
    assert_int_equal(name.flags, RUNLOG_NAME_SYSTEM);
    assert_memory_equal(name.text, "gpu", name.len);
    assert_false(runlog_names_next(&names, &name));
    for (uint32_t cut = 0; cut < len; cut++) {
        record.len = cut;
        assert_false(runlog_names_decode(&record, &names));
    }
}

static void shapes_that_do_not_fit_are_refused(void **state)
{
    uint8_t payload[64] = {0};
    struct runlog_record record = {.len = 19, .payload = payload};
    struct runlog_row row;
    struct runlog_console console;
    struct runlog_gap gap;
    int64_t time_ms;
    (void)state;

    assert_false(runlog_row_decode(&record, &row));
    record.len = 21;
    assert_false(runlog_row_decode(&record, &row));
    record.len = 32;
    runlog_put_u32(payload + 16, UINT32_MAX);
    assert_false(runlog_row_decode(&record, &row));
    runlog_put_u32(payload + 16, 1);
    assert_true(runlog_row_decode(&record, &row));
    assert_false(runlog_console_decode(&record, &console));
    assert_false(runlog_heartbeat_decode(&record, &time_ms));
    assert_false(runlog_gap_decode(&record, &gap));
    payload[0] = RUNLOG_STDERR;
    assert_true(runlog_console_decode(&record, &console));
    assert_int_equal(console.len, 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_as_they_were_written),
        cmocka_unit_test(negative_zero_keeps_its_sign),
        cmocka_unit_test(every_cut_is_a_torn_tail),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(a_split_payload_is_joined),
        cmocka_unit_test(a_group_of_two_types_is_bad),
        cmocka_unit_test(unknown_types_are_passed_on),
        cmocka_unit_test(names_are_read_one_by_one),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
