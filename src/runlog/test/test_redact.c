#include "runlog/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void check_text(const char *in, const char *want)
{
    char out[2048];
    uint32_t count = 0;

    out[runlog_redact_text(in, strlen(in), out, &count)] = '\0';
    assert_string_equal(out, want);
    assert_int_equal(count, strcmp(in, want) != 0);
}

static void check_json(const char *in, const char *want, uint32_t want_count)
{
    char out[2048];
    uint32_t count = 0;

    out[runlog_redact_json(in, strlen(in), out, &count)] = '\0';
    assert_string_equal(out, want);
    assert_int_equal(count, want_count);
}

static void check_arg(const char *previous, const char *arg, const char *want)
{
    char out[2048];
    uint32_t count = 0;

    out[runlog_redact_arg(previous, arg, out, &count)] = '\0';
    assert_string_equal(out, want);
}

static void secret_names_are_known_and_tokens_of_models_are_not(void **state)
{
    static const char *const secret[] = {
        "password",      "db_password",   "API_KEY",       "apiKey",
        "HF_TOKEN",      "client-secret", "token",         "aws_secret_access_key",
        "Authorization", "passwd",        "openai.api.key"};
    static const char *const open[] = {"pad_token", "max_tokens", "tokenizer", "num_tokens",
                                       "lr",        "token_dim",  "eos_token", "key",
                                       "author",    "passes",     ""};
    (void)state;

    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        assert_true(runlog_name_is_secret(secret[i], strlen(secret[i])));
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        assert_false(runlog_name_is_secret(open[i], strlen(open[i])));
}

static void keys_and_urls_and_pem_are_taken_out_of_text(void **state)
{
    (void)state;
    check_text("plain text, 3 < 4: a@b", "plain text, 3 < 4: a@b");
    check_text("k=euv_user_kabcdefgh2345_0123456789abcdefghij0123456789 x", "k=[redacted] x");
    check_text("https://bob:pw@host/x.git", "https://[redacted]@host/x.git");
    check_text("https://ghtoken@host/x", "https://[redacted]@host/x");
    check_text("ssh://git@host/x", "ssh://git@host/x");
    check_text("https://host/a@b", "https://host/a@b");
    check_text("a hf_abcdefghijklmnopqrstuvwxyz0123456789 b", "a [redacted] b");
    check_text("hf_short", "hf_short");
    check_text("x -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- y",
               "x [redacted] y");
    check_text("-----BEGIN PRIVATE KEY-----\nMII", "[redacted]");
    check_text("-----BEGIN CERTIFICATE-----\nMII", "-----BEGIN CERTIFICATE-----\nMII");
}

static void json_members_with_secret_names_lose_their_value(void **state)
{
    (void)state;
    check_json("{\"lr\":0.1,\"pad_token\":\"<pad>\"}", "{\"lr\":0.1,\"pad_token\":\"<pad>\"}", 0);
    check_json("{\"password\":\"a\\\"b\",\"x\":1}", "{\"password\":\"[redacted]\",\"x\":1}", 1);
    check_json("{\"credentials\": {\"u\":[1,{\"a\":\"}\"}]}, \"x\":[2]}",
               "{\"credentials\": \"[redacted]\", \"x\":[2]}", 1);
    check_json("{\"api_key\":12,\"secret\":null,\"token\":false}",
               "{\"api_key\":\"[redacted]\",\"secret\":null,\"token\":false}", 1);
    check_json("[\"https://u:p@h\",{\"password\":\"\"}]",
               "[\"https://[redacted]@h\",{\"password\":\"\"}]", 1);
    check_json("{\"password\":\"never ends", "{\"password\":\"[redacted]\"", 1);
    check_json("{\"secret\":[[[[", "{\"secret\":\"[redacted]\"", 1);
}

static void arguments_lose_the_value_of_a_secret_option(void **state)
{
    (void)state;
    check_arg(NULL, "train.py", "train.py");
    check_arg("--password", "hunter2", "[redacted]");
    check_arg("--password", "--verbose", "--verbose");
    check_arg("-x", "hunter2", "hunter2");
    check_arg(NULL, "--api-key=abc", "--api-key=[redacted]");
    check_arg(NULL, "HF_TOKEN=abc", "HF_TOKEN=[redacted]");
    check_arg(NULL, "--lr=0.1", "--lr=0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_names_are_known_and_tokens_of_models_are_not),
        cmocka_unit_test(keys_and_urls_and_pem_are_taken_out_of_text),
        cmocka_unit_test(json_members_with_secret_names_lose_their_value),
        cmocka_unit_test(arguments_lose_the_value_of_a_secret_option),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
