/* Facts about the filter language. Programs are compared as text: terms in postfix order. */
#include "base/buf.h"
#include "domain/runs/filter.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1800000000000LL /* 2027-01-15T08:00:00Z */

static void print_value(struct buf *out, const struct filter_value *v)
{
    if (v->kind == VALUE_TEXT)
        (void)buf_printf(out, "'%.*s'", STR_ARG(v->text));
    else if (v->kind == VALUE_BOOL)
        (void)buf_add_text(out, v->number != 0 ? "true" : "false");
    else
        (void)buf_printf(out, "%.13g", v->number);
}

static void print_term(struct buf *out, const struct filter_term *t, struct arena *arena)
{
    static const char *const ops[] = {"=", "<", "<=", ">", ">=", "in", "contains", "~", "null"};
    struct str key = run_key_text(&t->key, arena);

    (void)buf_printf(out, "[%.*s %s", STR_ARG(key), ops[t->op]);
    for (size_t i = 0; i < t->value_count; i++) {
        (void)buf_add_char(out, ' ');
        print_value(out, &t->values[i]);
    }
    (void)buf_add_char(out, ']');
}

static void means(const char *text, const char *program)
{
    static const char *const joints[] = {"", " not", " and", " or"};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(filter_release) struct filter filter = {0};
    struct err err = {0};

    buf_init(&out, 100000);
    if (filter_parse(str_from(text), NOW, &arena, &filter, &err) != OK)
        fail_msg("%s: column %d: %s", text, err.column, err.text);
    for (size_t i = 0; i < filter.count; i++) {
        const struct filter_step *step = &filter.steps[i];
        if (step->kind == FILTER_STEP_TERM)
            print_term(&out, step->term, &arena);
        else
            (void)buf_add_text(&out, joints[step->kind]);
    }
    (void)buf_add_char(&out, '\0');
    assert_string_equal(out.data, program);
}

static void refuses(const char *text, int column, const char *message, const char *hint)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(filter_release) struct filter filter = {0};
    struct err err = {0};

    if (filter_parse(str_from(text), NOW, &arena, &filter, &err) == OK)
        fail_msg("%s was accepted", text);
    assert_string_equal(err.text, message);
    assert_string_equal(err.hint, hint);
    assert_string_equal(err.field, "filter");
    assert_int_equal(err.column, column);
}

static void an_empty_filter_is_every_run(void **state)
{
    (void)state;
    means("", "");
    means("  \n ", "");
}

static void comparisons_take_the_values_of_their_key(void **state)
{
    (void)state;
    means("state = finished", "[state = 'finished']");
    means("config.lr<1e-4", "[config.lr < 0.0001]");
    means("config.lr >= 1e+4", "[config.lr >= 10000]");
    means("config.n == +5", "[config.n = 5]");
    means("config.name = \"5\"", "[config.name = '5']");
    means("name = 5", "[name = '5']");
    means("config.amp = true", "[config.amp = true]");
    means("config.amp = \"true\"", "[config.amp = 'true']");
    means("summary.loss < -inf", "[summary.loss < -inf]");
    means("runtime > 1.5h", "[runtime > 5400000]");
    means("runtime <= 90", "[runtime <= 90000]");
    means("cost > 1.25", "[cost > 1250000]");
    means("exit_code = 137", "[exit_code = 137]");
    means("created > \"2026-11-01\"", "[created > 1793491200000]");
    means("created > 2026-11-01", "[created > 1793491200000]");
    means("ended < 2026-11-01T00:00:01Z", "[ended < 1793491201000]");
    means("started > 7d ago", "[started > 1799395200000]");
    means("started > \"1h ago\"", "[started > 1799996400000]");
}

static void keys_are_written_with_dots_and_quotes(void **state)
{
    (void)state;
    means("config.optim.lr = 1", "[config.optim.lr = 1]");
    means("config.\"a b\" = 1", "[config.\"a b\" = 1]");
    means("config.\"say \\\"x\\\"\" = 1", "[config.\"say \\\"x\\\"\" = 1]");
    means("metric.val/loss.min < 1", "[metric.val/loss.min < 1]");
    means("metric.val/loss < 1", "[metric.val/loss.last < 1]");
    means("metric.\"my loss\".max > 1", "[metric.\"my loss\".max > 1]");
    means("metric.\"a.min\".last > 1", "[metric.\"a.min\".last > 1]");
    means("git.branch = main", "[git.branch = 'main']");
    means("config.gr\xc3\xb6\xc3\x9f"
          "e = 1",
          "[config.gr\xc3\xb6\xc3\x9f"
          "e = 1]");
}

static void and_binds_before_or_and_not_before_both(void **state)
{
    (void)state;
    means("name = a or name = b and name = c", "[name = 'a'][name = 'b'][name = 'c'] and or");
    means("(name = a or name = b) and name = c", "[name = 'a'][name = 'b'] or[name = 'c'] and");
    means("not name = a and name = b", "[name = 'a'] not[name = 'b'] and");
    means("not (name = a and name = b)", "[name = 'a'][name = 'b'] and not");
    means("NOT NOT name = a", "[name = 'a'] not not");
    means("name != a", "[name = 'a'] not");
    means("((name = a))", "[name = 'a']");
}

static void lists_texts_expressions_and_null(void **state)
{
    (void)state;
    means("tags in (a, \"b c\")", "[tags in 'a' 'b c']");
    means("tags not in (a)", "[tags in 'a'] not");
    means("config.lr in (1, 2.5, x)", "[config.lr in 1 2.5 'x']");
    means("name contains 'it\\'s'", "[name contains 'it's']");
    means("name not contains x", "[name contains 'x'] not");
    means("notes ~ \"^a.*b$\"", "[notes ~]");
    means("notes !~ \"a\"", "[notes ~] not");
    means("summary.loss is null", "[summary.loss null]");
    means("summary.loss is not null", "[summary.loss null] not");
}

static void faults_point_at_their_column(void **state)
{
    (void)state;
    refuses("stat = finished", 1, "there is no field \"stat\"", "did you mean state?");
    refuses("name = a and lr < 1", 14, "there is no field \"lr\"",
            "perhaps config.lr or summary.lr");
    refuses("state = finishd", 9, "\"finishd\" is not a state of a run", "did you mean finished?");
    refuses("\xc3\xa4 = 1", 1, "there is no field \"\xc3\xa4\"",
            "perhaps config.\xc3\xa4 or summary.\xc3\xa4");
    refuses("name = \"\xc3\xa4\xc3\xa4\" or", 15,
            "a key is missing here, such as state or config.lr", "");
    refuses("name", 5, "a comparison is missing here: = != < <= > >= ~ in contains is", "");
    refuses("name contians x", 6, "a comparison is missing here: = != < <= > >= ~ in contains is",
            "did you mean contains?");
    refuses("name =", 7, "a value is missing at the end", "");
    refuses("name = a name = b", 10, "\"and\" or \"or\" is missing here", "");
    refuses("(name = a", 1, "this \"(\" is not closed", "");
    refuses("name = a)", 9, "this \")\" closes nothing", "");
    refuses("tags in (a, b", 9, "the list that begins here is not closed", "");
    refuses("tags in a", 9, "after \"in\" comes a list in parentheses", "");
    refuses("name = \"abc", 8, "the text that begins here is not closed", "");
    refuses("name & x", 6, "\"&\" has no meaning here", "");
    refuses("\"name\" = x", 1, "a key is missing here; keys stand without quotes", "");
    refuses("created > yesterday", 11,
            "\"yesterday\" is not a time: 2026-11-30, 2026-11-30T08:00:00Z or 7d ago", "");
    refuses("runtime > long", 11, "\"long\" is not a duration: 90s, 5m, 2h, 1d", "");
    refuses("metric.loss.min = low", 19, "\"low\" is not a number", "");
    refuses("cost ~ \"1\"", 6, "this key is a number, not a text to search in", "");
    refuses("name ~ \"a(b\"", 12,
            "the regular expression is wrong at byte 3: missing closing parenthesis", "");
    refuses("config. = 1", 1, "the key \"config\" has no name behind the dot", "");
    refuses("config.\"a = 1", 1, "the quote of a name is not closed", "");
    refuses("name = null", 8, "write \"is null\" or \"is not null\"", "");
    refuses("name is empty", 9, "after \"is\" comes null or not null", "");
}

static void repeat(struct buf *out, const char *text, int times)
{
    buf_init(out, 1000000);
    for (int i = 0; i < times; i++)
        (void)buf_add_text(out, text);
}

static void length_depth_and_terms_have_limits(void **state)
{
    static const struct {
        const char *text;
        int times;
        const char *end, *message;
    } cases[] = {
        {"(", FILTER_DEPTH_MAX + 1, "", "the filter is nested deeper than 32 levels"},
        {"not ", FILTER_DEPTH_MAX + 1, "", "the filter is nested deeper than 32 levels"},
        {"name=a and ", FILTER_TERMS_MAX, "name=a", "a filter has at most 64 comparisons"},
        {"name~a or ", FILTER_REGEX_COUNT_MAX, "name~a",
         "a filter has at most 8 regular expressions"},
        {"  ", FILTER_BYTES_MAX / 2, "x", "a filter has at most 4000 bytes, not 4001"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        CLEANUP(buf_release) struct buf text = {0};
        struct filter filter = {0};
        struct err err = {0};
        repeat(&text, cases[i].text, cases[i].times);
        (void)buf_add_text(&text, cases[i].end);
        assert_int_equal(filter_parse(buf_str(&text), NOW, &arena, &filter, &err), ERR_INVALID);
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_filter_is_every_run),
        cmocka_unit_test(comparisons_take_the_values_of_their_key),
        cmocka_unit_test(keys_are_written_with_dots_and_quotes),
        cmocka_unit_test(and_binds_before_or_and_not_before_both),
        cmocka_unit_test(lists_texts_expressions_and_null),
        cmocka_unit_test(faults_point_at_their_column),
        cmocka_unit_test(length_depth_and_terms_have_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
