/* Compaction: from log blobs to chunks and the pyramid over them. The last chunk of a series may be
 * short; it is taken up again and rewritten, so that series of any pace end in full chunks.
 *
 * Each series says itself up to where in the log it was compacted. A plan over many series can so
 * be written in several transactions, and be killed between two of them: what was written counts,
 * and the rest is planned again. */
#include "domain/metrics/metrics.h"

#include "base/map.h"
#include "domain/metrics/series.h"
#include "runlog/record.h"
#include "store/chunk/chunk.h"
#include "store/chunk/level.h"
#include "store/store_log.h"

#define ROWS_A_WRITE 128 /* a few milliseconds */

/* The points of one metric that are new, in the order of the log; once it is planned with those of
 * the short last chunk before them. */
struct gathered {
    struct metric_series series;
    bool known; /* the series was read */
    struct point_list list;
    int64_t base; /* place in the series of list.points[0] */
};

struct gathering {
    struct cmd *cmd;
    const struct writer *writer;
    struct column_coder *coder;
    struct gathered **by_local; /* by local name id; NULL: unknown name */
    uint32_t local_count;
    struct gathered *all;
    size_t count;
    int64_t blob_start; /* log offset of the blob being read */
    enum err_code code; /* of reading a series, inside the walk over rows */
    struct err *err;
};

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

/* Decodes chunk `seq` of a series into the arena. */
static enum err_code read_chunk(struct gathering *g, const struct metric_series *series,
                                int64_t seq, struct chunk_points **ret, struct err *err)
{
    struct metric_chunk chunk;

    *ret = ARENA_NEW(g->cmd->arena, struct chunk_points);
    TRY(store_chunk_get(g->cmd->store, series, seq, g->cmd->arena, &chunk, err));
    return chunk_decode(g->coder, chunk.data, CHUNK_ALL, *ret, err);
}

/* Puts the points of a short last chunk before the new ones. */
static enum err_code take_up_last(struct gathering *g, struct gathered *m, struct err *err)
{
    struct point_list joined = {0};
    struct chunk_points *points;
    int64_t left = m->series.count % METRIC_CHUNK_POINTS;

    m->base = m->series.count - left;
    if (left == 0)
        return OK;
    TRY(read_chunk(g, &m->series, m->base / METRIC_CHUNK_POINTS, &points, err));
    if (points->count < (size_t)left)
        return err_set(err, ERR_IO, "a metric chunk has fewer points than its series says");
    for (size_t i = 0; i < (size_t)left; i++)
        point_list_add(
            &joined, g->cmd->arena,
            (struct metric_point){points->steps[i], points->times[i], points->values[i]});
    for (size_t i = 0; i < m->list.count; i++)
        point_list_add(&joined, g->cmd->arena, m->list.points[i]);
    m->list = joined;
    return OK;
}

static struct metric_chunk make_chunk(struct gathering *g, struct metric_series *series,
                                      const struct metric_point *points, size_t count, int64_t seq)
{
    struct metric_chunk c = {
        .run = series->run,
        .metric = series->metric,
        .writer = series->writer,
        .seq = seq,
        .count = (int64_t)count,
        .step_min = INT64_MAX,
        .step_max = INT64_MIN,
        .at_min = INT64_MAX,
        .at_max = INT64_MIN,
        .data = chunk_encode(g->coder, points, count, g->cmd->arena),
    };

    for (size_t i = 0; i < count; i++) {
        c.step_min = MIN(c.step_min, points[i].step);
        c.step_max = MAX(c.step_max, points[i].step);
        c.at_min = MIN(c.at_min, points[i].at);
        c.at_max = MAX(c.at_max, points[i].at);
    }
    series->step_min = MIN(series->step_min, c.step_min);
    series->step_max = MAX(series->step_max, c.step_max);
    series->at_min = MIN(series->at_min, c.at_min);
    series->at_max = MAX(series->at_max, c.at_max);
    return c;
}

/* Point `place` of a series, from what was gathered or from the chunk held in *held. */
static enum err_code point_at(struct gathering *g, const struct gathered *m, int64_t place,
                              struct chunk_points **held, struct metric_point *ret, struct err *err)
{
    size_t at = (size_t)(place % METRIC_CHUNK_POINTS);

    if (place >= m->base) {
        *ret = m->list.points[place - m->base];
        return OK;
    }
    if (!*held || at == 0)
        TRY(read_chunk(g, &m->series, place / METRIC_CHUNK_POINTS, held, err));
    ENSURE(at < (*held)->count);
    *ret = (struct metric_point){(*held)->steps[at], (*held)->times[at], (*held)->values[at]};
    return OK;
}

static enum err_code build_from_points(struct gathering *g, const struct gathered *m, int64_t seq,
                                       struct level_row *row, struct err *err)
{
    struct chunk_points *held = NULL;

    for (size_t i = 0; i < LEVEL_ROW_RECORDS; i++) {
        struct level_record record = {0}, next;
        for (int64_t j = 0; j < LEVEL_FANOUT; j++) {
            struct metric_point point;
            int64_t place = seq * LEVEL_ROW_POINTS + (int64_t)i * LEVEL_FANOUT + j;
            TRY(point_at(g, m, place, &held, &point, err));
            next = level_record_of(&point);
            if (j == 0)
                record = next;
            else
                level_record_join(&record, &next);
        }
        level_row_set(row, i, &record);
    }
    return OK;
}

/* The encoded row of a level: planned a moment ago, or in the store. */
static enum err_code find_row(struct gathering *g, const struct compact_series *plan, int level,
                              int64_t seq, struct str *ret, struct err *err)
{
    struct metric_level stored;

    for (size_t i = 0; i < plan->level_count; i++)
        if (plan->levels[i].level == level && plan->levels[i].seq == seq) {
            *ret = plan->levels[i].data;
            return OK;
        }
    TRY(store_level_get(g->cmd->store, &plan->series, level, seq, g->cmd->arena, &stored, err));
    *ret = stored.data;
    return OK;
}

static enum err_code build_from_rows(struct gathering *g, const struct compact_series *plan,
                                     int level, int64_t seq, struct level_row *row, struct err *err)
{
    struct level_row *below = ARENA_NEW(g->cmd->arena, struct level_row);

    for (int64_t child = 0; child < LEVEL_FANOUT; child++) {
        struct str data;
        TRY(find_row(g, plan, level - 1, seq * LEVEL_FANOUT + child, &data, err));
        TRY(level_row_decode(g->coder, data, LEVEL_BOTH, below, err));
        for (size_t i = 0; i < LEVEL_ROW_RECORDS; i += LEVEL_FANOUT) {
            struct level_record record = level_row_get(below, i);
            for (size_t j = 1; j < LEVEL_FANOUT; j++) {
                struct level_record next = level_row_get(below, i + j);
                level_record_join(&record, &next);
            }
            level_row_set(row, ((size_t)child * LEVEL_ROW_RECORDS + i) / LEVEL_FANOUT, &record);
        }
    }
    return OK;
}

/* All rows that have become complete between `before` and the count of the series. */
static enum err_code plan_levels(struct gathering *g, const struct gathered *m, int64_t before,
                                 struct compact_series *plan, struct err *err)
{
    struct level_row *row = NULL;
    size_t room = 0;

    for (int level = 1; level <= LEVEL_COUNT; level++)
        room += (size_t)(plan->series.count / level_row_points(level) -
                         before / level_row_points(level));
    if (room == 0)
        return OK;
    row = ARENA_NEW(g->cmd->arena, struct level_row);
    plan->levels = arena_array(g->cmd->arena, room, sizeof *plan->levels);
    for (int level = 1; level <= LEVEL_COUNT; level++) {
        int64_t end = plan->series.count / level_row_points(level);
        for (int64_t seq = before / level_row_points(level); seq < end; seq++) {
            if (level == 1)
                TRY(build_from_points(g, m, seq, row, err));
            else
                TRY(build_from_rows(g, plan, level, seq, row, err));
            plan->levels[plan->level_count++] =
                (struct metric_level){level, seq, level_row_encode(g->coder, row, g->cmd->arena)};
        }
    }
    return OK;
}

static enum err_code plan_series(struct gathering *g, struct gathered *m, int64_t to,
                                 struct compact_series *plan, struct err *err)
{
    int64_t before = m->series.count;

    TRY(take_up_last(g, m, err));
    plan->expected_offset = m->series.log_offset;
    plan->series = m->series;
    plan->series.count = m->base + (int64_t)m->list.count;
    plan->series.log_offset = to;
    plan->chunks =
        arena_array(g->cmd->arena, m->list.count / METRIC_CHUNK_POINTS + 1, sizeof *plan->chunks);
    for (size_t at = 0; at < m->list.count; at += METRIC_CHUNK_POINTS) {
        size_t count = MIN(m->list.count - at, (size_t)METRIC_CHUNK_POINTS);
        int64_t seq = (m->base + (int64_t)at) / METRIC_CHUNK_POINTS;
        plan->chunks[plan->chunk_count++] =
            make_chunk(g, &plan->series, m->list.points + at, count, seq);
    }
    return plan_levels(g, m, before, plan, err);
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
    while (plan.to < writer->applied_offset && plan.to - plan.from < bytes_max) {
        struct log_blob blob;
        TRY(store_log_blob_next(cmd->store, writer->id, plan.to, cmd->arena, &blob, err));
        g.blob_start = blob.start_offset;
        series_each_row(blob.data, gather_row, &g);
        TRY(g.code);
        plan.to = blob.end_offset;
    }
    TRY(plan_all(&g, &plan, err));
    *ret_plan = plan;
    return OK;
}

static enum err_code write_series(struct cmd *cmd, const struct compact_series *s, struct err *err)
{
    TRY(store_series_set(cmd->store, &s->series, s->expected_offset, err));
    for (size_t i = 0; i < s->chunk_count; i++)
        TRY(store_chunk_set(cmd->store, &s->chunks[i], err));
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
