/* Rendering of jobs, attempts and agents. */
#include "http/http_render.h"

static const char *wait_text(const struct first_wait *wait)
{
    switch (wait->reason) {
    case FIRST_NO_AGENT: return "no agent is online";
    case FIRST_NO_TARGET: return "no agent of the wanted target is online";
    case FIRST_TOO_BIG: return "no agent is large enough, even when it is empty";
    case FIRST_BUSY: return "the agents that could take it are busy";
    }
    return "";
}

static void render_waiting(struct json_writer *w, const struct job *job,
                           const struct first_wait *wait)
{
    json_put_key(w, "waiting");
    if (job->state != JOB_HELD && !(job->state == JOB_QUEUED && wait)) {
        json_put_null(w);
        return;
    }
    json_begin_object(w);
    if (job->state == JOB_HELD) {
        http_render_text(w, "code", STR("held"));
        http_render_text(w, "text", STR("it is held until somebody releases it"));
    } else {
        http_render_text(w, "code", str_from(first_reason_name(wait->reason)));
        http_render_text(w, "text", str_from(wait_text(wait)));
        http_render_number(w, "rank", wait->rank);
        if (wait->resource && wait->resource[0]) {
            http_render_text(w, "resource", str_from(wait->resource));
            http_render_number(w, "asked", wait->asked);
            http_render_number(w, "free", MAX(wait->available, 0));
        }
    }
    json_end_object(w);
}

static void render_attempt(struct json_writer *w, const struct attempt *a)
{
    json_begin_object(w);
    http_render_id(w, "id", &a->public_id);
    http_render_number(w, "number", a->number);
    http_render_text(w, "state", str_from(attempt_state_name(a->state)));
    http_render_text(w, "agent", a->agent_name);
    http_render_text(w, "target", a->target_name);
    http_render_time(w, "offered_at", a->offered);
    http_render_time(w, "started_at", a->started);
    http_render_time(w, "ended_at", a->ended);
    http_render_exit(w, "exit_code", a->exit_code);
    http_render_exit(w, "signal", a->exit_signal);
    http_render_bool(w, "oom", a->oom);
    http_render_text(w, "reason", a->reason);
    http_render_number(w, "cost_micro", a->cost_micro);
    json_end_object(w);
}

void http_render_job(struct json_writer *w, const struct job *j, const struct first_wait *wait,
                     const struct attempt *attempts, size_t attempt_count)
{
    json_begin_object(w);
    http_render_id(w, "id", &j->public_id);
    http_render_text(w, "project", j->project_name);
    http_render_id(w, "run", &j->run_public_id);
    http_render_text(w, "name", j->name);
    http_render_text(w, "state", str_from(job_state_name(j->state)));
    render_waiting(w, j, wait);
    http_render_number(w, "priority", j->priority);
    http_render_text(w, "owner", j->owner_login);
    http_render_time(w, "created_at", j->created);
    http_render_time(w, "started_at", j->started);
    http_render_time(w, "ended_at", j->ended);
    http_render_number(w, "run_time_ms", j->run_time_ms);
    http_render_number(w, "cost_micro", j->cost_micro);
    http_render_number(w, "gpu_ms", j->gpu_ms);
    http_render_exit(w, "exit_code", j->exit_code);
    http_render_exit(w, "signal", j->exit_signal);
    http_render_bool(w, "oom", j->oom);
    http_render_text(w, "reason", j->reason);
    http_render_bool(w, "console_final", j->final);
    json_put_key(w, "spec");
    json_put_raw(w, j->spec);
    json_put_key(w, "attempts");
    json_begin_array(w);
    for (size_t i = 0; i < attempt_count; i++)
        render_attempt(w, &attempts[i]);
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

void http_render_agent(struct json_writer *w, const struct agent *a, const char *state)
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
    http_render_number(w, "slots", a->slots);
    http_render_number(w, "running", a->running);
    http_render_time(w, "last_seen_at", a->seen);
    json_end_object(w);
}
