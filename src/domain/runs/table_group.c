/* Groups of runs: each key numbers the values that it meets on the way through its index, then runs
 * with the same numbers lie side by side. */
#include "domain/runs/table.h"

#include "domain/runs/table_find.h"
#include "store/store_metric.h"

#include <math.h>
#include <stdlib.h>

struct grouping {
    struct table_search *s;
    const struct run_set *set; /* NULL: every run */
    uint32_t *numbers;         /* a run's value of this key, counted from 1; 0: none */
    struct attribute *values;  /* by number */
    uint32_t value_count;
    size_t room;
};

static bool number_value(void *ctx, run_id run, const struct attribute *value)
{
    struct grouping *g = ctx;
    struct attribute *last = g->value_count ? &g->values[g->value_count - 1] : NULL;

    if (!run_set_fits(&(struct run_set){g->s->low, g->s->high - g->s->low + 1, NULL}, run) ||
        (g->set && !run_set_has(g->set, run)))
        return true;
    if (!last || last->kind != value->kind || last->number != value->number ||
        !str_eq(last->text, value->text)) {
        g->values =
            arena_more(g->s->cmd->arena, g->values, g->value_count, &g->room, sizeof *g->values);
        last = &g->values[g->value_count++];
        *last = *value;
        last->text = arena_copy(g->s->cmd->arena, value->text);
    }
    g->numbers[run.v - g->s->low] = g->value_count;
    return true;
}

static enum err_code number_key(struct table_search *s, const struct run_key *key,
                                struct grouping *g, struct err *err)
{
    struct table_source source;

    TRY(table__source(s, key, &source, err));
    g->numbers = arena_array(s->cmd->arena, (size_t)(s->high - s->low + 2), sizeof *g->numbers);
    for (int kind = ATTRIBUTE_NUMBER; source.attribute.v && kind < ATTRIBUTE_KIND_END; kind++) {
        struct attribute_walk walk = {.key = source.attribute,
                                      .kind = (enum attribute_kind)kind,
                                      .low = INT64_MIN,
                                      .high = INT64_MAX,
                                      .from = STR(""),
                                      .ctx = g,
                                      .visit = number_value};
        TRY(store_attribute_walk(s->cmd->store, &walk, err));
    }
    return OK;
}

struct placed {
    uint32_t numbers[TABLE_GROUP_KEYS];
};

static int compare_members(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct placed)); /* any order that puts equals together */
}

static int compare_groups(const void *left, const void *right)
{
    const struct table_group *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

static const char *quoted(struct arena *arena, struct str text)
{
    char *out = arena_alloc(arena, text.len * 2 + 3);
    size_t len = 0;

    out[len++] = '"';
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\')
            out[len++] = '\\';
        out[len++] = text.data[i];
    }
    out[len] = '"';
    return out;
}

/* A value as the filter language says it; money and run times in the units that it reads. */
static const char *literal(struct arena *arena, const struct run_key *key,
                           const struct attribute *value)
{
    enum field_kind kind = key->space == KEY_FIELD ? run_field_kind(key->field) : FIELD_NUMBER;
    double number = float_from_bits(value->number);
    char time[TIME_TEXT_BYTES];

    if (value->kind == ATTRIBUTE_TEXT)
        return quoted(arena, value->text);
    if (value->kind == ATTRIBUTE_BOOL)
        return value->number ? "true" : "false";
    if (isinf(number))
        return number < 0 ? "-inf" : "inf";
    if (kind == FIELD_TIME) {
        time_format((time_ms)number, time);
        return quoted(arena, str_from(time));
    }
    if (kind == FIELD_MONEY)
        return arena_printf(arena, "%.6f", number / 1e6);
    return arena_printf(arena, "%.17g", number);
}

static struct str group_filter(struct arena *arena, const struct run_key *keys, size_t key_count,
                               const struct table_group *group)
{
    const char *text = "";

    for (size_t i = 0; i < key_count; i++) {
        const struct attribute *value = &group->values[i];
        struct str key = run_key_text(&keys[i], arena);
        const char *joint = i ? " and " : "";
        if (value->kind == 0)
            text = arena_printf(arena, "%s%s%.*s is null", text, joint, STR_ARG(key));
        else
            text = arena_printf(arena, "%s%s%.*s = %s", text, joint, STR_ARG(key),
                                literal(arena, &keys[i], value));
    }
    return str_from(text);
}

static enum err_code take_group_keys(struct arena *arena, const struct str *texts, size_t count,
                                     struct run_key *ret_keys, struct err *err)
{
    if (count == 0 || count > TABLE_GROUP_KEYS)
        return err_set_field(err, ERR_INVALID, "by", "runs are grouped by 1 to %d keys, not %zu",
                             TABLE_GROUP_KEYS, count);
    for (size_t i = 0; i < count; i++) {
        const struct run_key *key = &ret_keys[i];
        bool field;
        if (run_key_parse(texts[i], arena, &ret_keys[i], err) != OK) {
            err_place(err, "by", 0);
            return ERR_INVALID;
        }
        field = key->space == KEY_FIELD;
        if (key->space == KEY_METRIC ||
            (field && (key->field == RUN_FIELD_NOTES || key->field == RUN_FIELD_TAGS ||
                       key->field == RUN_FIELD_RUNTIME)))
            return err_set_field(err, ERR_INVALID, "by", "runs cannot be grouped by \"%.*s\"",
                                 (int)MIN(texts[i].len, (size_t)80), texts[i].data);
    }
    return OK;
}

/* One entry a run, sorted, so that groups lie side by side. */
static size_t list_members(const struct table_search *s, const struct run_set *set,
                           const struct grouping *keys, size_t key_count,
                           struct placed **ret_members)
{
    struct placed *members =
        arena_array(s->cmd->arena, (size_t)run_set_size(set) + 1, sizeof *members);
    size_t count = 0;

    for (int64_t at = run_set_below(set, s->high); at; at = run_set_below(set, at - 1)) {
        struct placed *m = &members[count++];
        for (size_t i = 0; i < key_count; i++)
            m->numbers[i] = keys[i].numbers[at - s->low];
    }
    if (count > 1)
        qsort(members, count, sizeof *members, compare_members);
    *ret_members = members;
    return count;
}

/* `members` are as list_members made them; out->total says how many. */
static void make_groups(const struct placed *members, const struct grouping *by, size_t key_count,
                        struct arena *arena, struct table_groups *out)
{
    size_t count = (size_t)out->total, room = 0;

    for (size_t i = 0; i < count; i++)
        room += i == 0 || compare_members(&members[i - 1], &members[i]) != 0;
    out->groups = arena_array(arena, room + 1, sizeof *out->groups);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_members(&members[i - 1], &members[i]) != 0) {
            struct table_group *group = &out->groups[out->group_count++];
            for (size_t k = 0; k < key_count; k++)
                if (members[i].numbers[k])
                    group->values[k] = by[k].values[members[i].numbers[k] - 1];
        }
        out->groups[out->group_count - 1].count++;
    }
    if (out->group_count > 1)
        qsort(out->groups, (size_t)out->group_count, sizeof *out->groups, compare_groups);
    out->count = MIN((size_t)out->group_count, (size_t)TABLE_GROUPS_MAX);
}

enum err_code table_group(struct cmd *cmd, const struct table_find *find, const struct str *keys,
                          size_t key_count, struct table_groups *ret_groups, struct err *err)
{
    struct table_groups out = {0};
    struct grouping by[TABLE_GROUP_KEYS] = {0};
    struct run_key parsed[TABLE_GROUP_KEYS];
    struct table_search s;
    struct placed *members;
    struct run_set set;
    const struct run_set *all;
    bool found = false;

    TRY(take_group_keys(cmd->arena, keys, key_count, parsed, err));
    TRY(table__search_begin(&s, cmd, find->project, &out.warnings, err));
    TRY(table__find(&s, find, &set, &found, err));
    if (!found) {
        TRY(table__all(&s, &all, err));
        set = *all;
    }
    for (size_t i = 0; i < key_count; i++) {
        by[i] = (struct grouping){.s = &s, .set = &set};
        TRY(number_key(&s, &parsed[i], &by[i], err));
    }
    out.total = (int64_t)list_members(&s, &set, by, key_count, &members);
    make_groups(members, by, key_count, cmd->arena, &out);
    for (size_t i = 0; i < out.count; i++)
        out.groups[i].filter = group_filter(cmd->arena, parsed, key_count, &out.groups[i]);
    *ret_groups = out;
    return OK;
}
