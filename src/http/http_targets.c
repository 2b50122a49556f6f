/* Targets: what jobs name as the place to run. */
#include "domain/targets/targets.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_take_target.h"

/* Where volumes lie on a host is for administrators alone. */
static void render_volumes(struct json_writer *w, struct str volumes, bool admin)
{
    CLEANUP(json_release) json_t *array = NULL;
    json_t *volume;
    size_t i;

    json_put_key(w, "volumes");
    if (!admin && json_parse(volumes, TARGET_SETTINGS_BYTES_MAX, &array, NULL) == OK) {
        json_array_foreach(array, i, volume)
        {
            json_object_del(volume, "host_path");
            json_object_del(volume, "claim");
        }
        json_put_value(w, array);
        return;
    }
    json_put_raw(w, admin ? volumes : STR("[]"));
}

static void put_raw(struct json_writer *w, const char *key, struct str json)
{
    json_put_key(w, key);
    json_put_raw(w, json);
}

static void render_target(struct http_call *call, const struct target *t)
{
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_text(w, "name", t->name);
    http_render_number(w, "price_hour_micro", t->price_hour_micro);
    http_render_number(w, "price_gpu_hour_micro", t->price_gpu_hour_micro);
    http_render_bool(w, "spot", t->spot);
    put_raw(w, "labels", t->labels);
    put_raw(w, "excluded", t->excluded);
    put_raw(w, "tolerations", t->tolerations);
    put_raw(w, "settings", t->settings);
    render_volumes(w, t->volumes, call->who.admin);
    put_raw(w, "buckets", t->buckets);
    http_render_maintenance(w, target_in_maintenance(t, call->cmd.now), t->maintenance_reason,
                            t->maintenance_until);
    http_render_number(w, "agent_count", t->agent_count);
    http_render_number(w, "cpus_total", t->cpus_total);
    http_render_number(w, "cpus_free", MAX(t->cpus_total - t->cpus_used, 0));
    http_render_number(w, "gpus_total", t->gpus_total);
    http_render_number(w, "gpus_free", MAX(t->gpus_total - t->gpus_used, 0));
    json_end_object(w);
}

enum err_code http_target_list(struct http_call *call, struct err *err)
{
    struct target *targets;
    size_t count = 0;
    int limit = http_call_limit(call);

    TRY(targets_list(&call->cmd, http_call_cursor_text(call), limit, &targets, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        render_target(call, &targets[i]);
    http_call_page_end(
        call, count == (size_t)limit ? arena_text(&call->arena, targets[count - 1].name) : NULL);
    return OK;
}

enum err_code http_target_show(struct http_call *call, struct err *err)
{
    struct target target;

    TRY(targets_get(&call->cmd, http_call_path(call, 0), &target, err));
    render_target(call, &target);
    return OK;
}

enum err_code http_target_set(struct http_call *call, struct err *err)
{
    struct target_spec spec = {.price_hour_micro = -1, .price_gpu_hour_micro = -1, .spot = -1};
    struct target target;
    struct json_reader r;
    bool spot = false, created = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_i64_opt(&r, "price_hour_micro", 0, TARGET_PRICE_MAX, &spec.price_hour_micro);
    json_take_i64_opt(&r, "price_gpu_hour_micro", 0, TARGET_PRICE_MAX, &spec.price_gpu_hour_micro);
    json_take_bool_opt(&r, "spot", &spot);
    http_take_target_labels(call, &r, &spec.labels);
    http_take_target_excluded(call, &r, &spec.excluded);
    http_take_target_tolerations(call, &r, &spec.tolerations);
    http_take_target_settings(call, &r, &spec.settings);
    http_take_target_volumes(call, &r, &spec.volumes);
    http_take_target_buckets(call, &r, &spec.buckets);
    TRY(json_reader_end(&r));
    if (json_object_get(call->body, "spot"))
        spec.spot = spot;
    TRY(targets_set(&call->cmd, http_call_path(call, 0), &spec, &target, &created, err));
    http_call_created(call, created);
    render_target(call, &target);
    return OK;
}

enum err_code http_target_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    return targets_delete(&call->cmd, http_call_path(call, 0), err);
}

enum err_code http_target_maintain(struct http_call *call, struct err *err)
{
    struct target target;
    struct json_reader r;
    struct str reason = {0};
    time_ms until = TIME_NONE;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "reason", TARGET_REASON_BYTES_MAX, &reason);
    json_take_time_opt(&r, "until", &until);
    TRY(json_reader_end(&r));
    TRY(targets_maintenance(&call->cmd, http_call_path(call, 0), reason, until, &target, err));
    render_target(call, &target);
    return OK;
}

enum err_code http_target_serve(struct http_call *call, struct err *err)
{
    struct target target;

    TRY(targets_maintenance_end(&call->cmd, http_call_path(call, 0), &target, err));
    render_target(call, &target);
    return OK;
}

static void render_price(struct json_writer *w, const struct target_price *price)
{
    json_begin_object(w);
    http_render_time(w, "from", price->from);
    http_render_number(w, "price_hour_micro", price->price_hour_micro);
    http_render_number(w, "price_gpu_hour_micro", price->price_gpu_hour_micro);
    json_end_object(w);
}

enum err_code http_target_price_list(struct http_call *call, struct err *err)
{
    struct target_price *prices;
    size_t count = 0;
    int64_t before;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &before, err));
    TRY(targets_prices(&call->cmd, http_call_path(call, 0), before ? before : INT64_MAX, limit,
                       &prices, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        render_price(&call->json, &prices[i]);
    http_call_page_end(call, count == (size_t)limit
                                 ? http_call_number_cursor(call, prices[count - 1].from)
                                 : NULL);
    return OK;
}

static enum err_code take_price(struct http_call *call, json_t *item, size_t at,
                                struct target_price *ret_price, struct err *err)
{
    struct json_reader r;

    ret_price->from = TIME_NONE;
    json_reader_init_strict(&r, item, arena_printf(&call->arena, "items[%zu].", at), err);
    json_take_time_opt(&r, "from", &ret_price->from);
    json_take_i64(&r, "price_hour_micro", 0, TARGET_PRICE_MAX, &ret_price->price_hour_micro);
    json_take_i64(&r, "price_gpu_hour_micro", 0, TARGET_PRICE_MAX,
                  &ret_price->price_gpu_hour_micro);
    if (r.code == OK && ret_price->from == TIME_NONE)
        json_reader_fail(&r, "from", "is required");
    return json_reader_end(&r);
}

enum err_code http_target_price_plan(struct http_call *call, struct err *err)
{
    struct target_price prices[TARGET_PRICES_MAX];
    json_t *items = NULL;
    struct json_reader r;
    size_t count;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_array_opt(&r, "items", TARGET_PRICES_MAX, &items);
    if (r.code == OK && !items)
        json_reader_fail(&r, "items", "is required");
    TRY(json_reader_end(&r));
    count = json_array_size(items);
    for (size_t i = 0; i < count; i++)
        TRY(take_price(call, json_array_get(items, i), i, &prices[i], err));
    call->status = 204;
    return targets_prices_plan(&call->cmd, http_call_path(call, 0), prices, count, err);
}

enum err_code http_project_target_show(struct http_call *call, struct err *err)
{
    struct str settings;

    TRY(targets_project_get(&call->cmd, http_call_path(call, 1), call->project.id, &settings, err));
    json_put_raw(&call->json, settings);
    return OK;
}

enum err_code http_project_target_set(struct http_call *call, struct err *err)
{
    struct str settings = {0};

    TRY(http_take_settings_body(call, &settings, err));
    TRY(targets_project_set(&call->cmd, http_call_path(call, 1), http_call_path(call, 0), settings,
                            err));
    json_put_raw(&call->json, settings);
    return OK;
}

enum err_code http_project_target_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    return targets_project_delete(&call->cmd, http_call_path(call, 1), http_call_path(call, 0),
                                  err);
}
