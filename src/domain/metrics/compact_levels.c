/* The pyramid grows by whole rows of level 1: each gives 16 records to the row of level 2 that is
 * open, which is closed into a group when it has 256 of them and so gives 16 to level 3. */
#include "domain/metrics/compact.h"

#include <string.h>

/* A level above the first while a series is planned. */
struct upper {
    struct level_row *open;
    size_t records; /* that it has */
    bool is_known, is_changed;
    struct str group; /* complete rows of the group that the next one goes to */
    int64_t group_seq;
    bool group_is_changed;
};

struct building {
    struct gathering *g;
    const struct gathered *m;
    struct compact_series *plan;
    struct upper uppers[LEVEL_COUNT + 1]; /* [2] and above */
};

static void plan_row(struct building *b, struct metric_level row)
{
    struct compact_series *plan = b->plan;

    plan->levels = arena_more(b->g->cmd->arena, plan->levels, plan->level_count, &plan->level_room,
                              sizeof *plan->levels);
    plan->levels[plan->level_count++] = row;
}

/* Point `place` of a series, from what was gathered or from the chunk held in *held. */
static enum err_code point_at(struct building *b, int64_t place, struct chunk_points **held,
                              struct metric_point *ret, struct err *err)
{
    const struct gathered *m = b->m;
    size_t at = (size_t)(place % METRIC_CHUNK_POINTS);

    if (place >= m->base) {
        *ret = m->list.points[place - m->base];
        return OK;
    }
    if (!*held || at == 0) {
        struct arena *arena = b->g->cmd->arena;
        struct str data;
        *held = *held ? *held : ARENA_NEW(arena, struct chunk_points);
        TRY(store_chunk_get(b->g->cmd->store, &m->series,
                            (struct store_chunk_choice){place / METRIC_CHUNK_POINTS, true}, arena,
                            &data, err));
        TRY(chunk_decode(b->g->coder, data, CHUNK_ALL, *held, err));
    }
    if (at >= (*held)->count)
        return err_set(err, ERR_IO, "a full metric chunk is short");
    *ret = (struct metric_point){(*held)->steps[at], (*held)->times[at], (*held)->values[at]};
    return OK;
}

static enum err_code build_from_points(struct building *b, int64_t seq, struct level_row *row,
                                       struct err *err)
{
    struct chunk_points *held = NULL;

    for (size_t i = 0; i < LEVEL_ROW_RECORDS; i++) {
        struct level_record record = {0}, next;
        for (int64_t j = 0; j < LEVEL_FANOUT; j++) {
            struct metric_point point;
            int64_t place = seq * LEVEL_ROW_POINTS + (int64_t)i * LEVEL_FANOUT + j;
            TRY(point_at(b, place, &held, &point, err));
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

/* Reads the open row of a level, which has `records`. */
static enum err_code know_open(struct building *b, int level, size_t records, struct err *err)
{
    struct upper *u = &b->uppers[level];
    size_t found = 0;
    struct str data;

    if (u->is_known)
        return OK;
    u->is_known = true;
    u->records = records;
    u->open = ARENA_NEW(b->g->cmd->arena, struct level_row);
    if (records == 0)
        return OK;
    TRY(store_level_get(b->g->cmd->store, &b->m->series,
                        (struct store_level_choice){level, METRIC_LEVEL_OPEN, false},
                        b->g->cmd->arena, &data, err));
    TRY(level_row_take(b->g->coder, &data, LEVEL_BOTH, u->open, &found, err));
    if (found != records)
        return err_set(err, ERR_IO, "the open row of a level has %zu records, not %zu", found,
                       records);
    return OK;
}

static void plan_group(struct building *b, int level)
{
    struct upper *u = &b->uppers[level];

    plan_row(b, (struct metric_level){.level = level, .seq = u->group_seq, .data = u->group});
    u->group_is_changed = false;
}

/* Adds the open row, which is complete, to its group. */
static enum err_code close_row(struct building *b, int level, int64_t seq, struct err *err)
{
    struct upper *u = &b->uppers[level];
    struct arena *arena = b->g->cmd->arena;
    struct str row = level_row_encode(b->g->coder, u->open, LEVEL_ROW_RECORDS, arena);
    char *joined;

    if (seq % LEVEL_GROUP_ROWS == 0)
        u->group = STR("");
    else if (!u->group.len)
        TRY(store_level_get(b->g->cmd->store, &b->m->series,
                            (struct store_level_choice){level, seq / LEVEL_GROUP_ROWS, false},
                            arena, &u->group, err));
    joined = arena_alloc(arena, u->group.len + row.len);
    if (u->group.len)
        memcpy(joined, u->group.data, u->group.len);
    memcpy(joined + u->group.len, row.data, row.len);
    u->group = str_n(joined, u->group.len + row.len);
    u->group_seq = seq / LEVEL_GROUP_ROWS;
    u->group_is_changed = true;
    if (seq % LEVEL_GROUP_ROWS == LEVEL_GROUP_ROWS - 1)
        plan_group(b, level);
    u->records = 0;
    return OK;
}

/* Row `seq` of the level below `level` is complete. */
static enum err_code rise(struct building *b, int level, int64_t seq, const struct level_row *below,
                          struct err *err)
{
    struct upper *u = &b->uppers[level];

    TRY(know_open(b, level, (size_t)(seq % LEVEL_FANOUT) * LEVEL_FANOUT, err));
    for (size_t i = 0; i < LEVEL_ROW_RECORDS; i += LEVEL_FANOUT) {
        struct level_record record = level_row_get(below, i);
        for (size_t j = 1; j < LEVEL_FANOUT; j++) {
            struct level_record next = level_row_get(below, i + j);
            level_record_join(&record, &next);
        }
        level_row_set(u->open, u->records++, &record);
    }
    u->is_changed = true;
    if (u->records < LEVEL_ROW_RECORDS)
        return OK;
    if (level < LEVEL_COUNT)
        TRY(rise(b, level + 1, seq / LEVEL_FANOUT, u->open, err));
    return close_row(b, level, seq / LEVEL_FANOUT, err);
}

enum err_code compact_levels(struct gathering *g, const struct gathered *m, int64_t before,
                             struct compact_series *plan, struct err *err)
{
    int64_t seq = before / LEVEL_ROW_POINTS, end = plan->series.count / LEVEL_ROW_POINTS;
    struct building b = {.g = g, .m = m, .plan = plan};
    struct level_row *row = seq < end ? ARENA_NEW(g->cmd->arena, struct level_row) : NULL;

    for (; seq < end; seq++) {
        TRY(build_from_points(&b, seq, row, err));
        plan_row(&b, (struct metric_level){
                         .level = 1,
                         .seq = seq,
                         .data = level_row_encode(g->coder, row, LEVEL_ROW_RECORDS, g->cmd->arena),
                     });
        TRY(rise(&b, 2, seq, row, err));
    }
    for (int level = 2; level <= LEVEL_COUNT; level++) {
        struct upper *u = &b.uppers[level];
        if (u->group_is_changed)
            plan_group(&b, level);
        if (u->is_changed && u->records)
            plan_row(&b, (struct metric_level){
                             .level = level,
                             .seq = METRIC_LEVEL_OPEN,
                             .data = level_row_encode(g->coder, u->open, u->records, g->cmd->arena),
                         });
    }
    return OK;
}
