/* Walking over the points of a series that lie in chunks, by the largest records of the pyramid
 * that the visitor can use. thread: any owner of a store */
#pragma once

#include "domain/cmd.h"
#include "store/chunk/chunk.h"
#include "store/chunk/level.h"
#include "store/store_log.h"

struct walk_visitor {
    void *ctx;
    /* True: taken, or of no interest. False: show me what it is made of. NULL: points alone. */
    bool (*record)(void *ctx, const struct level_record *record, int64_t points);
    /* Points from `begin` to `end` (exclusive) of a chunk. */
    void (*points)(void *ctx, const struct chunk_points *chunk, size_t begin, size_t end);
    enum level_axis ends; /* of records */
    unsigned columns;     /* of points: enum chunk_column */
};

/* Room for one walk after the other. */
struct walker;
struct walker *walker_new(struct cmd *cmd); /* in the arena of cmd, but for its coder */
void walker_free(struct walker *walker);    /* accepts NULL */
static inline void walker_release(struct walker **walker) /* for CLEANUP */
{
    walker_free(*walker);
}

/* Visits the points of `series` (as store_series_get filled it) from place `from` to `to`, in
 * order; a visitor of records goes to the end. */
MUST_CHECK enum err_code walk_series(struct walker *walker, const struct metric_series *series,
                                     int64_t from, int64_t to, const struct walk_visitor *visitor,
                                     struct err *err);
