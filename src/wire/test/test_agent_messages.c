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
    "\"run\":\"rabcdefghij22\",\"project\":\"demo\",\"name\":\"a "                                 \
    "b\",\"number\":2,\"rank\":2,\"rank_count\":1,\"node_count\":4,"                               \
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
        {"\"timeout_s\":60", "\"timeout_s\":-1", "timeout_s"},
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
    struct wire_poll poll = {.boot = STR("abcdefghij22"),
                             .version = STR("0.1.0"),
                             .executor = STR("process"),
                             .slots = 2,
                             .cpus = 4,
                             .memory_bytes = 1000,
                             .features = FEATURE_BIT(FEATURE_IMAGE) | FEATURE_BIT(FEATURE_NODES),
                             .wait_ms = 5,
                             .attempts = &held,
                             .attempt_count = 1};
    struct wire_status status = {.state = WIRE_ENDED,
                                 .at = 1000,
                                 .exit_code = -1,
                                 .exit_signal = 9,
                                 .oom = true,
                                 .reason = STR("killed"),
                                 .run_time_ms = 7,
                                 .console_bytes = 8};
    struct json_writer w;
    struct buf out;

    (void)state;
    assert_true(id_parse(STR("tabcdefghij22"), ID_ATTEMPT, &held.id));
    buf_init(&out, 10000);
    json_writer_init(&w, &out);
    wire_poll_encode(&poll, &w);
    assert_string_equal(out.data,
                        "{\"boot\":\"abcdefghij22\",\"version\":\"0.1.0\",\"executor\":\"process\","
                        "\"wait_ms\":5,\"capacity\":{\"slots\":2,\"cpus\":4,\"memory_bytes\":1000,"
                        "\"gpus\":0,\"features\":[\"image\",\"nodes\"]},\"attempts\":[{\"attempt\":"
                        "\"tabcdefghij22\",\"token\":\"" TOKEN "\"}]}");
    buf_clear(&out);
    json_writer_init(&w, &out);
    wire_status_encode(&status, &w);
    assert_string_equal(
        out.data, "{\"state\":\"ended\",\"at\":\"1970-01-01T00:00:01.000Z\",\"signal\":9,"
                  "\"oom\":true,\"failed_to_start\":false,\"timed_out\":false,\"stopped\":false,"
                  "\"reason\":\"killed\",\"run_time_ms\":7,\"console_bytes\":8,\"final\":false}");
    buf_release(&out);
}

/* Parses, decodes and releases; the decoded poll is of no use then. */
static enum err_code decode_poll(const char *text, struct err *err)
{
    struct arena arena = {0};
    struct wire_poll poll;
    json_t *body = NULL;
    enum err_code code = json_parse(str_from(text), WIRE_MESSAGE_BYTES_MAX, &body, err);

    if (code == OK)
        code = wire_poll_decode(&arena, body, &poll, err);
    json_release(&body);
    arena_release(&arena);
    return code;
}

static enum err_code decode_status(const char *text, struct err *err)
{
    struct wire_status status;
    json_t *body = NULL;
    enum err_code code = json_parse(str_from(text), WIRE_MESSAGE_BYTES_MAX, &body, err);

    if (code == OK)
        code = wire_status_decode(body, &status, err);
    json_release(&body);
    return code;
}

static void a_poll_survives_the_round_trip(void **state)
{
    struct arena arena = {0};
    struct wire_attempt held[2] = {{.token = TOKEN}, {.token = TOKEN}};
    struct wire_poll again, poll = {.boot = STR("abcdefghij22"),
                                    .version = STR("0.1.0"),
                                    .executor = STR("process"),
                                    .slots = 10000,
                                    .cpus = 4,
                                    .memory_bytes = INT64_C(9007199254740991),
                                    .gpus = 8,
                                    .wait_ms = 60000,
                                    .attempts = held,
                                    .attempt_count = 2};
    struct json_writer w;
    struct buf out;
    struct err err;
    json_t *body = NULL;

    (void)state;
    assert_true(id_parse(STR("tabcdefghij22"), ID_ATTEMPT, &held[0].id));
    assert_true(id_parse(STR("tabcdefghij33"), ID_ATTEMPT, &held[1].id));
    held[1].token[0] = 'Z';
    buf_init(&out, 10000);
    json_writer_init(&w, &out);
    wire_poll_encode(&poll, &w);
    assert_int_equal(json_parse(buf_str(&out), 10000, &body, &err), OK);
    assert_int_equal(wire_poll_decode(&arena, body, &again, &err), OK);
    assert_true(str_eq(again.boot, poll.boot));
    assert_true(str_eq(again.version, poll.version));
    assert_true(str_eq(again.executor, poll.executor));
    assert_int_equal(again.slots, poll.slots);
    assert_int_equal(again.cpus, poll.cpus);
    assert_true(again.memory_bytes == poll.memory_bytes);
    assert_int_equal(again.gpus, poll.gpus);
    assert_int_equal(again.wait_ms, poll.wait_ms);
    assert_int_equal(again.attempt_count, 2);
    assert_memory_equal(again.attempts, held, sizeof(held));
    json_release(&body);
    buf_release(&out);
    arena_release(&arena);
}

static struct wire_status status_again(const struct wire_status *status, json_t **ret_body)
{
    struct wire_status again;
    struct json_writer w;
    struct buf out;
    struct err err;

    buf_init(&out, 10000);
    json_writer_init(&w, &out);
    wire_status_encode(status, &w);
    assert_int_equal(json_parse(buf_str(&out), 10000, ret_body, &err), OK);
    if (wire_status_decode(*ret_body, &again, &err) != OK)
        fail_msg("%s", err.text);
    buf_release(&out);
    return again;
}

static const struct wire_status statuses[] = {
    {.state = WIRE_STARTING,
     .at = TIME_NONE,
     .exit_code = EXIT_NONE,
     .exit_signal = EXIT_NONE,
     .run_time_ms = -1,
     .console_bytes = -1},
    {.state = WIRE_RUNNING,
     .at = 1000,
     .exit_code = EXIT_NONE,
     .exit_signal = EXIT_NONE,
     .run_time_ms = -1,
     .console_bytes = 0},
    {.state = WIRE_ENDED,
     .at = INT64_C(1796018752123),
     .exit_code = 255,
     .exit_signal = EXIT_NONE,
     .timed_out = true,
     .final = true,
     .reason = {"\xc3\xbc"
                "ber die Zeit",
                14},
     .run_time_ms = 0,
     .console_bytes = INT64_C(9007199254740991)},
    {.state = WIRE_ENDED,
     .at = 0,
     .exit_code = EXIT_NONE,
     .exit_signal = 64,
     .oom = true,
     .failed_to_start = true,
     .run_time_ms = 7,
     .console_bytes = 8},
    {.state = WIRE_RUNNING,
     .at = 1000,
     .exit_code = EXIT_NONE,
     .exit_signal = EXIT_NONE,
     .health = HEALTH_BAD,
     .health_problem = {"HTTP 503", 8},
     .run_time_ms = -1,
     .console_bytes = -1},
    {.state = WIRE_ENDED,
     .at = 1000,
     .exit_code = 0,
     .exit_signal = EXIT_NONE,
     .stopped = true,
     .unhealthy = true,
     .run_time_ms = 1,
     .console_bytes = 0},
};

static void a_status_survives_the_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        json_t *body = NULL;
        struct wire_status again = status_again(&statuses[i], &body);

        assert_int_equal(again.state, statuses[i].state);
        assert_true(again.at == statuses[i].at);
        assert_int_equal(again.exit_code, statuses[i].exit_code);
        assert_int_equal(again.exit_signal, statuses[i].exit_signal);
        assert_int_equal(again.oom, statuses[i].oom);
        assert_int_equal(again.failed_to_start, statuses[i].failed_to_start);
        assert_int_equal(again.timed_out, statuses[i].timed_out);
        assert_int_equal(again.final, statuses[i].final);
        assert_int_equal(again.unhealthy, statuses[i].unhealthy);
        assert_int_equal(again.health, statuses[i].health);
        assert_true(str_eq(again.health_problem, statuses[i].health_problem));
        assert_true(str_eq(again.reason, statuses[i].reason));
        assert_true(again.run_time_ms == statuses[i].run_time_ms);
        assert_true(again.console_bytes == statuses[i].console_bytes);
        json_release(&body);
    }
}

static void any_reason_is_sent_so_that_the_server_takes_it(void **state)
{
    static const char *const reasons[][2] = {
        {"cannot start \"a\nb\tc\x7f\"", "cannot start \"a?b?c?\""},
        {"next line \xc2\x85 end", "next line ?? end"},
        {"\xff\xfe", "??"},
        {"cut \xe2\x82", "cut ??"},
    };
    char text[600];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        struct wire_status status = {.state = WIRE_ENDED, .reason = str_from(reasons[i][0])};
        json_t *body = NULL;
        struct wire_status again = status_again(&status, &body);

        if (!str_eq_c(again.reason, reasons[i][1]))
            fail_msg("case %zu became \"%.*s\"", i, STR_ARG(again.reason));
        json_release(&body);
    }
    for (size_t before = 490; before <= 501; before++) { /* the cut meets each byte of a letter */
        struct wire_status status = {.state = WIRE_ENDED};
        json_t *body = NULL;

        memset(text, 'x', sizeof(text));
        memcpy(text + before, "\xf0\x9f\x8c\x8d", 4);
        status.reason = str_n(text, sizeof(text));
        struct wire_status again = status_again(&status, &body);

        assert_int_equal(again.reason.len, before > 496 && before < 500 ? before : 500);
        json_release(&body);
    }
}

static void how_a_service_is_asked_comes_with_its_offer(void **state)
{
    static const struct {
        const char *extra;
        int64_t port, every_s, timeout_s, failures, starts_within_s;
        const char *path; /* NULL: refused */
    } cases[] = {
        {"", 0, 0, 0, 0, 0, ""},
        {"{\"image\":\"a\"}", 0, 0, 0, 0, 0, ""},
        {"{\"health\":{\"port\":80,\"later\":1}}", 80, 10, 5, 3, 600, "/"},
        {"{\"health\":{\"port\":65535,\"path\":\"/a?b=%20\",\"every_s\":1,\"timeout_s\":2,"
         "\"failures\":4,\"starts_within_s\":5}}",
         65535, 1, 2, 4, 5, "/a?b=%20"},
        {"{\"health\":{}}", 0, 0, 0, 0, 0, NULL},
        {"{\"health\":{\"port\":1,\"path\":\"/a b\"}}", 0, 0, 0, 0, 0, NULL},
        {"{\"health\":{\"port\":1,\"path\":\"@other.example\"}}", 0, 0, 0, 0, 0, NULL},
        {"{\"health\":{\"port\":1,\"path\":\"/a#b\"}}", 0, 0, 0, 0, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wire_offer offer = {.extra = str_from(cases[i].extra)};
        struct health_spec spec;
        struct arena arena = {0};
        enum err_code code = wire_offer_health(&arena, &offer, &spec, NULL);

        assert_int_equal(code, cases[i].path ? OK : ERR_INVALID);
        if (code == OK) {
            assert_int_equal(spec.port, cases[i].port);
            assert_int_equal(spec.every_s, cases[i].every_s);
            assert_int_equal(spec.timeout_s, cases[i].timeout_s);
            assert_int_equal(spec.failures, cases[i].failures);
            assert_int_equal(spec.starts_within_s, cases[i].starts_within_s);
            assert_true(str_eq_c(spec.path, cases[i].path));
        }
        arena_release(&arena);
    }
}

static void a_poll_answer_survives_the_round_trip(void **state)
{
    struct arena arena = {0};
    struct wire_offer offers[2];
    struct id stops[1], fenced[2];
    struct wire_polled again, polled = {.offers = offers,
                                        .offer_count = 2,
                                        .stops = stops,
                                        .stop_count = 1,
                                        .fenced = fenced,
                                        .fenced_count = 2,
                                        .heartbeat_ms = 10000};
    struct json_writer w;
    struct buf out, out_again;
    struct err err;

    (void)state;
    assert_int_equal(wire_offer_decode(&arena, STR(OFFER), &offers[0], &err), OK);
    offers[1] = offers[0];
    offers[1].number = 3;
    offers[1].code = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    assert_true(id_parse(STR("tabcdefghij22"), ID_ATTEMPT, &stops[0]));
    assert_true(id_parse(STR("tabcdefghij33"), ID_ATTEMPT, &fenced[0]));
    assert_true(id_parse(STR("tabcdefghij44"), ID_ATTEMPT, &fenced[1]));
    buf_init(&out, 10000);
    json_writer_init(&w, &out);
    wire_polled_encode(&polled, &w);
    assert_int_equal(wire_polled_decode(&arena, buf_str(&out), &again, &err), OK);
    assert_int_equal(again.offer_count, 2);
    assert_int_equal(again.offers[1].number, 3);
    assert_true(str_eq(again.offers[1].code, offers[1].code));
    assert_string_equal(again.offers[1].attempt.token, TOKEN);
    assert_int_equal(again.stop_count, 1);
    assert_memory_equal(again.stops, stops, sizeof(stops));
    assert_int_equal(again.fenced_count, 2);
    assert_memory_equal(again.fenced, fenced, sizeof(fenced));
    assert_int_equal(again.heartbeat_ms, 10000);
    buf_init(&out_again, 10000);
    json_writer_init(&w, &out_again);
    wire_polled_encode(&again, &w);
    assert_string_equal(out_again.data, out.data);
    buf_release(&out);
    buf_release(&out_again);
    arena_release(&arena);
}

static void the_deepest_config_that_is_accepted_fits_into_a_poll_answer(void **state)
{
    struct arena arena = {0};
    struct wire_offer offer;
    struct wire_polled again, polled = {.offers = &offer, .offer_count = 1, .heartbeat_ms = 10000};
    struct json_writer w;
    struct buf out, deep;
    struct err err;

    (void)state;
    buf_init(&out, 10000);
    buf_init(&deep, 10000);
    for (int i = 0; i < WIRE_CONFIG_DEPTH_MAX; i++)
        buf_add_text(&deep, i + 1 < WIRE_CONFIG_DEPTH_MAX ? "{\"a\":" : "{}");
    for (int i = 0; i < WIRE_CONFIG_DEPTH_MAX - 1; i++)
        buf_add_char(&deep, '}');
    assert_int_equal(json_depth(buf_str(&deep)), WIRE_CONFIG_DEPTH_MAX);
    assert_int_equal(wire_offer_decode(&arena, STR(OFFER), &offer, &err), OK);
    offer.config = buf_str(&deep);
    json_writer_init(&w, &out);
    wire_polled_encode(&polled, &w);
    assert_int_equal(wire_polled_decode(&arena, buf_str(&out), &again, &err), OK);
    assert_true(str_eq(again.offers[0].config, offer.config));
    buf_release(&out);
    buf_release(&deep);
    arena_release(&arena);
}

static void an_offer_says_what_the_spec_says(void **state)
{
    struct arena arena = {0};
    struct wire_offer offer = {.number = 1};
    struct err err;

    (void)state;
    assert_int_equal(
        wire_offer_take_spec(&arena,
                             STR("{\"command\":[\"a\",\"b c\"],\"env\":{\"A\":\"1\"},\"gpus\":2,"
                                 "\"config\":{\"n\":9223372036854775807,\"x\":1.0}}"),
                             &offer, &err),
        OK);
    assert_string_equal(offer.argv[1], "b c");
    assert_null(offer.argv[2]);
    assert_string_equal(offer.env[0], "A=1");
    assert_true(str_eq_c(offer.config, "{\"n\":9223372036854775807,\"x\":1.0}"));
    assert_int_equal(offer.code.len, 0);
    assert_int_equal(offer.gpus, 0); /* the job says that, defaults and all */
    assert_int_equal(wire_offer_take_spec(&arena, STR("{}"), &offer, &err), ERR_INVALID);
    assert_string_equal(err.field, "command");
    arena_release(&arena);
}

static void the_answers_survive_the_round_trip_and_newer_ones_are_read(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct wire_accepted read;
    int64_t offset = 0;
    struct json_writer w;
    struct buf out;
    struct err err;

    (void)state;
    buf_init(&out, 1000);
    for (int i = 0; i < ATTEMPT_STATE_COUNT; i++) {
        const struct wire_accepted wrote = {(enum attempt_state)i,
                                            i % 2 ? STR("host-7:29500") : STR("")};

        buf_clear(&out);
        json_writer_init(&w, &out);
        wire_accepted_encode(&wrote, &w);
        assert_int_equal(wire_accepted_decode(&arena, buf_str(&out), &read, &err), OK);
        assert_int_equal(read.state, i);
        assert_true(str_eq(read.rendezvous, wrote.rendezvous));
    }
    assert_int_equal(
        wire_accepted_decode(&arena, STR("{\"state\":\"asleep\",\"x\":1}"), &read, &err), OK);
    assert_int_equal(read.state, ATTEMPT_STATE_COUNT);
    assert_int_equal(wire_accepted_decode(&arena, STR("{}"), &read, &err), ERR_INVALID);
    assert_string_equal(err.field, "state");
    assert_int_equal(wire_accepted_decode(&arena, STR("<html>"), &read, &err), ERR_BAD_JSON);
    buf_clear(&out);
    json_writer_init(&w, &out);
    wire_appended_encode(INT64_C(9007199254740991), &w);
    assert_int_equal(wire_appended_decode(buf_str(&out), &offset, &err), OK);
    assert_true(offset == INT64_C(9007199254740991));
    assert_int_equal(wire_appended_decode(STR("{\"offset\":-1}"), &offset, &err), ERR_INVALID);
    assert_true(offset == INT64_C(9007199254740991));
    buf_release(&out);
}

static void a_rendezvous_is_a_host_and_a_port(void **state)
{
    static const char *const bad[] = {"",        "host",    ":1",      "host:",     "host:0",
                                      "h:65536", "a b:1",   "h/x:1",   "::1:29500", "[]:1",
                                      "-x:1",    "host:1x", "host\n:1"};
    struct str host;
    int64_t port;

    (void)state;
    assert_true(wire_rendezvous_parse(STR("10.0.0.7:29500"), &host, &port));
    assert_true(str_eq_c(host, "10.0.0.7") && port == 29500);
    assert_true(wire_rendezvous_parse(STR("[fe80::1%eth0]:1"), &host, &port));
    assert_true(str_eq_c(host, "fe80::1%eth0") && port == 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(wire_rendezvous_parse(str_from(bad[i]), &host, &port));
}

#define POLL_HEAD "{\"boot\":\"abcdefghij22\",\"version\":\"1\",\"wait_ms\":0"
#define CAPACITY  ",\"capacity\":{\"slots\":1,\"cpus\":1,\"memory_bytes\":0,\"gpus\":0}"

static void a_poll_that_is_wrong_is_refused_with_the_field(void **state)
{
    static const struct {
        const char *text, *field;
        enum err_code code;
    } cases[] = {
        {"[]", "", ERR_INVALID},
        {"{}", "boot", ERR_INVALID},
        {"{\"boot\":7}", "boot", ERR_INVALID},
        {"{\"boot\":\"ABCDEFGHIJ22\",\"version\":\"1\",\"wait_ms\":0}", "boot", ERR_INVALID},
        {"{\"boot\":\"abc\",\"version\":\"1\",\"wait_ms\":0}", "boot", ERR_INVALID},
        {"{\"boot\":\"abcdefghij22\",\"version\":null,\"wait_ms\":0}", "version", ERR_INVALID},
        {"{\"boot\":\"abcdefghij22\",\"version\":\"1\",\"wait_ms\":60001}", "wait_ms", ERR_INVALID},
        {POLL_HEAD ",\"executor\":\"systemd\"}", "executor", ERR_INVALID},
        {POLL_HEAD ",\"attempts\":[]}", "capacity", ERR_INVALID},
        {POLL_HEAD CAPACITY "}", "attempts", ERR_INVALID},
        {POLL_HEAD ",\"capacity\":[],\"attempts\":[]}", "capacity", ERR_INVALID},
        {POLL_HEAD ",\"capacity\":{\"slots\":1},\"attempts\":[]}", "capacity.cpus", ERR_INVALID},
        {POLL_HEAD ",\"capacity\":{\"slots\":-1},\"attempts\":[]}", "capacity.slots", ERR_INVALID},
        {POLL_HEAD CAPACITY ",\"attempts\":[],\"x\":1}", "x", ERR_UNKNOWN_FIELD},
        {POLL_HEAD CAPACITY ",\"attempts\":[7]}", "attempts[0]", ERR_INVALID},
        {POLL_HEAD CAPACITY ",\"attempts\":[{\"attempt\":\"tabcdefghij22\"}]}", "attempts[0].token",
         ERR_INVALID},
        {POLL_HEAD CAPACITY ",\"attempts\":[{\"attempt\":\"tabcdefghij22\",\"token\":\"" TOKEN
                            "\"},"
                            "{\"attempt\":\"jabcdefghij22\",\"token\":\"" TOKEN "\"}]}",
         "attempts[1].attempt", ERR_INVALID},
        {POLL_HEAD CAPACITY ",\"attempts\":[{\"attempt\":\"tabcdefghij22\",\"token\":\"short\"}]}",
         "attempts[0].token", ERR_INVALID},
        {POLL_HEAD CAPACITY ",\"attempts\":[{\"attempt\":\"tabcdefghij22\",\"token\":\"" TOKEN "\","
                            "\"x\":1}]}",
         "attempts[0].x", ERR_UNKNOWN_FIELD},
    };
    struct err err;

    (void)state;
    assert_int_equal(decode_poll(POLL_HEAD CAPACITY ",\"attempts\":[]}", &err), OK);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err = (struct err){0};
        if (decode_poll(cases[i].text, &err) != cases[i].code ||
            strcmp(err.field, cases[i].field) != 0)
            fail_msg("case %zu: field \"%s\", %s", i, err.field, err.text);
    }
}

static void a_status_that_is_wrong_is_refused_with_the_field(void **state)
{
    static const struct {
        const char *text, *field;
        enum err_code code;
    } cases[] = {
        {"7", "", ERR_INVALID},
        {"{}", "state", ERR_INVALID},
        {"{\"state\":\"asleep\"}", "state", ERR_INVALID},
        {"{\"state\":\"ended\",\"at\":\"noon\"}", "at", ERR_INVALID},
        {"{\"state\":\"ended\",\"exit_code\":256}", "exit_code", ERR_INVALID},
        {"{\"state\":\"ended\",\"exit_code\":null}", "exit_code", ERR_INVALID},
        {"{\"state\":\"ended\",\"signal\":0}", "signal", ERR_INVALID},
        {"{\"state\":\"ended\",\"oom\":1}", "oom", ERR_INVALID},
        {"{\"state\":\"ended\",\"reason\":\"a\\nb\"}", "reason", ERR_INVALID},
        {"{\"state\":\"ended\",\"run_time_ms\":-1}", "run_time_ms", ERR_INVALID},
        {"{\"state\":\"ended\",\"console_bytes\":9007199254740992}", "console_bytes", ERR_INVALID},
        {"{\"state\":\"ended\",\"final\":\"yes\"}", "final", ERR_INVALID},
        {"{\"state\":\"ended\",\"more\":1}", "more", ERR_UNKNOWN_FIELD},
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err = (struct err){0};
        if (decode_status(cases[i].text, &err) != cases[i].code ||
            strcmp(err.field, cases[i].field) != 0)
            fail_msg("case %zu: field \"%s\", %s", i, err.field, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_survives_the_round_trip),
        cmocka_unit_test(a_poll_answer_is_read_whole_and_newer_fields_are_skipped),
        cmocka_unit_test(hostile_offers_are_refused_and_named),
        cmocka_unit_test(poll_and_status_have_the_fields_of_the_api),
        cmocka_unit_test(a_poll_survives_the_round_trip),
        cmocka_unit_test(a_status_survives_the_round_trip),
        cmocka_unit_test(how_a_service_is_asked_comes_with_its_offer),
        cmocka_unit_test(any_reason_is_sent_so_that_the_server_takes_it),
        cmocka_unit_test(a_poll_answer_survives_the_round_trip),
        cmocka_unit_test(the_deepest_config_that_is_accepted_fits_into_a_poll_answer),
        cmocka_unit_test(an_offer_says_what_the_spec_says),
        cmocka_unit_test(the_answers_survive_the_round_trip_and_newer_ones_are_read),
        cmocka_unit_test(a_rendezvous_is_a_host_and_a_port),
        cmocka_unit_test(a_poll_that_is_wrong_is_refused_with_the_field),
        cmocka_unit_test(a_status_that_is_wrong_is_refused_with_the_field),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
