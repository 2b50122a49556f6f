/* One table of columns for series and one for groups; both forms are made from them. */
#include "http/http_render_metrics.h"

#include "domain/metrics/bucket.h"
#include "http/http_render.h"

#include <math.h>
#include <stddef.h>

#define MAGIC "EUVCOL01"

/* How a column lies in its bucket, and what stands for it in JSON. */
enum column_kind {
    WHOLE,   /* int64_t */
    X_FIRST, /* int64_t, or the double of a metric: the ends of a series' bucket */
    X_LAST,
    NUMBER, /* double: NaN and the infinities are values */
    MAYBE,  /* double, NaN: there is none */
    MEAN,   /* of a series' bucket, worked out; NaN: there is none */
};

struct column {
    const char *name;
    enum column_kind kind;
    size_t offset;
};

#define SERIES(member) offsetof(struct metric_bucket, member)
static const struct column series_columns[] = {
    {"x", X_FIRST, 0},
    {"x_last", X_LAST, 0},
    {"min", MAYBE, SERIES(min)},
    {"max", MAYBE, SERIES(max)},
    {"mean", MEAN, 0},
    {"first", NUMBER, SERIES(first)},
    {"last", NUMBER, SERIES(last)},
    {"counts", WHOLE, SERIES(count)},
};

#define GROUP(member) offsetof(struct metric_group_bucket, member)
static const struct column group_columns[] = {
    {"x", WHOLE, GROUP(x_first)},      {"x_last", WHOLE, GROUP(x_last)},
    {"counts", WHOLE, GROUP(runs)},    {"mean", NUMBER, GROUP(mean)},
    {"median", NUMBER, GROUP(median)}, {"min", NUMBER, GROUP(min)},
    {"max", NUMBER, GROUP(max)},       {"deviation", NUMBER, GROUP(deviation)},
};

/* The buckets of a series or group, and what to say of each. */
struct table {
    const struct column *columns;
    size_t column_count;
    const char *buckets;
    size_t bucket_bytes, bucket_count;
    bool crossed;
};

static double table_at(const struct table *t, size_t column, size_t bucket)
{
    const struct column *c = &t->columns[column];
    const char *at = t->buckets + bucket * t->bucket_bytes;
    const struct metric_bucket *of_series = (const struct metric_bucket *)at;

    switch (c->kind) {
    case WHOLE: return (double)*(const int64_t *)(at + c->offset);
    case X_FIRST: return t->crossed ? of_series->fx_first : (double)of_series->x_first;
    case X_LAST: return t->crossed ? of_series->fx_last : (double)of_series->x_last;
    case MEAN: return bucket_mean(of_series);
    case NUMBER:
    case MAYBE: break;
    }
    return *(const double *)(at + c->offset);
}

static void put_cell(struct json_writer *w, enum column_kind kind, bool crossed, double value)
{
    bool is_x = kind == X_FIRST || kind == X_LAST;

    if ((kind == MAYBE || kind == MEAN) && isnan(value))
        json_put_null(w);
    else if (kind == WHOLE || (is_x && !crossed))
        json_put_i64(w, (int64_t)value);
    else
        json_put_f64(w, value);
}

static void put_columns(struct json_writer *w, const struct table *t)
{
    for (size_t c = 0; c < t->column_count; c++) {
        json_put_key(w, t->columns[c].name);
        json_begin_array(w);
        for (size_t b = 0; b < t->bucket_count; b++)
            put_cell(w, t->columns[c].kind, t->crossed, table_at(t, c, b));
        json_end_array(w);
    }
}

static struct table table_of_series(const struct metric_series_answer *s, bool crossed)
{
    return (struct table){
        .columns = series_columns,
        .column_count = ARRAY_LEN(series_columns),
        .buckets = (const char *)s->buckets,
        .bucket_bytes = sizeof *s->buckets,
        .bucket_count = s->bucket_count,
        .crossed = crossed,
    };
}

static struct table table_of_group(const struct metric_group *g)
{
    return (struct table){
        .columns = group_columns,
        .column_count = ARRAY_LEN(group_columns),
        .buckets = (const char *)g->buckets,
        .bucket_bytes = sizeof *g->buckets,
        .bucket_count = g->bucket_count,
    };
}

/* The answer's JSON. With `binary` a table's columns are left out: only how many buckets it has. */
static void put_table(struct json_writer *w, const struct table *t, bool binary)
{
    if (binary)
        http_render_number(w, "buckets", (int64_t)t->bucket_count);
    else
        put_columns(w, t);
}

static void put_labels(struct json_writer *w, const struct metric_query *query,
                       const struct metric_series_answer *s)
{
    if (query->split == SPLIT_RANK)
        http_render_exit(w, "rank", s->rank); /* none is null, as there */
    if (query->split == SPLIT_HOST)
        http_render_text(w, "host", s->host);
    if (s->is_hidden)
        http_render_bool(w, "hidden", true);
}

static void put_series(struct json_writer *w, const struct metric_query *query,
                       const struct metric_series_answer *s, bool binary)
{
    struct table table = table_of_series(s, query->axis == AXIS_METRIC);

    json_begin_object(w);
    http_render_id(w, "run", &s->run);
    http_render_text(w, "metric", s->metric);
    put_labels(w, query, s);
    http_render_number(w, "count", s->count);
    http_render_number(w, "not_finite", s->not_finite);
    put_table(w, &table, binary);
    json_end_object(w);
}

static void put_group(struct json_writer *w, const struct metric_group *g, bool binary)
{
    struct table table = table_of_group(g);

    json_begin_object(w);
    json_put_key(w, "key");
    json_put_raw(w, g->key);
    http_render_text(w, "metric", g->metric);
    http_render_number(w, "runs", g->runs);
    put_table(w, &table, binary);
    json_end_object(w);
}

static void put_column_names(struct json_writer *w, const char *key, const struct column *columns,
                             size_t count)
{
    json_put_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_text(w, columns[i].name);
    json_end_array(w);
}

static void put_answer(struct json_writer *w, const struct metric_query *query,
                       const struct metric_answer *answer, bool binary)
{
    static const char *const axes[] = {"step", "time", "relative", "metric"};

    json_begin_object(w);
    http_render_text(w, "x", str_from(axes[query->axis]));
    http_render_bool(w, "exact", true);
    json_put_key(w, "versions");
    json_begin_array(w);
    for (size_t i = 0; i < query->run_count; i++)
        json_put_i64(w, answer->versions[i]);
    json_end_array(w);
    if (binary) {
        put_column_names(w, "series_columns", series_columns, ARRAY_LEN(series_columns));
        put_column_names(w, "group_columns", group_columns, ARRAY_LEN(group_columns));
    }
    json_put_key(w, "series");
    json_begin_array(w);
    for (size_t i = 0; i < answer->series_count; i++)
        put_series(w, query, &answer->series[i], binary);
    json_end_array(w);
    json_put_key(w, "groups");
    json_begin_array(w);
    for (size_t i = 0; i < answer->group_count; i++)
        put_group(w, &answer->groups[i], binary);
    json_end_array(w);
    json_end_object(w);
}

void http_render_answer(struct json_writer *w, const struct metric_query *query,
                        const struct metric_answer *answer)
{
    put_answer(w, query, answer, false);
}

static void add_columns(struct buf *out, const struct table *t)
{
    for (size_t c = 0; c < t->column_count; c++)
        for (size_t b = 0; b < t->bucket_count; b++) {
            double value = table_at(t, c, b);
            (void)buf_add(out, &value, sizeof value); /* out.full is checked when it is sent */
        }
}

void http_render_columns(struct buf *out, const struct metric_query *query,
                         const struct metric_answer *answer)
{
    CLEANUP(buf_release) struct buf head = {0};
    struct json_writer w;
    uint32_t words[2] = {0};

    buf_init(&head, HTTP_ANSWER_BYTES_MAX);
    json_writer_init(&w, &head);
    put_answer(&w, query, answer, true);
    while (head.len % 8)
        (void)buf_add_char(&head, ' ');
    words[0] = (uint32_t)head.len;
    (void)buf_add(out, MAGIC, sizeof MAGIC - 1);
    (void)buf_add(out, words, sizeof words);
    (void)buf_add_str(out, buf_str(&head));
    for (size_t i = 0; i < answer->series_count; i++) {
        struct table table = table_of_series(&answer->series[i], query->axis == AXIS_METRIC);
        add_columns(out, &table);
    }
    for (size_t i = 0; i < answer->group_count; i++) {
        struct table table = table_of_group(&answer->groups[i]);
        add_columns(out, &table);
    }
}

void http_render_points(struct json_writer *w, struct str metric, const struct metric_page *page)
{
    json_begin_object(w);
    http_render_text(w, "metric", metric);
    json_put_key(w, "steps");
    json_begin_array(w);
    for (size_t i = 0; i < page->count; i++)
        json_put_i64(w, page->points[i].step);
    json_end_array(w);
    json_put_key(w, "times");
    json_begin_array(w);
    for (size_t i = 0; i < page->count; i++)
        json_put_i64(w, page->points[i].at);
    json_end_array(w);
    json_put_key(w, "values");
    json_begin_array(w);
    for (size_t i = 0; i < page->count; i++)
        json_put_f64(w, page->points[i].value);
    json_end_array(w);
    http_render_text(w, "cursor", str_from(page->cursor));
    http_render_bool(w, "more", page->more);
    json_end_object(w);
}
