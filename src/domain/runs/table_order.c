/* Ordering runs.
 *
 * A key that lies in the index is walked in its order and the walk ends with the page. What does
 * not lie there in order (metrics, run times that grow) is gathered: of all cells only the best
 * few are kept, by sorting a buffer of twice the page and cutting it whenever it is full. */
#include "domain/runs/table_order.h"

#include <stdio.h>
#include <stdlib.h>

#define GATHER_MIN 1024

static int compare_cells(const struct table_cell *a, const struct table_cell *b, bool descending)
{
    int order;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == ATTRIBUTE_KIND_END)
        return (a->run.v < b->run.v) - (a->run.v > b->run.v);
    order = a->kind == ATTRIBUTE_TEXT ? str_compare(a->text, b->text)
                                      : (a->number > b->number) - (a->number < b->number);
    if (order == 0)
        order = (a->run.v > b->run.v) - (a->run.v < b->run.v);
    return descending ? -order : order;
}

static int compare_up(const void *a, const void *b)
{
    return compare_cells(a, b, false);
}

static int compare_down(const void *a, const void *b)
{
    return compare_cells(a, b, true);
}

struct taking {
    const struct table_order *order;
    struct arena *arena;
    struct table_cell *cells;
    size_t count;
    int64_t skip;
    struct run_set had;      /* runs whose value went by, wherever the page begins */
    bool gathers;            /* cells come in no order */
    size_t room;             /* of `cells` when gathering */
    size_t keep;             /* of them, after a cut */
    struct table_cell worst; /* when `has_worst`: what does not beat it is not kept */
    bool has_worst;
};

static bool wanted(const struct taking *t, const struct table_cell *cell)
{
    const struct table_order *o = t->order;

    if (cell->run.v > o->from.newest || (o->set && !run_set_has(o->set, cell->run)))
        return false;
    return o->from.at_start || compare_cells(cell, &o->from.cell, o->descending) > 0;
}

static bool is_full(const struct taking *t)
{
    return !t->gathers && t->count == t->order->limit;
}

/* Sorts what was gathered and forgets all that no page can reach. */
static void cut(struct taking *t)
{
    if (t->count > 1)
        qsort(t->cells, t->count, sizeof *t->cells,
              t->order->descending ? compare_down : compare_up);
    if (t->count <= t->keep)
        return;
    t->count = t->keep;
    t->worst = t->cells[t->count - 1];
    t->has_worst = true;
}

static void gather(struct taking *t, const struct table_cell *cell)
{
    if (t->has_worst && compare_cells(cell, &t->worst, t->order->descending) > 0)
        return;
    if (t->count == t->room)
        cut(t);
    t->cells[t->count] = *cell;
    t->cells[t->count++].text = arena_copy(t->arena, cell->text);
}

static void take(void *ctx, const struct table_cell *cell)
{
    struct taking *t = ctx;

    run_set_add(&t->had, cell->run);
    if (is_full(t) || !wanted(t, cell))
        return;
    if (t->gathers) {
        gather(t, cell);
    } else if (t->skip > 0) {
        t->skip--;
    } else {
        t->cells[t->count] = *cell;
        t->cells[t->count++].text = arena_copy(t->arena, cell->text);
    }
}

static bool take_attribute(void *ctx, run_id run, const struct attribute *value)
{
    struct table_cell cell = {value->kind, value->number, value->text, run};

    take(ctx, &cell);
    return !is_full(ctx);
}

static enum err_code walk_index(struct table_search *s, struct taking *t, struct err *err)
{
    const struct table_order *o = t->order;
    const struct table_cell *from = &o->from.cell;

    for (int kind = ATTRIBUTE_NUMBER; kind < ATTRIBUTE_KIND_END && !is_full(t); kind++) {
        struct attribute_walk walk = {.key = o->source->attribute,
                                      .kind = (enum attribute_kind)kind,
                                      .low = INT64_MIN,
                                      .high = INT64_MAX,
                                      .from = STR(""),
                                      .descending = o->descending,
                                      .ctx = t,
                                      .visit = take_attribute};
        if (!o->from.at_start && (int)from->kind > kind)
            continue;
        if (!o->from.at_start && (int)from->kind == kind) {
            walk.low = o->descending ? INT64_MIN : from->number;
            walk.high = o->descending ? from->number : INT64_MAX;
            walk.from = o->descending ? STR("") : from->text;
            walk.to = o->descending ? from->text : (struct str){0};
        }
        TRY(store_attribute_walk(s->cmd->store, &walk, err));
    }
    return OK;
}

static enum err_code gather_all(struct table_search *s, struct taking *t, struct err *err)
{
    t->gathers = true;
    t->keep = (size_t)t->skip + t->order->limit;
    t->room = MAX(t->keep * 2, (size_t)GATHER_MIN);
    t->cells = arena_array(t->arena, t->room, sizeof *t->cells);
    TRY(table__cells(s, t->order->source, t, take, err));
    t->has_worst = false;
    cut(t);
    if ((int64_t)t->count <= t->skip) {
        t->skip -= (int64_t)t->count;
        t->count = 0;
    } else {
        t->count = MIN(t->count - (size_t)t->skip, t->order->limit);
        t->cells += t->skip;
        t->skip = 0;
    }
    t->gathers = false;
    return OK;
}

static void mark(void *ctx, const struct table_cell *cell)
{
    run_set_add(ctx, cell->run);
}

/* The runs without a value, newest first. */
static enum err_code take_rest(struct table_search *s, struct taking *t, struct err *err)
{
    const struct table_order *o = t->order;
    const struct run_set *all = o->set;
    struct run_set rest;
    int64_t at = o->from.newest;

    if (is_full(t))
        return OK;
    if (!all)
        TRY(table__all(s, &all, err));
    rest = run_set_copy(t->arena, all);
    if (!o->from.at_start && o->source) /* values before the page did not go by */
        TRY(table__cells(s, o->source, &t->had, mark, err));
    run_set_minus(&rest, &t->had);
    if (!o->from.at_start && o->from.cell.kind == ATTRIBUTE_KIND_END)
        at = MIN(at, o->from.cell.run.v - 1);
    for (at = run_set_below(&rest, at); at && !is_full(t); at = run_set_below(&rest, at - 1)) {
        struct table_cell cell = {ATTRIBUTE_KIND_END, 0, STR(""), {at}};
        if (t->skip > 0)
            t->skip--;
        else
            t->cells[t->count++] = cell;
    }
    return OK;
}

static bool take_newest(void *ctx, run_id run)
{
    struct table_cell cell = {ATTRIBUTE_KIND_END, 0, STR(""), run};

    take(ctx, &cell);
    return !is_full(ctx);
}

enum err_code table__order(struct table_search *s, const struct table_order *order,
                           struct table_cell **ret_cells, size_t *ret_count, struct err *err)
{
    struct taking t = {.order = order, .arena = s->cmd->arena, .skip = order->skip};
    const struct table_source *source = order->source;

    t.cells = arena_array(t.arena, order->limit, sizeof *t.cells);
    t.had = run_set_new(t.arena, s->low, s->high);
    if (!source && !order->set) {
        int64_t newest = order->from.at_start ? order->from.newest : order->from.cell.run.v - 1;
        struct run_walk walk = {s->project, MIN(newest, order->from.newest), &t, take_newest};
        TRY(store_run_walk(s->cmd->store, &walk, err));
    } else {
        struct table_cell *whole = t.cells;
        if (source && (source->metric.v || source->is_runtime)) {
            TRY(gather_all(s, &t, err));
            memcpy(whole, t.cells, t.count * sizeof *whole);
            t.cells = whole; /* it has room for the rest */
        } else if (source && source->attribute.v) {
            TRY(walk_index(s, &t, err));
        }
        TRY(take_rest(s, &t, err));
    }
    *ret_cells = t.cells;
    *ret_count = t.count;
    return OK;
}

const char *table__cursor_text(const struct table_place *place, struct arena *arena)
{
    const struct table_cell *c = &place->cell;
    char *hex = arena_alloc(arena, c->text.len * 2 + 1);

    for (size_t i = 0; i < c->text.len; i++)
        (void)snprintf(hex + i * 2, 3, "%02x", (unsigned)(unsigned char)c->text.data[i]);
    return arena_printf(arena, "%lld.%d.%lld.%lld.%s", (long long)place->newest, (int)c->kind,
                        (long long)c->number, (long long)c->run.v, hex);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(struct str hex, struct arena *arena, struct str *ret_text)
{
    char *text = arena_alloc(arena, hex.len / 2 + 1);

    if (hex.len % 2 || hex.len / 2 > ATTRIBUTE_TEXT_BYTES_MAX)
        return false;
    for (size_t i = 0; i < hex.len; i += 2) {
        int high = digit(hex.data[i]), low = digit(hex.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        text[i / 2] = (char)(high << 4 | low);
    }
    *ret_text = str_n(text, hex.len / 2);
    return true;
}

enum err_code table__cursor_parse(struct str text, struct arena *arena,
                                  struct table_place *ret_place, struct err *err)
{
    int64_t numbers[4];
    struct str rest = text, part, value;
    bool good = true;

    for (size_t i = 0; good && i < ARRAY_LEN(numbers); i++)
        good = str_cut(&rest, '.', &part) && str_to_i64(part, &numbers[i]);
    if (!good || numbers[1] < ATTRIBUTE_NUMBER || numbers[1] > ATTRIBUTE_KIND_END ||
        numbers[3] < 0 || !take_hex(rest, arena, &value))
        return err_set_field(err, ERR_INVALID, "cursor", "\"%.*s\" is not a cursor of this list",
                             (int)MIN(text.len, (size_t)40), text.data);
    *ret_place = (struct table_place){
        .newest = numbers[0],
        .cell = {(enum attribute_kind)numbers[1], numbers[2], value, {numbers[3]}},
    };
    return OK;
}
