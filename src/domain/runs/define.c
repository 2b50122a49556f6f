/* Definitions of metrics: reading, joining, looking up. */
#include "domain/runs/define.h"

#include <math.h>
#include <stdlib.h>

#define DOC_BYTES_MAX (16u * 1024 * 1024)
#define NO_FIGURE     "none"

const char *definition_figure_name(enum metric_stat figure)
{
    return figure == STAT_END ? NO_FIGURE : metric_stat_name(figure);
}

static bool figure_from_name(struct str name, enum metric_stat *ret_figure)
{
    *ret_figure = metric_stat_from_name(name);
    return str_eq_c(name, NO_FIGURE) || (*ret_figure != STAT_END && *ret_figure != STAT_COUNT);
}

static bool is_pattern(struct str name)
{
    return name.len > 0 && name.data[name.len - 1] == '*';
}

static bool name_is_valid(struct str name)
{
    const char *star = name.len ? memchr(name.data, '*', name.len) : NULL;

    return name.len > 0 && name.len <= METRIC_NAME_BYTES_MAX && !str_has_control(name) &&
           (!star || star == name.data + name.len - 1);
}

/* A member that is a text; one that is not there (or null) is an empty one. */
static bool take_text(const json_t *object, const char *key, struct str *ret_text)
{
    const json_t *member = json_object_get(object, key);

    *ret_text = STR("");
    if (json_is_string(member))
        *ret_text = str_n(json_string_value(member), json_string_length(member));
    return !member || json_is_null(member) || json_is_string(member);
}

/* All but the name. */
static bool take_rest(const json_t *object, struct definition *d)
{
    struct str figure, goal;

    if (!take_text(object, "step_metric", &d->step_metric) ||
        !take_text(object, "summary", &figure) || !take_text(object, "goal", &goal) ||
        d->step_metric.len > METRIC_NAME_BYTES_MAX || str_has_control(d->step_metric))
        return false;
    d->goal = metric_goal_from_name(goal);
    d->figure = d->goal == GOAL_MINIMIZE   ? STAT_MIN
                : d->goal == GOAL_MAXIMIZE ? STAT_MAX
                                           : STAT_LAST;
    return d->goal != GOAL_END && (figure.len == 0 || figure_from_name(figure, &d->figure));
}

bool definition_take(const json_t *record, struct definition *ret_definition)
{
    struct definition d = {0};

    if (!take_text(record, "name", &d.name) || !name_is_valid(d.name) || !take_rest(record, &d))
        return false;
    *ret_definition = d;
    return true;
}

static void put_text(json_t *object, const char *key, struct str text)
{
    if (text.len) /* setting fails only when out of memory */
        (void)json_object_set_new(object, key, json_stringn(text.data, text.len));
}

static bool has_room(const json_t *object, const char *name)
{
    return json_object_size(object) < METRIC_DEFINED_MAX || json_object_get(object, name);
}

bool definition_put(json_t *object, const struct definition *d)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *name = arena_text(&arena, d->name);
    json_t *body;

    if (!has_room(object, name))
        return false;
    body = json_object();
    put_text(body, "step_metric", d->step_metric);
    put_text(body, "summary", str_from(definition_figure_name(d->figure)));
    put_text(body, "goal", str_from(metric_goal_name(d->goal)));
    (void)json_object_set_new(object, name, body); /* fails for no valid name */
    return true;
}

void definitions_join(json_t *object, json_t *later)
{
    const char *name;
    json_t *body;

    json_object_foreach(later, name, body)
    {
        if (has_room(object, name))
            (void)json_object_set(object, name, body); /* fails only when out of memory */
    }
}

static int by_use(const void *left, const void *right)
{
    const struct definition *a = left, *b = right;
    int order = (int)is_pattern(a->name) - (int)is_pattern(b->name);

    if (order == 0 && is_pattern(a->name) && a->name.len != b->name.len)
        return a->name.len > b->name.len ? -1 : 1;
    return order ? order : str_compare(a->name, b->name);
}

void definitions_read(struct str body, struct arena *arena, struct definitions *ret_definitions)
{
    CLEANUP(json_release) json_t *object = NULL;
    struct definitions set = {0};
    const char *name;
    json_t *one;

    *ret_definitions = set;
    if (body.len == 0 || json_parse(body, DOC_BYTES_MAX, &object, NULL) != OK)
        return;
    set.items = arena_array(arena, json_object_size(object) + 1, sizeof *set.items);
    json_object_foreach(object, name, one)
    {
        struct definition *d = &set.items[set.count];
        d->name = str_from(name);
        if (!name_is_valid(d->name) || !take_rest(one, d))
            continue; /* an import may bring anything */
        d->name = arena_copy(arena, d->name);
        d->step_metric = arena_copy(arena, d->step_metric);
        set.exact_count += !is_pattern(d->name);
        set.count++;
    }
    if (set.count > 1)
        qsort(set.items, set.count, sizeof *set.items, by_use);
    *ret_definitions = set;
}

static int by_name(const void *key, const void *item)
{
    return str_compare(*(const struct str *)key, ((const struct definition *)item)->name);
}

const struct definition *definitions_find(const struct definitions *set, struct str name)
{
    const struct definition *found = NULL;

    if (set->exact_count)
        found = bsearch(&name, set->items, set->exact_count, sizeof *set->items, by_name);
    for (size_t i = set->exact_count; i < set->count && !found; i++) {
        struct str pattern = set->items[i].name;
        if (str_starts(name, str_n(pattern.data, pattern.len - 1)))
            found = &set->items[i];
    }
    return found;
}

struct str definition_axis(const struct definition *definition, struct str name)
{
    if (!definition || str_eq(definition->step_metric, name)) /* "val/" and '*' has val/step too */
        return STR("");
    return definition->step_metric;
}

enum metric_stat definition_figure_from_name(struct str name)
{
    enum metric_stat figure;

    return figure_from_name(name, &figure) ? figure : STAT_LAST;
}

double metric_figure(const struct metric_facts *f, enum metric_stat figure, int64_t *ret_step)
{
    bool finite = f->finite_count > 0;

    *ret_step = STEP_NONE;
    switch (figure) {
    case STAT_MIN: *ret_step = finite ? f->min_step : STEP_NONE; return f->min;
    case STAT_MAX: *ret_step = finite ? f->max_step : STEP_NONE; return f->max;
    case STAT_FIRST: *ret_step = f->first_step; return f->first;
    case STAT_MEAN: return finite ? f->sum / (double)f->finite_count : (double)NAN;
    case STAT_COUNT: return (double)f->count;
    case STAT_LAST:
    case STAT_END: break;
    }
    *ret_step = f->last_step;
    return f->last;
}
