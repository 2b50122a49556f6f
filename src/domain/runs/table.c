/* Pages of the runs table, their values, and which keys there are. */
#include "domain/runs/table.h"

#include "domain/runs/define_fold.h"
#include "domain/runs/table_offer.h"
#include "domain/runs/table_order.h"
#include "domain/runs/table_shown.h"
#include "store/store_metric.h"
#include "store/store_run.h"

#include <math.h>
#include <stdlib.h>

double table_number(const struct attribute *value)
{
    return float_from_bits(value->number);
}

static enum err_code take_sort(struct table_search *s, struct str text, struct table_order *order,
                               struct err *err)
{
    struct table_source *source = ARENA_NEW(s->cmd->arena, struct table_source);
    struct run_key *key = ARENA_NEW(s->cmd->arena, struct run_key);

    if (text.len == 0)
        return OK;
    order->descending = text.data[0] == '-';
    if (order->descending)
        text = str_n(text.data + 1, text.len - 1);
    if (run_key_parse(text, s->cmd->arena, key, err) != OK) {
        err_place(err, "sort", order->descending ? 2 : 1);
        return ERR_INVALID;
    }
    if (key->space == KEY_FIELD && (key->field == RUN_FIELD_TAGS || key->field == RUN_FIELD_NOTES))
        return err_set_field(err, ERR_INVALID, "sort", "runs cannot be sorted by %s",
                             run_field_name(key->field));
    TRY(table__source(s, key, source, err));
    TRY(table__shown_load(s, source, err));
    order->source = source;
    return OK;
}

static enum err_code take_place(const struct table_search *s, struct str cursor,
                                struct table_place *ret_place, struct err *err)
{
    *ret_place = (struct table_place){.newest = s->high, .at_start = true};
    if (cursor.len == 0)
        return OK;
    return table__cursor_parse(cursor, s->cmd->arena, ret_place, err);
}

static void value_of_double(struct attribute *value, double number)
{
    value->kind = isnan(number) ? ATTRIBUTE_NAN : ATTRIBUTE_NUMBER;
    value->number = isnan(number) ? 0 : float_to_bits(number);
}

/* A page being filled. */
struct filling {
    struct table_search *s;
    struct table_page *page;
    struct definitions *defined; /* of each run, once asked for */
    bool *is_known;
};

/* What counts for the metric of a column in one run; NULL: nothing was said. The document of the
 * run is read, once, and only where some run of the project says anything of the metric. */
static enum err_code find_definition(struct filling *f, const struct table_source *source,
                                     size_t row, const struct definition **ret_definition,
                                     struct err *err)
{
    *ret_definition = NULL;
    if (source->shown.key_count == 0)
        return OK;
    if (!f->is_known[row])
        TRY(define_load(f->s->cmd, f->page->runs[row].id, &f->defined[row], err));
    f->is_known[row] = true;
    *ret_definition = definitions_find(&f->defined[row], source->key->name);
    return OK;
}

/* The value that a source has for one run; kind 0: none. Several tags become their first. */
static enum err_code load_value(struct filling *f, const struct table_source *source, size_t row,
                                struct attribute *ret_value, struct table_figure *ret_figure,
                                struct err *err)
{
    struct store *store = f->s->cmd->store;
    run_id run = f->page->runs[row].id;
    const struct definition *d = NULL;
    struct attribute *values;
    struct metric_facts facts;
    size_t count = 0;

    TRY(find_definition(f, source, row, &d, err));
    enum metric_stat figure = d ? d->figure : source->stat;
    *ret_value = (struct attribute){0};
    *ret_figure = (struct table_figure){STAT_END, STEP_NONE, d ? d->goal : GOAL_NONE};
    if (source->attribute.v)
        TRY(store_attribute_get(store, run, source->attribute, f->s->cmd->arena, &values, &count,
                                err));
    if (count) {
        *ret_value = values[0];
    } else if (source->metric.v && figure != STAT_END) {
        TRY(store_run_metric_get(store, run, source->metric, &facts, err));
        if (facts.count) {
            value_of_double(ret_value, metric_figure(&facts, figure, &ret_figure->step));
            ret_figure->stat = figure;
        }
    }
    return OK;
}

static enum err_code load_columns(struct table_search *s, const struct table_query *q,
                                  struct table_page *page, struct err *err)
{
    struct arena *arena = s->cmd->arena;
    struct filling filling = {
        .s = s,
        .page = page,
        .defined = arena_array(arena, page->count + 1, sizeof *filling.defined),
        .is_known = arena_array(arena, page->count + 1, sizeof *filling.is_known),
    };

    page->values = arena_array(arena, page->count * q->column_count + 1, sizeof *page->values);
    page->figures = arena_array(arena, page->count * q->column_count + 1, sizeof *page->figures);
    for (size_t i = 0; i < q->column_count; i++) {
        struct table_source source;
        struct run_key key;
        if (run_key_parse(q->columns[i], arena, &key, err) != OK) {
            err_place(err, "columns", 0);
            return ERR_INVALID;
        }
        TRY(table__source(s, &key, &source, err));
        for (size_t row = 0; row < page->count; row++) {
            size_t at = row * q->column_count + i;
            TRY(load_value(&filling, &source, row, &page->values[at], &page->figures[at], err));
        }
    }
    return OK;
}

static enum err_code load_runs(struct table_search *s, const struct table_query *q,
                               const struct table_cell *cells, struct table_page *page,
                               struct err *err)
{
    struct arena *arena = s->cmd->arena;

    page->runs = arena_array(arena, page->count + 1, sizeof *page->runs);
    for (size_t i = 0; i < page->count; i++) {
        struct run *run = &page->runs[i];
        TRY(store_run_by_id(s->cmd->store, cells[i].run, arena, run, err));
    }
    return load_columns(s, q, page, err);
}

enum err_code table_list(struct cmd *cmd, const struct table_query *q, struct table_page *ret_page,
                         struct err *err)
{
    struct table_order order = {.skip = q->skip, .limit = (size_t)q->limit + 1};
    struct table_page page = {0};
    struct table_search s;
    struct table_cell *cells;
    struct run_set set;
    bool found = false;

    TRY(table__search_begin(&s, cmd, q->find.project, &page.warnings, err));
    TRY(take_place(&s, q->cursor, &order.from, err));
    TRY(table__find(&s, &q->find, &set, &found, err));
    TRY(take_sort(&s, q->sort, &order, err));
    if (found) {
        run_set_cut(&set, order.from.newest);
        order.set = &set;
        page.total = run_set_size(&set);
    } else {
        TRY(store_run_count(cmd->store, q->find.project, order.from.newest, &page.total, err));
    }
    TRY(table__order(&s, &order, &cells, &page.count, err));
    if (page.count > (size_t)q->limit) {
        struct table_place last = {.newest = order.from.newest, .cell = cells[q->limit - 1]};
        page.count = (size_t)q->limit;
        page.next_cursor = table__cursor_text(&last, cmd->arena);
    }
    TRY(load_runs(&s, q, cells, &page, err));
    *ret_page = page;
    return OK;
}

static enum err_code add_metric_columns(struct cmd *cmd, project_id project,
                                        const struct attribute_key_filter *filter,
                                        struct table_column *columns, size_t *count,
                                        struct err *err)
{
    CLEANUP(table__offer_release) struct table_offer offer;
    struct metric_column *metrics;
    size_t metric_count = 0;
    bool offered = false;

    TRY(table__offer_begin(&offer, cmd, project, err));
    TRY(store_metric_columns(cmd->store, project, filter, cmd->arena, &metrics, &metric_count,
                             err));
    for (size_t i = 0; i < metric_count; i++) {
        struct run_key key = {.space = KEY_SUMMARY, .name = metrics[i].name};
        if (str_eq(metrics[i].name, filter->search))
            offered = true; /* asked for by its name */
        else
            TRY(table__offered(&offer, metrics[i].name, &offered, err));
        if (metrics[i].run_count && offered)
            columns[(*count)++] = (struct table_column){
                .key = run_key_text(&key, cmd->arena),
                .run_count = metrics[i].run_count,
                .value_count = -1,
                .more = metrics[i].run_count == METRIC_COLUMN_RUNS_MAX,
            };
    }
    return OK;
}

enum err_code table_columns(struct cmd *cmd, project_id project, struct str search, int limit,
                            struct table_column **ret_columns, size_t *ret_count, struct err *err)
{
    static const struct {
        enum attribute_space space;
        enum run_key_space key;
    } spaces[] = {{ATTRIBUTE_CONFIG, KEY_CONFIG}, {ATTRIBUTE_SUMMARY, KEY_SUMMARY}};
    struct attribute_key_filter filter = {.search = search, .limit = limit};
    struct table_column *columns = arena_array(cmd->arena, (size_t)limit * 3, sizeof *columns);
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
        struct attribute_key *keys;
        size_t key_count = 0;
        filter.space = (int)spaces[i].space;
        TRY(store_attribute_key_list(cmd->store, project, &filter, cmd->arena, &keys, &key_count,
                                     err));
        for (size_t k = 0; k < key_count; k++) {
            struct run_key key = {.space = spaces[i].key, .name = keys[k].name};
            columns[count++] = (struct table_column){
                .key = run_key_text(&key, cmd->arena),
                .run_count = keys[k].run_count,
                .value_count = keys[k].value_count,
            };
        }
    }
    TRY(add_metric_columns(cmd, project, &filter, columns, &count, err));
    *ret_columns = columns;
    *ret_count = count;
    return OK;
}
