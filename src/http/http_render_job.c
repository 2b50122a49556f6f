/* Rendering of jobs, attempts and agents. */
#include "http/http_render.h"

static void render_placement(struct json_writer *w, const struct placement *p)
{
    json_begin_object(w);
    http_render_number(w, "rank", p->rank);
    http_render_number(w, "rank_count", p->rank_count);
    http_render_text(w, "agent", p->agent_name);
    http_render_text(w, "state", str_from(attempt_state_name(p->state)));
    http_render_exit(w, "exit_code", p->exit_code);
    http_render_exit(w, "signal", p->exit_signal);
    http_render_text(w, "ending", str_from(ending_name(p->ending)));
    http_render_text(w, "reason", p->reason);
    json_end_object(w);
}

/* null where the service is not asked. */
static void render_health(struct json_writer *w, const struct attempt *a)
{
    json_put_key(w, "health");
    if (!a || !a->health) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    http_render_text(w, "state", str_from(health_state_name(a->health)));
    http_render_time(w, "since", a->health_since);
    http_render_text(w, "problem", a->health_problem);
    json_end_object(w);
}

static void render_attempt(struct json_writer *w, const struct http_attempt_parts *parts)
{
    const struct attempt *a = parts->attempt;

    json_begin_object(w);
    http_render_id(w, "id", &a->public_id);
    http_render_number(w, "number", a->number);
    http_render_text(w, "state", str_from(attempt_state_name(a->state)));
    http_render_text(w, "agent",
                     parts->placement_count ? parts->placements[0].agent_name : STR(""));
    json_put_key(w, "placements");
    json_begin_array(w);
    for (size_t i = 0; i < parts->placement_count; i++)
        render_placement(w, &parts->placements[i]);
    json_end_array(w);
    http_render_text(w, "target", a->target_name);
    http_render_time(w, "offered_at", a->offered);
    http_render_time(w, "started_at", a->started);
    http_render_time(w, "ended_at", a->ended);
    http_render_exit(w, "exit_code", a->exit_code);
    http_render_exit(w, "signal", a->exit_signal);
    http_render_bool(w, "oom", a->oom);
    http_render_text(w, "ending", str_from(ending_name(a->ending)));
    http_render_text(w, "reason", a->reason);
    render_health(w, a);
    http_render_text(w, "image", a->image);
    http_render_text(w, "progress", a->progress);
    http_render_number(w, "cost_micro", a->cost_micro);
    http_render_number(w, "energy_mj", a->energy_mj);
    http_render_time(w, "idle_since", a->idle);
    json_end_object(w);
}

static void render_array(struct json_writer *w, const struct job *j,
                         const struct http_job_parts *parts)
{
    const int64_t *states = parts->array_states;

    json_put_key(w, "array");
    if (!j->array_count) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    http_render_id(w, "id", &j->array_public_id);
    http_render_number(w, "index", j->array_index);
    http_render_number(w, "count", j->array_count);
    if (j->array_limit)
        http_render_number(w, "limit", j->array_limit);
    if (states) {
        json_put_key(w, "states");
        json_begin_object(w);
        for (int i = 0; i < JOB_STATE_COUNT; i++)
            if (states[i])
                http_render_number(w, job_state_name((enum job_state)i), states[i]);
        json_end_object(w);
        if (parts->array_healthy >= 0)
            http_render_number(w, "healthy", parts->array_healthy);
    }
    json_end_object(w);
}

/* The attempt that runs. */
static const struct attempt *going(const struct http_job_parts *parts)
{
    const struct attempt *last =
        parts->attempt_count ? parts->attempts[parts->attempt_count - 1].attempt : NULL;

    return last && !attempt_state_ended(last->state) ? last : NULL;
}

static int64_t energy_of(const struct http_job_parts *parts)
{
    int64_t sum = 0;

    for (size_t i = 0; i < parts->attempt_count; i++)
        sum += parts->attempts[i].attempt->energy_mj;
    return sum;
}

void http_render_job(struct http_call *call, const struct job *j,
                     const struct http_job_parts *parts)
{
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_id(w, "id", &j->public_id);
    http_render_text(w, "project", j->project_name);
    http_render_id(w, "run", &j->run_public_id);
    http_render_text(w, "name", j->name);
    http_render_text(w, "state", str_from(job_state_name(j->state)));
    json_put_key(w, "waiting");
    if (parts->waits)
        http_render_wait(call, &parts->wait);
    else
        json_put_null(w);
    render_health(w, going(parts));
    http_render_text(w, "queue", j->queue_name);
    http_render_number(w, "priority", j->priority);
    http_render_text(w, "owner", j->owner_login);
    http_render_time(w, "created_at", j->created);
    http_render_time(w, "started_at", j->started);
    http_render_time(w, "ended_at", j->ended);
    http_render_number(w, "run_time_ms", j->run_time_ms);
    http_render_number(w, "cost_micro", j->cost_micro);
    http_render_number(w, "gpu_ms", j->gpu_ms);
    if (parts->attempt_count)
        http_render_number(w, "energy_mj", energy_of(parts));
    http_render_time(w, "idle_since", going(parts) ? going(parts)->idle : TIME_NONE);
    http_render_exit(w, "exit_code", j->exit_code);
    http_render_exit(w, "signal", j->exit_signal);
    http_render_bool(w, "oom", j->oom);
    http_render_text(w, "ending", str_from(ending_name(j->ending)));
    http_render_text(w, "reason", j->reason);
    http_render_bool(w, "console_final", j->final);
    render_array(w, j, parts);
    if (parts->warning_count)
        http_render_names(w, "warnings", parts->warnings, parts->warning_count);
    json_put_key(w, "spec");
    json_put_raw(w, j->spec);
    json_put_key(w, "attempts");
    json_begin_array(w);
    for (size_t i = 0; i < parts->attempt_count; i++)
        render_attempt(w, &parts->attempts[i]);
    json_end_array(w);
    json_end_object(w);
}

void http_render_job_event(struct json_writer *w, const struct job_event_row *e)
{
    json_begin_object(w);
    http_render_number(w, "seq", e->seq);
    http_render_time(w, "at", e->at);
    http_render_text(w, "kind", str_from(job_event_kind_name(e->kind)));
    http_render_text(w, "state", str_from(job_state_name(e->state)));
    http_render_id(w, "attempt", &e->attempt);
    http_render_text(w, "actor", e->actor);
    json_put_key(w, "detail");
    json_put_raw(w, e->detail);
    json_end_object(w);
}

void http_render_maintenance(struct json_writer *w, bool on, struct str reason, time_ms until)
{
    json_put_key(w, "maintenance");
    if (!on) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    http_render_text(w, "reason", reason);
    http_render_time(w, "until", until);
    json_end_object(w);
}

void http_render_agent(struct json_writer *w, const struct agent *a, const char *state, time_ms now)
{
    json_begin_object(w);
    http_render_id(w, "id", &a->public_id);
    http_render_text(w, "name", a->name);
    http_render_text(w, "target", a->target_name);
    http_render_text(w, "state", str_from(state));
    http_render_text(w, "version", a->version);
    http_render_number(w, "cpus", a->cpus);
    http_render_number(w, "memory_bytes", a->memory_bytes);
    http_render_number(w, "gpus", a->gpus);
    http_render_text(w, "gpu_type", a->gpu_type);
    http_render_number(w, "slots", a->slots);
    http_render_number(w, "running", a->running);
    http_render_number(w, "cpus_free", MAX(a->cpus - a->cpus_used, 0));
    http_render_number(w, "memory_free_bytes", MAX(a->memory_bytes - a->memory_used, 0));
    http_render_number(w, "gpus_free", MAX(a->gpus - a->gpus_used, 0));
    http_render_time(w, "last_seen_at", a->seen);
    http_render_maintenance(w, agent_in_maintenance(a, now), a->maintenance_reason,
                            a->maintenance_until);
    json_end_object(w);
}
