/* Definitions of metrics: which are taken, which counts for a metric, how they join. */
#include "domain/runs/define.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

static json_t *parsed(const char *text)
{
    json_t *value = NULL;

    assert_int_equal(json_parse(str_from(text), 1 << 20, &value, NULL), OK);
    return value;
}

static bool taken(const char *text, struct definition *ret)
{
    static json_t *record; /* its texts are looked at after the call */

    json_release(&record);
    if (!text)
        return false;
    record = parsed(text);
    return definition_take(record, ret);
}

static void a_record_is_taken_with_what_it_says(void **state)
{
    struct definition d;

    (void)state;
    assert_true(taken("{\"name\":\"val/loss\",\"step_metric\":\"epoch\",\"summary\":\"mean\","
                      "\"goal\":\"minimize\"}",
                      &d));
    assert_true(str_eq_c(d.name, "val/loss"));
    assert_true(str_eq_c(d.step_metric, "epoch"));
    assert_int_equal(d.figure, STAT_MEAN);
    assert_int_equal(d.goal, GOAL_MINIMIZE);
    assert_true(taken("{\"name\":\"a\",\"summary\":null,\"more\":1}", &d));
    assert_int_equal(d.figure, STAT_LAST);
    assert_int_equal(d.goal, GOAL_NONE);
    assert_int_equal(d.step_metric.len, 0);
    (void)taken(NULL, NULL);
}

static void a_goal_alone_means_the_least_or_the_greatest(void **state)
{
    struct definition d;

    (void)state;
    assert_true(taken("{\"name\":\"a\",\"goal\":\"minimize\"}", &d));
    assert_int_equal(d.figure, STAT_MIN);
    assert_true(taken("{\"name\":\"a\",\"goal\":\"maximize\"}", &d));
    assert_int_equal(d.figure, STAT_MAX);
    assert_true(taken("{\"name\":\"a\",\"goal\":\"maximize\",\"summary\":\"none\"}", &d));
    assert_int_equal(d.figure, STAT_END);
    (void)taken(NULL, NULL);
}

static void what_cannot_be_is_not_taken(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"name\":\"\"}",
        "{\"name\":7}",
        "{\"name\":\"a*b\"}",
        "{\"name\":\"a**\"}",
        "{\"name\":\"a\\u0007\"}",
        "{\"name\":\"a\",\"summary\":\"median\"}",
        "{\"name\":\"a\",\"summary\":\"count\"}",
        "{\"name\":\"a\",\"summary\":1}",
        "{\"name\":\"a\",\"goal\":\"up\"}",
        "{\"name\":\"a\",\"goal\":[]}",
        "{\"name\":\"a\",\"step_metric\":{}}",
        "{\"name\":\"a\",\"step_metric\":\"b\\u0001\"}",
    };
    struct definition d;
    char text[METRIC_NAME_BYTES_MAX + 40];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(taken(bad[i], &d));
    snprintf(text, sizeof text, "{\"name\":\"%0*d\"}", METRIC_NAME_BYTES_MAX, 0);
    assert_true(taken(text, &d));
    snprintf(text, sizeof text, "{\"name\":\"%0*d\"}", METRIC_NAME_BYTES_MAX + 1, 0);
    assert_false(taken(text, &d));
    (void)taken(NULL, NULL);
}

static const char *found(const struct definitions *set, const char *name)
{
    static char text[64];
    const struct definition *d = definitions_find(set, str_from(name));

    snprintf(text, sizeof text, "%.*s", d ? (int)d->name.len : 1, d ? d->name.data : "-");
    return text;
}

static void a_whole_name_wins_then_the_longest_beginning(void **state)
{
    struct arena arena = {0};
    struct definitions set;

    (void)state;
    definitions_read(STR("{\"*\":{},\"val/*\":{},\"val/loss\":{},\"val/l*\":{},\"b\":{},\"a\":{}}"),
                     &arena, &set);
    assert_int_equal(set.count, 6);
    assert_int_equal(set.exact_count, 3);
    assert_string_equal(found(&set, "val/loss"), "val/loss");
    assert_string_equal(found(&set, "val/loss2"), "val/l*");
    assert_string_equal(found(&set, "val/acc"), "val/*");
    assert_string_equal(found(&set, "val/"), "val/*");
    assert_string_equal(found(&set, "val"), "*");
    assert_string_equal(found(&set, "a"), "a");
    assert_string_equal(found(&set, "b"), "b");
    definitions_read(STR("{\"val/*\":{}}"), &arena, &set);
    assert_string_equal(found(&set, "train"), "-");
    definitions_read((struct str){0}, &arena, &set);
    assert_string_equal(found(&set, "a"), "-");
    arena_release(&arena);
}

static void a_document_that_is_damaged_gives_what_is_whole(void **state)
{
    struct arena arena = {0};
    struct definitions set;

    (void)state;
    definitions_read(
        STR("{\"a\":{\"summary\":\"min\"},\"b\":{\"summary\":\"x\"},\"c\":7,\"d*e\":{}}"), &arena,
        &set);
    assert_string_equal(found(&set, "a"), "a");
    assert_string_equal(found(&set, "b"), "-");
    assert_string_equal(found(&set, "d*e"), "-");
    definitions_read(STR("[1]"), &arena, &set);
    assert_int_equal(set.count, 0);
    definitions_read(STR("{"), &arena, &set);
    assert_int_equal(set.count, 0);
    arena_release(&arena);
}

static void a_metric_is_never_its_own_axis(void **state)
{
    struct definition d = {.name = STR("val/*"), .step_metric = STR("val/step")};

    (void)state;
    assert_true(str_eq_c(definition_axis(&d, STR("val/loss")), "val/step"));
    assert_int_equal(definition_axis(&d, STR("val/step")).len, 0);
    assert_int_equal(definition_axis(NULL, STR("val/step")).len, 0);
}

static void figures_have_names_and_none_is_one(void **state)
{
    (void)state;
    for (int figure = 0; figure <= STAT_END; figure++) {
        enum metric_stat want = figure == STAT_COUNT ? STAT_LAST : (enum metric_stat)figure;
        const char *name = definition_figure_name((enum metric_stat)figure);
        assert_int_equal(definition_figure_from_name(str_from(name)), want);
    }
    assert_int_equal(definition_figure_from_name(STR("median")), STAT_LAST);
}

static void later_words_replace_name_by_name_as_far_as_there_is_room(void **state)
{
    CLEANUP(json_release) json_t *object = json_object();
    CLEANUP(json_release) json_t *later = parsed("{\"n0\":{\"summary\":\"max\"},\"one more\":{}}");
    struct definition d = {.figure = STAT_MIN, .step_metric = STR("")};
    char name[16];

    (void)state;
    for (int i = 0; i < METRIC_DEFINED_MAX; i++) {
        snprintf(name, sizeof name, "n%d", i);
        d.name = str_from(name);
        assert_true(definition_put(object, &d));
    }
    d.name = STR("another");
    assert_false(definition_put(object, &d));
    d.name = STR("n7");
    assert_true(definition_put(object, &d));
    definitions_join(object, later);
    assert_int_equal(json_object_size(object), METRIC_DEFINED_MAX);
    assert_null(json_object_get(object, "one more"));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(object, "n0"), "summary")), "max");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(object, "n1"), "summary")), "min");
}

static void figures_come_with_their_step(void **state)
{
    struct metric_facts f = {.count = 4,
                             .finite_count = 3,
                             .last = 3,
                             .first = 1,
                             .min = 0.5,
                             .max = 9,
                             .sum = 12,
                             .last_step = 40,
                             .first_step = 10,
                             .min_step = 20,
                             .max_step = 30};
    int64_t step;

    (void)state;
    assert_true(metric_figure(&f, STAT_MIN, &step) == 0.5 && step == 20);
    assert_true(metric_figure(&f, STAT_MAX, &step) == 9 && step == 30);
    assert_true(metric_figure(&f, STAT_FIRST, &step) == 1 && step == 10);
    assert_true(metric_figure(&f, STAT_LAST, &step) == 3 && step == 40);
    assert_true(metric_figure(&f, STAT_MEAN, &step) == 4 && step == STEP_NONE);
    assert_true(metric_figure(&f, STAT_COUNT, &step) == 4 && step == STEP_NONE);
    f.finite_count = 0;
    f.min = (double)NAN;
    assert_true(isnan(metric_figure(&f, STAT_MIN, &step)) && step == STEP_NONE);
    assert_true(isnan(metric_figure(&f, STAT_MEAN, &step)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_taken_with_what_it_says),
        cmocka_unit_test(a_goal_alone_means_the_least_or_the_greatest),
        cmocka_unit_test(what_cannot_be_is_not_taken),
        cmocka_unit_test(a_whole_name_wins_then_the_longest_beginning),
        cmocka_unit_test(a_document_that_is_damaged_gives_what_is_whole),
        cmocka_unit_test(a_metric_is_never_its_own_axis),
        cmocka_unit_test(figures_have_names_and_none_is_one),
        cmocka_unit_test(later_words_replace_name_by_name_as_far_as_there_is_room),
        cmocka_unit_test(figures_come_with_their_step),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("define", tests, NULL, NULL);
}
