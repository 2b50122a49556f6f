/* Queues. */
#include "domain/queues/queues.h"
#include "domain/targets/allowed.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_take.h"

static enum err_code render_queue(struct http_call *call, const struct job_queue *queue,
                                  struct err *err)
{
    struct json_writer *w = &call->json;
    struct str *targets;

    TRY(allowed_targets_names(&call->cmd, &queue->targets, &targets, err));
    json_begin_object(w);
    http_render_text(w, "name", queue->name);
    http_render_number(w, "priority", queue->priority);
    http_render_number(w, "aging_s", queue->aging_ms / 1000);
    json_put_key(w, "timeout_s");
    if (queue->timeout_s)
        json_put_i64(w, queue->timeout_s);
    else
        json_put_null(w);
    http_render_text(w, "strategy", queue->spread ? STR("spread") : STR("pack"));
    http_render_names(w, "targets", targets, queue->targets.count);
    http_render_bool(w, "held", queue->held);
    http_render_bool(w, "draining", queue->draining);
    http_render_number(w, "open_jobs", queue->open_jobs);
    json_end_object(w);
    return OK;
}

enum err_code http_queue_list(struct http_call *call, struct err *err)
{
    struct job_queue *queues;
    size_t count = 0;
    int limit = http_call_limit(call);

    TRY(queues_list(&call->cmd, http_call_cursor_text(call), limit, &queues, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        TRY(render_queue(call, &queues[i], err));
    http_call_page_end(
        call, count == (size_t)limit ? arena_text(&call->arena, queues[count - 1].name) : NULL);
    return OK;
}

enum err_code http_queue_show(struct http_call *call, struct err *err)
{
    struct job_queue queue;

    TRY(queues_get(&call->cmd, http_call_path(call, 0), &queue, err));
    return render_queue(call, &queue, err);
}

enum err_code http_queue_set(struct http_call *call, struct err *err)
{
    struct queue_spec spec = {0};
    struct job_queue queue;
    struct json_reader r;
    struct str strategy = STR("pack");
    int64_t aging_s = 3600;
    bool created = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_i64_opt(&r, "priority", -QUEUE_PRIORITY_MAX, QUEUE_PRIORITY_MAX, &spec.priority);
    json_take_i64_opt(&r, "aging_s", 0, QUEUE_AGING_MS_MAX / 1000, &aging_s);
    json_take_i64_opt(&r, "timeout_s", 1, QUEUE_TIMEOUT_S_MAX, &spec.timeout_s);
    json_take_text_opt(&r, "strategy", 6, &strategy);
    http_take_labels(&r, &call->arena, "targets", SHARE_TARGETS_MAX, &spec.targets,
                     &spec.target_count);
    TRY(json_reader_end(&r));
    spec.aging_ms = aging_s * 1000;
    spec.spread = str_eq_c(strategy, "spread");
    if (!spec.spread && !str_eq_c(strategy, "pack"))
        return err_set_field(err, ERR_INVALID, "strategy", "a strategy is pack or spread");
    TRY(queues_set(&call->cmd, http_call_path(call, 0), &spec, &queue, &created, err));
    http_call_created(call, created);
    return render_queue(call, &queue, err);
}

enum err_code http_queue_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    return queues_delete(&call->cmd, http_call_path(call, 0), err);
}

static enum err_code order(struct http_call *call, enum queue_order what, struct err *err)
{
    struct job_queue queue;

    TRY(queues_order(&call->cmd, http_call_path(call, 0), what, &queue, err));
    return render_queue(call, &queue, err);
}

enum err_code http_queue_hold(struct http_call *call, struct err *err)
{
    return order(call, QUEUE_HOLD, err);
}

enum err_code http_queue_resume(struct http_call *call, struct err *err)
{
    return order(call, QUEUE_RESUME, err);
}

enum err_code http_queue_drain(struct http_call *call, struct err *err)
{
    return order(call, QUEUE_DRAIN, err);
}
