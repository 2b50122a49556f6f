/* Rendering of users, projects, runs and metrics. Jobs are in http_render_job.c. */
#include "http/http_render.h"

#include <math.h>
#include <stdio.h>

void http_render_time(struct json_writer *w, const char *key, time_ms at)
{
    json_put_key(w, key);
    json_put_time(w, at);
}

void http_render_text(struct json_writer *w, const char *key, struct str text)
{
    json_put_key(w, key);
    json_put_str(w, text);
}

void http_render_number(struct json_writer *w, const char *key, int64_t number)
{
    json_put_key(w, key);
    json_put_i64(w, number);
}

void http_render_bool(struct json_writer *w, const char *key, bool value)
{
    json_put_key(w, key);
    json_put_bool(w, value);
}

void http_render_names(struct json_writer *w, const char *key, const struct str *names,
                       size_t count)
{
    json_put_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_str(w, names[i]);
    json_end_array(w);
}

void http_render_exit(struct json_writer *w, const char *key, int value)
{
    json_put_key(w, key);
    if (value < 0)
        json_put_null(w);
    else
        json_put_i64(w, value);
}

void http_render_id(struct json_writer *w, const char *key, const struct id *id)
{
    json_put_key(w, key);
    if (id->text[0])
        json_put_str(w, id_str(id));
    else
        json_put_null(w);
}

/* State of the scan below: which open braces belong to a {"$o": } wrapper. */
struct untag {
    struct buf *out;
    struct str in;
    size_t at;
    uint64_t wrapped[2]; /* a bit a level; our documents are at most 64 deep, wrappers double it */
    int depth;
    bool literal; /* the next object stands for itself */
};

static bool is_wrapped(const struct untag *u, int depth)
{
    return depth < 128 && (u->wrapped[depth / 64] >> (depth % 64) & 1);
}

static void push(struct untag *u, bool wrapped)
{
    if (u->depth < 128) {
        uint64_t bit = 1ull << (u->depth % 64);
        if (wrapped)
            u->wrapped[u->depth / 64] |= bit;
        else
            u->wrapped[u->depth / 64] &= ~bit;
    }
    u->depth++;
}

/* End of the string that starts at `at` (behind its closing quote). */
static size_t string_end(struct str in, size_t at)
{
    for (at++; at < in.len && in.data[at] != '"'; at++)
        if (in.data[at] == '\\')
            at++;
    return MIN(at + 1, in.len);
}

/* {"$f":"..."} or {"$i":"..."} at u->at: writes the string alone. */
static bool take_tagged(struct untag *u)
{
    struct str rest = str_n(u->in.data + u->at, u->in.len - u->at);
    size_t end;

    if (!str_starts(rest, STR("{\"$f\":\"")) && !str_starts(rest, STR("{\"$i\":\"")))
        return false;
    end = string_end(rest, 6);
    if (end >= rest.len || rest.data[end] != '}')
        return false;
    (void)buf_add(u->out, rest.data + 6, end - 6);
    u->at += end + 1;
    return true;
}

static void take_brace(struct untag *u)
{
    struct str rest = str_n(u->in.data + u->at, u->in.len - u->at);
    bool literal = u->literal;

    u->literal = false;
    if (!literal && take_tagged(u))
        return;
    if (!literal && str_starts(rest, STR("{\"$o\":{"))) {
        push(u, true);
        u->literal = true;
        u->at += 6;
        return;
    }
    push(u, false);
    (void)buf_add_char(u->out, '{');
    u->at++;
}

static void untag_step(struct untag *u)
{
    char c = u->in.data[u->at];
    size_t end;

    if (c == '"') {
        end = string_end(u->in, u->at);
        (void)buf_add(u->out, u->in.data + u->at, end - u->at);
        u->at = end;
    } else if (c == '{') {
        take_brace(u);
    } else {
        if (c == '}')
            u->depth -= u->depth > 0;
        if (c != '}' || !is_wrapped(u, u->depth))
            (void)buf_add_char(u->out, c);
        u->at++;
    }
}

void http_render_tagged(struct json_writer *w, struct str json)
{
    CLEANUP(buf_release) struct buf out = {0};
    struct untag u = {.out = &out, .in = json};

    buf_init(&out, json.len + 1);
    while (u.at < json.len)
        untag_step(&u);
    json_put_raw(w, buf_str(&out));
}

void http_render_user(struct json_writer *w, const struct user *user)
{
    json_begin_object(w);
    http_render_id(w, "id", &user->public_id);
    http_render_text(w, "login", user->login);
    http_render_bool(w, "admin", user->admin);
    http_render_time(w, "created_at", user->created);
    json_end_object(w);
}

void http_render_key(struct json_writer *w, const struct access_key *key)
{
    json_begin_object(w);
    http_render_id(w, "id", &key->public_id);
    http_render_text(w, "kind", str_from(principal_kind_name(key->kind)));
    http_render_text(w, "name", key->name);
    http_render_text(w, "owner", key->owner);
    http_render_time(w, "created_at", key->created);
    http_render_time(w, "expires_at", key->expires);
    http_render_time(w, "last_used_at", key->used);
    json_end_object(w);
}

void http_render_audit(struct json_writer *w, const struct audit_row *row)
{
    json_begin_object(w);
    http_render_number(w, "seq", row->seq);
    http_render_time(w, "at", row->at);
    http_render_text(w, "actor", row->actor);
    http_render_text(w, "operation", row->operation);
    http_render_text(w, "subject", row->subject);
    http_render_text(w, "detail", row->detail);
    http_render_text(w, "request_id", row->request_id);
    json_end_object(w);
}

void http_render_project(struct json_writer *w, const struct project *p, bool admin)
{
    json_begin_object(w);
    http_render_text(w, "name", p->name);
    http_render_text(w, "title", p->title);
    http_render_text(w, "description", p->description);
    http_render_time(w, "created_at", p->created);
    http_render_text(w, "role", admin ? STR("admin") : str_from(role_name(p->role)));
    http_render_number(w, "run_count", p->run_count);
    http_render_number(w, "running_count", p->running_count);
    http_render_time(w, "last_run_at", p->last_run);
    http_render_number(w, "cost_micro", p->cost_micro);
    http_render_number(w, "silent_s", p->silent_s);
    http_render_bool(w, "silent_is_default", p->silent_is_default);
    http_render_number(w, "retain_days", p->retain_days);
    http_render_text(w, "idle_gpus", p->idle_stop ? STR("stop") : STR("warn"));
    http_render_number(w, "idle_minutes", p->idle_minutes);
    json_end_object(w);
}

static int64_t duration_ms(const struct run *run, time_ms now)
{
    time_ms end = run->ended != TIME_NONE ? run->ended : now;

    return run->started == TIME_NONE || end < run->started ? 0 : end - run->started;
}

static void render_doc(struct json_writer *w, const char *key, struct str json)
{
    json_put_key(w, key);
    if (json.len)
        http_render_tagged(w, json);
    else
        json_put_null(w);
}

static void render_run_life(struct json_writer *w, const struct run *run, time_ms now)
{
    http_render_text(w, "state", str_from(run_state_name(run->state)));
    http_render_text(w, "reason", run->reason);
    http_render_exit(w, "exit_code", run->exit_code);
    http_render_exit(w, "signal", run->exit_signal);
    http_render_bool(w, "oom", run->oom);
    http_render_time(w, "created_at", run->created);
    http_render_time(w, "started_at", run->started);
    http_render_time(w, "ended_at", run->ended);
    http_render_number(w, "duration_ms", duration_ms(run, now));
    json_put_key(w, "cost_micro");
    if (run->cost_micro < 0)
        json_put_null(w);
    else
        json_put_i64(w, run->cost_micro);
}

static void put_rank(struct json_writer *w, const char *key, int rank)
{
    http_render_exit(w, key, rank); /* none is null, as there */
}

void http_render_writer(struct json_writer *w, const struct writer *writer,
                        const struct writer_view *view)
{
    char crc[12];

    (void)snprintf(crc, sizeof crc, "%08x", writer->committed_crc);
    json_begin_object(w);
    http_render_id(w, "id", &writer->public_id);
    http_render_text(w, "kind", writer->kind);
    http_render_text(w, "host", writer->host);
    put_rank(w, "rank", writer->rank);
    put_rank(w, "local_rank", writer->local_rank);
    put_rank(w, "world_size", writer->world_size);
    http_render_time(w, "started_at", writer->started);
    http_render_time(w, "ended_at", writer->ended ? writer->ended_at : writer->gone);
    http_render_exit(w, "exit_code", writer->exit_code);
    http_render_exit(w, "signal", writer->exit_signal);
    http_render_number(w, "epoch", view->epoch);
    json_put_key(w, "visible_below");
    if (view->visible_below == INT64_MAX)
        json_put_null(w);
    else
        json_put_i64(w, view->visible_below);
    http_render_number(w, "console_bytes", writer->console_bytes);
    http_render_number(w, "committed_offset", writer->committed_offset);
    http_render_number(w, "applied_offset", writer->applied_offset);
    http_render_text(w, "crc", str_from(crc));
    json_end_object(w);
}

void http_render_alert(struct json_writer *w, const struct alert *alert)
{
    json_begin_object(w);
    http_render_number(w, "id", alert->id);
    http_render_id(w, "run", &alert->run);
    http_render_text(w, "run_name", alert->run_name);
    http_render_text(w, "level", str_from(alert_level_name(alert->level)));
    http_render_text(w, "title", alert->title);
    http_render_text(w, "text", alert->text);
    http_render_time(w, "at", alert->at);
    http_render_time(w, "received_at", alert->received);
    json_end_object(w);
}

static void render_origin(struct json_writer *w, const struct run *run)
{
    http_render_id(w, "parent", &run->parent);
    json_put_key(w, "parent_step");
    if (run->parent.text[0])
        json_put_i64(w, run->parent_step);
    else
        json_put_null(w);
    http_render_bool(w, "stopping", run->stop_asked != TIME_NONE && !run_state_ended(run->state));
    http_render_number(w, "redacted", run->redacted);
}

void http_render_run_row(struct json_writer *w, const struct run *run, time_ms now)
{
    json_begin_object(w);
    http_render_id(w, "id", &run->public_id);
    http_render_text(w, "project", run->project_name);
    http_render_text(w, "name", run->name);
    render_run_life(w, run, now);
    http_render_text(w, "owner", run->owner_login);
    http_render_id(w, "job", &run->job_public_id);
    http_render_text(w, "group", run->group);
    http_render_text(w, "job_type", run->job_type);
    http_render_text(w, "host", run->host);
    render_doc(w, "tags", run->tags);
    http_render_text(w, "notes", run->notes);
    render_doc(w, "config", run->config);
    render_doc(w, "summary", run->summary);
    render_origin(w, run);
}

static void put_optional(struct json_writer *w, const char *key, struct str text)
{
    json_put_key(w, key);
    if (text.len)
        json_put_str(w, text);
    else
        json_put_null(w);
}

/* d NULL: nothing was said, the last value counts. */
static void put_definition(struct json_writer *w, const struct definition *d, struct str axis)
{
    put_optional(w, "step_metric", axis);
    http_render_text(w, "summary", str_from(definition_figure_name(d ? d->figure : STAT_LAST)));
    put_optional(w, "goal", d ? str_from(metric_goal_name(d->goal)) : STR(""));
}

static void render_definitions(struct json_writer *w, const struct definitions *defined)
{
    json_put_key(w, "definitions");
    json_begin_array(w);
    for (size_t i = 0; i < defined->count; i++) {
        json_begin_object(w);
        http_render_text(w, "name", defined->items[i].name);
        put_definition(w, &defined->items[i], defined->items[i].step_metric);
        json_end_object(w);
    }
    json_end_array(w);
}

static void render_hosts(struct json_writer *w, const struct run_hosts *hosts)
{
    json_put_key(w, "machines");
    json_begin_array(w);
    for (size_t i = 0; i < hosts->count; i++) {
        const struct run_host *host = &hosts->items[i];
        json_begin_object(w);
        http_render_text(w, "host", host->host);
        json_put_key(w, "ranks");
        json_begin_array(w);
        for (size_t r = 0; r < host->rank_count; r++)
            json_put_i64(w, host->ranks[r]);
        json_end_array(w);
        render_doc(w, "machine", host->machine);
        json_end_object(w);
    }
    json_end_array(w);
    http_render_number(w, "host_count", (int64_t)hosts->total);
}

void http_render_run(struct json_writer *w, const struct run *run, const struct run_detail *detail,
                     time_ms now)
{
    http_render_run_row(w, run, now);
    if (detail) {
        render_doc(w, "command", run->command);
        render_doc(w, "code", detail->code);
        render_doc(w, "machine", detail->machine);
        render_hosts(w, &detail->hosts);
        render_definitions(w, &detail->defined);
        http_render_number(w, "console_bytes", detail->console_bytes);
        http_render_bool(w, "parent_exists", detail->parent_exists);
        http_render_bool(w, "has_hidden", detail->has_hidden);
        http_render_number(w, "unknown_records", detail->unknown_records);
    }
    json_end_object(w);
}

static void put_number(struct json_writer *w, const char *key, double value, bool known)
{
    json_put_key(w, key);
    if (known)
        json_put_f64(w, value);
    else
        json_put_null(w);
}

static void put_step(struct json_writer *w, const char *key, int64_t step, bool known)
{
    json_put_key(w, key);
    if (known)
        json_put_i64(w, step);
    else
        json_put_null(w);
}

void http_render_metric(struct json_writer *w, const struct metric_facts *f,
                        const struct definitions *defined)
{
    const struct definition *d =
        f->kind == METRIC_PLAIN ? definitions_find(defined, f->name) : NULL;
    bool any = f->count > 0, finite = f->finite_count > 0;

    json_begin_object(w);
    http_render_text(w, "name", f->name);
    http_render_text(w, "kind", str_from(metric_kind_name(f->kind)));
    http_render_number(w, "count", f->count);
    http_render_number(w, "not_finite", f->count - f->finite_count);
    put_number(w, "last", f->last, any);
    put_step(w, "last_step", f->last_step, any);
    put_number(w, "first", f->first, any);
    put_step(w, "first_step", f->first_step, any);
    put_number(w, "min", f->min, finite);
    put_step(w, "min_step", f->min_step, finite);
    put_number(w, "max", f->max, finite);
    put_step(w, "max_step", f->max_step, finite);
    put_number(w, "mean", finite ? f->sum / (double)f->finite_count : 0, finite);
    put_definition(w, d, definition_axis(d, f->name));
    json_end_object(w);
}
