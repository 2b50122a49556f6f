/* Sharing of times. Metrics of one log() call have the same times at the same places of their
 * series as long as they are always logged together; then the first of them lends its times to the
 * rest. Whoever misses a call keeps its own from the next chunk on. */
#include "domain/metrics/compact.h"

#include "base/map.h"
#include "store/chunk/times.h"

#define BYTES_MIN 64 /* of times: fewer are not worth a look at another row */

/* Where the times of a chunk or row are. */
struct lender {
    metric_id metric;
    struct str times;
};

struct sharing {
    struct arena *arena;
    struct map lenders; /* by place */
};

/* What has the same place and kind may have the same times. */
struct place {
    int64_t level, seq, kind;
};

static void share_one(struct sharing *s, const struct compact_series *series, struct place place,
                      metric_id *times_of_metric, struct str *data)
{
    enum timed kind = place.level ? TIMED_LEVEL : TIMED_CHUNK;
    struct str key = str_n((const char *)&place, sizeof place), times = times_of(kind, *data);
    struct lender *lender = map_get(&s->lenders, key);

    if (times.len < BYTES_MIN)
        return;
    if (lender && str_eq(lender->times, times)) {
        *times_of_metric = lender->metric;
        *data = times_drop(kind, *data, s->arena);
    } else if (!lender) {
        lender = ARENA_NEW(s->arena, struct lender);
        *lender = (struct lender){series->series.metric, times};
        (void)map_put(&s->lenders, key, lender); /* full: those that come keep their times */
    }
}

void compact_share(struct compact_plan *plan, struct arena *arena)
{
    struct sharing s = {.arena = arena};

    map_init(&s.lenders, 65536);
    for (size_t i = 0; i < plan->series_count; i++) {
        struct compact_series *series = &plan->series[i];
        for (size_t j = 0; j < series->chunk_count; j++) {
            struct metric_chunk *c = &series->chunks[j];
            share_one(&s, series, (struct place){0, c->seq, series->kind}, &c->times_of, &c->data);
        }
        for (size_t j = 0; j < series->level_count; j++) {
            struct metric_level *l = &series->levels[j];
            if (l->level == 1)
                share_one(&s, series, (struct place){1, l->seq, series->kind}, &l->times_of,
                          &l->data);
        }
    }
    map_release(&s.lenders);
}
