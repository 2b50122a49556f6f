/* Reading series for charts. Steps decide what is visible, x decides which bucket: on the axis of
 * steps they are the same. */
#include "domain/metrics/reading.h"

#include "domain/metrics/facts.h"
#include "store/store_metric.h"

enum err_code reading_open(struct cmd *cmd, const struct run *run,
                           const struct reading_choice *choice, struct run_reading *ret,
                           struct err *err)
{
    const metric_id *metrics = choice->metrics;
    size_t metric_count = choice->metric_count;
    struct series_writer *writers;
    struct series_tail *tails = arena_array(cmd->arena, metric_count, sizeof *tails);
    size_t count = 0;

    *ret = (struct run_reading){.run = *run};
    TRY(series_writers(cmd, run, choice->part, &writers, &count, err));
    ret->writer_count = count;
    ret->writers = writers;
    ret->parts = arena_array(cmd->arena, metric_count, sizeof *ret->parts);
    for (size_t m = 0; m < metric_count; m++)
        ret->parts[m] = arena_array(cmd->arena, count, sizeof **ret->parts);
    for (size_t w = 0; w < count; w++) {
        const struct writer *writer = &writers[w].writer;
        ret->version += writer->applied_offset;
        for (size_t m = 0; m < metric_count; m++) {
            struct reading_part *part = &ret->parts[m][w];
            part->series = (struct metric_series){
                .run = writer->run, .metric = metrics[m], .writer = writer->id};
            part->visible_from = writers[w].visible_from;
            part->visible_below = writers[w].visible_below;
            TRY(store_series_get(cmd->store, &part->series, err));
            tails[m] = (struct series_tail){metrics[m], part->series.log_offset, {0}};
        }
        TRY(series_tails(cmd, writer, tails, metric_count, err));
        for (size_t m = 0; m < metric_count; m++)
            ret->parts[m][w].tail = tails[m].points;
    }
    return OK;
}

/* Times come from strangers: a difference that does not fit stays at the end of the range. */
static int64_t since(int64_t at, int64_t origin)
{
    int64_t moved;

    if (__builtin_sub_overflow(at, origin, &moved))
        return at < 0 ? INT64_MIN : INT64_MAX;
    return moved;
}

static int64_t x_of(const struct reading_range *r, int64_t step, time_ms at)
{
    if (r->axis == AXIS_STEP)
        return step;
    return r->axis == AXIS_TIME ? at : since(at, r->origin);
}

struct reading_range reading_range_of(const struct metric_query *query, const struct run *run)
{
    return (struct reading_range){
        .axis = query->axis,
        .origin = run->started == TIME_NONE ? run->created : run->started,
        .from = query->from,
        .to = query->to,
    };
}

void reading_extent(const struct reading_part *parts, size_t count, const struct reading_range *r,
                    int64_t *lo, int64_t *hi)
{
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < count; i++) {
        const struct reading_part *p = &parts[i];
        const struct metric_series *s = &p->series;
        if (s->count && s->step_min < p->visible_below && s->step_max >= p->visible_from) {
            first = MIN(first, x_of(r, MAX(s->step_min, p->visible_from), s->at_min));
            last = MAX(last, x_of(r, MIN(s->step_max, p->visible_below - 1), s->at_max));
        }
        for (size_t j = 0; j < p->tail.count; j++) {
            int64_t x = x_of(r, p->tail.points[j].step, p->tail.points[j].at);
            if (!reading_shows(p, p->tail.points[j].step))
                continue;
            first = MIN(first, x);
            last = MAX(last, x);
        }
    }
    if (first > last || last < r->from || first > r->to)
        return;
    *lo = MIN(*lo, MAX(first, r->from));
    *hi = MAX(*hi, MIN(last, r->to));
}

struct filling {
    const struct reading_range *range;
    const struct bucket_grid *grid;
    struct metric_bucket *buckets;
    const struct reading_part *part;
    bool is_cut;
};

static void fill_point(struct filling *f, int64_t step, time_ms at, double value)
{
    int64_t x = x_of(f->range, step, at);

    if ((f->is_cut && !reading_shows(f->part, step)) || x < f->grid->lo || x > f->grid->hi)
        return;
    bucket_add_point(&f->buckets[bucket_grid_at(f->grid, x)], x, value);
}

static void fill_points(void *ctx, const struct chunk_points *c, size_t begin, size_t end)
{
    struct filling *f = ctx;
    bool times = f->range->axis != AXIS_STEP;
    bool steps = !times || f->is_cut;

    for (size_t i = begin; i < end; i++)
        fill_point(f, steps ? c->steps[i] : 0, times ? c->times[i] : 0, c->values[i]);
}

static struct level_ends x_ends(const struct reading_range *r, const struct level_record *record)
{
    if (r->axis == AXIS_STEP)
        return record->steps;
    return (struct level_ends){x_of(r, 0, record->times.first), x_of(r, 0, record->times.last)};
}

/* -1: no point of it is visible, 1: all are, 0: some, or it is not known. */
static int visibility(const struct filling *f, const struct level_record *record)
{
    int64_t least = MIN(record->steps.first, record->steps.last);
    int64_t most = MAX(record->steps.first, record->steps.last);

    if (!f->is_cut)
        return 1;
    if (least >= f->part->visible_below || most < f->part->visible_from)
        return -1;
    return reading_shows(f->part, least) && reading_shows(f->part, most) ? 1 : 0;
}

static bool fill_record(void *ctx, const struct level_record *record, int64_t points)
{
    struct filling *f = ctx;
    struct level_ends x = x_ends(f->range, record);
    int64_t least = MIN(x.first, x.last), most = MAX(x.first, x.last);
    int visible = visibility(f, record);

    if (visible < 0 || most < f->grid->lo || least > f->grid->hi)
        return true;
    if (visible == 0 || !level_ends_ordered(x) || least < f->grid->lo || most > f->grid->hi ||
        !bucket_grid_takes(f->grid, least, most))
        return false;
    bucket_add_record(&f->buckets[bucket_grid_at(f->grid, least)], x, record, points);
    return true;
}

enum err_code reading_fill(struct walker *walker, const struct reading_part *parts, size_t count,
                           const struct reading_range *range, const struct reading_buckets *into,
                           struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct reading_part *p = &parts[i];
        bool cut = series_is_cut(p->visible_from, p->visible_below);
        bool times = range->axis != AXIS_STEP;
        struct filling f = {range, into->grid, into->buckets, p, cut};
        struct walk_visitor visitor = {
            .ctx = &f,
            .record = fill_record,
            .points = fill_points,
            .ends = cut     ? LEVEL_BOTH
                    : times ? LEVEL_TIMES
                            : LEVEL_STEPS,
            .columns =
                CHUNK_VALUES | (times ? CHUNK_TIMES : 0u) | (cut || !times ? CHUNK_STEPS : 0u),
        };
        TRY(walk_series(walker, &p->series, 0, p->series.count, &visitor, err));
        for (size_t j = 0; j < p->tail.count; j++)
            fill_point(&f, p->tail.points[j].step, p->tail.points[j].at, p->tail.points[j].value);
    }
    return OK;
}

struct summing {
    struct metric_facts facts;
    const struct reading_part *part;
};

static void sum_points(void *ctx, const struct chunk_points *c, size_t begin, size_t end)
{
    struct summing *s = ctx;

    for (size_t i = begin; i < end; i++)
        if (reading_shows(s->part, c->steps[i]))
            metric_facts_add(&s->facts,
                             &(struct metric_point){c->steps[i], c->times[i], c->values[i]});
}

enum err_code reading_facts(struct walker *walker, const struct reading_part *part,
                            struct metric_facts *facts, struct err *err)
{
    struct summing s = {.part = part};
    struct walk_visitor visitor = {.ctx = &s, .points = sum_points, .columns = CHUNK_ALL};

    if (part->series.count && (part->series.step_min >= part->visible_below ||
                               part->series.step_max < part->visible_from)) {
        /* none of them counts */
    } else {
        TRY(walk_series(walker, &part->series, 0, part->series.count, &visitor, err));
    }
    for (size_t i = 0; i < part->tail.count; i++)
        if (reading_shows(part, part->tail.points[i].step))
            metric_facts_add(&s.facts, &part->tail.points[i]);
    metric_facts_join(facts, &s.facts);
    return OK;
}

struct collecting {
    struct arena *arena;
    struct point_list *points;
    const struct reading_part *part;
};

static void collect(void *ctx, const struct chunk_points *c, size_t begin, size_t end)
{
    struct collecting *to = ctx;

    for (size_t i = begin; i < end; i++)
        if (reading_shows(to->part, c->steps[i]))
            point_list_add(to->points, to->arena,
                           (struct metric_point){c->steps[i], c->times[i], c->values[i]});
}

enum err_code reading_points(struct walker *walker, const struct reading_part *part,
                             struct arena *arena, struct point_list *ret_points, struct err *err)
{
    struct collecting to = {arena, ret_points, part};
    struct walk_visitor visitor = {.ctx = &to, .points = collect, .columns = CHUNK_ALL};

    TRY(walk_series(walker, &part->series, 0, part->series.count, &visitor, err));
    for (size_t i = 0; i < part->tail.count; i++)
        if (reading_shows(part, part->tail.points[i].step))
            point_list_add(ret_points, arena, part->tail.points[i]);
    return OK;
}
