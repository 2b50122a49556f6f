/* Facts about the messages between agent and server. */
#include "wire/agent_messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdefghijABCDEFGHIJ0123456789abc"
#define OFFER                                                                                      \
    "{\"attempt\":\"tabcdefghij22\",\"token\":\"" TOKEN "\",\"job\":\"jabcdefghij22\","            \
    "\"run\":\"rabcdefghij22\",\"project\":\"demo\",\"name\":\"a b\",\"number\":2,"                \
    "\"command\":[\"python\",\"\",\"x y\"],\"env\":{\"A\":\"1=2\",\"B_2\":\"\"},"                  \
    "\"config\":{\"lr\":0.1},\"code\":null,\"cpus\":1,\"memory_bytes\":0,\"gpus\":0,"              \
    "\"timeout_s\":60,\"grace_s\":5,\"key\":\"euv_job_x\"}"

static void an_offer_survives_the_round_trip(void **state)
{
    struct arena arena = {0};
    struct wire_offer offer, again;
    struct json_writer w;
    struct buf out;
    struct err err;

    (void)state;
    buf_init(&out, 10000);
    assert_int_equal(wire_offer_decode(&arena, STR(OFFER), &offer, &err), OK);
    assert_string_equal(offer.attempt.token, TOKEN);
    assert_string_equal(offer.argv[2], "x y");
    assert_null(offer.argv[3]);
    assert_string_equal(offer.env[0], "A=1=2");
    assert_string_equal(offer.env[1], "B_2=");
    assert_null(offer.env[2]);
    assert_true(str_eq_c(offer.config, "{\"lr\":0.1}"));
    assert_int_equal(offer.code.len, 0);
    json_writer_init(&w, &out);
    wire_offer_encode(&offer, &w);
    assert_string_equal(out.data, OFFER);
    assert_int_equal(wire_offer_decode(&arena, buf_str(&out), &again, &err), OK);
    buf_release(&out);
    arena_release(&arena);
}

static void a_poll_answer_is_read_whole_and_newer_fields_are_skipped(void **state)
{
    struct arena arena = {0};
    struct wire_polled polled;
    struct err err;

    (void)state;
    assert_int_equal(
        wire_polled_decode(&arena,
                           STR("{\"offers\":[" OFFER "," OFFER "],\"stop\":[\"tabcdefghij22\"],"
                               "\"fenced\":[],\"heartbeat_ms\":10000,\"new\":{}}"),
                           &polled, &err),
        OK);
    assert_int_equal(polled.offer_count, 2);
    assert_int_equal(polled.stop_count, 1);
    assert_int_equal(polled.fenced_count, 0);
    assert_int_equal(polled.heartbeat_ms, 10000);
    arena_release(&arena);
}

/* The offer with one piece of its text replaced. */
static enum err_code decode_with(const char *old, const char *new_text, struct err *err)
{
    struct arena arena = {0};
    struct wire_offer offer;
    char text[2000];
    const char *at = strstr(OFFER, old);

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - OFFER), OFFER, new_text, at + strlen(old));

    enum err_code code = wire_offer_decode(&arena, str_from(text), &offer, err);

    arena_release(&arena);
    return code;
}

static void hostile_offers_are_refused_and_named(void **state)
{
    static const char *const cases[][3] = {
        {"\"tabcdefghij22\"", "\"jabcdefghij22\"", "attempt"},
        {"\"tabcdefghij22\"", "\"../../etc/xxx\"", "attempt"},
        {TOKEN, "short", "token"},
        {"89abc\"", "89ab/\"", "token"},
        {"\"demo\"", "\"../demo\"", "project"},
        {"[\"python\",\"\",\"x y\"]", "[]", "command"},
        {"[\"python\",\"\",\"x y\"]", "[\"\"]", "command"},
        {"[\"python\",\"\",\"x y\"]", "[\"a\",7]", "command"},
        {"\"A\":", "\"A=B\":", "env"},
        {"\"A\":", "\"9A\":", "env"},
        {"\"A\":", "\"\":", "env"},
        {"\"1=2\"", "12", "env"},
        {"\"code\":null", "\"code\":\"abc\"", "code"},
        {"\"timeout_s\":60", "\"timeout_s\":0", "timeout_s"},
        {"\"key\":\"euv_job_x\"", "\"key\":\"a\\nb\"", "key"},
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (decode_with(cases[i][0], cases[i][1], &err) != ERR_INVALID)
            fail_msg("case %zu was accepted", i);
        assert_string_equal(err.field, cases[i][2]);
    }
    assert_int_equal(decode_with("python", "py\\u0000thon", &err), ERR_BAD_JSON);
}

static void poll_and_status_have_the_fields_of_the_api(void **state)
{
    struct wire_attempt held = {.token = TOKEN};
    struct wire_poll poll = {.boot = "abcdefghij22",
                             .version = "0.1.0",
                             .executor = "process",
                             .slots = 2,
                             .cpus = 4,
                             .memory_bytes = 1000,
                             .wait_ms = 5,
                             .attempts = &held,
                             .attempt_count = 1};
    struct wire_status status = {.state = WIRE_ENDED,
                                 .at = 1000,
                                 .exit_code = -1,
                                 .exit_signal = 9,
                                 .oom = true,
                                 .reason = "killed",
                                 .run_time_ms = 7,
                                 .console_bytes = 8};
    struct json_writer w;
    struct buf out;

    (void)state;
    assert_true(id_parse(STR("tabcdefghij22"), ID_ATTEMPT, &held.id));
    buf_init(&out, 10000);
    json_writer_init(&w, &out);
    wire_poll_encode(&poll, &w);
    assert_string_equal(
        out.data,
        "{\"boot\":\"abcdefghij22\",\"version\":\"0.1.0\",\"executor\":\"process\","
        "\"wait_ms\":5,\"capacity\":{\"slots\":2,\"cpus\":4,\"memory_bytes\":1000,"
        "\"gpus\":0},\"attempts\":[{\"attempt\":\"tabcdefghij22\",\"token\":\"" TOKEN "\"}]}");
    buf_clear(&out);
    json_writer_init(&w, &out);
    wire_status_encode(&status, &w);
    assert_string_equal(
        out.data, "{\"state\":\"ended\",\"at\":\"1970-01-01T00:00:01.000Z\",\"signal\":9,"
                  "\"oom\":true,\"failed_to_start\":false,\"timed_out\":false,"
                  "\"reason\":\"killed\",\"run_time_ms\":7,\"console_bytes\":8,\"final\":false}");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_survives_the_round_trip),
        cmocka_unit_test(a_poll_answer_is_read_whole_and_newer_fields_are_skipped),
        cmocka_unit_test(hostile_offers_are_refused_and_named),
        cmocka_unit_test(poll_and_status_have_the_fields_of_the_api),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
