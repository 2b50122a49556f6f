/* Offering metrics. Most projects define nothing, and most metrics have no definition: only for the
 * others are runs looked at, and the definitions of each run are read once for all metrics. */
#include "domain/runs/table_offer.h"

#include "domain/runs/define_fold.h"
#include "store/store_attribute.h"
#include "store/store_metric.h"

#define KNOWN_MAX 100000

enum err_code table__offer_begin(struct table_offer *offer, struct cmd *cmd, project_id project,
                                 struct err *err)
{
    struct attribute_key_filter any = {.space = ATTRIBUTE_DEFINED, .search = STR(""), .limit = 1};
    struct attribute_key *keys;
    size_t count = 0;

    *offer = (struct table_offer){.cmd = cmd, .project = project};
    map_init(&offer->known, KNOWN_MAX);
    TRY(store_attribute_key_list(cmd->store, project, &any, cmd->arena, &keys, &count, err));
    offer->has_definitions = count > 0;
    return OK;
}

void table__offer_release(struct table_offer *offer)
{
    map_release(&offer->known);
}

static enum err_code load(struct table_offer *offer, run_id run,
                          const struct definitions **ret_defined, struct err *err)
{
    struct str key = str_n((const char *)&run.v, sizeof run.v);
    struct definitions *defined = map_get(&offer->known, key);

    if (!defined) {
        defined = ARENA_NEW(offer->cmd->arena, struct definitions);
        TRY(define_load(offer->cmd, run, defined, err));
        (void)map_put(&offer->known, key, defined); /* when it is full it is read again */
    }
    *ret_defined = defined;
    return OK;
}

static enum err_code is_shown(struct table_offer *offer, metric_id metric, struct str name,
                              bool *ret_shown, struct err *err)
{
    const struct definitions *defined;
    run_id *runs;
    size_t count = 0;

    *ret_shown = true;
    TRY(store_metric_runs_newest(offer->cmd->store, metric, METRIC_COLUMN_RUNS_MAX,
                                 offer->cmd->arena, &runs, &count, err));
    for (size_t i = 0; i < count; i++) {
        TRY(load(offer, runs[i], &defined, err));
        const struct definition *d = definitions_find(defined, name);
        if (!d || d->figure != STAT_END)
            return OK;
    }
    *ret_shown = count == 0;
    return OK;
}

enum err_code table__offered(struct table_offer *offer, struct str metric, bool *ret_offered,
                             struct err *err)
{
    struct store *store = offer->cmd->store;
    struct attribute_key *keys;
    metric_id ids[2];
    size_t count = 0;

    *ret_offered = true;
    if (!offer->has_definitions)
        return OK;
    TRY(store_attribute_defined_list(store, offer->project, metric, offer->cmd->arena, &keys,
                                     &count, err));
    if (count == 0)
        return OK;
    TRY(store_metric_name_find(store, offer->project, metric, ids, &count, err));
    return count ? is_shown(offer, ids[0], metric, ret_offered, err) : OK; /* the plain one */
}
