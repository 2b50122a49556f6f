/* Budgets of projects, and what was used of them. */
#include "domain/budgets/budgets.h"
#include "domain/jobs/jobs_charge.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

#define HOUR_MS 3600000

static void render_limit(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    if (value == BUDGET_UNLIMITED)
        json_put_null(w);
    else
        json_put_i64(w, value);
}

static void render_period(struct json_writer *w, const struct budget_period *period)
{
    json_begin_object(w);
    http_render_time(w, "start", period->start);
    http_render_time(w, "end", period->end);
    http_render_text(w, "zone", period->zone);
    http_render_number(w, "gpu_ms", period->gpu_ms_used);
    http_render_number(w, "cost_micro", period->micro_used);
    http_render_number(w, "gpu_ms_lost", period->gpu_ms_lost);
    json_end_object(w);
}

static int64_t left_of(int64_t limit, int64_t used)
{
    return limit == BUDGET_UNLIMITED ? limit : MAX(limit - used, 0);
}

static enum err_code render_state(struct http_call *call, const struct budget_state *state,
                                  struct err *err)
{
    const struct budget *budget = &state->budget;
    const struct budget_period *now = &state->periods[0];
    struct json_writer *w = &call->json;
    int64_t gpu_ms, micro;

    TRY(jobs_committed(&call->cmd, budget->project, now->end, &gpu_ms, &micro, err));
    json_begin_object(w);
    render_limit(w, "gpu_hours",
                 budget->gpu_ms_max == BUDGET_UNLIMITED ? BUDGET_UNLIMITED
                                                        : budget->gpu_ms_max / HOUR_MS);
    render_limit(w, "cost_micro", budget->micro_max);
    http_render_text(w, "zone", budget->zone);
    json_put_key(w, "period");
    render_period(w, now);
    json_put_key(w, "next_period");
    render_period(w, &state->periods[1]);
    json_put_key(w, "committed");
    json_begin_object(w);
    http_render_number(w, "gpu_ms", gpu_ms);
    http_render_number(w, "cost_micro", micro);
    json_end_object(w);
    json_put_key(w, "left");
    json_begin_object(w);
    render_limit(w, "gpu_ms", left_of(budget->gpu_ms_max, now->gpu_ms_used + gpu_ms));
    render_limit(w, "cost_micro", left_of(budget->micro_max, now->micro_used + micro));
    json_end_object(w);
    json_put_key(w, "forecast");
    json_begin_object(w);
    render_limit(w, "gpu_ms", budget_forecast(now, now->gpu_ms_used, call->cmd.now));
    render_limit(w, "cost_micro", budget_forecast(now, now->micro_used, call->cmd.now));
    json_end_object(w);
    json_end_object(w);
    return OK;
}

enum err_code http_budget_show(struct http_call *call, struct err *err)
{
    struct budget_state state;

    TRY(ledger_left(&call->cmd, call->project.id, &state, err));
    return render_state(call, &state, err);
}

enum err_code http_budget_set(struct http_call *call, struct err *err)
{
    struct budget_spec spec = {BUDGET_UNLIMITED, BUDGET_UNLIMITED, STR("")};
    struct budget_state state;
    struct json_reader r;
    int64_t hours = BUDGET_UNLIMITED;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_i64_opt(&r, "gpu_hours", 0, BUDGET_GPU_HOURS_MAX, &hours);
    json_take_i64_opt(&r, "cost_micro", 0, BUDGET_COUNT_MAX, &spec.micro_max);
    json_take_text_opt(&r, "zone", ZONE_NAME_BYTES_MAX, &spec.zone);
    TRY(json_reader_end(&r));
    if (hours != BUDGET_UNLIMITED)
        spec.gpu_ms_max = hours * HOUR_MS;
    TRY(budgets_set(&call->cmd, http_call_path(call, 0), &spec, &state, err));
    return render_state(call, &state, err);
}

enum err_code http_budget_period_list(struct http_call *call, struct err *err)
{
    struct budget_period *periods;
    size_t count = 0;
    int64_t before;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &before, err));
    TRY(budgets_history(&call->cmd, call->project.id, before ? before : INT64_MAX, limit, &periods,
                        &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        render_period(&call->json, &periods[i]);
    http_call_page_end(call, count == (size_t)limit
                                 ? http_call_number_cursor(call, periods[count - 1].start)
                                 : NULL);
    return OK;
}
