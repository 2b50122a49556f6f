/* The open tail of a log, decoded on reading. A blob is at most 8 MiB and compaction follows
 * within seconds, so a tail is short; in return a restart has nothing to rebuild and there is one
 * truth about every point. */
#include "domain/metrics/series.h"

#include "runlog/record.h"
#include "store/store_log.h"
#include "store/store_metric.h"

void point_list_add(struct point_list *list, struct arena *arena, struct metric_point point)
{
    list->points = arena_more(arena, list->points, list->count, &list->room, sizeof point);
    list->points[list->count++] = point;
}

void series_each_row(struct str data, series_row_fn *take, void *ctx)
{
    struct runlog_record record;
    struct runlog_row row;
    size_t at = 0, begin = 0;

    for (; runlog_next((const uint8_t *)data.data, data.len, &at, &record) == RUNLOG_RECORD;
         begin = at)
        if ((record.type == RUNLOG_ROW && runlog_row_decode(&record, &row)) ||
            (record.type == RUNLOG_SYSTEM && runlog_system_decode(&record, &row)))
            take(ctx, &row, (int64_t)begin);
}

/* Tails being read: for each local name id of the writer the index into `tails`, or -1. */
struct reading {
    struct arena *arena;
    int32_t *index;
    uint32_t index_count;
    struct series_tail *tails;
    int64_t blob_start;
};

static enum err_code find_names(struct cmd *cmd, writer_id writer, struct reading *r,
                                size_t tail_count, struct err *err)
{
    struct writer_name *names;
    size_t count = 0;

    TRY(store_writer_name_list(cmd->store, writer, cmd->arena, &names, &count, err));
    r->index_count = count ? names[count - 1].local_id + 1 : 0;
    r->index = arena_array(cmd->arena, r->index_count, sizeof *r->index);
    for (uint32_t i = 0; i < r->index_count; i++)
        r->index[i] = -1;
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < tail_count; t++)
            if (names[i].metric.v == r->tails[t].metric.v)
                r->index[names[i].local_id] = (int32_t)t;
    return OK;
}

static void take_row(void *ctx, const struct runlog_row *row, int64_t offset)
{
    struct reading *r = ctx;

    for (uint32_t i = 0; i < row->count; i++) {
        struct series_tail *tail;
        uint32_t id;
        double value;
        runlog_row_at(row, i, &id, &value);
        if (id >= r->index_count || r->index[id] < 0)
            continue;
        tail = &r->tails[r->index[id]];
        if (r->blob_start + offset >= tail->from)
            point_list_add(&tail->points, r->arena,
                           (struct metric_point){row->step, row->time_ms, value});
    }
}

enum err_code series_tails(struct cmd *cmd, const struct writer *writer, struct series_tail *tails,
                           size_t tail_count, struct err *err)
{
    struct reading r = {.arena = cmd->arena, .tails = tails};
    int64_t at = writer->compacted_offset;

    if (at >= writer->applied_offset)
        return OK;
    TRY(find_names(cmd, writer->id, &r, tail_count, err));
    while (at < writer->applied_offset) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct log_blob blob;
        TRY(store_log_blob_next(cmd->store, writer->id, at, &arena, &blob, err));
        r.blob_start = blob.start_offset;
        series_each_row(blob.data, take_row, &r);
        at = blob.end_offset;
    }
    return OK;
}
