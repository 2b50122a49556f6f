/* Points page by page. A cursor is "<writer>.<place>": places are counted from the first point that
 * the writer logged of the metric, so that compaction moves nothing, and a cursor at the end is
 * where new points will be. */
#include "domain/metrics/metrics.h"

#include "domain/metrics/reading.h"

#define CURSOR_BYTES_MAX 64

struct paging {
    struct metric_page *page;
    size_t limit;
    const struct reading_part *part;
    int64_t place; /* after the last point looked at */
};

static void take(struct paging *p, int64_t step, time_ms at, double value)
{
    if (p->page->count == p->limit)
        return;
    if (reading_shows(p->part, step))
        p->page->points[p->page->count++] = (struct metric_point){step, at, value};
    p->place++;
}

static void take_points(void *ctx, const struct chunk_points *c, size_t begin, size_t end)
{
    struct paging *p = ctx;

    for (size_t i = begin; i < end && p->page->count < p->limit; i++)
        take(p, c->steps[i], c->times[i], c->values[i]);
}

/* Splits a cursor. False: it is not one. */
static bool parse_cursor(struct str cursor, struct str *ret_writer, int64_t *ret_place)
{
    struct str rest = cursor;

    return cursor.len <= CURSOR_BYTES_MAX && str_cut(&rest, '.', ret_writer) &&
           str_to_i64(rest, ret_place) && *ret_place >= 0;
}

/* Which writer the cursor names, and where in it to begin. */
static enum err_code find_place(const struct run *run, const struct run_reading *reading,
                                struct str cursor, size_t *ret_writer, int64_t *ret_place,
                                struct err *err)
{
    struct str name;

    *ret_writer = 0;
    *ret_place = 0;
    if (cursor.len == 0)
        return OK;
    if (!parse_cursor(cursor, &name, ret_place))
        return err_set_field(err, ERR_INVALID, "cursor", "\"%.*s\" is not a cursor",
                             STR_ARG(cursor));
    for (size_t w = 0; w < reading->writer_count; w++)
        if (str_eq(id_str(&reading->writers[w].writer.public_id), name)) {
            *ret_writer = w;
            return OK;
        }
    return err_set_field(err, ERR_INVALID, "cursor", "\"%.*s\" is not a cursor of run %s",
                         STR_ARG(cursor), run->public_id.text);
}

static enum err_code read_part(struct walker *walker, const struct reading_part *part,
                               struct paging *p, struct err *err)
{
    struct walk_visitor visitor = {.ctx = p, .points = take_points, .columns = CHUNK_ALL};
    const struct metric_series *series = &part->series;

    /* No further than the page can reach, but for points that are not visible. */
    while (p->place < series->count && p->page->count < p->limit) {
        int64_t reach = p->place + (int64_t)(p->limit - p->page->count);
        TRY(walk_series(walker, series, p->place, MIN(series->count, reach), &visitor, err));
    }
    for (size_t i = (size_t)MAX(p->place - series->count, 0); i < part->tail.count; i++)
        take(p, part->tail.points[i].step, part->tail.points[i].at, part->tail.points[i].value);
    return OK;
}

static bool has_more(const struct run_reading *reading, size_t writer, int64_t place)
{
    for (size_t w = writer; w < reading->writer_count; w++) {
        const struct reading_part *part = &reading->parts[0][w];
        if (part->series.count + (int64_t)part->tail.count > (w == writer ? place : 0))
            return true;
    }
    return false;
}

enum err_code metrics_points(struct cmd *cmd, const struct run *run, struct str metric,
                             struct str cursor, size_t limit, struct metric_page *ret_page,
                             struct err *err)
{
    CLEANUP(walker_release) struct walker *walker = walker_new(cmd);
    struct metric_page page = {.points = arena_array(cmd->arena, limit, sizeof *page.points)};
    struct paging p = {.page = &page, .limit = limit};
    struct run_reading reading;
    metric_id ids[2] = {{0}, {0}};
    size_t found = 0, w = 0;

    TRY(store_metric_name_find(cmd->store, run->project, metric, ids, &found, err));
    TRY(reading_open(cmd, run, &(struct reading_choice){ids, 1, SERIES_VISIBLE}, &reading, err));
    TRY(find_place(run, &reading, cursor, &w, &p.place, err));
    for (; w < reading.writer_count; w++) {
        p.part = &reading.parts[0][w];
        TRY(read_part(walker, &reading.parts[0][w], &p, err));
        if (page.count == limit || w + 1 == reading.writer_count)
            break;
        p.place = 0;
    }
    page.more = has_more(&reading, w, p.place);
    page.cursor = reading.writer_count
                      ? arena_printf(cmd->arena, "%s.%lld",
                                     reading.writers[w].writer.public_id.text, (long long)p.place)
                      : "";
    *ret_page = page;
    return OK;
}
