/* Metric names and chart queries. */
#include "domain/metrics/metrics.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_take.h"

#define BUCKETS_DEFAULT 1000

enum err_code http_metric_list(struct http_call *call, struct err *err)
{
    struct metric_filter filter = {
        .kind = -1, .after = http_call_cursor_text(call), .limit = http_call_limit(call)};
    struct metric_facts *facts;
    struct str kind;
    size_t count = 0;

    if (http_call_query(call, "kind", &kind))
        filter.kind = str_eq_c(kind, "system") ? METRIC_SYSTEM : METRIC_PLAIN;
    (void)http_call_query(call, "prefix", &filter.prefix);
    TRY(metrics_list(&call->cmd, call->run.id, &filter, &facts, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_metric(&call->json, &facts[i]);
    http_call_page_end(call, count == (size_t)filter.limit
                                 ? arena_text(&call->arena, facts[count - 1].name)
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

static enum err_code take_axis(struct str x, enum metric_axis *ret_axis, struct err *err)
{
    if (!x.data || str_eq_c(x, "step"))
        *ret_axis = AXIS_STEP;
    else if (str_eq_c(x, "time"))
        *ret_axis = AXIS_TIME;
    else if (str_eq_c(x, "relative"))
        *ret_axis = AXIS_RELATIVE;
    else
        return err_set_field(err, ERR_INVALID, "x", "\"x\" is step, time or relative");
    return OK;
}

static enum err_code take_query(struct http_call *call, struct metric_query *q, struct str *ret_x,
                                struct err *err)
{
    const int64_t most = 9007199254740991;
    json_t *runs = NULL, *metrics = NULL;
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_array_opt(&r, "runs", METRIC_QUERY_RUNS_MAX, &runs);
    json_take_array_opt(&r, "metrics", METRIC_QUERY_METRICS_MAX, &metrics);
    json_take_text_opt(&r, "x", 10, ret_x);
    json_take_i64_opt(&r, "from", -most, most, &q->from);
    json_take_i64_opt(&r, "to", -most, most, &q->to);
    json_take_i64_opt(&r, "buckets", 1, METRIC_BUCKETS_MAX, &q->buckets);
    TRY(json_reader_end(&r));
    if (json_array_size(runs) == 0)
        return err_set_field(err, ERR_INVALID, "runs", "\"runs\" names no run");
    if (json_array_size(metrics) == 0)
        return err_set_field(err, ERR_INVALID, "metrics", "\"metrics\" names no metric");
    TRY(take_runs(call, runs, q, err));
    TRY(take_metrics(call, metrics, q, err));
    return take_axis(*ret_x, &q->axis, err);
}

enum err_code http_metric_query(struct http_call *call, struct err *err)
{
    struct metric_query query = {.from = INT64_MIN, .to = INT64_MAX, .buckets = BUCKETS_DEFAULT};
    struct metric_series *series;
    struct str x = {0};
    size_t count = 0;

    TRY(take_query(call, &query, &x, err));
    TRY(metrics_query(&call->cmd, call->project.id, &query, &series, &count, err));
    json_begin_object(&call->json);
    http_render_text(&call->json, "x", x.data ? x : STR("step"));
    http_render_bool(&call->json, "exact", true);
    json_put_key(&call->json, "series");
    json_begin_array(&call->json);
    for (size_t i = 0; i < count; i++)
        http_render_series(&call->json, &series[i]);
    json_end_array(&call->json);
    json_end_object(&call->json);
    return OK;
}
