/* Facts about sealing. */
#include "crypto/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_sealed_opens_again_and_differs_each_time(void **state)
{
    struct arena arena = {0};
    struct seal_key key;
    struct str text = STR("hunter2 hunter2"), one, two, back;

    (void)state;
    seal_key_make(&key);
    one = seal_close(&key, STR("a"), text, &arena);
    two = seal_close(&key, STR("a"), text, &arena);
    assert_int_equal(one.len, text.len + SEAL_OVERHEAD_BYTES);
    assert_false(str_eq(one, two));
    assert_null(memmem(one.data, one.len, "hunter2", 7));
    assert_int_equal(seal_open(&key, STR("a"), one, &arena, &back, NULL), OK);
    assert_true(str_eq(back, text));
    assert_int_equal(
        seal_open(&key, STR("a"), seal_close(&key, STR("a"), STR(""), &arena), &arena, &back, NULL),
        OK);
    assert_int_equal(back.len, 0);
    arena_release(&arena);
}

static void another_key_purpose_or_any_changed_byte_opens_nothing(void **state)
{
    struct arena arena = {0};
    struct seal_key key, other;
    struct str sealed, back = STR("untouched");
    char copy[64];
    struct err err;

    (void)state;
    seal_key_make(&key);
    seal_key_make(&other);
    sealed = seal_close(&key, STR("project 1 TOKEN"), STR("value"), &arena);
    assert_int_equal(seal_open(&other, STR("project 1 TOKEN"), sealed, &arena, &back, &err),
                     ERR_INVALID);
    assert_int_equal(seal_open(&key, STR("project 2 TOKEN"), sealed, &arena, &back, &err),
                     ERR_INVALID);
    for (size_t i = 0; i < sealed.len; i++) {
        memcpy(copy, sealed.data, sealed.len);
        copy[i] ^= 1;
        assert_int_equal(
            seal_open(&key, STR("project 1 TOKEN"), str_n(copy, sealed.len), &arena, &back, &err),
            ERR_INVALID);
        assert_int_equal(
            seal_open(&key, STR("project 1 TOKEN"), str_n(sealed.data, i), &arena, &back, &err),
            ERR_INVALID);
    }
    assert_true(str_eq_c(back, "untouched"));
    arena_release(&arena);
}

static void a_key_is_the_same_after_its_file(void **state)
{
    struct arena arena = {0};
    struct seal_key key, back, other;
    struct str text;

    (void)state;
    seal_key_make(&key);
    seal_key_make(&other);
    text = seal_key_text(&key, &arena);
    assert_int_equal(seal_key_parse(text, &back, NULL), OK);
    assert_memory_equal(&key, &back, sizeof key);
    assert_string_not_equal(key.name, other.name);
    assert_null(memmem(text.data, text.len, key.name, strlen(key.name)));
    arena_release(&arena);
}

static void what_is_no_key_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "euvyra-secret-key-1 ",
        "euvyra-secret-key-1 00",
        "euvyra-secret-key-2 0000000000000000000000000000000000000000000000000000000000000000",
        "euvyra-secret-key-1 000000000000000000000000000000000000000000000000000000000000000g",
        "euvyra-secret-key-1 00000000000000000000000000000000000000000000000000000000000000000",
        "-----BEGIN PRIVATE KEY-----"};
    struct seal_key key;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(seal_key_parse(str_from(texts[i]), &key, NULL), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sealed_opens_again_and_differs_each_time),
        cmocka_unit_test(another_key_purpose_or_any_changed_byte_opens_nothing),
        cmocka_unit_test(a_key_is_the_same_after_its_file),
        cmocka_unit_test(what_is_no_key_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
