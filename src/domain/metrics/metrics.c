/* Chart queries: two passes over the points of a series, one to find the range of x, one to fill
 * the buckets. Every point counts; nothing is sampled. */
#include "domain/metrics/metrics.h"

#include "domain/metrics/series.h"
#include "store/chunk/chunk.h"
#include "store/store_log.h"
#include "store/store_run.h"

#include <math.h>

#define WRITERS_MAX   10000
#define CHUNKS_A_STEP 64

/* One metric of one run while it is being read. */
struct reading {
    const struct metric_query *query;
    struct run *run;
    metric_id metric;
    const struct writer *writers;
    size_t writer_count;
    const struct point_list *tails; /* one a writer */
    int64_t origin;                 /* of relative time */
    int64_t lo, hi;                 /* range of x that has points */
    uint64_t width;                 /* of a bucket */
    struct metric_bucket *buckets;
    struct metric_series *series;
    struct column_coder *coder;
    struct chunk_points *chunk; /* room for one */
    bool fill;                  /* second pass */
};

enum err_code metrics_list(struct cmd *cmd, run_id run, const struct metric_filter *filter,
                           struct metric_facts **ret_facts, size_t *ret_count, struct err *err)
{
    return store_run_metric_list(cmd->store, run, filter, cmd->arena, ret_facts, ret_count, err);
}

/* Times come from strangers: a difference that does not fit stays at the end of the range. */
static int64_t since(int64_t at, int64_t origin)
{
    int64_t moved;

    if (__builtin_sub_overflow(at, origin, &moved))
        return at < 0 ? INT64_MIN : INT64_MAX;
    return moved;
}

static int64_t x_of(const struct reading *r, const struct metric_point *p)
{
    if (r->query->axis == AXIS_STEP)
        return p->step;
    return r->query->axis == AXIS_TIME ? p->at : since(p->at, r->origin);
}

static size_t bucket_of(const struct reading *r, int64_t x)
{
    uint64_t index = ((uint64_t)x - (uint64_t)r->lo) / r->width;

    return (size_t)MIN(index, (uint64_t)r->query->buckets - 1);
}

static void bucket_add(struct metric_bucket *b, int64_t x, double value)
{
    bool finite = isfinite(value);

    if (b->count == 0) {
        *b = (struct metric_bucket){x, x, 0, NAN, NAN, value, value};
    } else if (x < b->x_first) {
        b->x_first = x;
        b->first = value;
    }
    if (x >= b->x_last) {
        b->x_last = x;
        b->last = value;
    }
    if (finite && !(value >= b->min))
        b->min = value;
    if (finite && !(value <= b->max))
        b->max = value;
    b->count++;
}

static void take_point(struct reading *r, const struct metric_point *p)
{
    int64_t x = x_of(r, p);

    if (x < r->query->from || x > r->query->to)
        return;
    if (!r->fill) {
        r->lo = MIN(r->lo, x);
        r->hi = MAX(r->hi, x);
        return;
    }
    r->series->count++;
    r->series->not_finite += !isfinite(p->value);
    bucket_add(&r->buckets[bucket_of(r, x)], x, p->value);
}

static int64_t shift(int64_t bound, int64_t origin)
{
    int64_t moved;

    if (bound == INT64_MIN || bound == INT64_MAX)
        return bound;
    return __builtin_add_overflow(bound, origin, &moved) ? bound : moved;
}

static struct chunk_range range_of(const struct reading *r, writer_id writer)
{
    struct chunk_range range = {
        .run = r->run->id,
        .metric = r->metric,
        .writer = writer,
        .after_seq = -1,
        .step_from = INT64_MIN,
        .step_to = INT64_MAX,
        .at_from = INT64_MIN,
        .at_to = INT64_MAX,
        .limit = CHUNKS_A_STEP,
    };

    if (r->query->axis == AXIS_STEP) {
        range.step_from = r->query->from;
        range.step_to = r->query->to;
    } else {
        range.at_from = shift(r->query->from, r->query->axis == AXIS_TIME ? 0 : r->origin);
        range.at_to = shift(r->query->to, r->query->axis == AXIS_TIME ? 0 : r->origin);
    }
    return range;
}

/* First pass over a chunk: its ends say enough when it lies wholly inside the range. */
static bool take_ends(struct reading *r, const struct metric_chunk *c)
{
    bool steps = r->query->axis == AXIS_STEP;
    int64_t shift_by = r->query->axis == AXIS_RELATIVE ? r->origin : 0;
    int64_t lo = steps ? c->step_min : since(c->at_min, shift_by);
    int64_t hi = steps ? c->step_max : since(c->at_max, shift_by);

    if (r->fill || lo < r->query->from || hi > r->query->to)
        return false;
    r->lo = MIN(r->lo, lo);
    r->hi = MAX(r->hi, hi);
    return true;
}

static enum err_code take_chunk(struct reading *r, const struct metric_chunk *chunk,
                                struct err *err)
{
    struct chunk_points *p = r->chunk;
    unsigned columns = CHUNK_VALUES | (r->query->axis == AXIS_STEP ? CHUNK_STEPS : CHUNK_TIMES);

    if (take_ends(r, chunk))
        return OK;
    TRY(chunk_decode(r->coder, chunk->data, columns, p, err));
    for (size_t i = 0; i < p->count; i++)
        take_point(r, &(struct metric_point){p->steps[i], p->times[i], p->values[i]});
    return OK;
}

static enum err_code take_chunks(struct cmd *cmd, struct reading *r, writer_id writer,
                                 struct err *err)
{
    struct chunk_range range = range_of(r, writer);
    size_t count = 0;

    do {
        CLEANUP(arena_release) struct arena arena = {0};
        struct metric_chunk *chunks;
        TRY(store_chunk_list(cmd->store, &range, &arena, &chunks, &count, err));
        for (size_t i = 0; i < count; i++)
            TRY(take_chunk(r, &chunks[i], err));
        if (count)
            range.after_seq = chunks[count - 1].seq;
    } while (count == CHUNKS_A_STEP);
    return OK;
}

static enum err_code pass(struct cmd *cmd, struct reading *r, struct err *err)
{
    for (size_t w = 0; w < r->writer_count; w++) {
        TRY(take_chunks(cmd, r, r->writers[w].id, err));
        for (size_t i = 0; i < r->tails[w].count; i++)
            take_point(r, &r->tails[w].points[i]);
    }
    return OK;
}

static enum err_code read_series(struct cmd *cmd, struct reading *r, struct err *err)
{
    int64_t buckets = r->query->buckets;
    size_t kept = 0;

    r->lo = INT64_MAX;
    r->hi = INT64_MIN;
    TRY(pass(cmd, r, err));
    if (r->lo > r->hi)
        return OK;
    r->width = ((uint64_t)r->hi - (uint64_t)r->lo) / (uint64_t)buckets;
    r->width += r->width < UINT64_MAX;
    r->buckets = arena_array(cmd->arena, (size_t)buckets, sizeof *r->buckets);
    r->fill = true;
    TRY(pass(cmd, r, err));
    for (int64_t i = 0; i < buckets; i++)
        if (r->buckets[i].count)
            r->buckets[kept++] = r->buckets[i];
    r->series->buckets = r->buckets;
    r->series->bucket_count = kept;
    return OK;
}

/* A query while it is being answered. */
struct answering {
    const struct metric_query *query;
    metric_id *metrics;
    struct column_coder *coder;
    struct metric_series *series;
    size_t series_count;
};

static enum err_code query_run(struct cmd *cmd, struct answering *a, struct run *run,
                               struct err *err)
{
    const struct metric_query *query = a->query;
    struct writer *writers;
    struct point_list **tails;
    size_t writer_count = 0;

    TRY(store_writer_list(cmd->store, run->id, WRITERS_MAX, cmd->arena, &writers, &writer_count,
                          err));
    tails = arena_array(cmd->arena, writer_count, sizeof *tails);
    for (size_t w = 0; w < writer_count; w++) {
        tails[w] = arena_array(cmd->arena, query->metric_count, sizeof **tails);
        TRY(series_tail(cmd, &writers[w], a->metrics, query->metric_count, tails[w], err));
    }
    for (size_t m = 0; m < query->metric_count; m++) {
        struct point_list *own = arena_array(cmd->arena, writer_count, sizeof *own);
        struct reading r = {
            .query = query,
            .run = run,
            .metric = a->metrics[m],
            .writers = writers,
            .writer_count = writer_count,
            .tails = own,
            .origin = run->started == TIME_NONE ? run->created : run->started,
            .series = &a->series[a->series_count],
            .coder = a->coder,
            .chunk = ARENA_NEW(cmd->arena, struct chunk_points),
        };
        for (size_t w = 0; w < writer_count; w++)
            own[w] = tails[w][m];
        *r.series = (struct metric_series){.run = run->public_id, .metric = query->metrics[m]};
        if (a->metrics[m].v)
            TRY(read_series(cmd, &r, err));
        a->series_count += r.series->count > 0;
    }
    return OK;
}

/* A name may stand for a metric and for a system sample: the metric comes first. */
static enum err_code find_metric(struct cmd *cmd, project_id project, struct str name,
                                 metric_id *ret_id, struct err *err)
{
    metric_id ids[2] = {{0}, {0}};
    size_t count = 0;

    TRY(store_metric_name_find(cmd->store, project, name, ids, &count, err));
    *ret_id = count ? ids[0] : (metric_id){0};
    return OK;
}

static void coder_release(struct column_coder **coder)
{
    column_coder_free(*coder);
}

enum err_code metrics_query(struct cmd *cmd, project_id project, const struct metric_query *query,
                            struct metric_series **ret_series, size_t *ret_count, struct err *err)
{
    CLEANUP(coder_release) struct column_coder *coder = column_coder_new();
    struct answering a = {
        .query = query,
        .metrics = arena_array(cmd->arena, query->metric_count, sizeof *a.metrics),
        .coder = coder,
        .series =
            arena_array(cmd->arena, query->run_count * query->metric_count + 1, sizeof *a.series),
    };

    ENSURE(query->buckets >= 1 && query->buckets <= METRIC_BUCKETS_MAX);
    for (size_t m = 0; m < query->metric_count; m++)
        TRY(find_metric(cmd, project, query->metrics[m], &a.metrics[m], err));
    for (size_t i = 0; i < query->run_count; i++) {
        struct run run;
        TRY(store_run_get(cmd->store, &query->runs[i], cmd->arena, &run, err));
        if (run.project.v != project.v)
            return err_set_field(err, ERR_NOT_FOUND, "runs", "run %s is not in this project",
                                 query->runs[i].text);
        TRY(query_run(cmd, &a, &run, err));
    }
    *ret_series = a.series;
    *ret_count = a.series_count;
    return OK;
}
