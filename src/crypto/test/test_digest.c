/* Facts about digests. */
#include "crypto/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void digest_is_the_published_one_in_one_piece_or_many(void **state)
{
    uint8_t digest[SHA256_BYTES], again[SHA256_BYTES];
    char text[SHA256_HEX_BYTES];
    struct sha256_state *sha = sha256_new();

    (void)state;
    sha256("abc", 3, digest);
    hex_encode(digest, sizeof(digest), text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_add(sha, "a", 1);
    sha256_add(sha, "", 0);
    sha256_add(sha, "bc", 2);
    sha256_finish(sha, again);
    assert_true(bytes_equal_const(digest, again, sizeof(digest)));
    sha256(NULL, 0, again);
    hex_encode(again, sizeof(again), text);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_false(bytes_equal_const(digest, again, sizeof(digest)));
    sha256_free(NULL);
    sha256_free(sha256_new());
}

static void only_lower_case_hexadecimal_of_the_right_length_decodes(void **state)
{
    uint8_t data[2] = {9, 9};

    (void)state;
    assert_true(hex_decode(STR("0aff"), data, 2));
    assert_int_equal(data[0], 10);
    assert_int_equal(data[1], 255);
    assert_false(hex_decode(STR("0AFF"), data, 2));
    assert_false(hex_decode(STR("0af"), data, 2));
    assert_false(hex_decode(STR("0afg"), data, 2));
    assert_false(hex_decode(STR("0aff0"), data, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_is_the_published_one_in_one_piece_or_many),
        cmocka_unit_test(only_lower_case_hexadecimal_of_the_right_length_decodes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
