/* Targets, agents, and what agents say about attempts. */
#include "domain/artifacts/artifacts.h"
#include "domain/jobs/jobs.h"
#include "domain/targets/targets.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

#define MICRO_MAX 9007199254740991
#define HELD_MAX  10000
#define TOKEN_LEN 43

enum err_code http_target_list(struct http_call *call, struct err *err)
{
    struct target *targets;
    size_t count = 0;
    int limit = http_call_limit(call);

    TRY(targets_list(&call->cmd, http_call_cursor_text(call), limit, &targets, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_target(&call->json, &targets[i]);
    http_call_page_end(
        call, count == (size_t)limit ? arena_text(&call->arena, targets[count - 1].name) : NULL);
    return OK;
}

enum err_code http_target_set(struct http_call *call, struct err *err)
{
    struct target target;
    struct json_reader r;
    int64_t hour = 0, gpu_hour = 0;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_i64_opt(&r, "price_hour_micro", 0, MICRO_MAX, &hour);
    json_take_i64_opt(&r, "price_gpu_hour_micro", 0, MICRO_MAX, &gpu_hour);
    TRY(json_reader_end(&r));
    TRY(targets_set(&call->cmd, http_call_path(call, 0), hour, gpu_hour, &target, err));
    http_render_target(&call->json, &target);
    return OK;
}

enum err_code http_agent_list(struct http_call *call, struct err *err)
{
    struct agent *agents;
    size_t count = 0;
    int64_t after;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &after, err));
    TRY(agents_list(&call->cmd, after, limit, &agents, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_agent(&call->json, &agents[i], agents_state(&call->cmd, &agents[i]));
    http_call_page_end(call, count == (size_t)limit
                                 ? http_call_number_cursor(call, agents[count - 1].id.v)
                                 : NULL);
    return OK;
}

enum err_code http_agent_create(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct str name = {0}, target = {0};
    struct agent agent;
    struct json_reader r;
    bool created = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "name", PROJECT_NAME_BYTES_MAX, &name);
    json_take_text(&r, "target", PROJECT_NAME_BYTES_MAX, &target);
    TRY(json_reader_end(&r));
    if (!http_label_is_valid(name))
        return err_set_field(err, ERR_INVALID, "name",
                             "the name of an agent is 1 to 63 of a-z, 0-9 and '-'");
    TRY(agents_create(&call->cmd, &id, name, target, &agent, &created, err));
    http_call_created(call, created);
    http_render_agent(&call->json, &agent, agents_state(&call->cmd, &agent));
    return OK;
}

enum err_code http_agent_delete(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);

    call->status = 204;
    return agents_delete(&call->cmd, &id, err);
}

static enum err_code take_held(struct http_call *call, const json_t *array,
                               struct attempt_ref **ret_held, struct err *err)
{
    struct attempt_ref *held = arena_array(&call->arena, json_array_size(array), sizeof *held);

    for (size_t i = 0; i < json_array_size(array); i++) {
        struct str attempt = {0};
        struct json_reader r;
        json_reader_init_strict(&r, json_array_get(array, i), "attempts[].", err);
        json_take_text(&r, "attempt", ID_LEN, &attempt);
        json_take_text(&r, "token", TOKEN_LEN, &held[i].token);
        TRY(json_reader_end(&r));
        if (!id_parse(attempt, ID_ATTEMPT, &held[i].id))
            return err_set_field(err, ERR_INVALID, "attempts",
                                 "\"attempts\"[%zu] is not the id of an attempt", i);
    }
    *ret_held = held;
    return OK;
}

static void take_capacity(json_t *object, struct agent *agent, struct json_reader *outer)
{
    struct json_reader r;

    json_reader_init_strict(&r, object, "capacity.", outer->err);
    json_take_i64(&r, "slots", 0, 10000, &agent->slots);
    json_take_i64(&r, "cpus", 0, 65536, &agent->cpus);
    json_take_i64(&r, "memory_bytes", 0, MICRO_MAX, &agent->memory_bytes);
    json_take_i64(&r, "gpus", 0, 1024, &agent->gpus);
    if (outer->code == OK)
        outer->code = json_reader_end(&r);
}

static enum err_code take_poll(struct http_call *call, struct agent *agent,
                               struct attempt_ref **ret_held, size_t *ret_held_count,
                               int64_t *ret_wait_ms, struct err *err)
{
    json_t *capacity = NULL, *attempts = NULL;
    struct json_reader r;

    agent->executor = STR("process");
    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "boot", 12, &agent->boot);
    json_take_text(&r, "version", 40, &agent->version);
    json_take_text_opt(&r, "executor", 20, &agent->executor);
    json_take_i64(&r, "wait_ms", 0, 60000, ret_wait_ms);
    json_take_object_opt(&r, "capacity", &capacity);
    json_take_array_opt(&r, "attempts", HELD_MAX, &attempts);
    if (r.code == OK && !capacity)
        r.code = err_set_field(err, ERR_INVALID, "capacity", "\"capacity\" is missing");
    if (capacity)
        take_capacity(capacity, agent, &r);
    TRY(json_reader_end(&r));
    *ret_held_count = json_array_size(attempts);
    return take_held(call, attempts, ret_held, err);
}

static void render_offer(struct http_call *call, const struct job_offer *o)
{
    static const char *const objects[] = {"env", "config"};
    struct json_writer *w = &call->json;
    struct str text;

    json_begin_object(w);
    http_render_id(w, "attempt", &o->attempt.public_id);
    http_render_text(w, "token", str_from(o->token));
    http_render_id(w, "job", &o->job.public_id);
    http_render_id(w, "run", &o->job.run_public_id);
    http_render_text(w, "project", o->job.project_name);
    http_render_number(w, "number", o->attempt.number);
    http_render_text(w, "name", o->job.name);
    json_put_key(w, "command");
    json_put_raw(w, jobs_spec_member(&call->cmd, &o->job, "command"));
    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        text = jobs_spec_member(&call->cmd, &o->job, objects[i]);
        json_put_key(w, objects[i]);
        json_put_raw(w, text.len ? text : STR("{}"));
    }
    text = jobs_spec_member(&call->cmd, &o->job, "code");
    json_put_key(w, "code");
    json_put_raw(w, text.len ? text : STR("null"));
    http_render_number(w, "cpus", o->job.need.cpus);
    http_render_number(w, "memory_bytes", o->job.need.memory_bytes);
    http_render_number(w, "gpus", o->job.need.gpus);
    http_render_number(w, "timeout_s", o->job.timeout_s);
    http_render_number(w, "grace_s", o->job.grace_s);
    http_render_text(w, "key", str_from(o->key.text));
    json_end_object(w);
}

static void render_ids(struct json_writer *w, const char *key, const struct id *ids, size_t count)
{
    json_put_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_str(w, id_str(&ids[i]));
    json_end_array(w);
}

enum err_code http_agent_poll(struct http_call *call, struct err *err)
{
    struct agent_poll_answer answer;
    struct attempt_ref *held = NULL;
    struct agent agent = {.id = call->who.agent, .public_id = http_call_path_id(call, 0)};
    size_t held_count = 0;
    int64_t wait_ms = 0;

    TRY(agents_require_own(&call->cmd, &agent.public_id, err));
    TRY(take_poll(call, &agent, &held, &held_count, &wait_ms, err));
    TRY(jobs_agent_poll(&call->cmd, &agent, held, held_count, &answer, err));
    if (answer.offer_count + answer.stop_count + answer.fenced_count == 0)
        call->park_ms = MIN(wait_ms, call->env->domain->config.heartbeat_ms);
    json_begin_object(&call->json);
    json_put_key(&call->json, "offers");
    json_begin_array(&call->json);
    for (size_t i = 0; i < answer.offer_count; i++)
        render_offer(call, &answer.offers[i]);
    json_end_array(&call->json);
    render_ids(&call->json, "stop", answer.stops, answer.stop_count);
    render_ids(&call->json, "fenced", answer.fenced, answer.fenced_count);
    http_render_number(&call->json, "heartbeat_ms", call->env->domain->config.heartbeat_ms);
    json_end_object(&call->json);
    return OK;
}

static enum err_code take_ref(const struct http_call *call, struct attempt_ref *ret_ref,
                              struct err *err)
{
    ret_ref->id = http_call_path_id(call, 0);
    ret_ref->token = http_exchange_header(call->exchange, "Euvyra-Attempt-Token");
    if (ret_ref->token.len != TOKEN_LEN)
        return err_set_field(err, ERR_INVALID, "Euvyra-Attempt-Token",
                             "the header Euvyra-Attempt-Token is missing or misshapen");
    return OK;
}

static void render_accepted(struct http_call *call, const struct attempt *attempt)
{
    json_begin_object(&call->json);
    http_render_text(&call->json, "state", str_from(attempt_state_name(attempt->state)));
    json_end_object(&call->json);
}

enum err_code http_attempt_accept(struct http_call *call, struct err *err)
{
    struct attempt_ref ref;
    struct attempt attempt;

    TRY(take_ref(call, &ref, err));
    TRY(jobs_attempt_accept(&call->cmd, &ref, &attempt, err));
    render_accepted(call, &attempt);
    return OK;
}

static enum err_code take_report(struct http_call *call, struct attempt_report *p, struct err *err)
{
    int64_t exit_code = EXIT_NONE, exit_signal = EXIT_NONE;
    struct str state = {0};
    struct json_reader r;

    *p = (struct attempt_report){.at = TIME_NONE, .run_time_ms = -1, .console_bytes = -1};
    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "state", 10, &state);
    json_take_time_opt(&r, "at", &p->at);
    json_take_i64_opt(&r, "exit_code", 0, 255, &exit_code);
    json_take_i64_opt(&r, "signal", 1, 64, &exit_signal);
    json_take_bool_opt(&r, "oom", &p->oom);
    json_take_bool_opt(&r, "failed_to_start", &p->failed_to_start);
    json_take_bool_opt(&r, "timed_out", &p->timed_out);
    json_take_text_opt(&r, "reason", 500, &p->reason);
    json_take_i64_opt(&r, "run_time_ms", 0, MICRO_MAX, &p->run_time_ms);
    json_take_i64_opt(&r, "console_bytes", 0, MICRO_MAX, &p->console_bytes);
    json_take_bool_opt(&r, "final", &p->final);
    TRY(json_reader_end(&r));
    p->exit_code = (int)exit_code;
    p->exit_signal = (int)exit_signal;
    if (str_eq_c(state, "starting"))
        p->kind = JOB_EVENT_STARTING;
    else if (str_eq_c(state, "running"))
        p->kind = JOB_EVENT_RUNNING;
    else if (str_eq_c(state, "ended"))
        p->kind = JOB_EVENT_ENDED;
    else
        return err_set_field(err, ERR_INVALID, "state", "\"state\" is starting, running or ended");
    return OK;
}

enum err_code http_attempt_status(struct http_call *call, struct err *err)
{
    struct attempt_report report;
    struct attempt_ref ref;
    struct attempt attempt;

    TRY(take_ref(call, &ref, err));
    TRY(take_report(call, &report, err));
    TRY(jobs_attempt_status(&call->cmd, &ref, &report, &attempt, err));
    render_accepted(call, &attempt);
    return OK;
}

enum err_code http_attempt_console(struct http_call *call, struct err *err)
{
    struct attempt_ref ref;
    int64_t offset = 0, right = 0;
    enum err_code code;

    TRY(take_ref(call, &ref, err));
    TRY(http_call_header_i64(call, "Euvyra-Offset", &offset, err));
    code = jobs_attempt_console(&call->cmd, &ref, offset, http_exchange_body(call->exchange),
                                &right, err);
    if (code == ERR_OFFSET)
        http_call_header_number(call, "Euvyra-Offset", right);
    TRY(code);
    json_begin_object(&call->json);
    http_render_number(&call->json, "offset", right);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_attempt_code(struct http_call *call, struct err *err)
{
    struct attempt_ref ref;
    struct attempt attempt;
    struct job job;
    struct str code;

    TRY(take_ref(call, &ref, err));
    TRY(jobs_attempt_require(&call->cmd, &ref, &attempt, &job, err));
    code = jobs_spec_member(&call->cmd, &job, "code");
    if (code.len != 66) /* 64 digits in quotes */
        return err_set(err, ERR_NOT_FOUND, "job %s has no code", job.public_id.text);
    call->content_type = "application/octet-stream";
    return artifacts_file_open(&call->cmd, job.project, str_n(code.data + 1, 64), &call->answer_fd,
                               &call->answer_fd_bytes, err);
}
