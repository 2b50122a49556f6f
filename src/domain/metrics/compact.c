/* Compaction: from log blobs to chunks and the pyramid over them. What is left after the last full
 * chunk of a series is its tail; it is taken up again and rewritten until it is one, so that series
 * of any pace end in full chunks.
 *
 * Each series says itself up to where in the log it was compacted. A plan over many series can so
 * be written in several transactions, and be killed between two of them: what was written counts,
 * and the rest is planned again. */
#include "domain/metrics/compact.h"

#include "base/map.h"
#include "runlog/record.h"
#include "store/store_log.h"

#define ROWS_A_WRITE 128 /* a few milliseconds */
/* Every series that has a new point costs a row to write, so a run of many metrics is taken up some
 * steps at a time. */
#define STEPS_A_PLAN   16
#define POINT_BYTES    12 /* of a log */
#define PLAN_BYTES_MAX (8 * 1024 * 1024)

static enum err_code gathering_init(struct gathering *g, struct err *err)
{
    struct writer_name *names;
    size_t count = 0;
    struct map seen; /* a writer may give one metric several numbers */

    TRY(store_writer_name_list(g->cmd->store, g->writer->id, g->cmd->arena, &names, &count, err));
    map_init(&seen, count + 1);
    g->local_count = count ? names[count - 1].local_id + 1 : 0;
    g->by_local = arena_array(g->cmd->arena, g->local_count, sizeof *g->by_local);
    g->all = arena_array(g->cmd->arena, count, sizeof *g->all);
    for (size_t i = 0; i < count; i++) {
        struct str key = str_n((const char *)&names[i].metric, sizeof names[i].metric);
        struct gathered *m = map_get(&seen, key);
        if (!m) {
            m = &g->all[g->count++];
            m->series = (struct metric_series){
                .run = g->writer->run, .metric = names[i].metric, .writer = g->writer->id};
            m->kind = names[i].kind;
            ENSURE(map_put(&seen, key, m));
        }
        g->by_local[names[i].local_id] = m;
    }
    map_release(&seen);
    return OK;
}

static void gather_row(void *ctx, const struct runlog_row *row, int64_t offset)
{
    struct gathering *g = ctx;

    for (uint32_t i = 0; i < row->count && g->code == OK; i++) {
        struct gathered *m;
        uint32_t id;
        double value;
        runlog_row_at(row, i, &id, &value);
        m = id < g->local_count ? g->by_local[id] : NULL;
        if (!m)
            continue;
        if (!m->known)
            g->code = store_series_get(g->cmd->store, &m->series, g->err);
        m->known = true;
        if (g->code == OK && g->blob_start + offset >= m->series.log_offset)
            point_list_add(&m->list, g->cmd->arena,
                           (struct metric_point){row->step, row->time_ms, value});
    }
}

/* Puts the points of the tail before the new ones. */
static enum err_code take_up_tail(struct gathering *g, struct gathered *m, struct err *err)
{
    struct point_list joined = {0};
    struct chunk_points *points;
    int64_t left = m->series.count % METRIC_CHUNK_POINTS;
    struct str data;

    m->base = m->series.count - left;
    if (left == 0)
        return OK;
    points = ARENA_NEW(g->cmd->arena, struct chunk_points);
    TRY(store_series_tail(g->cmd->store, &m->series, g->cmd->arena, &data, err));
    TRY(chunk_decode(g->coder, data, CHUNK_ALL, points, err));
    if (points->count != (size_t)left)
        return err_set(err, ERR_IO,
                       "the tail of a metric has not as many points as its series says");
    for (size_t i = 0; i < (size_t)left; i++)
        point_list_add(
            &joined, g->cmd->arena,
            (struct metric_point){points->steps[i], points->times[i], points->values[i]});
    for (size_t i = 0; i < m->list.count; i++)
        point_list_add(&joined, g->cmd->arena, m->list.points[i]);
    m->list = joined;
    return OK;
}

static void widen(struct metric_series *series, const struct point_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        series->step_min = MIN(series->step_min, list->points[i].step);
        series->step_max = MAX(series->step_max, list->points[i].step);
        series->at_min = MIN(series->at_min, list->points[i].at);
        series->at_max = MAX(series->at_max, list->points[i].at);
    }
}

static enum err_code plan_series(struct gathering *g, struct gathered *m, int64_t to,
                                 struct compact_series *plan, struct err *err)
{
    int64_t before = m->series.count;
    size_t full, left;

    widen(&m->series, &m->list);
    TRY(take_up_tail(g, m, err));
    full = m->list.count / METRIC_CHUNK_POINTS;
    left = m->list.count % METRIC_CHUNK_POINTS;
    *plan = (struct compact_series){
        .series = m->series, .kind = m->kind, .expected_offset = m->series.log_offset};
    plan->series.count = m->base + (int64_t)m->list.count;
    plan->series.log_offset = to;
    plan->chunks = arena_array(g->cmd->arena, full, sizeof *plan->chunks);
    for (; plan->chunk_count < full; plan->chunk_count++)
        plan->chunks[plan->chunk_count] = (struct metric_chunk){
            .seq = m->base / METRIC_CHUNK_POINTS + (int64_t)plan->chunk_count,
            .data = chunk_encode(g->coder, m->list.points + plan->chunk_count * METRIC_CHUNK_POINTS,
                                 METRIC_CHUNK_POINTS, g->cmd->arena),
        };
    if (left)
        plan->tail = chunk_encode(g->coder, m->list.points + full * METRIC_CHUNK_POINTS, left,
                                  g->cmd->arena);
    return compact_levels(g, m, before, plan, err);
}

static enum err_code plan_all(struct gathering *g, struct compact_plan *plan, struct err *err)
{
    size_t busy = 0;

    for (size_t i = 0; i < g->count; i++)
        busy += g->all[i].list.count > 0;
    plan->series = arena_array(g->cmd->arena, busy, sizeof *plan->series);
    for (size_t i = 0; i < g->count; i++)
        if (g->all[i].list.count)
            TRY(plan_series(g, &g->all[i], plan->to, &plan->series[plan->series_count++], err));
    return OK;
}

enum err_code metrics_compact_read(struct cmd *cmd, const struct writer *writer, int64_t bytes_max,
                                   struct compact_plan *ret_plan, struct err *err)
{
    CLEANUP(column_coder_release) struct column_coder *coder = column_coder_new();
    struct gathering g = {.cmd = cmd, .writer = writer, .coder = coder, .err = err};
    struct compact_plan plan = {
        .writer = writer->id,
        .from = writer->compacted_offset,
        .to = writer->compacted_offset,
    };

    TRY(gathering_init(&g, err));
    bytes_max =
        MAX(bytes_max, MIN((int64_t)g.count * STEPS_A_PLAN * POINT_BYTES, (int64_t)PLAN_BYTES_MAX));
    while (plan.to < writer->applied_offset && plan.to - plan.from < bytes_max) {
        struct log_blob blob;
        TRY(store_log_blob_next(cmd->store, writer->id, plan.to, cmd->arena, &blob, err));
        g.blob_start = blob.start_offset;
        series_each_row(blob.data, gather_row, &g);
        TRY(g.code);
        plan.to = blob.end_offset;
    }
    TRY(plan_all(&g, &plan, err));
    compact_share(&plan, cmd->arena);
    *ret_plan = plan;
    return OK;
}

static enum err_code write_series(struct cmd *cmd, const struct compact_series *s, struct err *err)
{
    TRY(store_series_set(cmd->store, &s->series, s->tail, s->expected_offset, err));
    for (size_t i = 0; i < s->chunk_count; i++)
        TRY(store_chunk_insert(cmd->store, &s->series, &s->chunks[i], err));
    for (size_t i = 0; i < s->level_count; i++)
        TRY(store_level_set(cmd->store, &s->series, &s->levels[i], err));
    return OK;
}

enum err_code metrics_compact_write(struct cmd *cmd, struct compact_plan *plan, struct err *err)
{
    struct writer writer = {.id = plan->writer, .compacted_offset = plan->to};
    size_t done = plan->done, rows = 0;

    while (done < plan->series_count && rows < ROWS_A_WRITE) {
        const struct compact_series *s = &plan->series[done++];
        TRY(write_series(cmd, s, err));
        rows += 1 + s->chunk_count + s->level_count;
    }
    if (done == plan->series_count)
        TRY(store_writer_compacted(cmd->store, &writer, plan->from, err));
    plan->done = done;
    plan->finished = done == plan->series_count;
    return OK;
}
