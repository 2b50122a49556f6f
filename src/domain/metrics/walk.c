/* The walk stands at a place of the series, tries the largest record that begins there, and goes
 * down a level when the visitor wants to see more. One row of each level and one chunk are held
 * decoded, because neighbours lie in the same ones. */
#include "domain/metrics/walk.h"

#include "store/store_metric.h"

struct walker {
    struct cmd *cmd;
    struct column_coder *coder;
    struct metric_series series;
    const struct walk_visitor *visitor;
    int64_t row_seq[LEVEL_COUNT + 1]; /* -1: none is held; [0] is the chunk's */
    size_t row_records[LEVEL_COUNT + 1];
    struct level_row rows[LEVEL_COUNT];
    struct chunk_points chunk;
    struct arena group_arenas[LEVEL_COUNT + 1]; /* of the groups that are held, from level 2 */
    struct str groups[LEVEL_COUNT + 1];
    int64_t group_seq[LEVEL_COUNT + 1]; /* -1: none is held */
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
    if (!walker)
        return;
    column_coder_free(walker->coder);
    for (int level = 0; level <= LEVEL_COUNT; level++)
        arena_release(&walker->group_arenas[level]);
}

static enum err_code hold_group(struct walker *w, int level, int64_t seq, struct err *err)
{
    if (w->group_seq[level] == seq)
        return OK;
    w->group_seq[level] = -1;
    arena_reset(&w->group_arenas[level]);
    TRY(store_level_get(w->cmd->store, &w->series, (struct store_level_choice){level, seq, false},
                        &w->group_arenas[level], &w->groups[level], err));
    w->group_seq[level] = seq;
    return OK;
}

/* The bytes of row `seq` of a level, in front of others. */
static enum err_code find_row(struct walker *w, int level, int64_t seq, struct arena *arena,
                              struct str *ret, struct err *err)
{
    struct store_level_choice choice = {level, seq, w->visitor->ends & LEVEL_TIMES};

    if (level > 1 && seq < w->series.count / level_row_points(level)) {
        TRY(hold_group(w, level, seq / LEVEL_GROUP_ROWS, err));
        *ret = w->groups[level];
        for (int64_t i = 0; i < seq % LEVEL_GROUP_ROWS; i++)
            TRY(level_row_skip(ret, err));
        return OK;
    }
    if (level > 1)
        choice = (struct store_level_choice){level, METRIC_LEVEL_OPEN, false};
    return store_level_get(w->cmd->store, &w->series, choice, arena, ret, err);
}

static enum err_code hold_row(struct walker *w, int level, int64_t seq, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str row;

    if (w->row_seq[level] == seq)
        return OK;
    w->row_seq[level] = -1;
    TRY(find_row(w, level, seq, &arena, &row, err));
    TRY(level_row_take(w->coder, &row, w->visitor->ends, &w->rows[level - 1],
                       &w->row_records[level], err));
    w->row_seq[level] = seq;
    return OK;
}

static enum err_code hold_chunk(struct walker *w, int64_t seq, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct store_chunk_choice choice = {seq, w->visitor->columns & CHUNK_TIMES};
    struct str data;

    if (w->row_seq[0] == seq)
        return OK;
    w->row_seq[0] = -1;
    if (seq == w->series.count / METRIC_CHUNK_POINTS)
        TRY(store_series_tail(w->cmd->store, &w->series, &arena, &data, err));
    else
        TRY(store_chunk_get(w->cmd->store, &w->series, choice, &arena, &data, err));
    TRY(chunk_decode(w->coder, data, w->visitor->columns, &w->chunk, err));
    w->row_seq[0] = seq;
    return OK;
}

/* The highest level that has a record beginning at `place`; 0: none has. */
static int level_at(const struct walker *w, int64_t place, int most)
{
    for (int level = most; level > 0; level--)
        if (place % level_record_points(level) == 0 && place < level_covers(level, w->series.count))
            return level;
    return 0;
}

/* Gives the points at `place` up to `to`, the end of the chunk, or of the smallest record. */
static enum err_code give_points(struct walker *w, int64_t *place, int64_t to, struct err *err)
{
    int64_t chunk_at = *place % METRIC_CHUNK_POINTS;
    int64_t left = to - (*place - chunk_at);
    int64_t end = MIN(left, (int64_t)METRIC_CHUNK_POINTS);
    bool in_records = w->visitor->record && *place < level_covers(1, w->series.count);

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
                          int64_t to, const struct walk_visitor *visitor, struct err *err)
{
    int most = visitor->record ? LEVEL_COUNT : 0;
    int64_t place = from;

    w->series = *series;
    w->visitor = visitor;
    for (int level = 0; level <= LEVEL_COUNT; level++)
        w->row_seq[level] = w->group_seq[level] = -1;
    while (place < to) {
        int level = level_at(w, place, most);
        bool taken = false;
        for (; level > 0 && !taken; level -= !taken) {
            int64_t points = level_record_points(level);
            size_t at = (size_t)(place / points % LEVEL_ROW_RECORDS);
            struct level_record record;
            TRY(hold_row(w, level, place / level_row_points(level), err));
            if (at >= w->row_records[level])
                return err_set(err, ERR_IO, "a row of metric levels is short");
            record = level_row_get(&w->rows[level - 1], at);
            taken = visitor->record(visitor->ctx, &record, points);
            place += taken ? points : 0;
        }
        if (!taken)
            TRY(give_points(w, &place, to, err));
    }
    return OK;
}
