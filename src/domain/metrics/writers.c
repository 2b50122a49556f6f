/* Epochs and branches. The chain of parents has a limit, because nothing keeps logs that come from
 * strangers from naming each other. */
#include "domain/metrics/writers.h"

#include "domain/runs/runs_writers_state.h"
#include "store/store_log.h"
#include "store/store_run.h"

#define WRITERS_MAX 10000
#define PARENTS_MAX 32

struct gathering {
    struct cmd *cmd;
    struct series_writer *list; /* filled from its end: ancestors come before */
    size_t begin, room;
};

static void make_room(struct gathering *g, size_t count)
{
    size_t used = g->room - g->begin, room = used + count;
    struct series_writer *more = arena_array(g->cmd->arena, room, sizeof *more);

    if (used)
        memcpy(more + count, g->list + g->begin, used * sizeof *more);
    g->list = more;
    g->begin = count;
    g->room = room;
}

static bool part_of(const struct writer *w, const struct writer_view *view, enum series_part part,
                    struct series_writer *ret)
{
    *ret = (struct series_writer){*w, INT64_MIN, view->visible_below};
    if (part == SERIES_VISIBLE)
        return true;
    ret->visible_from = view->visible_below;
    ret->visible_below = INT64_MAX;
    return view->visible_below != INT64_MAX;
}

/* What a branch has of its parent: the parent as it was when the branch began. */
struct inheritance {
    bool is_ancestor;
    int64_t cut;    /* steps below */
    time_ms before; /* of processes that started before */
};

static size_t keep_older(struct writer *writers, size_t count, time_ms before)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (writers[i].started < before)
            writers[kept++] = writers[i];
    return kept;
}

/* The writers of one run. Samples of its machines are its own alone. */
static enum err_code gather(struct gathering *g, run_id run, enum series_part part,
                            const struct inheritance *from, struct err *err)
{
    struct writer *writers;
    struct writer_view *views;
    size_t count = 0, kept = 0;

    TRY(store_writer_list(g->cmd->store, run, WRITERS_MAX, g->cmd->arena, &writers, &count, err));
    count = keep_older(writers, count, from->before);
    views = arena_array(g->cmd->arena, count, sizeof *views);
    (void)runs_epochs(writers, count, views);
    struct series_writer *list = arena_array(g->cmd->arena, count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        if (writers[i].fenced || (from->is_ancestor && str_eq_c(writers[i].kind, "sidecar")) ||
            !part_of(&writers[i], &views[i], part, &list[kept]))
            continue;
        list[kept].visible_below = MIN(list[kept].visible_below, from->cut);
        kept++;
    }
    make_room(g, kept);
    g->begin = 0;
    if (kept)
        memcpy(g->list, list, kept * sizeof *list);
    return OK;
}

enum err_code series_writers(struct cmd *cmd, const struct run *run, enum series_part part,
                             struct series_writer **ret_writers, size_t *ret_count, struct err *err)
{
    struct gathering g = {.cmd = cmd};
    struct run at = *run;
    struct inheritance from = {.cut = INT64_MAX, .before = INT64_MAX};

    TRY(gather(&g, run->id, part, &from, err));
    from.is_ancestor = true;
    for (int i = 0; i < PARENTS_MAX && part == SERIES_VISIBLE && at.parent.text[0]; i++) {
        struct id parent = at.parent;
        from.cut = MIN(from.cut, at.parent_step);
        from.before = MIN(from.before, at.started == TIME_NONE ? INT64_MAX : at.started);
        if (store_run_get(cmd->store, &parent, cmd->arena, &at, NULL) != OK ||
            at.project.v != run->project.v || at.id.v == run->id.v)
            break;
        TRY(gather(&g, at.id, part, &from, err));
    }
    *ret_writers = g.list;
    *ret_count = g.room;
    return OK;
}
