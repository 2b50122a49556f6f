/* The machines of agents: what they are, what they do now, a week of readings, maintenance. What
 * jobs of other projects are called is for those who may see these projects. */
#include "domain/jobs/jobs_gpus.h"
#include "domain/projects/projects.h"
#include "domain/targets/nodes.h"
#include "domain/targets/targets.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

#define BUCKETS_DEFAULT 240
#define RANGE_MS        (INT64_C(3600) * 1000)

static const char *const node_names[] = {
    [NODE_CPU] = "cpu_percent",
    [NODE_MEMORY] = "memory_bytes",
    [NODE_DISK] = "disk_bytes",
    [NODE_LOAD] = "load",
};
static const char *const gpu_names[] = {
    [GPU_PERCENT] = "percent",
    [GPU_MEMORY] = "memory_bytes",
    [GPU_CELSIUS] = "celsius",
    [GPU_WATTS] = "watts",
};

static void put_number(struct json_writer *w, double value)
{
    if (value == value)
        json_put_f64(w, value);
    else
        json_put_null(w);
}

static void put_raw(struct json_writer *w, const char *key, struct str json)
{
    json_put_key(w, key);
    json_put_raw(w, json);
}

static bool may_see(struct http_call *call, project_id project)
{
    enum role role = ROLE_NONE;

    return projects_role(&call->cmd, project, &role, NULL) == OK && role != ROLE_NONE;
}

/* Names of a job whose project the caller may not see stay out. */
static void render_whose(struct http_call *call, project_id project, const struct id *job,
                         struct str name, struct str project_name)
{
    struct json_writer *w = &call->json;

    if (may_see(call, project)) {
        http_render_id(w, "job", job);
        http_render_text(w, "name", name);
        http_render_text(w, "project", project_name);
        return;
    }
    json_put_key(w, "job");
    json_put_null(w);
}

static void render_jobs(struct http_call *call, const struct node_view *view)
{
    struct json_writer *w = &call->json;

    json_put_key(w, "jobs");
    json_begin_array(w);
    for (size_t i = 0; i < view->job_count; i++) {
        const struct node_job *j = &view->jobs[i];
        json_begin_object(w);
        render_whose(call, j->project, &j->job, j->name, j->project_name);
        http_render_text(w, "state", j->state);
        http_render_time(w, "started_at", j->started);
        http_render_number(w, "cpus", j->cpus);
        http_render_number(w, "gpu_count", j->gpus);
        put_raw(w, "gpus", j->places);
        http_render_number(w, "energy_mj", j->energy_mj);
        http_render_time(w, "idle_since", j->idle);
        json_end_object(w);
    }
    json_end_array(w);
}

static void render_gpu(struct json_writer *w, const struct node_view *view,
                       const struct node_gpu *g)
{
    json_begin_object(w);
    http_render_number(w, "place", g->place);
    http_render_text(w, "uuid", g->uuid);
    http_render_text(w, "name", g->name);
    http_render_text(w, "type", g->type);
    http_render_text(w, "bus_id", g->bus_id);
    http_render_text(w, "memory_kind", g->memory_kind);
    http_render_number(w, "memory_bytes", g->memory_bytes);
    http_render_bool(w, "mig", g->mig);
    http_render_text(w, "ill", g->ill);
    http_render_time(w, "ill_since", g->ill_since);
    http_render_text(w, "used_by", g->used_by);
    json_put_key(w, "now");
    json_begin_object(w);
    for (int i = 0; i < GPU_VALUE_COUNT; i++) {
        json_put_key(w, gpu_names[i]);
        put_number(w, nodes_newest_gpu(view, g->place, i));
    }
    json_end_object(w);
    json_end_object(w);
}

static void render_gpus(struct json_writer *w, const struct node_view *view)
{
    json_put_key(w, "gpus");
    json_begin_array(w);
    for (size_t i = 0; i < view->gpu_count; i++)
        render_gpu(w, view, &view->gpus[i]);
    json_end_array(w);
}

static void render_now(struct json_writer *w, const struct node_view *view)
{
    json_put_key(w, "now");
    if (view->newest.at == TIME_NONE) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    http_render_time(w, "at", view->newest.at);
    for (int i = 0; i < NODE_VALUE_COUNT; i++) {
        json_put_key(w, node_names[i]);
        put_number(w, view->newest.values[i]);
    }
    json_end_object(w);
}

static enum err_code render_node(struct http_call *call, const struct agent *a, bool excluded,
                                 const struct node_view *view, struct err *err)
{
    CLEANUP(json_release) json_t *facts = NULL;
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_id(w, "id", &a->public_id);
    http_render_text(w, "name", a->name);
    http_render_text(w, "target", a->target_name);
    http_render_text(w, "state", str_from(agents_state(&call->cmd, a)));
    http_render_text(w, "version", a->version);
    http_render_text(w, "executor", a->executor);
    http_render_time(w, "last_seen_at", a->seen);
    http_render_number(w, "cpus", a->cpus);
    http_render_number(w, "memory_bytes", a->memory_bytes);
    http_render_number(w, "gpus_offered", a->gpus);
    http_render_number(w, "gpus_used", a->gpus_used);
    http_render_bool(w, "excluded", excluded);
    http_render_maintenance(w, agent_in_maintenance(a, call->cmd.now), a->maintenance_reason,
                            a->maintenance_until);
    json_put_key(w, "machine");
    if (view->node.facts.len) {
        TRY(json_parse(view->node.facts, view->node.facts.len, &facts, err));
        (void)json_object_del(facts, "gpus");
        json_put_value(w, facts);
    } else {
        json_put_null(w);
    }
    render_now(w, view);
    render_gpus(w, view);
    render_jobs(call, view);
    json_end_object(w);
    return OK;
}

static bool is_excluded(const struct target *target, struct str agent)
{
    for (size_t i = 0; i < target->excluded_count; i++)
        if (str_eq(target->excluded_names[i], agent))
            return true;
    return false;
}

enum err_code http_agent_show(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct target target;
    struct node_view view;
    struct agent agent;

    TRY(agents_get(&call->cmd, &id, &agent, err));
    TRY(targets_get(&call->cmd, agent.target_name, &target, err));
    TRY(nodes_view(&call->cmd, agent.id, &view, err));
    return render_node(call, &agent, is_excluded(&target, agent.name), &view, err);
}

/* What all nodes of a target have. */
struct sums {
    int64_t nodes, gpus, used, ill, foreign, readings, tenths;
};

static enum err_code add_node(struct http_call *call, const struct agent *a,
                              const struct node_view *view, time_ms since, struct sums *sums,
                              struct err *err)
{
    sums->nodes++;
    sums->used += a->gpus_used;
    for (size_t i = 0; i < view->gpu_count; i++) {
        const struct node_gpu *g = &view->gpus[i];
        sums->gpus++;
        sums->ill += g->ill.len > 0;
        sums->foreign += g->ill.len == 0 && g->used_by.len > 0;
    }
    if (!view->gpu_count)
        sums->gpus += a->gpus; /* an agent that stands for machines it cannot see */
    return nodes_utilization(&call->cmd, a->id, since, &sums->readings, &sums->tenths, err);
}

static void render_sums(struct json_writer *w, const struct sums *s, time_ms since)
{
    json_put_key(w, "sums");
    json_begin_object(w);
    http_render_number(w, "nodes", s->nodes);
    http_render_number(w, "gpus", s->gpus);
    http_render_number(w, "gpus_used", s->used);
    http_render_number(w, "gpus_idle", MAX(s->gpus - s->used - s->ill - s->foreign, 0));
    http_render_number(w, "gpus_ill", s->ill);
    http_render_number(w, "gpus_of_others", s->foreign);
    json_put_key(w, "utilization_percent");
    if (s->readings)
        json_put_f64(w, (double)s->tenths / 10 / (double)s->readings);
    else
        json_put_null(w);
    http_render_time(w, "utilization_since", since);
    json_end_object(w);
}

/* Sums are over all machines, also those of later pages, and looked for once. */
enum err_code http_target_nodes(struct http_call *call, struct err *err)
{
    struct json_writer *w = &call->json;
    time_ms since = call->cmd.now - NODE_KEEP_MS;
    size_t count = 0, shown = 0, limit = (size_t)http_call_limit(call);
    const char *next = NULL;
    struct target target;
    struct agent *agents;
    struct sums sums = {0};
    int64_t after;

    since -= since % NODE_HOUR_MS;
    TRY(http_call_cursor_i64(call, &after, err));
    TRY(targets_get(&call->cmd, http_call_path(call, 0), &target, err));
    TRY(agents_of_target(&call->cmd, target.id, after, &agents, &count, err));
    json_begin_object(w);
    json_put_key(w, "items");
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        const struct agent *a = &agents[i];
        struct node_view view;
        if (shown == limit && !next)
            next = http_call_number_cursor(call, agents[i - 1].id.v);
        if (next && after)
            break;
        TRY(nodes_view(&call->cmd, a->id, &view, err));
        if (!after)
            TRY(add_node(call, a, &view, since, &sums, err));
        if (next)
            continue;
        TRY(render_node(call, a, is_excluded(&target, a->name), &view, err));
        shown++;
    }
    json_end_array(w);
    json_put_key(w, "next_cursor");
    json_put_text(w, next);
    if (!after)
        render_sums(w, &sums, since);
    json_end_object(w);
    return OK;
}

/* ---- Readings ---- */

enum err_code http_agent_samples_add(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct wire_samples samples;

    TRY(agents_require_own(&call->cmd, &id, err));
    TRY(wire_samples_decode(&call->arena, call->body, &samples, err));
    call->status = 204;
    return jobs_node_sampled(&call->cmd, &samples, err);
}

static enum err_code take_time(struct http_call *call, const char *name, time_ms *ret_at,
                               struct err *err)
{
    struct str text;

    if (http_call_query(call, name, &text) && !time_parse(text, ret_at))
        return err_set_field(err, ERR_INVALID, name,
                             "%s: \"%.*s\" is not a time such as "
                             "2026-11-30T04:05:52Z",
                             name, STR_ARG(text));
    return OK;
}

/* "min", "max" and "mean" of one series, null where nothing was read. */
static void render_series(struct json_writer *w, const struct node_chart *chart, int series)
{
    const struct node_bucket *b = &chart->buckets[(size_t)series * chart->bucket_count];
    static const char *const names[] = {"min", "max", "mean"};

    json_begin_object(w);
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        json_put_key(w, names[k]);
        json_begin_array(w);
        for (size_t i = 0; i < chart->bucket_count; i++) {
            if (!b[i].count)
                json_put_null(w);
            else
                json_put_f64(w, k == 0   ? b[i].min
                                : k == 1 ? b[i].max
                                         : b[i].sum / (double)b[i].count);
        }
        json_end_array(w);
    }
    json_end_object(w);
}

static void render_gpu_series(struct json_writer *w, const struct node_chart *chart,
                              const struct node_gpu *gpu)
{
    json_begin_object(w);
    http_render_number(w, "place", gpu->place);
    http_render_text(w, "uuid", gpu->uuid);
    for (int i = 0; i < GPU_VALUE_COUNT; i++) {
        json_put_key(w, gpu_names[i]);
        render_series(w, chart, NODE_SERIES * (1 + gpu->place) + i);
    }
    json_end_object(w);
}

static void render_uses(struct http_call *call, const struct node_chart *chart)
{
    struct json_writer *w = &call->json;

    json_put_key(w, "jobs");
    json_begin_array(w);
    for (size_t i = 0; i < chart->use_count; i++) {
        const struct node_use *u = &chart->uses[i];
        json_begin_object(w);
        render_whose(call, u->project, &u->job, u->job_name, u->project_name);
        put_raw(w, "gpus", u->places);
        http_render_time(w, "from", u->first);
        http_render_time(w, "to", u->last);
        http_render_bool(w, "running", u->ended == TIME_NONE);
        http_render_number(w, "energy_mj", u->energy_mj);
        json_end_object(w);
    }
    json_end_array(w);
}

enum err_code http_agent_samples(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct json_writer *w = &call->json;
    struct node_chart chart = {.to = call->cmd.now};
    struct node_view view;
    struct agent agent;

    chart.bucket_count = (size_t)http_call_query_i64(call, "buckets", BUCKETS_DEFAULT);
    TRY(take_time(call, "to", &chart.to, err));
    chart.from = chart.to - RANGE_MS;
    TRY(take_time(call, "from", &chart.from, err));
    TRY(agents_get(&call->cmd, &id, &agent, err));
    TRY(nodes_view(&call->cmd, agent.id, &view, err));
    TRY(nodes_chart(&call->cmd, agent.id, &chart, &chart, err));
    json_begin_object(w);
    http_render_time(w, "from", chart.from);
    http_render_time(w, "to", chart.to);
    http_render_number(w, "width_ms", chart.width_ms);
    http_render_number(w, "buckets", (int64_t)chart.bucket_count);
    json_put_key(w, "node");
    json_begin_object(w);
    for (int i = 0; i < NODE_VALUE_COUNT; i++) {
        json_put_key(w, node_names[i]);
        render_series(w, &chart, i);
    }
    json_end_object(w);
    json_put_key(w, "gpus");
    json_begin_array(w);
    for (size_t i = 0; i < view.gpu_count; i++)
        render_gpu_series(w, &chart, &view.gpus[i]);
    json_end_array(w);
    render_uses(call, &chart);
    json_end_object(w);
    return OK;
}

/* ---- Maintenance ---- */

enum err_code http_agent_maintain(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct str reason = {0};
    time_ms until = TIME_NONE;
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "reason", TARGET_REASON_BYTES_MAX, &reason);
    json_take_time_opt(&r, "until", &until);
    TRY(json_reader_end(&r));
    TRY(agents_maintenance(&call->cmd, &id, reason, until, err));
    return http_agent_show(call, err);
}

enum err_code http_agent_serve(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);

    TRY(agents_maintenance_end(&call->cmd, &id, err));
    return http_agent_show(call, err);
}
