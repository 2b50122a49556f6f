/* The walk stands at a place of the series, tries the largest record that begins there and whose
 * row is complete, and goes down a level when the visitor wants to see more. One row of each level
 * and one chunk are held decoded, because neighbours lie in the same ones. */
#include "domain/metrics/walk.h"

#include "store/store_metric.h"

struct walker {
    struct cmd *cmd;
    struct column_coder *coder;
    struct metric_series series;
    const struct walk_visitor *visitor;
    int64_t row_seq[LEVEL_COUNT + 1]; /* -1: none is held; [0] is the chunk's */
    struct level_row rows[LEVEL_COUNT];
    struct chunk_points chunk;
};

struct walker *walker_new(struct cmd *cmd)
{
    struct walker *w = ARENA_NEW(cmd->arena, struct walker);

    w->cmd = cmd;
    w->coder = column_coder_new();
    return w;
}

void walker_free(struct walker *walker)
{
    if (walker)
        column_coder_free(walker->coder);
}

static enum err_code hold_row(struct walker *w, int level, int64_t seq, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct metric_level row;

    if (w->row_seq[level] == seq)
        return OK;
    w->row_seq[level] = -1;
    TRY(store_level_get(w->cmd->store, &w->series, level, seq, &arena, &row, err));
    TRY(level_row_decode(w->coder, row.data, w->visitor->ends, &w->rows[level - 1], err));
    w->row_seq[level] = seq;
    return OK;
}

static enum err_code hold_chunk(struct walker *w, int64_t seq, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct metric_chunk chunk;

    if (w->row_seq[0] == seq)
        return OK;
    w->row_seq[0] = -1;
    TRY(store_chunk_get(w->cmd->store, &w->series, seq, &arena, &chunk, err));
    TRY(chunk_decode(w->coder, chunk.data, w->visitor->columns, &w->chunk, err));
    w->row_seq[0] = seq;
    return OK;
}

/* The highest level that has a record beginning at `place`; 0: none has. */
static int level_at(const struct walker *w, int64_t place, int most)
{
    for (int level = most; level > 0; level--) {
        int64_t row = place / level_row_points(level);
        if (place % level_record_points(level) == 0 &&
            (row + 1) * level_row_points(level) <= w->series.count)
            return level;
    }
    return 0;
}

/* Gives the points at `place` up to the end of the chunk, or of the smallest record. */
static enum err_code give_points(struct walker *w, int64_t *place, struct err *err)
{
    int64_t chunk_at = *place % METRIC_CHUNK_POINTS;
    int64_t left = w->series.count - (*place - chunk_at);
    int64_t end = MIN(left, (int64_t)METRIC_CHUNK_POINTS);
    bool in_records =
        w->visitor->record && (*place / LEVEL_ROW_POINTS + 1) * LEVEL_ROW_POINTS <= w->series.count;

    if (in_records)
        end = MIN(end, (chunk_at / LEVEL_FANOUT + 1) * LEVEL_FANOUT);
    TRY(hold_chunk(w, *place / METRIC_CHUNK_POINTS, err));
    if ((int64_t)w->chunk.count < end)
        return err_set(err, ERR_IO, "a metric chunk has fewer points than its series says");
    w->visitor->points(w->visitor->ctx, &w->chunk, (size_t)chunk_at, (size_t)end);
    *place += end - chunk_at;
    return OK;
}

enum err_code walk_series(struct walker *w, const struct metric_series *series, int64_t from,
                          const struct walk_visitor *visitor, struct err *err)
{
    int most = visitor->record ? LEVEL_COUNT : 0;
    int64_t place = from;

    w->series = *series;
    w->visitor = visitor;
    for (int level = 0; level <= LEVEL_COUNT; level++)
        w->row_seq[level] = -1;
    while (place < series->count) {
        int level = level_at(w, place, most);
        bool taken = false;
        for (; level > 0 && !taken; level -= !taken) {
            int64_t points = level_record_points(level);
            struct level_record record;
            TRY(hold_row(w, level, place / level_row_points(level), err));
            record =
                level_row_get(&w->rows[level - 1], (size_t)(place / points % LEVEL_ROW_RECORDS));
            taken = visitor->record(visitor->ctx, &record, points);
            place += taken ? points : 0;
        }
        if (!taken)
            TRY(give_points(w, &place, err));
    }
    return OK;
}
