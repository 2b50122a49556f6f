/* Figures by run, from the definitions in the index: those for shorter beginnings are laid down
 * first, so that what counts more lies on top. One byte a run: the figure and, from bit 4 on, the
 * goal. Where no run defined anything there is no table of bytes at all. */
#include "domain/runs/table_shown.h"

#include "domain/runs/define.h"

#define GOAL_SHIFT  4
#define FIGURE_MASK 15

struct laying {
    const struct table_search *s;
    struct table_shown *shown;
};

static bool lay(void *ctx, run_id run, const struct attribute *value)
{
    const struct laying *l = ctx;
    enum metric_stat figure;
    enum metric_goal goal;

    definition_text_parse(value->text, &figure, &goal);
    if (run.v >= l->s->low && run.v <= l->s->high) {
        l->shown->by_run[run.v - l->s->low] = (uint8_t)((unsigned)goal << GOAL_SHIFT | figure);
        l->shown->figures |= 1u << figure;
    }
    return true;
}

enum err_code table__shown_load(struct table_search *s, struct table_source *source,
                                struct err *err)
{
    struct laying laying = {s, &source->shown};
    struct attribute_key *keys;
    size_t count = 0;

    if (s->high < s->low)
        return OK;
    TRY(store_attribute_defined_list(s->cmd->store, s->project, source->key->name, s->cmd->arena,
                                     &keys, &count, err));
    if (count == 0)
        return OK;
    source->shown.low = s->low;
    source->shown.count = s->high - s->low + 1;
    source->shown.by_run =
        arena_array(s->cmd->arena, (size_t)source->shown.count, sizeof *source->shown.by_run);
    for (size_t i = 0; i < count; i++) {
        struct attribute_walk walk = {.key = keys[i].id,
                                      .kind = ATTRIBUTE_TEXT,
                                      .from = STR(""),
                                      .ctx = &laying,
                                      .visit = lay};
        TRY(store_attribute_walk(s->cmd->store, &walk, err));
    }
    return OK;
}

static bool is_laid(const struct table_shown *shown, run_id run)
{
    return shown->by_run && run.v >= shown->low && run.v - shown->low < shown->count;
}

enum metric_stat table__figure(const struct table_source *source, run_id run)
{
    const struct table_shown *shown = &source->shown;

    if (!is_laid(shown, run))
        return source->stat;
    return (enum metric_stat)(shown->by_run[run.v - shown->low] & FIGURE_MASK);
}

enum metric_goal table__goal(const struct table_source *source, run_id run)
{
    const struct table_shown *shown = &source->shown;

    if (!is_laid(shown, run))
        return GOAL_NONE;
    return (enum metric_goal)(shown->by_run[run.v - shown->low] >> GOAL_SHIFT);
}
