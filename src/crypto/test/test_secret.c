/* Facts about keys and passwords. */
#include "crypto/secret.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_made_key_parses_and_any_changed_character_is_noticed(void **state)
{
    static const char *const kinds[] = {"user", "agent", "job", "service", "setup"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct key_text key, back, broken;

        key_make(kinds[i], &key);
        assert_true(key_parse(str_from(key.text), &back));
        assert_string_equal(back.kind, kinds[i]);
        assert_string_equal(back.public_id.text, key.public_id.text);
        assert_memory_equal(back.hash, key.hash, sizeof(key.hash));
        for (size_t at = 0; key.text[at]; at++) {
            broken = key;
            broken.text[at] = broken.text[at] == 'b' ? 'c' : 'b';
            assert_false(key_parse(str_from(broken.text), &back));
        }
        assert_false(key_parse(str_n(key.text, strlen(key.text) - 1), &back));
    }
}

static void what_is_no_key_is_refused(void **state)
{
    struct key_text key;

    (void)state;
    assert_false(key_parse(STR(""), &key));
    assert_false(key_parse(STR("euv_user_x_y"), &key));
    assert_false(key_parse(STR("euv_root_kabcdefghij22_0"), &key));
}

static void tokens_are_43_characters_and_differ(void **state)
{
    char a[44], b[44];
    uint8_t hash_a[SHA256_BYTES], hash_b[SHA256_BYTES], again[SHA256_BYTES];

    (void)state;
    token_make(a, hash_a);
    token_make(b, hash_b);
    assert_int_equal(strlen(a), 43);
    assert_string_not_equal(a, b);
    sha256(a, strlen(a), again);
    assert_memory_equal(hash_a, again, sizeof(again));
}

static void only_the_right_password_matches(void **state)
{
    char hash[PASSWORD_HASH_BYTES];
    struct err err;

    (void)state;
    assert_int_equal(password_hash(STR("correct horse"), hash, &err), OK);
    assert_non_null(strstr(hash, "$argon2id$v=19$m=65536,t=2,p=1$"));
    assert_true(password_matches(hash, STR("correct horse")));
    assert_false(password_matches(hash, STR("correct horsf")));
    assert_false(password_matches("nonsense", STR("correct horse")));
    password_waste();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_made_key_parses_and_any_changed_character_is_noticed),
        cmocka_unit_test(what_is_no_key_is_refused),
        cmocka_unit_test(tokens_are_43_characters_and_differ),
        cmocka_unit_test(only_the_right_password_matches),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
