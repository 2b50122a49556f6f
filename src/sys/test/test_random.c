/* Facts about random bytes. */
#include "sys/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void bytes_differ_and_ids_parse(void **state)
{
    unsigned char a[300] = {0}, b[300] = {0};
    struct id id = random_id(ID_JOB), back;

    (void)state;
    random_fill(a, sizeof(a));
    random_fill(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_int_not_equal(random_u64(), random_u64());
    assert_true(id_parse(id_str(&id), ID_JOB, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_differ_and_ids_parse),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
