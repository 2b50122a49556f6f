/* Facts about values: what goes in comes out, bit for bit, whatever the database. */
#include "store/store_identity.h"
#include "store/store_log.h"
#include "store/store_metric.h"
#include "store/store_project.h"
#include "store/store_run.h"
#include "store/test/store_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ROUNDS 200

static struct store store;
static struct project project = {.name = STR("demo"), .title = STR(""), .description = STR("")};
static struct run run;
static struct writer writer;
static uint64_t seed = 88172645463325252;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static struct id id_of(const char *text)
{
    struct id id = {0};

    snprintf(id.text, ID_BYTES, "%s", text);
    return id;
}

static int setup(void **state)
{
    struct user ada = {.public_id = id_of("uaaaaaaaaaaaa"),
                       .login = STR("ada"),
                       .password_hash = STR("x"),
                       .created = 1};

    (void)state;
    if (store_open(&store, store_rig_where(), true, NULL) != OK ||
        store_begin(&store, NULL) != OK || store_user_insert(&store, &ada, NULL) != OK ||
        store_project_insert(&store, &project, NULL) != OK)
        return 1;
    run = (struct run){
        .public_id = id_of("raaaaaaaaaaaa"),
        .project = project.id,
        .name = STR("one"),
        .state = RUN_RUNNING,
        .owner = ada.id,
        .group = STR(""),
        .job_type = STR(""),
        .notes = STR(""),
        .host = STR(""),
        .reason = STR(""),
        .tags = STR("[]"),
        .command = STR("[]"),
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .started = TIME_NONE,
        .ended = TIME_NONE,
        .seen = TIME_NONE,
        .cost_micro = -1,
    };
    writer = (struct writer){.public_id = id_of("waaaaaaaaaaaa"), .kind = STR("")};
    if (store_run_insert(&store, &run, NULL) != OK)
        return 1;
    writer.run = run.id;
    return store_writer_insert(&store, &writer, NULL) == OK && store_commit(&store, NULL) == OK ? 0
                                                                                                : 1;
}

static int teardown(void **state)
{
    (void)state;
    store_close(&store);
    store_rig_close();
    return 0;
}

static void bytes_with_anything_in_them_come_back(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static char data[70000];
    struct log_blob blob;

    (void)state;
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t len = i == 0 ? 1 : i == 1 ? sizeof data : chance() % 2000 + 1;
        int64_t from = writer.committed_offset;
        for (size_t at = 0; at < len; at++)
            data[at] = i % 3 ? (char)chance() : (char)(at % 2 ? 0 : '\\');
        assert_int_equal(store_begin(&store, NULL), OK);
        assert_int_equal(store_log_append(&store, &writer, str_n(data, len), UINT32_MAX, NULL), OK);
        assert_int_equal(store_commit(&store, NULL), OK);
        assert_int_equal(store_log_blob_next(&store, writer.id, from, &arena, &blob, NULL), OK);
        assert_int_equal(blob.data.len, len);
        assert_memory_equal(blob.data.data, data, len);
    }
    assert_int_equal(store_writer_by_id(&store, writer.id, &arena, &writer, NULL), OK);
    assert_int_equal(writer.committed_crc, UINT32_MAX);
}

/* Numbers at the ends and at random, and floats of every kind, through one row. */
static void every_integer_and_every_float_comes_back(void **state)
{
    static const int64_t ends[] = {INT64_MIN,  INT64_MIN + 1, -4294967297,   -2147483649, -1, 0, 1,
                                   2147483648, 4294967296,    INT64_MAX - 1, INT64_MAX};
    static const double odd[] = {0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, INFINITY, -INFINITY};
    metric_id metric;

    (void)state;
    assert_int_equal(
        store_metric_name_intern(&store, project.id, METRIC_PLAIN, STR("loss"), &metric, NULL), OK);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct metric_facts in = {.id = metric}, out;
        uint64_t bits = chance();
        in.last_step = i < ARRAY_LEN(ends) ? ends[i] : (int64_t)chance();
        in.count = (int64_t)(chance() >> 1) + 1;
        in.finite_count = in.count;
        memcpy(&in.last, &bits, sizeof in.last); /* NaNs of all kinds among them */
        if (i < ARRAY_LEN(odd))
            in.last = odd[i];
        bits = 0x7ff8000000000000u | (chance() >> 13);
        memcpy(&in.min, &bits, sizeof in.min);
        assert_int_equal(store_run_metric_set(&store, run.id, &in, NULL), OK);
        assert_int_equal(store_run_metric_get(&store, run.id, metric, &out, NULL), OK);
        assert_int_equal(out.last_step, in.last_step);
        assert_int_equal(out.count, in.count);
        assert_memory_equal(&out.last, &in.last, sizeof in.last);
        assert_memory_equal(&out.min, &in.min, sizeof in.min);
    }
}

static void text_comes_back_and_empty_is_not_nothing(void **state)
{
    static const char *const texts[] = {"", "x", "grüße 🌲 \\ ' \" ; -- %s $1 :name",
                                        "line\nline\r\n\ttab", "\xf4\x8f\xbf\xbf"};
    CLEANUP(arena_release) struct arena arena = {0};
    size_t len = 5u * 1024 * 1024;
    char *text = arena_alloc(&arena, len);
    struct str back;

    (void)state;
    assert_int_equal(store_run_doc_get(&store, run.id, RUN_DOC_CODE, &arena, &back, NULL), OK);
    assert_null(back.data);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(store_run_doc_set(&store, run.id, RUN_DOC_CODE, str_from(texts[i]), NULL),
                         OK);
        assert_int_equal(store_run_doc_get(&store, run.id, RUN_DOC_CODE, &arena, &back, NULL), OK);
        assert_non_null(back.data);
        assert_true(str_eq_c(back, texts[i]));
    }
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i % 26);
    assert_int_equal(store_run_doc_set(&store, run.id, RUN_DOC_CODE, str_n(text, len), NULL), OK);
    assert_int_equal(store_run_doc_get(&store, run.id, RUN_DOC_CODE, &arena, &back, NULL), OK);
    assert_true(str_eq(back, str_n(text, len)));
}

static void what_is_no_text_is_refused_and_changes_nothing(void **state)
{
    static const struct str bad[] = {{"a\0b", 3}, {"\xff", 1}, {"\xc3", 1}, {"\xed\xa0\x80", 3}};
    CLEANUP(arena_release) struct arena arena = {0};
    struct str back;
    struct err err;

    (void)state;
    assert_int_equal(store_run_doc_set(&store, run.id, RUN_DOC_MACHINE, STR("{}"), NULL), OK);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(store_run_doc_set(&store, run.id, RUN_DOC_MACHINE, bad[i], &err),
                         ERR_BAD_UTF8);
        assert_int_equal(store_run_doc_get(&store, run.id, RUN_DOC_MACHINE, &arena, &back, NULL),
                         OK);
        assert_true(str_eq_c(back, "{}"));
    }
}

static void nothing_is_not_zero(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct run back;

    (void)state;
    assert_int_equal(store_run_by_id(&store, run.id, &arena, &back, NULL), OK);
    assert_int_equal(back.exit_code, EXIT_NONE);
    assert_int_equal(back.ended, TIME_NONE);
    run.exit_code = 0;
    run.ended = 0;
    assert_int_equal(store_run_put(&store, &run, NULL), OK);
    assert_int_equal(store_run_by_id(&store, run.id, &arena, &back, NULL), OK);
    assert_int_equal(back.exit_code, 0);
    assert_int_equal(back.ended, 0);
}

static void names_are_ordered_by_their_bytes(void **state)
{
    static const char *const names[] = {"Zeta", "a", "a-b", "aB", "a_b", "ab", "b/1", "é"};
    CLEANUP(arena_release) struct arena arena = {0};
    struct metric_filter filter = {.kind = -1, .prefix = STR("a"), .limit = 100};
    struct metric_facts *facts;
    size_t count = 0;

    (void)state;
    for (size_t i = ARRAY_LEN(names); i-- > 0;) {
        struct metric_facts one = {.count = 1};
        assert_int_equal(store_metric_name_intern(&store, project.id, METRIC_PLAIN,
                                                  str_from(names[i]), &one.id, NULL),
                         OK);
        assert_int_equal(store_run_metric_set(&store, run.id, &one, NULL), OK);
    }
    assert_int_equal(store_run_metric_list(&store, run.id, &filter, &arena, &facts, &count, NULL),
                     OK);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_true(str_eq_c(facts[i].name, names[i + 1]));
    filter.prefix = STR("A"); /* capitals are other letters */
    assert_int_equal(store_run_metric_list(&store, run.id, &filter, &arena, &facts, &count, NULL),
                     OK);
    assert_int_equal(count, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_with_anything_in_them_come_back),
        cmocka_unit_test(every_integer_and_every_float_comes_back),
        cmocka_unit_test(text_comes_back_and_empty_is_not_nothing),
        cmocka_unit_test(what_is_no_text_is_refused_and_changes_nothing),
        cmocka_unit_test(nothing_is_not_zero),
        cmocka_unit_test(names_are_ordered_by_their_bytes),
    };

    (void)argv;
    if (!store_rig_open(argc > 1))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("values", tests, setup, teardown);
}
