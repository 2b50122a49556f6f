/* What the steps of planning a compaction share. Folder-private. thread: ingest */
#pragma once

#include "domain/metrics/metrics.h"
#include "domain/metrics/series.h"
#include "store/chunk/chunk.h"
#include "store/chunk/level.h"

/* The points of one metric that are new, in the order of the log; once it is planned with those of
 * the tail before them. */
struct gathered {
    struct metric_series series;
    enum metric_kind kind;
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

/* What the pyramid over a series gains by its points from `before` on. */
MUST_CHECK enum err_code compact_levels(struct gathering *g, const struct gathered *m,
                                        int64_t before, struct compact_series *plan,
                                        struct err *err);
/* Takes the times out of chunks and rows whose times an earlier series of the plan has too. A
 * series is written after those before it, so nobody sees one whose lender is not there. */
void compact_share(struct compact_plan *plan, struct arena *arena);
