/* The pyramid over the points of a series: a record of level k sums up 16^k neighbouring points,
 * and a row of level k holds up to LEVEL_ROW_RECORDS such records. A row of level 1 is made when
 * all its 4,096 points are there, and never changes. A row of a higher level grows by 16 records
 * with each row of the level below that is complete.
 *
 *     u8 version (2) | u8 flags | u16 records | columns
 *
 * The columns are first step, last step, first time, last time, not finite, the minima, maxima,
 * first and last values one after the other as one column, sum. Flag 1: those of times are not here
 * (times.h).
 * thread: any */
#pragma once

#include "base/arena.h"
#include "store/chunk/column.h"

#define LEVEL_COUNT       3
#define LEVEL_FANOUT      16
#define LEVEL_ROW_RECORDS 256 /* that a row has when it is complete */
/* Points below one row of level 1. */
#define LEVEL_ROW_POINTS (LEVEL_ROW_RECORDS * LEVEL_FANOUT)

/* The ends of a record on one axis. Where its points are not in order (an x below the one before),
 * the ends are written the other way round, larger first: such a record can be skipped, but what is
 * between its ends is known only to its points. */
struct level_ends {
    int64_t first, last;
};
static inline bool level_ends_ordered(struct level_ends ends)
{
    return ends.first <= ends.last;
}

struct level_record {
    struct level_ends steps, times;
    int64_t not_finite;
    double min, max, sum; /* of the finite values; min and max are NaN when there is none */
    double first, last;   /* whatever they are */
};

/* A row, column by column. */
struct level_row {
    int64_t step_first[LEVEL_ROW_RECORDS], step_last[LEVEL_ROW_RECORDS];
    int64_t time_first[LEVEL_ROW_RECORDS], time_last[LEVEL_ROW_RECORDS];
    int64_t not_finite[LEVEL_ROW_RECORDS];
    double min[LEVEL_ROW_RECORDS], max[LEVEL_ROW_RECORDS], sum[LEVEL_ROW_RECORDS];
    double first[LEVEL_ROW_RECORDS], last[LEVEL_ROW_RECORDS];
};

/* The record of a single point, and of two neighbours, the earlier one first. */
struct level_record level_record_of(const struct metric_point *point);
void level_record_join(struct level_record *earlier, const struct level_record *later);

struct level_record level_row_get(const struct level_row *row, size_t index);
/* Sets record `index`. */
void level_row_set(struct level_row *row, size_t index, const struct level_record *record);

/* Points that a record of a level, and a row of it, sums up. */
static inline int64_t level_record_points(int level)
{
    return (int64_t)1 << (4 * level);
}
static inline int64_t level_row_points(int level)
{
    return LEVEL_ROW_RECORDS * level_record_points(level);
}
/* Of the first `count` points of a series, how many have records of a level above them. */
static inline int64_t level_covers(int level, int64_t count)
{
    int64_t whole = level_row_points(level == 1 ? 1 : level - 1);

    return count / whole * whole;
}
/* Complete rows of the levels above the first lie one after the other in groups. */
#define LEVEL_GROUP_ROWS 16

/* The first `count` records, 1 to LEVEL_ROW_RECORDS. */
struct str level_row_encode(struct column_coder *coder, const struct level_row *row, size_t count,
                            struct arena *arena);
/* Ends in steps, in times, or both: the other columns of ends are left as they were. */
enum level_axis { LEVEL_STEPS = 1, LEVEL_TIMES = 2, LEVEL_BOTH = 3 };
/* Reads the row at the start of `rest` and cuts it off. ERR_IO: damaged, of a later version, or
 * without the times that were asked for. */
MUST_CHECK enum err_code level_row_take(struct column_coder *coder, struct str *rest,
                                        enum level_axis axis, struct level_row *ret_row,
                                        size_t *ret_count, struct err *err);
/* Cuts the row off without reading it. */
MUST_CHECK enum err_code level_row_skip(struct str *rest, struct err *err);
