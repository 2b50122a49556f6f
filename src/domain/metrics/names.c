/* Finding the metrics of a run. A regular expression is tried on the names alone, which lie
 * together in an index; the facts are read for those that match. */
#include "domain/metrics/metrics.h"

#include "base/regex.h"

struct search {
    struct arena *arena;
    struct regex *regex;
    struct metric_facts *found; /* name and kind */
    size_t count, limit;
};

static enum err_code try_name(void *ctx, struct str name, enum metric_kind kind, bool *more,
                              struct err *err)
{
    struct search *s = ctx;
    bool matches = false;

    if (regex_search(s->regex, name, &matches, err) != OK)
        return err_set_field(err, ERR_LIMIT, "regex", "the expression asks for too many steps");
    if (matches)
        s->found[s->count++] =
            (struct metric_facts){.name = arena_copy(s->arena, name), .kind = kind};
    *more = s->count < s->limit;
    return OK;
}

static enum err_code search(struct cmd *cmd, run_id run, const struct metric_filter *filter,
                            struct search *s, struct err *err)
{
    struct metric_filter all = *filter;
    struct metric_visit visit = {s, try_name};

    all.limit = METRIC_NAMES_MAX * 2;
    s->found = arena_array(cmd->arena, s->limit, sizeof *s->found);
    TRY(store_run_metric_each(cmd->store, run, &all, &visit, err));
    for (size_t i = 0; i < s->count; i++)
        TRY(store_run_metric_named(cmd->store, run, s->found[i].name, s->found[i].kind, cmd->arena,
                                   &s->found[i], err));
    return OK;
}

enum err_code metrics_list(struct cmd *cmd, run_id run, const struct metric_filter *filter,
                           struct str regex, struct metric_facts **ret_facts, size_t *ret_count,
                           struct err *err)
{
    CLEANUP(regex_release) struct regex *compiled = NULL;
    struct search s = {.arena = cmd->arena, .limit = (size_t)filter->limit};

    if (regex.len == 0)
        return store_run_metric_list(cmd->store, run, filter, cmd->arena, ret_facts, ret_count,
                                     err);
    if (regex_new(regex, NULL, &compiled, err) != OK)
        return err_set_field(err, ERR_INVALID, "regex", "%s", err ? err->text : "");
    s.regex = compiled;
    TRY(search(cmd, run, filter, &s, err));
    *ret_facts = s.found;
    *ret_count = s.count;
    return OK;
}
