/* Metric names and chart queries. */
#include "domain/metrics/metrics.h"
#include "domain/runs/define_fold.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_render_metrics.h"
#include "http/http_take.h"

#include <math.h>

#define BUCKETS_DEFAULT 1000
#define POINTS_DEFAULT  1000
#define X_MAX           9007199254740991ll

/* A cursor is the kind's number and the name: "0train/loss". */
static enum err_code take_cursor(const struct http_call *call, struct metric_filter *filter,
                                 struct err *err)
{
    struct str cursor = http_call_cursor_text(call);

    if (cursor.len == 0)
        return OK;
    if (cursor.len < 2 || (cursor.data[0] != '0' && cursor.data[0] != '1'))
        return err_set_field(err, ERR_INVALID, "cursor", "\"%.*s\" is not a cursor",
                             STR_ARG(cursor));
    filter->after_kind = cursor.data[0] == '1' ? METRIC_SYSTEM : METRIC_PLAIN;
    filter->after = str_n(cursor.data + 1, cursor.len - 1);
    return OK;
}

enum err_code http_metric_list(struct http_call *call, struct err *err)
{
    struct metric_filter filter = {.kind = -1, .limit = http_call_limit(call)};
    struct str kind, regex = {0};
    struct metric_facts *facts;
    struct definitions defined;
    size_t count = 0;

    TRY(take_cursor(call, &filter, err));
    if (http_call_query(call, "kind", &kind))
        filter.kind = str_eq_c(kind, "system") ? METRIC_SYSTEM : METRIC_PLAIN;
    (void)http_call_query(call, "prefix", &filter.prefix);
    (void)http_call_query(call, "contains", &filter.contains);
    (void)http_call_query(call, "regex", &regex);
    TRY(metrics_list(&call->cmd, call->run.id, &filter, regex, &facts, &count, err));
    TRY(define_load(&call->cmd, call->run.id, &defined, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_metric(&call->json, &facts[i], &defined);
    http_call_page_end(call, count == (size_t)filter.limit
                                 ? arena_printf(&call->arena, "%d%.*s", (int)facts[count - 1].kind,
                                                STR_ARG(facts[count - 1].name))
                                 : NULL);
    return OK;
}

static enum err_code take_runs(struct http_call *call, const json_t *array, struct metric_query *q,
                               struct err *err)
{
    struct id *ids = arena_array(&call->arena, json_array_size(array), sizeof *ids);

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        struct str text = str_n(json_string_value(item), json_string_length(item));
        if (!json_is_string(item) || !id_parse(text, ID_RUN, &ids[i]))
            return err_set_field(err, ERR_INVALID, "runs", "\"runs\"[%zu] is not the id of a run",
                                 i);
    }
    q->runs = ids;
    q->run_count = json_array_size(array);
    return OK;
}

static enum err_code take_metrics(struct http_call *call, const json_t *array,
                                  struct metric_query *q, struct err *err)
{
    struct str *names = arena_array(&call->arena, json_array_size(array), sizeof *names);

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        size_t len = json_string_length(item);
        if (!json_is_string(item) || len == 0 || len > METRIC_NAME_BYTES_MAX)
            return err_set_field(err, ERR_INVALID, "metrics",
                                 "\"metrics\"[%zu] is not the name of a metric", i);
        names[i] = str_n(json_string_value(item), len);
    }
    q->metrics = names;
    q->metric_count = json_array_size(array);
    return OK;
}

static enum err_code take_axis(struct str x, struct metric_query *q, struct err *err)
{
    static const struct {
        const char *name;
        enum metric_axis axis;
    } axes[] = {{"step", AXIS_STEP},
                {"time", AXIS_TIME},
                {"relative", AXIS_RELATIVE},
                {"metric", AXIS_METRIC}};

    for (size_t i = 0; i < ARRAY_LEN(axes); i++)
        if (str_eq_c(x, axes[i].name)) {
            q->axis = axes[i].axis;
            return OK;
        }
    return err_set_field(err, ERR_INVALID, "x", "\"x\" is step, time, relative or metric");
}

static enum err_code take_bound(const char *name, double value, int64_t *ret_bound, struct err *err)
{
    if (isinf(value))
        return OK; /* open: what it was at first */
    if (value != nearbyint(value) || fabs(value) > X_MAX)
        return err_set_field(err, ERR_INVALID, name,
                             "\"%s\" is not a whole number from -%lld to %lld", name, X_MAX, X_MAX);
    *ret_bound = (int64_t)value;
    return OK;
}

static enum err_code take_x(struct metric_query *q, struct str x, struct err *err)
{
    TRY(take_axis(x, q, err));
    if ((q->axis == AXIS_METRIC) != (q->x_metric.len > 0))
        return err_set_field(err, ERR_INVALID, "x_metric",
                             "\"x_metric\" and \"x\": \"metric\" go together");
    if (q->axis == AXIS_METRIC && q->group_by.len)
        return err_set_field(err, ERR_INVALID, "group_by",
                             "\"group_by\" does not go with \"x\": \"metric\"");
    if (q->axis == AXIS_METRIC)
        return OK;
    TRY(take_bound("from", q->x_from, &q->from, err));
    return take_bound("to", q->x_to, &q->to, err);
}

static enum err_code take_since(struct http_call *call, const json_t *array, struct metric_query *q,
                                struct err *err)
{
    int64_t *since = arena_array(&call->arena, q->run_count, sizeof *since);

    if (json_array_size(array) != q->run_count)
        return err_set_field(err, ERR_INVALID, "since", "\"since\" has %zu versions for %zu runs",
                             json_array_size(array), q->run_count);
    for (size_t i = 0; i < q->run_count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item) || json_integer_value(item) < -1)
            return err_set_field(err, ERR_INVALID, "since", "\"since\"[%zu] is not a version", i);
        since[i] = json_integer_value(item);
    }
    q->since = since;
    return OK;
}

/* The body as it came. */
struct query_body {
    json_t *runs, *metrics, *since;
    struct str x, format, by;
};

static enum err_code take_body(struct http_call *call, struct metric_query *q,
                               struct query_body *body, struct err *err)
{
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_array_opt(&r, "runs", METRIC_QUERY_RUNS_MAX, &body->runs);
    json_take_array_opt(&r, "metrics", METRIC_QUERY_METRICS_MAX, &body->metrics);
    json_take_text_opt(&r, "x", 10, &body->x);
    json_take_text_opt(&r, "x_metric", METRIC_NAME_BYTES_MAX, &q->x_metric);
    json_take_f64_opt(&r, "from", &q->x_from);
    json_take_f64_opt(&r, "to", &q->x_to);
    json_take_i64_opt(&r, "buckets", 1, METRIC_BUCKETS_MAX, &q->buckets);
    json_take_text_opt(&r, "group_by", METRIC_NAME_BYTES_MAX, &q->group_by);
    json_take_text_opt(&r, "by", 10, &body->by);
    json_take_bool_opt(&r, "hidden", &q->hidden);
    json_take_array_opt(&r, "since", METRIC_QUERY_RUNS_MAX, &body->since);
    json_take_text_opt(&r, "format", 10, &body->format);
    return json_reader_end(&r);
}

static enum err_code take_by(struct metric_query *q, struct str by, struct err *err)
{
    if (by.len == 0)
        return OK;
    if (q->group_by.len)
        return err_set_field(err, ERR_INVALID, "by", "\"by\" does not go with \"group_by\"");
    if (!str_eq_c(by, "rank") && !str_eq_c(by, "host"))
        return err_set_field(err, ERR_INVALID, "by", "\"by\" is rank or host");
    q->split = str_eq_c(by, "rank") ? SPLIT_RANK : SPLIT_HOST;
    return OK;
}

static enum err_code take_query(struct http_call *call, struct metric_query *q, bool *ret_columns,
                                struct err *err)
{
    struct query_body body = {.x = STR("step"), .format = STR("json")};

    TRY(take_body(call, q, &body, err));
    if (json_array_size(body.runs) == 0)
        return err_set_field(err, ERR_INVALID, "runs", "\"runs\" names no run");
    if (json_array_size(body.metrics) == 0)
        return err_set_field(err, ERR_INVALID, "metrics", "\"metrics\" names no metric");
    TRY(take_runs(call, body.runs, q, err));
    TRY(take_metrics(call, body.metrics, q, err));
    TRY(take_x(q, body.x, err));
    TRY(take_by(q, body.by, err));
    if (body.since)
        TRY(take_since(call, body.since, q, err));
    *ret_columns = str_eq_c(body.format, "columns");
    if (!*ret_columns && !str_eq_c(body.format, "json"))
        return err_set_field(err, ERR_INVALID, "format", "\"format\" is json or columns");
    return OK;
}

enum err_code http_metric_query(struct http_call *call, struct err *err)
{
    struct metric_query query = {.from = INT64_MIN,
                                 .to = INT64_MAX,
                                 .x_from = -INFINITY,
                                 .x_to = INFINITY,
                                 .buckets = BUCKETS_DEFAULT};
    struct metric_answer answer;
    bool columns = false;

    TRY(take_query(call, &query, &columns, err));
    TRY(metrics_query(&call->cmd, call->project.id, &query, &answer, err));
    if (columns) {
        call->content_type = HTTP_COLUMNS_TYPE;
        http_render_columns(&call->out, &query, &answer);
    } else {
        http_render_answer(&call->json, &query, &answer);
    }
    return OK;
}

enum err_code http_metric_points(struct http_call *call, struct err *err)
{
    size_t limit = (size_t)http_call_query_i64(call, "points", POINTS_DEFAULT);
    struct str metric = {0}, cursor = {0};
    struct metric_page page;

    (void)http_call_query(call, "metric", &metric); /* required: the route has seen to it */
    (void)http_call_query(call, "cursor", &cursor);
    TRY(metrics_points(&call->cmd, &call->run, metric, cursor, limit, &page, err));
    http_render_points(&call->json, metric, &page);
    return OK;
}
