/* Flattening. The walk keeps its place in a small stack of its own. */
#include "domain/runs/flatten.h"

#include "base/json.h"
#include "store/store_metric.h"

#include <math.h>
#include <stdlib.h>

#define LIST_TEXT_BYTES_MAX 65536
#define CUT                 "\xe2\x80\xa6"

struct attribute_list attribute_list_begin(struct arena *arena, size_t count_max)
{
    struct attribute *items = arena_array(arena, count_max, sizeof *items);

    return (struct attribute_list){.arena = arena, .items = items, .count_max = count_max};
}

void attribute_list_add(struct attribute_list *list, struct attribute value)
{
    if (!value.text.data)
        value.text = STR("");
    if (list->count < list->count_max && value.name.len <= ATTRIBUTE_NAME_BYTES_MAX)
        list->items[list->count++] = value;
}

void attribute_list_add_text(struct attribute_list *list, struct str name, struct str text)
{
    const size_t keep_max = ATTRIBUTE_TEXT_BYTES_MAX - (sizeof CUT - 1);
    size_t keep = 0;

    if (text.len > ATTRIBUTE_TEXT_BYTES_MAX) {
        for (size_t len; (len = str_utf8_len(text, keep)) > 0 && keep + len <= keep_max;)
            keep += len;
        text = str_from(arena_printf(list->arena, "%.*s" CUT, (int)keep, text.data));
    }
    attribute_list_add(list,
                       (struct attribute){.name = name, .kind = ATTRIBUTE_TEXT, .text = text});
}

static void add_number(struct attribute_list *list, struct str name, double number)
{
    struct attribute value = {.name = name, .kind = ATTRIBUTE_NUMBER};

    if (isnan(number))
        value.kind = ATTRIBUTE_NAN;
    else
        value.number = float_to_bits(number == 0 ? 0 : number); /* -0 equals 0 */
    attribute_list_add(list, value);
}

/* {"$f": "NaN"} and {"$i": "9007199254740993"}. */
static bool take_tagged(const json_t *value, double *ret_number)
{
    static const struct {
        const char *text;
        double number;
    } specials[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    const json_t *real = json_object_get(value, "$f"), *whole = json_object_get(value, "$i");
    const char *text = json_string_value(real ? real : whole);

    if (json_object_size(value) != 1 || !text)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(specials); i++)
        if (strcmp(text, specials[i].text) == 0) {
            *ret_number = specials[i].number;
            return true;
        }
    return str_to_f64(str_from(text), ret_number);
}

/* What stands for an object in full: {"$o": {...}}. */
static const json_t *unwrap(const json_t *value)
{
    const json_t *inner = json_object_get(value, "$o");

    return json_object_size(value) == 1 && json_is_object(inner) ? inner : value;
}

static void add_json_text(struct attribute_list *list, struct str name, const json_t *value)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct json_writer w;

    buf_init(&out, LIST_TEXT_BYTES_MAX);
    json_writer_init(&w, &out);
    json_put_value(&w, value);
    if (out.full) /* too long to be looked for: its size says something */
        attribute_list_add_text(
            list, name,
            str_from(arena_printf(list->arena, "(%zu values)",
                                  json_is_array(value) ? json_array_size(value)
                                                       : json_object_size(value))));
    else
        attribute_list_add_text(list, name, arena_copy(list->arena, buf_str(&out)));
}

static void add_leaf(struct attribute_list *list, struct str name, const json_t *value)
{
    if (json_is_number(value))
        add_number(list, name, json_number_value(value));
    else if (json_is_boolean(value))
        attribute_list_add(list, (struct attribute){.name = name,
                                                    .kind = ATTRIBUTE_BOOL,
                                                    .number = json_is_true(value)});
    else if (json_is_string(value))
        attribute_list_add_text(
            list, name,
            arena_copy(list->arena, str_n(json_string_value(value), json_string_length(value))));
    else if (json_is_array(value) || json_is_object(value))
        add_json_text(list, name, value);
}

struct level {
    const json_t *object;
    void *next; /* iterator of jansson */
    struct str prefix;
};

static struct str join(struct arena *arena, struct str prefix, const char *key)
{
    if (prefix.len == 0)
        return arena_copy(arena, str_from(key));
    if (prefix.len + strlen(key) > ATTRIBUTE_NAME_BYTES_MAX) /* left out anyway: copy no more */
        return str_from(
            arena_printf(arena, "%.*s.%.*s", STR_ARG(prefix), ATTRIBUTE_NAME_BYTES_MAX, key));
    return str_from(arena_printf(arena, "%.*s.%s", STR_ARG(prefix), key));
}

void flatten(const json_t *doc, struct attribute_list *list)
{
    struct level levels[ATTRIBUTE_DEPTH_MAX];
    size_t depth = 0;

    if (!json_is_object(doc))
        return;
    /* jansson's iterators take no const; nothing is changed */
    levels[depth++] = (struct level){doc, json_object_iter((json_t *)(uintptr_t)doc), STR("")};
    while (depth && list->count < list->count_max) {
        struct level *top = &levels[depth - 1];
        const json_t *value;
        struct str name;
        double number;
        if (!top->next) {
            depth--;
            continue;
        }
        value = json_object_iter_value(top->next);
        name = join(list->arena, top->prefix, json_object_iter_key(top->next));
        top->next = json_object_iter_next((json_t *)(uintptr_t)top->object, top->next);
        if (json_is_object(value) && take_tagged(value, &number)) {
            add_number(list, name, number);
        } else if (json_is_object(value) && depth < ATTRIBUTE_DEPTH_MAX) {
            value = unwrap(value);
            levels[depth++] =
                (struct level){value, json_object_iter((json_t *)(uintptr_t)value), name};
        } else {
            add_leaf(list, name, value);
        }
    }
}
