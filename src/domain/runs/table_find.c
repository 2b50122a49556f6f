/* Finding runs: each comparison reads one range of one index into a set, joints work on sets.
 *
 * The cost of a comparison is the number of values in its range, never the product of two, so a
 * filter over 100,000 runs takes milliseconds whatever it says. Texts are searched once for a run
 * of equal ones, because they lie side by side in the index. */
#include "domain/runs/table_find.h"

#include "domain/runs/table_shown.h"

#include "base/near.h"
#include "store/store_metric.h"
#include "store/store_run.h"

#include <math.h>

#define NEAR_KEYS_MAX 1000

enum err_code table__search_begin(struct table_search *s, struct cmd *cmd, project_id project,
                                  struct table_warnings *warnings, struct err *err)
{
    run_id low = {0}, high = {0};

    TRY(store_run_id_range(cmd->store, project, &low, &high, err));
    *s = (struct table_search){
        .cmd = cmd, .project = project, .low = low.v, .high = high.v, .warnings = warnings};
    if (s->high == 0)
        s->high = s->low - 1;
    TRY(store_run_trash_next(cmd->store, &low, err));
    s->trash = low.v != 0;
    return OK;
}

static struct run_set new_set(struct table_search *s)
{
    return run_set_new(s->cmd->arena, s->low, s->high);
}

static bool add_run(void *ctx, run_id run)
{
    run_set_add(ctx, run);
    return true;
}

enum err_code table__all(struct table_search *s, const struct run_set **ret_all, struct err *err)
{
    if (!s->all.words) {
        struct run_walk walk = {s->project, s->high, &s->all, add_run};
        s->all = new_set(s);
        TRY(store_run_walk(s->cmd->store, &walk, err));
    }
    *ret_all = &s->all;
    return OK;
}

enum err_code table__live(struct table_search *s, struct err *err)
{
    if (s->live_known)
        return OK;
    TRY(store_run_live_list(s->cmd->store, s->project, s->cmd->arena, &s->live, &s->live_count,
                            err));
    s->live_known = true;
    return OK;
}

static int space_of(const struct run_key *key)
{
    if (key->space == KEY_CONFIG)
        return ATTRIBUTE_CONFIG;
    if (key->space == KEY_SUMMARY)
        return ATTRIBUTE_SUMMARY;
    return key->field == RUN_FIELD_BRANCH || key->field == RUN_FIELD_COMMIT ? ATTRIBUTE_CODE
                                                                            : ATTRIBUTE_RUN;
}

static void warn(struct table_search *s, const struct run_key *key, struct str near)
{
    struct table_warnings *w = s->warnings;
    struct str text = run_key_text(key, s->cmd->arena);

    if (!w || w->count == TABLE_WARNINGS_MAX)
        return;
    w->items[w->count++] =
        str_from(near.len ? arena_printf(s->cmd->arena, "no run has %.*s; did you mean %.*s?",
                                         STR_ARG(text), STR_ARG(near))
                          : arena_printf(s->cmd->arena, "no run has %.*s", STR_ARG(text)));
}

/* A key that no run has is no error, runs with it may come; but it may be a slip. */
static enum err_code warn_unknown(struct table_search *s, const struct run_key *key,
                                  struct err *err)
{
    struct attribute_key_filter filter = {.space = space_of(key), .limit = NEAR_KEYS_MAX};
    struct near near = near_begin(key->name);
    struct run_key best = *key;
    struct attribute_key *keys;
    size_t count = 0;

    if (key->space == KEY_FIELD)
        return OK;
    if (key->space != KEY_METRIC)
        TRY(store_attribute_key_list(s->cmd->store, s->project, &filter, s->cmd->arena, &keys,
                                     &count, err));
    for (size_t i = 0; i < count; i++)
        near_try(&near, keys[i].name);
    best.name = near.best;
    warn(s, key, near.best.len ? run_key_text(&best, s->cmd->arena) : STR(""));
    return OK;
}

static enum err_code find_metric(struct table_search *s, const struct run_key *key,
                                 struct table_source *source, struct err *err)
{
    metric_id ids[2] = {{0}, {0}};
    size_t count = 0;

    TRY(store_metric_name_find(s->cmd->store, s->project, key->name, ids, &count, err));
    if (count)
        source->metric = ids[0]; /* the plain one comes first */
    source->stat = key->space == KEY_METRIC ? key->stat : STAT_LAST;
    return OK;
}

enum err_code table__source(struct table_search *s, const struct run_key *key,
                            struct table_source *ret_source, struct err *err)
{
    struct table_source source = {.key = key};
    struct str name = key->space == KEY_FIELD ? str_from(run_field_name(key->field)) : key->name;
    struct attribute_key found;

    source.is_runtime = key->space == KEY_FIELD && key->field == RUN_FIELD_RUNTIME;
    if (key->space != KEY_METRIC) {
        enum err_code code = store_attribute_key_get(
            s->cmd->store, s->project, (enum attribute_space)space_of(key), name, &found, err);
        if (code != ERR_NOT_FOUND)
            TRY(code);
        if (code == OK && found.run_count > 0)
            source.attribute = found.id;
    }
    if (key->space == KEY_METRIC || key->space == KEY_SUMMARY)
        TRY(find_metric(s, key, &source, err));
    if (key->space == KEY_SUMMARY && (source.attribute.v || source.metric.v))
        TRY(table__shown_find(s, &source, err));
    if (!source.attribute.v && !source.metric.v)
        TRY(warn_unknown(s, key, err));
    *ret_source = source;
    return OK;
}

struct cells {
    void *ctx;
    void (*visit)(void *ctx, const struct table_cell *cell);
    struct run_set present; /* runs with an attribute, whose metric does not count */
    bool keep_present;
    const struct table_source *source;
};

static bool visit_attribute(void *ctx, run_id run, const struct attribute *value)
{
    struct cells *c = ctx;
    struct table_cell cell = {value->kind, value->number, value->text, run};

    if (c->keep_present)
        run_set_add(&c->present, run);
    c->visit(c->ctx, &cell);
    return true;
}

static bool visit_metric(void *ctx, run_id run, double value)
{
    struct cells *c = ctx;
    struct table_cell cell = {.kind = ATTRIBUTE_NUMBER, .text = STR(""), .run = run};

    if (c->keep_present && run_set_has(&c->present, run))
        return true;
    if (isnan(value))
        cell.kind = ATTRIBUTE_NAN;
    else
        cell.number = float_to_bits(value == 0 ? 0 : value);
    c->visit(c->ctx, &cell);
    return true;
}

static enum err_code live_cells(struct table_search *s, struct cells *c, struct err *err)
{
    TRY(table__live(s, err));
    for (size_t i = 0; i < s->live_count; i++) {
        double ms = (double)MAX(s->cmd->now - s->live[i].started, 0);
        struct table_cell cell = {ATTRIBUTE_NUMBER, float_to_bits(ms), STR(""), s->live[i].run};
        c->visit(c->ctx, &cell);
    }
    return OK;
}

static enum err_code walk_kind(struct table_search *s, attribute_key_id key,
                               enum attribute_kind kind, struct cells *c, struct err *err)
{
    struct attribute_walk walk = {.key = key,
                                  .kind = kind,
                                  .low = INT64_MIN,
                                  .high = INT64_MAX,
                                  .from = STR(""),
                                  .ctx = c,
                                  .visit = visit_attribute};

    return store_attribute_walk(s->cmd->store, &walk, err);
}

static enum metric_stat figure_of(void *ctx, run_id run)
{
    const struct cells *c = ctx;

    return table__figure(c->source, run);
}

static enum err_code metric_cells(struct table_search *s, const struct table_source *source,
                                  struct cells *c, struct err *err)
{
    struct metric_runs_walk walk = {.metric = source->metric,
                                    .figures = source->shown.figures | 1u << source->stat,
                                    .ctx = c,
                                    .figure = figure_of,
                                    .visit = visit_metric};

    return store_metric_runs_walk(s->cmd->store, &walk, err);
}

enum err_code table__cells(struct table_search *s, const struct table_source *source, void *ctx,
                           void (*visit)(void *ctx, const struct table_cell *cell), struct err *err)
{
    struct cells c = {.ctx = ctx, .visit = visit, .source = source};

    c.keep_present = source->attribute.v && source->metric.v;
    if (c.keep_present)
        c.present = new_set(s);
    for (int kind = ATTRIBUTE_NUMBER; source->attribute.v && kind < ATTRIBUTE_KIND_END; kind++)
        TRY(walk_kind(s, source->attribute, (enum attribute_kind)kind, &c, err));
    if (source->metric.v)
        TRY(metric_cells(s, source, &c, err));
    return source->is_runtime ? live_cells(s, &c, err) : OK;
}

/* A comparison at work. */
struct matching {
    const struct filter_term *term;
    struct run_set set;
    struct str last_text; /* and what came of it, for equal texts side by side */
    char last_space[ATTRIBUTE_TEXT_BYTES_MAX + 1];
    bool last_known, last_match;
    enum err_code code; /* of a regular expression */
    struct err *err;
};

static bool holds(enum filter_op op, int order)
{
    switch (op) {
    case FILTER_EQ:
    case FILTER_IN: return order == 0;
    case FILTER_LT: return order < 0;
    case FILTER_LE: return order <= 0;
    case FILTER_GT: return order > 0;
    case FILTER_GE: return order >= 0;
    case FILTER_CONTAINS:
    case FILTER_MATCH:
    case FILTER_NULL: break;
    }
    return false;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool contains(struct str text, struct str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++) {
        size_t i = 0;
        while (i < part.len && lower(text.data[at + i]) == lower(part.data[i]))
            i++;
        if (i == part.len)
            return true;
    }
    return false;
}

static bool text_matches(struct matching *m, struct str text)
{
    const struct filter_term *t = m->term;
    bool found = false;

    if (t->op == FILTER_MATCH) {
        if (m->code == OK)
            m->code = regex_search(t->regex, text, &found, m->err);
        return found;
    }
    for (size_t i = 0; i < t->value_count && !found; i++)
        if (t->values[i].kind == VALUE_TEXT)
            found = t->op == FILTER_CONTAINS ? contains(text, t->values[i].text)
                                             : holds(t->op, str_compare(text, t->values[i].text));
    return found;
}

static bool number_matches(const struct filter_term *t, const struct table_cell *cell)
{
    enum filter_value_kind kind = cell->kind == ATTRIBUTE_BOOL ? VALUE_BOOL : VALUE_NUMBER;
    double number =
        cell->kind == ATTRIBUTE_BOOL ? (double)cell->number : float_from_bits(cell->number);

    for (size_t i = 0; i < t->value_count; i++)
        if (t->values[i].kind == kind &&
            holds(t->op, (number > t->values[i].number) - (number < t->values[i].number)))
            return true;
    return false;
}

static void match_cell(void *ctx, const struct table_cell *cell)
{
    struct matching *m = ctx;
    bool found;

    if (m->term->op == FILTER_NULL) {
        found = true; /* of those that have it; it is turned round at the end */
    } else if (cell->kind == ATTRIBUTE_TEXT) {
        if (!m->last_known || !str_eq(m->last_text, cell->text)) {
            m->last_match = text_matches(m, cell->text);
            ENSURE(cell->text.len < sizeof m->last_space);
            memcpy(m->last_space, cell->text.data, cell->text.len);
            m->last_text = str_n(m->last_space, cell->text.len);
            m->last_known = true;
        }
        found = m->last_match;
    } else {
        found = cell->kind != ATTRIBUTE_NAN && number_matches(m->term, cell);
    }
    if (found)
        run_set_add(&m->set, cell->run);
}

static bool match_attribute(void *ctx, run_id run, const struct attribute *value)
{
    struct matching *m = ctx;
    struct table_cell cell = {value->kind, value->number, value->text, run};

    match_cell(m, &cell);
    return m->code == OK;
}

static void add_match(void *ctx, run_id run)
{
    struct matching *m = ctx;

    run_set_add(&m->set, run);
}

/* The range of the index in which a value holds, both ends included. False: not exactly, each
 * value in it has to be looked at. */
static bool bound(struct attribute_walk *walk, enum filter_op op, const struct filter_value *v)
{
    bool from = op == FILTER_EQ || op == FILTER_IN || op == FILTER_GT || op == FILTER_GE;
    bool to = op == FILTER_EQ || op == FILTER_IN || op == FILTER_LT || op == FILTER_LE;
    int64_t bits =
        v->kind == VALUE_BOOL ? (int64_t)v->number : float_to_bits(v->number == 0 ? 0 : v->number);

    walk->kind = v->kind == VALUE_TEXT   ? ATTRIBUTE_TEXT
                 : v->kind == VALUE_BOOL ? ATTRIBUTE_BOOL
                                         : ATTRIBUTE_NUMBER;
    if (from && v->kind == VALUE_TEXT)
        walk->from = v->text;
    if (to && v->kind == VALUE_TEXT)
        walk->to = v->text;
    if (v->kind == VALUE_TEXT)
        return op != FILTER_LT && op != FILTER_GT;
    /* The int64s have the order of the numbers, so the next number is one on. */
    if (from)
        walk->low = bits + (op == FILTER_GT);
    if (to)
        walk->high = bits - (op == FILTER_LT);
    return true;
}

static enum err_code match_attributes(struct table_search *s, const struct table_source *source,
                                      struct matching *m, struct err *err)
{
    for (size_t i = 0; i < m->term->value_count; i++) {
        struct attribute_walk walk = {.key = source->attribute,
                                      .low = INT64_MIN,
                                      .high = INT64_MAX,
                                      .from = STR(""),
                                      .ctx = m,
                                      .visit = match_attribute};
        if (bound(&walk, m->term->op, &m->term->values[i]))
            TRY(store_attribute_runs(s->cmd->store, &walk, add_match, err));
        else
            TRY(store_attribute_walk(s->cmd->store, &walk, err));
    }
    return OK;
}

static enum err_code match_all_texts(struct table_search *s, const struct table_source *source,
                                     struct matching *m, struct err *err)
{
    struct attribute_walk walk = {.key = source->attribute,
                                  .kind = ATTRIBUTE_TEXT,
                                  .from = STR(""),
                                  .ctx = m,
                                  .visit = match_attribute};

    return store_attribute_walk(s->cmd->store, &walk, err);
}

static enum err_code match_notes(void *ctx, run_id run, struct str notes, struct err *err)
{
    struct matching *m = ctx;

    (void)err;
    if (m->term->op == FILTER_NULL || text_matches(m, notes))
        run_set_add(&m->set, run);
    return m->code;
}

static enum err_code match_source(struct table_search *s, const struct table_source *source,
                                  struct matching *m, struct err *err)
{
    bool plain = !source->metric.v && !source->is_runtime;

    if (source->key->space == KEY_FIELD && source->key->field == RUN_FIELD_NOTES) {
        struct run_notes_walk walk = {s->project, m, match_notes};
        return store_run_notes_walk(s->cmd->store, &walk, err);
    }
    if (!source->attribute.v && plain)
        return OK;
    if (plain && (m->term->op == FILTER_CONTAINS || m->term->op == FILTER_MATCH))
        return match_all_texts(s, source, m, err);
    if (plain && m->term->op != FILTER_NULL)
        return match_attributes(s, source, m, err);
    return table__cells(s, source, m, match_cell, err);
}

/* A run on several hosts is found by each of them. */
static enum err_code match_hosts(struct table_search *s, const struct run_key *key,
                                 struct matching *m, struct err *err)
{
    struct table_source source = {.key = key};
    struct attribute_key found;
    enum err_code code;

    if (key->space != KEY_FIELD || key->field != RUN_FIELD_HOST || m->code != OK)
        return OK;
    code = store_attribute_key_get(s->cmd->store, s->project, ATTRIBUTE_HOSTS,
                                   str_from(run_field_name(RUN_FIELD_HOST)), &found, NULL);
    if (code == ERR_NOT_FOUND)
        return OK;
    if (code != OK)
        return err_set(err, code, "the hosts of runs cannot be read");
    source.attribute = found.id;
    return match_source(s, &source, m, err);
}

static enum err_code find_term(struct table_search *s, const struct filter_term *term,
                               struct run_set *ret_set, struct err *err)
{
    struct matching m = {.term = term, .set = new_set(s), .err = err};
    struct table_source source;
    const struct run_set *all;
    enum err_code code;

    TRY(table__source(s, &term->key, &source, err));
    TRY(table__shown_load(s, &source, err));
    code = match_source(s, &source, &m, err);
    if (code == OK)
        code = match_hosts(s, &term->key, &m, err);
    if (m.code != OK) { /* a regular expression gave up */
        err_place(err, "filter", term->column);
        return m.code;
    }
    TRY(code);
    *ret_set = m.set;
    if (term->op == FILTER_NULL) {
        TRY(table__all(s, &all, err));
        *ret_set = run_set_copy(s->cmd->arena, all);
        run_set_minus(ret_set, &m.set);
    }
    return OK;
}

static enum err_code negate(struct table_search *s, struct run_set *set, struct err *err)
{
    const struct run_set *all;
    struct run_set rest;

    TRY(table__all(s, &all, err));
    rest = run_set_copy(s->cmd->arena, all);
    run_set_minus(&rest, set);
    *set = rest;
    return OK;
}

static enum err_code run_program(struct table_search *s, const struct filter *filter,
                                 struct run_set *ret_set, struct err *err)
{
    struct run_set stack[FILTER_TERMS_MAX];
    size_t depth = 0;

    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_step *step = &filter->steps[i];
        switch (step->kind) {
        case FILTER_STEP_TERM: TRY(find_term(s, step->term, &stack[depth++], err)); break;
        case FILTER_STEP_NOT: TRY(negate(s, &stack[depth - 1], err)); break;
        case FILTER_STEP_AND:
            depth--;
            run_set_and(&stack[depth - 1], &stack[depth]);
            break;
        case FILTER_STEP_OR:
            depth--;
            run_set_or(&stack[depth - 1], &stack[depth]);
            break;
        }
    }
    ENSURE(depth == 1);
    *ret_set = stack[0];
    return OK;
}

/* Joins what a plain parameter asks for to the set. */
static enum err_code narrow(struct table_search *s, const struct filter_term *terms, size_t count,
                            struct run_set *set, bool *found, struct err *err)
{
    struct run_set part = new_set(s);

    for (size_t i = 0; i < count; i++) {
        struct run_set one;
        TRY(find_term(s, &terms[i], &one, err));
        run_set_or(&part, &one);
    }
    if (*found)
        run_set_and(set, &part);
    else
        *set = part;
    *found = true;
    return OK;
}

static struct filter_term field_term(enum run_field field, enum filter_op op,
                                     const struct filter_value *value)
{
    return (struct filter_term){
        .key = {.field = field}, .op = op, .values = value, .value_count = 1};
}

static enum err_code find_plain(struct table_search *s, const struct table_find *find,
                                struct run_set *set, bool *found, struct err *err)
{
    struct filter_value value = {.kind = VALUE_TEXT};
    struct filter_term terms[2];

    if (find->state != RUN_STATE_COUNT) {
        value.text = str_from(run_state_name(find->state));
        terms[0] = field_term(RUN_FIELD_STATE, FILTER_EQ, &value);
        TRY(narrow(s, terms, 1, set, found, err));
    }
    if (find->tag.len) {
        value.text = find->tag;
        terms[0] = field_term(RUN_FIELD_TAGS, FILTER_EQ, &value);
        TRY(narrow(s, terms, 1, set, found, err));
    }
    if (find->search.len) {
        value.text = find->search;
        terms[0] = field_term(RUN_FIELD_NAME, FILTER_CONTAINS, &value);
        terms[1] = field_term(RUN_FIELD_ID, FILTER_CONTAINS, &value);
        TRY(narrow(s, terms, 2, set, found, err));
    }
    return OK;
}

enum err_code table__find(struct table_search *s, const struct table_find *find,
                          struct run_set *ret_set, bool *ret_found, struct err *err)
{
    CLEANUP(filter_release) struct filter filter = {0};
    const struct run_set *all;

    *ret_found = false;
    TRY(filter_parse(find->filter, s->cmd->now, s->cmd->arena, &filter, err));
    if (filter.count) {
        TRY(run_program(s, &filter, ret_set, err));
        *ret_found = true;
    }
    TRY(find_plain(s, find, ret_set, ret_found, err));
    if (s->trash) {
        TRY(table__all(s, &all, err));
        if (*ret_found)
            run_set_and(ret_set, all);
        else
            *ret_set = run_set_copy(s->cmd->arena, all);
        *ret_found = true;
    }
    return OK;
}
