/* Figures by run, from the definitions in the index: those for shorter beginnings are laid down
 * first, so that what counts more lies on top. Where no run defined anything there is no table. */
#include "domain/runs/table_shown.h"

#include "domain/runs/define.h"

#define FIGURE_BYTES 16

struct laying {
    const struct table_search *s;
    struct table_shown *shown;
    char text[FIGURE_BYTES]; /* equal ones lie side by side in the index: read once */
    size_t len;
    enum metric_stat figure;
};

static void read_figure(struct laying *l, struct str text)
{
    l->len = MIN(text.len, sizeof l->text);
    memcpy(l->text, text.data, l->len);
    l->figure = definition_figure_from_name(text);
    l->shown->figures |= 1u << l->figure;
}

static bool lay(void *ctx, run_id run, const struct attribute *value)
{
    struct laying *l = ctx;

    if (l->len == 0 || !str_eq(value->text, str_n(l->text, l->len)))
        read_figure(l, value->text);
    if (run.v >= l->s->low && run.v <= l->s->high)
        l->shown->by_run[run.v - l->s->low] = (uint8_t)l->figure;
    return true;
}

enum err_code table__shown_find(struct table_search *s, struct table_source *source,
                                struct err *err)
{
    return store_attribute_defined_list(s->cmd->store, s->project, source->key->name, s->cmd->arena,
                                        &source->shown.keys, &source->shown.key_count, err);
}

enum err_code table__shown_load(struct table_search *s, struct table_source *source,
                                struct err *err)
{
    struct table_shown *shown = &source->shown;
    struct laying laying = {.s = s, .shown = shown};

    if (!source->metric.v || shown->key_count == 0 || s->high < s->low)
        return OK;
    shown->low = s->low;
    shown->count = s->high - s->low + 1;
    shown->by_run = arena_array(s->cmd->arena, (size_t)shown->count, sizeof *shown->by_run);
    for (size_t i = 0; i < shown->key_count; i++) {
        struct attribute_walk walk = {.key = shown->keys[i].id,
                                      .kind = ATTRIBUTE_TEXT,
                                      .from = STR(""),
                                      .ctx = &laying,
                                      .visit = lay};
        TRY(store_attribute_walk(s->cmd->store, &walk, err));
    }
    return OK;
}

enum metric_stat table__figure(const struct table_source *source, run_id run)
{
    const struct table_shown *shown = &source->shown;

    if (!shown->by_run || run.v < shown->low || run.v - shown->low >= shown->count)
        return source->stat;
    return (enum metric_stat)shown->by_run[run.v - shown->low];
}
