/* Agents, and what agents say about attempts. */
#include "base/log.h"
#include "domain/artifacts/artifacts.h"
#include "domain/jobs/jobs.h"
#include "domain/targets/nodes.h"
#include "domain/targets/targets.h"
#include "gen/http_routes.h"
#include "http/http_dispatch.h"
#include "http/http_render.h"
#include "wire/agent_messages.h"

#define CLOCK_MS_MAX 60000

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
        http_render_agent(&call->json, &agents[i], agents_state(&call->cmd, &agents[i]),
                          call->cmd.now);
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
    http_render_agent(&call->json, &agent, agents_state(&call->cmd, &agent), call->cmd.now);
    return OK;
}

enum err_code http_agent_delete(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);

    call->status = 204;
    return agents_delete(&call->cmd, &id, err);
}

static bool has_variable(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return true;
    return false;
}

/* What comes from the job itself beside its spec: secrets, and its place in an array. */
static void add_own(struct http_call *call, const struct job_offer *from, struct wire_offer *offer)
{
    const struct job *job = &from->job;
    size_t count = 0;
    const char **env;

    while (offer->env[count])
        count++;
    env = arena_array(&call->arena, count + from->secret_count + 3, sizeof env[0]);
    for (size_t i = 0; i < count; i++)
        env[i] = offer->env[i];
    for (size_t i = 0; i < from->secret_count; i++)
        env[count++] = from->secrets[i];
    if (job->array_count) {
        env[count++] =
            arena_printf(&call->arena, "EUVYRA_ARRAY_INDEX=%lld", (long long)job->array_index);
        env[count++] =
            arena_printf(&call->arena, "EUVYRA_ARRAY_COUNT=%lld", (long long)job->array_count);
    }
    offer->env = env;
}

/* Variables of target and project that the job does not set itself. */
static enum err_code add_settings(struct http_call *call, const struct job_offer *from,
                                  struct wire_offer *offer, struct err *err)
{
    CLEANUP(json_release) json_t *settings = NULL;
    size_t count = 0;
    struct str text;
    const char **env, *name;
    json_t *value, *more;

    TRY(targets_settings(&call->cmd, from->attempt.target, from->job.project, &text, err));
    TRY(json_parse(text, 4 * TARGET_SETTINGS_BYTES_MAX, &settings, err));
    more = json_object_get(settings, "env");
    if (json_object_size(more) == 0)
        return OK;
    while (offer->env && offer->env[count])
        count++;
    env = arena_array(&call->arena, count + json_object_size(more) + 1, sizeof env[0]);
    for (size_t i = 0; i < count; i++)
        env[i] = offer->env[i];
    json_object_foreach(more, name, value) if (!has_variable(offer->env, name)) env[count++] =
        arena_printf(&call->arena, "%s=%s", name, json_string_value(value));
    offer->env = env;
    return OK;
}

/* What an agent is told to run. Specs were checked by the same rules when they were submitted. */
static enum err_code offer_of(struct http_call *call, const struct job_offer *from,
                              struct wire_offer *ret_offer, struct err *err)
{
    const struct job *job = &from->job;
    struct wire_offer offer = {
        .attempt.id = from->attempt.public_id,
        .job = job->public_id,
        .run = job->run_public_id,
        .project = job->project_name,
        .name = job->name,
        .number = from->attempt.number,
        .rank = from->placement.rank,
        .rank_count = from->placement.rank_count,
        .node_count = job->node_count,
        .replica = job->kind == JOB_SERVICE ? job->array_index : 0,
        .cpus = job->need.cpus,
        .memory_bytes = job->need.memory_bytes,
        .gpus = job->need.gpus,
        .timeout_s = job->timeout_s,
        .grace_s = job->grace_s,
        .key = str_from(from->key.text),
        .mounts = from->mounts,
        .mount_count = from->mount_count,
        .registry_user = from->registry_user,
        .registry_secret = from->registry_secret,
        .image = from->image,
    };

    memcpy(offer.attempt.token, from->token, sizeof(offer.attempt.token));
    TRY(wire_offer_take_spec(&call->arena, job->spec, &offer, err));
    add_own(call, from, &offer);
    TRY(add_settings(call, from, &offer, err));
    *ret_offer = offer;
    return OK;
}

static enum err_code polled_of(struct http_call *call, const struct agent_poll_answer *answer,
                               struct wire_polled *ret_polled, struct err *err)
{
    struct wire_offer *offers = arena_array(&call->arena, answer->offer_count, sizeof(offers[0]));

    for (size_t i = 0; i < answer->offer_count; i++)
        TRY(offer_of(call, &answer->offers[i], &offers[i], err));
    *ret_polled = (struct wire_polled){
        .offers = offers,
        .offer_count = answer->offer_count,
        .stops = answer->stops,
        .stop_count = answer->stop_count,
        .fenced = answer->fenced,
        .fenced_count = answer->fenced_count,
        .heartbeat_ms = call->env->domain->config.heartbeat_ms,
    };
    return OK;
}

static struct agent agent_of(const struct http_call *call, const struct wire_poll *poll)
{
    return (struct agent){
        .id = call->who.agent,
        .public_id = http_call_path_id(call, 0),
        .boot = poll->boot,
        .version = poll->version,
        .executor = poll->executor,
        .slots = poll->slots,
        .cpus = poll->cpus,
        .memory_bytes = poll->memory_bytes,
        .gpus = poll->gpus,
        .gpu_type = poll->gpu_type,
        .gpu_memory_bytes = poll->gpu_memory_bytes,
        .several = poll->several,
        .features = poll->features,
    };
}

/* The answer is an error, and what was noted of it stays. */
static enum err_code refuse_clone(struct http_call *call, const struct agent *agent,
                                  struct err *err)
{
    (void)err_set(err, ERR_AGENT_CONFLICT,
                  "two machines call as agent \"%.*s\": nothing new starts on either",
                  STR_ARG(agent->name));
    err_hint(err,
             "each machine needs a key of its own (euvyra agents add NAME); then: euvyra "
             "agents clear %.*s",
             STR_ARG(agent->name));
    call->status = err_code_http_status(ERR_AGENT_CONFLICT);
    http_render_error(err, call->cmd.request_id.data, &call->out);
    return OK;
}

enum err_code http_agent_clear(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct agent agent;

    TRY(agents_clear(&call->cmd, &id, &agent, err));
    http_render_agent(&call->json, &agent, agents_state(&call->cmd, &agent), call->cmd.now);
    return OK;
}

enum err_code http_agent_poll(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);
    struct agent_poll_answer answer;
    struct wire_polled polled;
    struct wire_poll poll;
    struct agent agent;

    TRY(agents_require_own(&call->cmd, &id, err));
    TRY(wire_poll_decode(&call->arena, call->body, &poll, err));
    agent = agent_of(call, &poll);
    TRY(jobs_agent_poll(&call->cmd, &agent, poll.attempts, poll.attempt_count, &answer, err));
    if (answer.call == AGENT_CALL_CONFLICT)
        return refuse_clone(call, &agent, err);
    if (poll.node && answer.call == AGENT_CALL_TAKEN)
        TRY(nodes_told(&call->cmd, agent.id, poll.node, err));
    TRY(polled_of(call, &answer, &polled, err));
    if (answer.call == AGENT_CALL_TAKEN &&
        polled.offer_count + polled.stop_count + polled.fenced_count == 0)
        call->park_ms = MIN(poll.wait_ms, polled.heartbeat_ms);
    wire_polled_encode(&polled, &call->json);
    return OK;
}

static enum err_code take_ref(const struct http_call *call, struct wire_attempt *ret_ref,
                              struct err *err)
{
    struct str token = http_exchange_header(call->exchange, "Euvyra-Attempt-Token");

    ret_ref->id = http_call_path_id(call, 0);
    if (!wire_token_parse(token, ret_ref->token))
        return err_set_field(err, ERR_INVALID, "Euvyra-Attempt-Token",
                             "the header Euvyra-Attempt-Token is missing or misshapen");
    return OK;
}

enum err_code http_attempt_accept(struct http_call *call, struct err *err)
{
    struct str rendezvous = http_exchange_header(call->exchange, "Euvyra-Rendezvous"), host;
    struct wire_attempt ref;
    struct attempt attempt;
    int64_t port;

    TRY(take_ref(call, &ref, err));
    if (rendezvous.data && !wire_rendezvous_parse(rendezvous, &host, &port))
        return err_set_field(err, ERR_INVALID, "Euvyra-Rendezvous",
                             "the header Euvyra-Rendezvous is HOST:PORT");
    TRY(jobs_attempt_accept(&call->cmd, &ref, rendezvous, &attempt, err));
    wire_accepted_encode(&(struct wire_accepted){attempt.state, attempt.rendezvous}, &call->json);
    return OK;
}

/* Leases and run times do not go by the agent's clock; but its logs and metrics do. */
static void warn_of_clock(const struct http_call *call, const struct wire_attempt *ref,
                          const struct wire_status *status)
{
    int64_t ahead = status->at - call->cmd.now;

    if (status->at != TIME_NONE && status->state != WIRE_ENDED &&
        (ahead > CLOCK_MS_MAX || ahead < -CLOCK_MS_MAX))
        log_warn("agent.clock", "attempt", ref->id.text, "ahead_s", LOG_I64(ahead / 1000));
}

enum err_code http_attempt_status(struct http_call *call, struct err *err)
{
    struct wire_status status;
    struct wire_attempt ref;
    struct attempt attempt;

    TRY(take_ref(call, &ref, err));
    TRY(wire_status_decode(call->body, &status, err));
    warn_of_clock(call, &ref, &status);
    TRY(jobs_attempt_status(&call->cmd, &ref, &status, &attempt, err));
    wire_accepted_encode(&(struct wire_accepted){.state = attempt.state}, &call->json);
    return OK;
}

enum err_code http_attempt_console(struct http_call *call, struct err *err)
{
    struct wire_attempt ref;
    int64_t offset = 0, right = 0;
    enum err_code code;

    TRY(take_ref(call, &ref, err));
    TRY(http_call_header_i64(call, "Euvyra-Offset", &offset, err));
    code = jobs_attempt_console(&call->cmd, &ref, offset, http_exchange_body(call->exchange),
                                &right, err);
    if (code == ERR_OFFSET)
        http_call_header_number(call, "Euvyra-Offset", right);
    TRY(code);
    wire_appended_encode(right, &call->json);
    return OK;
}

enum err_code http_attempt_code(struct http_call *call, struct err *err)
{
    struct wire_attempt ref;
    struct job job;
    struct str code;
    int64_t bytes;
    int fd;

    TRY(take_ref(call, &ref, err));
    TRY(jobs_attempt_require(&call->cmd, &ref, &job, err));
    code = jobs_spec_member(&call->cmd, &job, "code");
    if (code.len != 66) /* 64 digits in quotes */
        return err_set(err, ERR_NOT_FOUND, "job %s has no code", job.public_id.text);
    code = str_n(code.data + 1, 64);
    TRY(artifacts_file_open(&call->cmd, job.project, code, &fd, &bytes, err));
    return http_call_file(call, fd, bytes, code, err);
}
