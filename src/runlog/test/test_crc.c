#include "runlog/crc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void known_values_come_out(void **state)
{
    uint8_t zeros[32] = {0}, ones[32];
    (void)state;

    memset(ones, 0xff, sizeof ones);
    assert_int_equal(runlog_crc(0, "123456789", 9), 0xe3069283);
    assert_int_equal(runlog_crc(0, zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(runlog_crc(0, ones, 32), 0x62a8ab43);
    assert_int_equal(runlog_crc(0, "", 0), 0);
}

static void table_and_hardware_agree_at_every_length_and_cut(void **state)
{
    uint8_t data[300];
    (void)state;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 + (i >> 3));
    for (size_t len = 0; len <= sizeof data; len++) {
        uint32_t whole = runlog_crc_table(0, data, len);
        assert_int_equal(runlog_crc(0, data, len), whole);
        size_t cut = len / 3;
        assert_int_equal(runlog_crc(runlog_crc(0, data, cut), data + cut, len - cut), whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values_come_out),
        cmocka_unit_test(table_and_hardware_agree_at_every_length_and_cut),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
