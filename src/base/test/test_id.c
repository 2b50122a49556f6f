/* Facts about public ids. */
#include "base/id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void ids_are_labels_of_their_kind_and_parse_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        struct id id = id_make(ID_RUN, i * UINT64_C(0x9e3779b97f4a7c15)), back;

        assert_true(str_is_label(id_str(&id), ID_LEN));
        assert_true(id_parse(id_str(&id), ID_RUN, &back));
        assert_string_equal(id.text, back.text);
        assert_false(id_parse(id_str(&id), ID_JOB, &back));
    }
}

static void wrong_lengths_and_letters_are_refused(void **state)
{
    struct id id;

    (void)state;
    assert_true(id_parse(STR("rabcdefghij27"), ID_RUN, &id));
    assert_false(id_parse(STR("rabcdefghij2"), ID_RUN, &id));
    assert_false(id_parse(STR("rabcdefghij277"), ID_RUN, &id));
    assert_false(id_parse(STR("rabcdefghij21"), ID_RUN, &id));
    assert_false(id_parse(STR("rAbcdefghij22"), ID_RUN, &id));
    assert_false(id_parse(STR("rabcdefghij2\000"), ID_RUN, &id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_labels_of_their_kind_and_parse_back),
        cmocka_unit_test(wrong_lengths_and_letters_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
