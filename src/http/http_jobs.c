/* Jobs for people: submit, list, show, cancel. */
#include "domain/audit/audit.h"
#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_wait.h"
#include "gen/http_routes.h"
#include "http/http_dispatch.h"
#include "http/http_render.h"
#include "http/http_take.h"
#include "http/http_take_spec.h"

/* Adds to `parts` what is read of a job for every answer. */
static enum err_code render_one(struct http_call *call, const struct job *job,
                                struct http_job_parts *parts, struct err *err)
{
    struct http_attempt_parts *attempts;
    struct attempt *list;

    TRY(jobs_attempts(&call->cmd, job->id, &list, &parts->attempt_count, err));
    attempts = arena_array(&call->arena, parts->attempt_count, sizeof *attempts);
    for (size_t i = 0; i < parts->attempt_count; i++) {
        attempts[i].attempt = &list[i];
        TRY(jobs_placements(&call->cmd, list[i].id, &attempts[i].placements,
                            &attempts[i].placement_count, err));
    }
    parts->attempts = attempts;
    TRY(jobs_wait(&call->cmd, job, &parts->waits, &parts->wait, err));
    http_render_job(call, job, parts);
    return OK;
}

/* The first of an array stands for it, with how many are in which state. */
static enum err_code render_array(struct http_call *call, const struct job *first, struct err *err)
{
    int64_t states[JOB_STATE_COUNT];
    struct http_job_parts parts = {.array_states = states};

    TRY(jobs_array_states(&call->cmd, &first->array_public_id, states, err));
    TRY(jobs_array_healthy(&call->cmd, first, &parts.array_healthy, err));
    return render_one(call, first, &parts, err);
}

static enum err_code render_plain(struct http_call *call, const struct job *job, struct err *err)
{
    struct http_job_parts parts = {0};

    return render_one(call, job, &parts, err);
}

/* The path names an array, and not one of its elements. */
static bool names_array(const struct http_call *call)
{
    return str_eq(http_call_path(call, 0), id_str(&call->job.array_public_id));
}

static enum err_code render_named(struct http_call *call, struct err *err)
{
    return names_array(call) ? render_array(call, &call->job, err)
                             : render_plain(call, &call->job, err);
}

/* A line of a folded list. */
static enum err_code render_folded(struct http_call *call, const struct job *job, struct err *err)
{
    struct job next;

    if (!job->array_count)
        return render_plain(call, job, err);
    TRY(jobs_array_next(&call->cmd, job, &next, err));
    return render_array(call, &next, err);
}

static enum err_code list_ranked(struct http_call *call, struct job_filter *filter, struct err *err)
{
    int64_t passed = filter->before_id;
    struct job *jobs;
    size_t count = 0;

    if (filter->state != JOB_STATE_COUNT || filter->array.len)
        return err_set_field(err, ERR_INVALID, "order",
                             "by rank are jobs that wait: without \"state\" and \"array\"");
    TRY(jobs_list_ranked(&call->cmd, filter, &passed, &jobs, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        TRY(filter->fold && jobs[i].array_count ? render_array(call, &jobs[i], err)
                                                : render_plain(call, &jobs[i], err));
    http_call_page_end(call, passed ? http_call_number_cursor(call, passed) : NULL);
    return OK;
}

enum err_code http_job_list(struct http_call *call, struct err *err)
{
    struct job_filter filter = {.state = JOB_STATE_COUNT, .limit = http_call_limit(call)};
    struct job *jobs;
    struct str state, order = {0};
    size_t count = 0;

    TRY(http_call_cursor_i64(call, &filter.before_id, err));
    (void)http_call_query(call, "project", &filter.project);
    (void)http_call_query(call, "array", &filter.array);
    if (http_call_query(call, "state", &state))
        filter.state = job_state_from_name(state);
    filter.open = http_call_query_bool(call, "open");
    filter.fold = http_call_query_bool(call, "fold");
    if (http_call_query(call, "order", &order) && str_eq_c(order, "rank"))
        return list_ranked(call, &filter, err);
    TRY(jobs_list(&call->cmd, &filter, &jobs, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        TRY(filter.fold ? render_folded(call, &jobs[i], err) : render_plain(call, &jobs[i], err));
    http_call_page_end(call, count == (size_t)filter.limit
                                 ? http_call_number_cursor(call, jobs[count - 1].id.v)
                                 : NULL);
    return OK;
}

/* A body that asks for what no job may have leaves a trace: the refusal is answered here, with the
 * audit row kept. */
static enum err_code refuse(struct http_call *call, const struct id *id, const struct err *why,
                            struct err *err)
{
    TRY(audit_add(&call->cmd, str_from(arena_printf(&call->arena, "job %s", id->text)),
                  str_from(arena_printf(&call->arena, "refused: %s", why->text)), err));
    call->status = err_code_http_status(why->code);
    http_render_error(why, call->cmd.request_id.data, &call->out);
    return OK;
}

enum err_code http_job_create(struct http_call *call, struct err *err)
{
    struct job_spec spec = {.id = http_call_path_id(call, 1)};
    enum err_code code = http_take_job(call, &spec, err);
    struct http_job_parts parts = {0};
    bool created = false;

    if (code == ERR_UNKNOWN_FIELD) {
        struct err why = *err;
        return refuse(call, &spec.id, &why, err);
    }
    TRY(code);
    TRY(jobs_submit(&call->cmd, &call->project, &spec, &call->job, &created, err));
    TRY(jobs_warnings(&call->cmd, &spec, parts.warnings, &parts.warning_count, err));
    http_call_created(call, created);
    return render_one(call, &call->job, &parts, err);
}

enum err_code http_job_show(struct http_call *call, struct err *err)
{
    return render_named(call, err);
}

/* `refused`: what the submission would be answered; NULL: it would be taken. */
static void render_forecast(struct http_call *call, const struct job_forecast *f, bool of_priority,
                            const struct err *refused)
{
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_bool(w, "starts", f->known && f->forecast.starts);
    json_put_key(w, "waiting");
    if (f->known && !f->forecast.starts)
        http_render_wait(call, &f->wait);
    else
        json_put_null(w);
    http_render_number(w, "waiting_count", f->forecast.waiting);
    if (refused) {
        json_put_key(w, "refused");
        json_begin_object(w);
        http_render_text(w, "code", str_from(err_code_name(refused->code)));
        http_render_text(w, "message", str_from(refused->text));
        http_render_text(w, "field", str_from(refused->field));
        json_end_object(w);
    }
    if (of_priority) {
        http_render_number(w, "rank_now", f->forecast.rank_now);
        http_render_number(w, "passed_count", f->forecast.passed_total);
        json_put_key(w, "passed");
        json_begin_array(w);
        for (size_t i = 0; i < f->passed_count; i++) {
            json_begin_object(w);
            http_render_id(w, "id", &f->passed[i].public_id);
            http_render_text(w, "name", f->passed[i].name);
            http_render_text(w, "project", f->passed[i].project_name);
            json_end_object(w);
        }
        json_end_array(w);
    }
    json_end_object(w);
}

/* What another priority would make of the job that is asked about. */
static enum err_code render_priority(struct http_call *call, struct err *err)
{
    struct job_forecast f;

    TRY(jobs_forecast_priority(&call->cmd, &call->job, http_call_query_i64(call, "priority", 0), &f,
                               err));
    json_put_key(&call->json, "forecast");
    if (f.known)
        render_forecast(call, &f, true, NULL);
    else
        json_put_null(&call->json);
    return OK;
}

enum err_code http_job_forecast(struct http_call *call, struct err *err)
{
    struct job_spec spec = {0};
    struct job_forecast f = {0};
    enum err_code code = http_take_job(call, &spec, err);

    if (code == OK)
        code = jobs_forecast_submit(&call->cmd, &call->project, &spec, &f, err);
    if (code != OK && err_code_http_status(code) >= 500)
        return code;
    render_forecast(call, &f, false, code == OK ? NULL : err);
    return OK;
}

enum err_code http_job_why(struct http_call *call, struct err *err)
{
    struct job_wait wait;
    struct str priority;
    bool waits = false;

    TRY(jobs_why(&call->cmd, &call->job, &waits, &wait, err));
    json_begin_object(&call->json);
    http_render_text(&call->json, "state", str_from(job_state_name(call->job.state)));
    json_put_key(&call->json, "waiting");
    if (waits)
        http_render_wait(call, &wait);
    else
        json_put_null(&call->json);
    if (http_call_query(call, "priority", &priority))
        TRY(render_priority(call, err));
    json_end_object(&call->json);
    return OK;
}

enum err_code http_job_event_list(struct http_call *call, struct err *err)
{
    struct job_event_row *events;
    size_t count = 0;
    int64_t after;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &after, err));
    TRY(jobs_events(&call->cmd, call->job.id, after, limit, &events, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_job_event(&call->json, &events[i]);
    http_call_page_end(
        call, count == (size_t)limit ? http_call_number_cursor(call, events[count - 1].seq) : NULL);
    return OK;
}

enum err_code http_job_cancel(struct http_call *call, struct err *err)
{
    TRY(names_array(call) ? jobs_cancel_array(&call->cmd, &call->job, err)
                          : jobs_cancel(&call->cmd, &call->job, err));
    return render_named(call, err);
}

enum err_code http_job_release(struct http_call *call, struct err *err)
{
    TRY(names_array(call) ? jobs_release_array(&call->cmd, &call->job, err)
                          : jobs_release(&call->cmd, &call->job, err));
    return render_named(call, err);
}

enum err_code http_job_change(struct http_call *call, struct err *err)
{
    struct job_change change = {.held = -1, .priority = INT64_MIN};
    struct job_spec places = {0};
    struct json_reader r;
    bool held = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_i64_opt(&r, "priority", -1000, 1000, &change.priority);
    http_take_label_opt(&r, "queue", &change.queue);
    http_take_places(call, &r, "targets", &places);
    json_take_bool_opt(&r, "held", &held);
    if (json_object_get(call->body, "held"))
        change.held = held ? 1 : 0;
    TRY(json_reader_end(&r));
    change.has_priority = change.priority != INT64_MIN;
    change.places = places.places;
    change.place_count = places.place_count;
    if (json_object_size(call->body) == 0)
        return err_set(err, ERR_INVALID, "the body says nothing to change");
    TRY(jobs_change(&call->cmd, &call->job, names_array(call), &change, err));
    return render_named(call, err);
}
