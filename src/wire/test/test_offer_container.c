/* Facts about what an offer says of its container. */
#include "wire/offer_container.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdefghijABCDEFGHIJ0123456789abc"
#define OFFER                                                                                      \
    "{\"attempt\":\"tabcdefghij22\",\"token\":\"" TOKEN "\",\"job\":\"jabcdefghij22\","            \
    "\"run\":\"rabcdefghij22\",\"project\":\"demo\",\"command\":[\"x\"],\"env\":{},"               \
    "\"timeout_s\":0,\"grace_s\":5,\"key\":\"euv_job_x\","

static enum err_code decode(struct arena *arena, const char *rest, struct wire_offer *ret_offer,
                            struct err *err)
{
    char text[4000];

    (void)snprintf(text, sizeof(text), OFFER "%s}", rest);
    return wire_offer_decode(arena, str_from(text), ret_offer, err);
}

static void mounts_and_credentials_survive_the_round_trip(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf out = {0};
    struct wire_offer offer, again;
    struct json_writer w;
    struct err err = {0};

    (void)state;
    assert_int_equal(decode(&arena,
                            "\"mounts\":[{\"host_path\":\"/srv/a\",\"path\":\"/a\","
                            "\"read_only\":true},{\"claim\":\"sets\",\"path\":\"/b/c\"}],"
                            "\"registry\":{\"user\":\"trainer\",\"secret\":\"a b\"},"
                            "\"image\":\"r/a@sha256:12\"",
                            &offer, &err),
                     OK);
    buf_init(&out, 1 << 20);
    json_writer_init(&w, &out);
    wire_offer_encode(&offer, &w);
    assert_int_equal(wire_offer_decode(&arena, buf_str(&out), &again, &err), OK);
    assert_int_equal(again.mount_count, 2);
    assert_true(str_eq_c(again.mounts[0].host_path, "/srv/a"));
    assert_true(str_eq_c(again.mounts[0].path, "/a"));
    assert_true(again.mounts[0].read_only);
    assert_int_equal(again.mounts[0].claim.len, 0);
    assert_true(str_eq_c(again.mounts[1].claim, "sets"));
    assert_true(str_eq_c(again.mounts[1].path, "/b/c"));
    assert_false(again.mounts[1].read_only);
    assert_true(str_eq_c(again.registry_user, "trainer"));
    assert_true(str_eq_c(again.registry_secret, "a b"));
    assert_true(str_eq_c(again.image, "r/a@sha256:12"));
}

static void mounts_that_lead_elsewhere_are_refused_and_named(void **state)
{
    static const struct {
        const char *mount, *named;
    } cases[] = {
        {"\"host_path\":\"srv\",\"path\":\"/a\"", "\"srv\""},
        {"\"host_path\":\"/srv/../etc\",\"path\":\"/a\"", "\"/srv/../etc\""},
        {"\"host_path\":\"/\",\"path\":\"/a\"", "\"/\""},
        {"\"host_path\":\"/srv\",\"path\":\"a\"", "\"a\""},
        {"\"host_path\":\"/srv\",\"path\":\"/./a\"", "\"/./a\""},
        {"\"host_path\":\"/srv\",\"path\":\"/a/..\"", "\"/a/..\""},
        {"\"path\":\"/a\"", "\"/a\""},
        {"\"host_path\":\"/srv\",\"claim\":\"sets\",\"path\":\"/a\"", "\"/a\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct wire_offer offer;
        struct err err = {0};
        char text[500];

        (void)snprintf(text, sizeof(text), "\"mounts\":[{%s}]", cases[i].mount);
        assert_int_equal(decode(&arena, text, &offer, &err), ERR_INVALID);
        assert_string_equal(err.field, "mounts");
        assert_non_null(strstr(err.text, cases[i].named));
    }
}

static void what_the_spec_says_is_read(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct wire_offer offer = {
        .extra = STR("{\"image\":\"a:1\",\"launcher\":\"torchrun\",\"shm_bytes\":1,"
                     "\"disk_bytes\":2,\"pids\":3,\"read_only_root\":true,\"newer\":[]}")};
    struct wire_container c;
    struct err err = {0};

    (void)state;
    assert_int_equal(wire_offer_container(&arena, &offer, &c, &err), OK);
    assert_true(str_eq_c(c.image, "a:1") && str_eq_c(c.launcher, "torchrun"));
    assert_int_equal(c.shm_bytes, 1);
    assert_int_equal(c.disk_bytes, 2);
    assert_int_equal(c.pids, 3);
    assert_true(c.read_only_root);
    offer.image = STR("a@sha256:12"); /* an earlier attempt has resolved it */
    assert_int_equal(wire_offer_container(&arena, &offer, &c, &err), OK);
    assert_true(str_eq_c(c.image, "a@sha256:12"));
    offer = (struct wire_offer){0};
    assert_int_equal(wire_offer_container(&arena, &offer, &c, &err), OK);
    assert_true(c.image.len == 0 && str_eq_c(c.launcher, "exec"));
}

static void limits_out_of_range_are_refused_and_named(void **state)
{
    static const char *const fields[] = {"shm_bytes", "disk_bytes", "pids"};

    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct wire_offer offer = {0};
        struct wire_container c;
        struct err err = {0};
        char text[100];

        (void)snprintf(text, sizeof(text), "{\"%s\":-1}", fields[i]);
        offer.extra = str_from(text);
        assert_int_equal(wire_offer_container(&arena, &offer, &c, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, fields[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_and_credentials_survive_the_round_trip),
        cmocka_unit_test(mounts_that_lead_elsewhere_are_refused_and_named),
        cmocka_unit_test(what_the_spec_says_is_read),
        cmocka_unit_test(limits_out_of_range_are_refused_and_named),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
