/* The open tail of a log, decoded on reading. A blob is at most 8 MiB and compaction follows
 * within seconds, so a tail is short; in return a restart has nothing to rebuild and there is one
 * truth about every point. */
#include "domain/metrics/series.h"

#include "runlog/record.h"
#include "store/store_log.h"
#include "store/store_metric.h"

void point_list_add(struct point_list *list, struct arena *arena, struct metric_point point)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        struct metric_point *more = arena_array(arena, room, sizeof *more);
        if (list->count)
            memcpy(more, list->points, list->count * sizeof *more);
        list->points = more;
        list->room = room;
    }
    list->points[list->count++] = point;
}

/* For each local name id of the writer the index into `metrics`, or -1. */
struct wanted {
    int32_t *index;
    uint32_t count;
};

static enum err_code find_wanted(struct cmd *cmd, writer_id writer, const metric_id *metrics,
                                 size_t metric_count, struct wanted *ret, struct err *err)
{
    struct writer_name *names;
    size_t count = 0;

    TRY(store_writer_name_list(cmd->store, writer, cmd->arena, &names, &count, err));
    ret->count = count ? names[count - 1].local_id + 1 : 0;
    ret->index = arena_array(cmd->arena, ret->count, sizeof *ret->index);
    for (uint32_t i = 0; i < ret->count; i++)
        ret->index[i] = -1;
    for (size_t i = 0; i < count; i++)
        for (size_t m = 0; m < metric_count; m++)
            if (names[i].metric.v == metrics[m].v)
                ret->index[names[i].local_id] = (int32_t)m;
    return OK;
}

void series_each_row(struct str data, void (*take)(void *ctx, const struct runlog_row *row),
                     void *ctx)
{
    struct runlog_record record;
    struct runlog_row row;
    size_t at = 0;

    while (runlog_next((const uint8_t *)data.data, data.len, &at, &record) == RUNLOG_RECORD)
        if ((record.type == RUNLOG_ROW && runlog_row_decode(&record, &row)) ||
            (record.type == RUNLOG_SYSTEM && runlog_system_decode(&record, &row)))
            take(ctx, &row);
}

/* A tail being read: which names are wanted, and where their points go. */
struct tail {
    struct arena *arena;
    struct wanted wanted;
    struct point_list *lists;
};

static void take_row(void *ctx, const struct runlog_row *row)
{
    struct tail *tail = ctx;

    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t id;
        double value;
        runlog_row_at(row, i, &id, &value);
        if (id < tail->wanted.count && tail->wanted.index[id] >= 0)
            point_list_add(&tail->lists[tail->wanted.index[id]], tail->arena,
                           (struct metric_point){row->step, row->time_ms, value});
    }
}

enum err_code series_tail(struct cmd *cmd, const struct writer *writer, const metric_id *metrics,
                          size_t metric_count, struct point_list *lists, struct err *err)
{
    struct tail tail = {.arena = cmd->arena, .lists = lists};
    int64_t at = writer->compacted_offset;

    if (at >= writer->applied_offset)
        return OK;
    TRY(find_wanted(cmd, writer->id, metrics, metric_count, &tail.wanted, err));
    while (at < writer->applied_offset) {
        struct log_blob blob;
        TRY(store_log_blob_next(cmd->store, writer->id, at, cmd->arena, &blob, err));
        series_each_row(blob.data, take_row, &tail);
        at = blob.end_offset;
    }
    return OK;
}
