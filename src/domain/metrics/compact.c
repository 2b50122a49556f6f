/* Compaction: from log blobs to chunks. The last chunk of a series may be short; it is taken up
 * again and rewritten, so that series of any pace end in full chunks. */
#include "domain/metrics/metrics.h"

#include "domain/metrics/series.h"
#include "runlog/record.h"
#include "store/chunk/chunk.h"
#include "store/store_log.h"

/* The points of one metric, in the order of the log. */
struct gathered {
    metric_id metric;
    struct point_list list;
};

struct gathering {
    struct column_coder *coder;
    struct cmd *cmd;
    const struct writer *writer;
    struct gathered **by_local; /* by local name id; NULL: unknown name */
    uint32_t local_count;
    struct gathered *all;
    size_t count;
};

static enum err_code gathering_init(struct gathering *g, struct err *err)
{
    struct writer_name *names;
    size_t count = 0;

    TRY(store_writer_name_list(g->cmd->store, g->writer->id, g->cmd->arena, &names, &count, err));
    g->local_count = count ? names[count - 1].local_id + 1 : 0;
    g->by_local = arena_array(g->cmd->arena, g->local_count, sizeof *g->by_local);
    g->all = arena_array(g->cmd->arena, count, sizeof *g->all);
    g->count = count;
    for (size_t i = 0; i < count; i++) {
        g->all[i].metric = names[i].metric;
        g->by_local[names[i].local_id] = &g->all[i];
    }
    return OK;
}

static void gather_row(void *ctx, const struct runlog_row *row)
{
    struct gathering *g = ctx;

    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t id;
        double value;
        runlog_row_at(row, i, &id, &value);
        if (id < g->local_count && g->by_local[id])
            point_list_add(&g->by_local[id]->list, g->cmd->arena,
                           (struct metric_point){row->step, row->time_ms, value});
    }
}

static struct metric_chunk make_chunk(struct gathering *g, metric_id metric,
                                      const struct metric_point *points, size_t count, int64_t seq)
{
    struct metric_chunk c = {
        .run = g->writer->run,
        .metric = metric,
        .writer = g->writer->id,
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
    return c;
}

/* Puts the points of a short last chunk before the new ones. */
static enum err_code take_up_last(struct gathering *g, struct gathered *m, int64_t *ret_seq,
                                  struct err *err)
{
    struct point_list joined = {0};
    struct metric_chunk last;
    struct chunk_points *points = ARENA_NEW(g->cmd->arena, struct chunk_points);
    enum err_code code = store_chunk_newest(g->cmd->store, g->writer->run, m->metric, g->writer->id,
                                            g->cmd->arena, &last, err);

    *ret_seq = 0;
    if (code == ERR_NOT_FOUND)
        return OK;
    TRY(code);
    *ret_seq = last.seq + 1;
    if (last.count >= METRIC_CHUNK_POINTS)
        return OK;
    *ret_seq = last.seq;
    TRY(chunk_decode(g->coder, last.data, CHUNK_ALL, points, err));
    for (size_t i = 0; i < points->count; i++)
        point_list_add(
            &joined, g->cmd->arena,
            (struct metric_point){points->steps[i], points->times[i], points->values[i]});
    for (size_t i = 0; i < m->list.count; i++)
        point_list_add(&joined, g->cmd->arena, m->list.points[i]);
    m->list = joined;
    return OK;
}

static enum err_code cut(struct gathering *g, struct compact_plan *plan, struct err *err)
{
    size_t room = 0;

    for (size_t i = 0; i < g->count; i++)
        if (g->all[i].list.count)
            room += g->all[i].list.count / METRIC_CHUNK_POINTS + 2;
    plan->chunks = arena_array(g->cmd->arena, room, sizeof *plan->chunks);
    for (size_t i = 0; i < g->count; i++) {
        struct gathered *m = &g->all[i];
        int64_t seq = 0;
        if (m->list.count == 0)
            continue;
        TRY(take_up_last(g, m, &seq, err));
        for (size_t at = 0; at < m->list.count; at += METRIC_CHUNK_POINTS) {
            size_t count = MIN(m->list.count - at, (size_t)METRIC_CHUNK_POINTS);
            ENSURE(plan->chunk_count < room);
            plan->chunks[plan->chunk_count++] =
                make_chunk(g, m->metric, m->list.points + at, count, seq++);
        }
    }
    return OK;
}

static void coder_release(struct column_coder **coder)
{
    column_coder_free(*coder);
}

enum err_code metrics_compact_read(struct cmd *cmd, const struct writer *writer, int64_t bytes_max,
                                   struct compact_plan *ret_plan, struct err *err)
{
    CLEANUP(coder_release) struct column_coder *coder = column_coder_new();
    struct gathering g = {.cmd = cmd, .writer = writer};
    struct compact_plan plan = {
        .writer = writer->id,
        .from = writer->compacted_offset,
        .to = writer->compacted_offset,
    };

    TRY(gathering_init(&g, err));
    g.coder = coder;
    while (plan.to < writer->applied_offset && plan.to - plan.from < bytes_max) {
        struct log_blob blob;
        TRY(store_log_blob_next(cmd->store, writer->id, plan.to, cmd->arena, &blob, err));
        series_each_row(blob.data, gather_row, &g);
        plan.to = blob.end_offset;
    }
    TRY(cut(&g, &plan, err));
    *ret_plan = plan;
    return OK;
}

enum err_code metrics_compact_write(struct cmd *cmd, const struct compact_plan *plan,
                                    struct err *err)
{
    struct writer writer = {.id = plan->writer, .compacted_offset = plan->to};

    for (size_t i = 0; i < plan->chunk_count; i++)
        TRY(store_chunk_set(cmd->store, &plan->chunks[i], err));
    return store_writer_compacted(cmd->store, &writer, plan->from, err);
}
