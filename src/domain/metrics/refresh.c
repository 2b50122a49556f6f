/* The facts of metrics, worked out anew from the points that count: after a run was taken up at an
 * earlier step, and for branches. Reading is slow and happens on a read connection; what was read
 * is written only when the run's logs are still as they were. */
#include "domain/metrics/metrics.h"

#include "domain/metrics/reading.h"
#include "store/store_run.h"

#include <stdlib.h>

#define METRICS_A_READ  64
#define METRICS_A_WRITE 200
#define LIST_PAGE       1000

struct found {
    struct metric_facts *list; /* id and kind */
    size_t count, room;
};

static void found_add(struct found *f, struct arena *arena, metric_id id)
{
    f->list = arena_more(arena, f->list, f->count, &f->room, sizeof *f->list);
    f->list[f->count++] = (struct metric_facts){.id = id};
}

static int compare_ids(const void *a, const void *b)
{
    const struct metric_facts *x = a, *y = b;

    return (x->id.v > y->id.v) - (x->id.v < y->id.v);
}

static void sort_unique(struct found *f)
{
    size_t kept = 0;

    if (f->count)
        qsort(f->list, f->count, sizeof *f->list, compare_ids);
    for (size_t i = 0; i < f->count; i++)
        if (kept == 0 || f->list[kept - 1].id.v != f->list[i].id.v)
            f->list[kept++] = f->list[i];
    f->count = kept;
}

static enum err_code version_of(struct cmd *cmd, const struct run *run,
                                struct series_writer **ret_writers, size_t *ret_count,
                                int64_t *ret_version, struct err *err)
{
    int64_t version = 0;

    TRY(series_writers(cmd, run, SERIES_VISIBLE, ret_writers, ret_count, err));
    for (size_t i = 0; i < *ret_count; i++)
        version += (*ret_writers)[i].writer.applied_offset;
    *ret_version = version;
    return OK;
}

/* All that the writers name, and all that is known now: it may have to go. */
static enum err_code find_metrics(struct cmd *cmd, const struct run *run,
                                  const struct series_writer *writers, size_t count,
                                  struct found *f, struct err *err)
{
    struct metric_filter filter = {.kind = -1, .limit = LIST_PAGE};
    struct metric_facts *known;
    size_t known_count = 0;

    for (size_t w = 0; w < count; w++) {
        struct writer_name *names;
        size_t name_count = 0;
        TRY(store_writer_name_list(cmd->store, writers[w].writer.id, cmd->arena, &names,
                                   &name_count, err));
        for (size_t i = 0; i < name_count; i++)
            found_add(f, cmd->arena, names[i].metric);
    }
    do {
        TRY(store_run_metric_list(cmd->store, run->id, &filter, cmd->arena, &known, &known_count,
                                  err));
        for (size_t i = 0; i < known_count; i++)
            found_add(f, cmd->arena, known[i].id);
        if (known_count) {
            filter.after = known[known_count - 1].name;
            filter.after_kind = known[known_count - 1].kind;
        }
    } while (known_count == LIST_PAGE);
    sort_unique(f);
    return OK;
}

static enum err_code read_some(struct cmd *cmd, const struct run *run, struct metric_facts *facts,
                               size_t count, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(walker_release) struct walker *walker = NULL;
    struct run_reading reading;
    metric_id ids[METRICS_A_READ];
    struct cmd own = *cmd;

    own.arena = &arena; /* tails are large and of no use afterwards */
    walker = walker_new(&own);
    for (size_t i = 0; i < count; i++)
        ids[i] = facts[i].id;
    TRY(reading_open(&own, run, &(struct reading_choice){ids, count, SERIES_VISIBLE}, &reading,
                     err));
    for (size_t m = 0; m < count; m++)
        for (size_t w = 0; w < reading.writer_count; w++)
            TRY(reading_facts(walker, &reading.parts[m][w], &facts[m], err));
    return OK;
}

enum err_code metrics_refresh_read(struct cmd *cmd, run_id id, struct refresh_plan *ret_plan,
                                   struct err *err)
{
    struct refresh_plan plan = {.run = id};
    struct series_writer *writers;
    struct found found = {0};
    struct run run;
    size_t count = 0;

    TRY(store_run_by_id(cmd->store, id, cmd->arena, &run, err));
    if (run.project_name.len == 0)
        return err_set(err, ERR_NOT_FOUND, "run %s was deleted", run.public_id.text);
    TRY(version_of(cmd, &run, &writers, &count, &plan.version, err));
    TRY(find_metrics(cmd, &run, writers, count, &found, err));
    for (size_t i = 0; i < found.count; i += METRICS_A_READ)
        TRY(read_some(cmd, &run, &found.list[i], MIN(found.count - i, (size_t)METRICS_A_READ),
                      err));
    plan.facts = found.list;
    plan.count = found.count;
    *ret_plan = plan;
    return OK;
}

enum err_code metrics_refresh_write(struct cmd *cmd, struct refresh_plan *plan, struct err *err)
{
    size_t end = MIN(plan->count, plan->done + METRICS_A_WRITE);
    struct series_writer *writers;
    int64_t version = 0;
    size_t count = 0;
    struct run run;

    TRY(store_run_by_id(cmd->store, plan->run, cmd->arena, &run, err));
    TRY(version_of(cmd, &run, &writers, &count, &version, err));
    if (version != plan->version)
        return err_set(err, ERR_CONFLICT, "the logs of run %s went on", run.public_id.text);
    if (plan->done == 0) /* also where pieces of them are coming, whose turn is over with this */
        TRY(store_run_facts_stale(cmd->store, plan->run, true, err));
    for (; plan->done < end; plan->done++) {
        const struct metric_facts *f = &plan->facts[plan->done];
        if (f->count)
            TRY(store_run_metric_set(cmd->store, plan->run, f, err));
        else
            TRY(store_run_metric_delete(cmd->store, plan->run, f->id, err));
    }
    plan->finished = plan->done == plan->count;
    if (!plan->finished)
        return OK;
    cmd_notice(cmd, NOTICE_METRICS, run.project, run.project_name, &run.public_id);
    return store_run_facts_stale(cmd->store, plan->run, false, err);
}
