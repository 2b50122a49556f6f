/* Messages between agent and server: first what writes them, then what the agent reads, then what
 * the server reads. */
#include "wire/agent_messages.h"

#include "wire/offer_container.h"

#include <stdio.h>

#define LABEL_BYTES_MAX  63
#define KEY_BYTES_MAX    200
#define REASON_BYTES_MAX 500
#define CODE_LEN         64
#define SECONDS_MAX      INT64_C(31536000)
#define COUNT_MAX        INT64_C(9007199254740991)
#define HEARTBEAT_MS_MAX 3600000
#define WAIT_MS_MAX      60000
#define VERSION_BYTES    40
#define SLOTS_MAX        10000
#define CPUS_MAX         65536
#define GPUS_MAX         1024
#define EXIT_CODE_MAX    255
#define SIGNAL_MAX       64

static const char *const status_names[] = {
    [WIRE_STARTING] = "starting", [WIRE_RUNNING] = "running", [WIRE_ENDED] = "ended"};

static void put_id(struct json_writer *w, const char *key, const struct id *id)
{
    json_put_key(w, key);
    json_put_str(w, id_str(id));
}

static void put_text(struct json_writer *w, const char *key, struct str text)
{
    json_put_key(w, key);
    json_put_str(w, text);
}

static void put_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

void wire_poll_encode(const struct wire_poll *poll, struct json_writer *w)
{
    json_begin_object(w);
    put_text(w, "boot", poll->boot);
    put_text(w, "version", poll->version);
    put_text(w, "executor", poll->executor);
    put_i64(w, "wait_ms", poll->wait_ms);
    json_put_key(w, "capacity");
    json_begin_object(w);
    put_i64(w, "slots", poll->slots);
    put_i64(w, "cpus", poll->cpus);
    put_i64(w, "memory_bytes", poll->memory_bytes);
    put_i64(w, "gpus", poll->gpus);
    if (poll->gpu_type.len)
        put_text(w, "gpu_type", poll->gpu_type);
    if (poll->gpu_memory_bytes)
        put_i64(w, "gpu_memory_bytes", poll->gpu_memory_bytes);
    if (poll->several) {
        json_put_key(w, "several");
        json_put_bool(w, true);
    }
    json_put_key(w, "features");
    json_begin_array(w);
    for (int i = 0; i < FEATURE_COUNT; i++)
        if (poll->features & FEATURE_BIT(i))
            json_put_text(w, job_feature_name((enum job_feature)i));
    json_end_array(w);
    json_end_object(w);
    json_put_key(w, "attempts");
    json_begin_array(w);
    for (size_t i = 0; i < poll->attempt_count; i++) {
        json_begin_object(w);
        put_id(w, "attempt", &poll->attempts[i].id);
        put_text(w, "token", str_from(poll->attempts[i].token));
        json_end_object(w);
    }
    json_end_array(w);
    if (poll->node) {
        json_put_key(w, "node");
        wire_node_encode(poll->node, w);
    }
    json_end_object(w);
}

static void put_env(struct json_writer *w, const char *const *env)
{
    json_put_key(w, "env");
    json_begin_object(w);
    for (; *env; env++) {
        struct str value = str_from(*env), name;

        (void)str_cut(&value, '=', &name); /* every entry has a '=' */
        json_put_key_str(w, name);
        json_put_str(w, value);
    }
    json_end_object(w);
}

void wire_offer_encode(const struct wire_offer *offer, struct json_writer *w)
{
    json_begin_object(w);
    put_id(w, "attempt", &offer->attempt.id);
    put_text(w, "token", str_from(offer->attempt.token));
    put_id(w, "job", &offer->job);
    put_id(w, "run", &offer->run);
    put_text(w, "project", offer->project);
    put_text(w, "name", offer->name);
    put_i64(w, "number", offer->number);
    put_i64(w, "rank", offer->rank);
    put_i64(w, "rank_count", offer->rank_count);
    put_i64(w, "node_count", offer->node_count);
    if (offer->replica)
        put_i64(w, "replica", offer->replica);
    json_put_key(w, "command");
    json_begin_array(w);
    for (const char *const *arg = offer->argv; *arg; arg++)
        json_put_text(w, *arg);
    json_end_array(w);
    put_env(w, offer->env);
    json_put_key(w, "config");
    json_put_raw(w, offer->config);
    json_put_key(w, "code");
    if (offer->code.len)
        json_put_str(w, offer->code);
    else
        json_put_null(w);
    if (offer->extra.len) {
        json_put_key(w, "extra");
        json_put_raw(w, offer->extra);
    }
    wire__container_encode(offer, w);
    put_i64(w, "cpus", offer->cpus);
    put_i64(w, "memory_bytes", offer->memory_bytes);
    put_i64(w, "gpus", offer->gpus);
    put_i64(w, "timeout_s", offer->timeout_s);
    put_i64(w, "grace_s", offer->grace_s);
    put_text(w, "key", offer->key);
    json_end_object(w);
}

static void put_ids(struct json_writer *w, const char *key, const struct id *ids, size_t count)
{
    json_put_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_str(w, id_str(&ids[i]));
    json_end_array(w);
}

void wire_polled_encode(const struct wire_polled *polled, struct json_writer *w)
{
    json_begin_object(w);
    json_put_key(w, "offers");
    json_begin_array(w);
    for (size_t i = 0; i < polled->offer_count; i++)
        wire_offer_encode(&polled->offers[i], w);
    json_end_array(w);
    put_ids(w, "stop", polled->stops, polled->stop_count);
    put_ids(w, "fenced", polled->fenced, polled->fenced_count);
    put_i64(w, "heartbeat_ms", polled->heartbeat_ms);
    json_end_object(w);
}

/* A reason as the other side takes it: one line of valid UTF-8. A report that is refused for its
 * reason would leave the attempt open. */
static void put_line(struct json_writer *w, const char *key, struct str reason, size_t bytes_max)
{
    char line[REASON_BYTES_MAX];
    struct str text = {.data = line, .len = MIN(reason.len, bytes_max)};
    size_t bad = 0;

    ENSURE(bytes_max <= sizeof(line));

    memcpy(line, reason.data, text.len);
    while (text.len < reason.len && text.len > 0 && (reason.data[text.len] & 0xc0) == 0x80)
        text.len--; /* the cut lies inside a character */
    while (!str_is_utf8(text, &bad))
        line[bad] = '?';
    for (size_t i = 0; i < text.len; i++) {
        size_t width = (unsigned char)line[i] == 0xc2 && i + 1 < text.len ? 2 : 1;

        if (str_has_control(str_n(&line[i], width)))
            memset(&line[i], '?', width);
    }
    put_text(w, key, text);
}

static void put_if(struct json_writer *w, const char *key, bool value)
{
    if (!value)
        return;
    json_put_key(w, key);
    json_put_bool(w, true);
}

void wire_status_encode(const struct wire_status *status, struct json_writer *w)
{
    json_begin_object(w);
    put_text(w, "state", str_from(status_names[status->state]));
    if (status->at != TIME_NONE) {
        json_put_key(w, "at");
        json_put_time(w, status->at);
    }
    if (status->exit_code >= 0)
        put_i64(w, "exit_code", status->exit_code);
    if (status->exit_signal > 0)
        put_i64(w, "signal", status->exit_signal);
    json_put_key(w, "oom");
    json_put_bool(w, status->oom);
    json_put_key(w, "failed_to_start");
    json_put_bool(w, status->failed_to_start);
    json_put_key(w, "timed_out");
    json_put_bool(w, status->timed_out);
    json_put_key(w, "stopped");
    json_put_bool(w, status->stopped);
    put_if(w, "unhealthy", status->unhealthy);
    put_if(w, "image_failed", status->image_failed);
    put_if(w, "disk_full", status->disk_full);
    put_if(w, "gpu_failed", status->gpu_failed);
    if (status->image.len)
        put_text(w, "image", status->image);
    if (status->rendezvous.len)
        put_text(w, "rendezvous", status->rendezvous);
    if (status->progress.len)
        put_line(w, "progress", status->progress, REASON_BYTES_MAX);
    if (status->health)
        put_text(w, "health", str_from(health_state_name(status->health)));
    if (status->health_problem.len)
        put_line(w, "health_problem", status->health_problem, HEALTH_PROBLEM_BYTES_MAX);
    if (status->reason.len)
        put_line(w, "reason", status->reason, REASON_BYTES_MAX);
    if (status->run_time_ms >= 0)
        put_i64(w, "run_time_ms", status->run_time_ms);
    if (status->console_bytes >= 0)
        put_i64(w, "console_bytes", status->console_bytes);
    json_put_key(w, "final");
    json_put_bool(w, status->final);
    json_end_object(w);
}

static enum err_code take_id(struct json_reader *r, const char *name, enum id_kind kind,
                             struct id *ret_id)
{
    struct str text = {0};

    json_take_text(r, name, ID_LEN, &text);
    if (r->code == OK && !id_parse(text, kind, ret_id))
        r->code = err_set_field(r->err, ERR_INVALID, name, "%s: \"%.*s\" is not such an id", name,
                                STR_ARG(text));
    return r->code;
}

bool wire_token_parse(struct str text, char ret_token[WIRE_TOKEN_LEN + 1])
{
    if (text.len != WIRE_TOKEN_LEN)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
    }
    memcpy(ret_token, text.data, WIRE_TOKEN_LEN);
    ret_token[WIRE_TOKEN_LEN] = '\0';
    return true;
}

static enum err_code decode_argv(struct arena *arena, json_t *array, struct wire_offer *offer,
                                 struct err *err)
{
    size_t count = json_array_size(array);
    const char **argv = arena_array(arena, count + 1, sizeof(argv[0]));

    if (count == 0)
        return err_set_field(err, ERR_INVALID, "command", "command: is empty");
    for (size_t i = 0; i < count; i++) {
        json_t *arg = json_array_get(array, i);

        if (!json_is_string(arg))
            return err_set_field(err, ERR_INVALID, "command", "command: expected texts");
        argv[i] = arena_text(arena, str_n(json_string_value(arg), json_string_length(arg)));
    }
    if (argv[0][0] == '\0')
        return err_set_field(err, ERR_INVALID, "command", "command: the program is empty");
    offer->argv = argv;
    return OK;
}

static bool env_name_is_valid(const char *name)
{
    for (const char *at = name; *at; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';

        if (!letter && (at == name || *at < '0' || *at > '9'))
            return false;
    }
    return name[0] != '\0';
}

static enum err_code decode_env(struct arena *arena, json_t *object, struct wire_offer *offer,
                                struct err *err)
{
    size_t count = json_object_size(object), i = 0;
    const char **env = arena_array(arena, count + 1, sizeof(env[0]));
    const char *name;
    json_t *value;

    if (count > WIRE_OFFER_ENV_MAX)
        return err_set_field(err, ERR_INVALID, "env", "env: has more than %d entries",
                             WIRE_OFFER_ENV_MAX);
    json_object_foreach(object, name, value)
    {
        if (!env_name_is_valid(name) || !json_is_string(value) ||
            json_string_length(value) > WIRE_SECRET_BYTES_MAX)
            return err_set_field(err, ERR_INVALID, "env", "env: \"%.60s\" is not usable", name);
        env[i++] = arena_printf(arena, "%s=%s", name, json_string_value(value));
    }
    offer->env = env;
    return OK;
}

static enum err_code text_of(struct arena *arena, const json_t *object, const char *what,
                             struct str *ret_text, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;

    buf_init(&text, WIRE_CONFIG_BYTES_MAX);
    json_writer_init(&w, &text);
    json_put_value(&w, object);
    TRY(buf_check(&text, what, err));
    *ret_text = arena_copy(arena, buf_str(&text));
    return OK;
}

static enum err_code decode_config(struct arena *arena, json_t *object, struct wire_offer *offer,
                                   struct err *err)
{
    offer->config = STR("{}");
    return object ? text_of(arena, object, "the config of a job", &offer->config, err) : OK;
}

/* What a job runs, as an offer and a spec say it. */
struct work_parts {
    json_t *command, *env, *config;
    struct str code;
};

static void take_work(struct json_reader *r, struct work_parts *ret_parts)
{
    json_take_array_opt(r, "command", WIRE_ARGS_MAX, &ret_parts->command);
    json_take_object_opt(r, "env", &ret_parts->env);
    json_take_object_opt(r, "config", &ret_parts->config);
    json_take_text_opt(r, "code", CODE_LEN, &ret_parts->code);
}

static bool code_is_valid(struct str code)
{
    for (size_t i = 0; i < code.len; i++) {
        if (!memchr("0123456789abcdef", code.data[i], 16))
            return false;
    }
    return code.len == 0 || code.len == CODE_LEN;
}

static enum err_code fill_work(struct arena *arena, const struct work_parts *parts,
                               struct wire_offer *offer, struct err *err)
{
    if (!code_is_valid(parts->code))
        return err_set_field(err, ERR_INVALID, "code", "code: is not a SHA-256");
    offer->code = arena_copy(arena, parts->code);
    TRY(decode_argv(arena, parts->command, offer, err));
    TRY(decode_env(arena, parts->env, offer, err));
    return decode_config(arena, parts->config, offer, err);
}

/* What a spec says for the executor alone. */
static enum err_code take_extra(struct arena *arena, const json_t *spec, struct str *ret_extra,
                                struct err *err)
{
    static const char *const names[] = {"image",   "launcher", "shm_bytes",      "disk_bytes",
                                        "pids",    "volumes",  "read_only_root", "registry",
                                        "buckets", "health"};
    CLEANUP(json_release) json_t *extra = json_object();

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_object_get(spec, names[i]))
            (void)json_object_set(extra, names[i], json_object_get(spec, names[i]));
    if (json_object_size(extra) == 0)
        return OK;
    return text_of(arena, extra, "what a spec says for the executor", ret_extra, err);
}

enum err_code wire_offer_take_spec(struct arena *arena, struct str spec, struct wire_offer *offer,
                                   struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    struct work_parts parts = {0};
    struct json_reader r;

    TRY(json_parse(spec, WIRE_MESSAGE_BYTES_MAX, &document, err));
    json_reader_init(&r, document, "", err);
    take_work(&r, &parts);
    TRY(json_reader_end_open(&r));
    TRY(take_extra(arena, document, &offer->extra, err));
    return fill_work(arena, &parts, offer, err);
}

enum err_code wire_offer_health(struct arena *arena, const struct wire_offer *offer,
                                struct health_spec *ret_spec, struct err *err)
{
    CLEANUP(json_release) json_t *extra = NULL;
    struct health_spec spec = {0};
    struct json_reader r;

    if (offer->extra.len)
        TRY(json_parse(offer->extra, WIRE_MESSAGE_BYTES_MAX, &extra, err));
    if (json_object_get(extra, "health")) {
        json_reader_init(&r, json_object_get(extra, "health"), "health.", err);
        health_spec_take(&r, &spec);
        TRY(json_reader_end_open(&r));
        spec.path = arena_copy(arena, spec.path);
    }
    *ret_spec = spec;
    return OK;
}

static enum err_code check_offer(struct arena *arena, struct wire_offer *offer, struct str token,
                                 struct err *err)
{
    if (!wire_token_parse(token, offer->attempt.token))
        return err_set_field(err, ERR_INVALID, "token", "token: is not an attempt token");
    if (!str_is_label(offer->project, LABEL_BYTES_MAX))
        return err_set_field(err, ERR_INVALID, "project", "project: is not a label");
    offer->project = arena_copy(arena, offer->project);
    offer->name = arena_copy(arena, offer->name);
    offer->key = arena_copy(arena, offer->key);
    offer->image = arena_copy(arena, offer->image);
    return OK;
}

static enum err_code decode_offer(struct arena *arena, json_t *object, struct wire_offer *ret_offer,
                                  struct err *err)
{
    struct wire_offer offer = {.number = 1, .rank_count = 1, .node_count = 1};
    struct work_parts parts = {0};
    struct str token = {0};
    json_t *extra = NULL, *mounts = NULL, *registry = NULL;
    struct json_reader r;

    json_reader_init(&r, object, "", err);
    TRY(take_id(&r, "attempt", ID_ATTEMPT, &offer.attempt.id));
    TRY(take_id(&r, "job", ID_JOB, &offer.job));
    TRY(take_id(&r, "run", ID_RUN, &offer.run));
    json_take_text(&r, "token", WIRE_TOKEN_LEN, &token);
    json_take_text(&r, "project", LABEL_BYTES_MAX, &offer.project);
    json_take_text_opt(&r, "name", NAME_BYTES_MAX, &offer.name);
    json_take_i64_opt(&r, "number", 1, COUNT_MAX, &offer.number);
    json_take_i64_opt(&r, "rank", 0, JOB_NODES_MAX, &offer.rank);
    json_take_i64_opt(&r, "rank_count", 1, JOB_NODES_MAX, &offer.rank_count);
    json_take_i64_opt(&r, "node_count", 1, JOB_NODES_MAX, &offer.node_count);
    json_take_i64_opt(&r, "replica", 0, JOB_ARRAY_MAX, &offer.replica);
    json_take_object_opt(&r, "extra", &extra);
    json_take_text_opt(&r, "image", WIRE_IMAGE_BYTES_MAX, &offer.image);
    json_take_array_opt(&r, "mounts", WIRE_MOUNTS_MAX, &mounts);
    json_take_object_opt(&r, "registry", &registry);
    take_work(&r, &parts);
    json_take_i64_opt(&r, "cpus", 0, COUNT_MAX, &offer.cpus);
    json_take_i64_opt(&r, "memory_bytes", 0, COUNT_MAX, &offer.memory_bytes);
    json_take_i64_opt(&r, "gpus", 0, COUNT_MAX, &offer.gpus);
    json_take_i64(&r, "timeout_s", 0, SECONDS_MAX, &offer.timeout_s);
    json_take_i64(&r, "grace_s", 0, SECONDS_MAX, &offer.grace_s);
    json_take_text(&r, "key", KEY_BYTES_MAX, &offer.key);
    TRY(json_reader_end_open(&r));
    TRY(check_offer(arena, &offer, token, err));
    TRY(fill_work(arena, &parts, &offer, err));
    if (extra)
        TRY(text_of(arena, extra, "what else its spec says", &offer.extra, err));
    TRY(wire__container_take(arena, mounts, registry, &offer, err));
    *ret_offer = offer;
    return OK;
}

enum err_code wire_offer_decode(struct arena *arena, struct str text, struct wire_offer *ret_offer,
                                struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;

    TRY(json_parse(text, WIRE_MESSAGE_BYTES_MAX, &document, err));
    return decode_offer(arena, document, ret_offer, err);
}

static enum err_code decode_ids(struct arena *arena, json_t *array, struct id **ret_ids,
                                size_t *ret_count, struct err *err)
{
    size_t count = json_array_size(array);
    struct id *ids = arena_array(arena, count, sizeof(ids[0]));

    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(array, i));

        if (!text || !id_parse(str_from(text), ID_ATTEMPT, &ids[i]))
            return err_set(err, ERR_INVALID, "a list of attempts holds what is none");
    }
    *ret_ids = ids;
    *ret_count = count;
    return OK;
}

enum err_code wire_polled_decode(struct arena *arena, struct str text,
                                 struct wire_polled *ret_polled, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    json_t *offers = NULL, *stops = NULL, *fenced = NULL;
    struct wire_polled polled = {0};
    struct json_reader r;

    TRY(json_parse(text, WIRE_MESSAGE_BYTES_MAX, &document, err));
    json_reader_init(&r, document, "", err);
    json_take_array_opt(&r, "offers", WIRE_OFFERS_MAX, &offers);
    json_take_array_opt(&r, "stop", WIRE_ATTEMPTS_MAX, &stops);
    json_take_array_opt(&r, "fenced", WIRE_ATTEMPTS_MAX, &fenced);
    json_take_i64(&r, "heartbeat_ms", 1, HEARTBEAT_MS_MAX, &polled.heartbeat_ms);
    TRY(json_reader_end_open(&r));
    TRY(decode_ids(arena, stops, &polled.stops, &polled.stop_count, err));
    TRY(decode_ids(arena, fenced, &polled.fenced, &polled.fenced_count, err));
    polled.offer_count = json_array_size(offers);
    polled.offers = arena_array(arena, polled.offer_count, sizeof(polled.offers[0]));
    for (size_t i = 0; i < polled.offer_count; i++)
        TRY(decode_offer(arena, json_array_get(offers, i), &polled.offers[i], err));
    *ret_polled = polled;
    return OK;
}

/* An agent that does not say it can do what all could before they were asked. */
static void take_features(struct json_reader *r, struct wire_poll *poll)
{
    json_t *array = NULL;

    poll->features = FEATURE_BIT(FEATURE_NODES);
    json_take_array_opt(r, "features", FEATURE_COUNT, &array);
    if (!array)
        return;
    poll->features = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));
        enum job_feature feature = name ? job_feature_from_name(str_from(name)) : FEATURE_COUNT;
        if (feature == FEATURE_COUNT || poll->features & FEATURE_BIT(feature)) {
            json_reader_fail(r, "features", "has an item that is no feature, or is there twice");
            return;
        }
        poll->features |= FEATURE_BIT(feature);
    }
}

static void take_capacity(json_t *object, struct wire_poll *poll, struct json_reader *outer)
{
    struct json_reader r;

    json_reader_init_strict(&r, object, "capacity.", outer->err);
    json_take_i64(&r, "slots", 0, SLOTS_MAX, &poll->slots);
    json_take_i64(&r, "cpus", 0, CPUS_MAX, &poll->cpus);
    json_take_i64(&r, "memory_bytes", 0, COUNT_MAX, &poll->memory_bytes);
    json_take_i64(&r, "gpus", 0, GPUS_MAX, &poll->gpus);
    json_take_text_opt(&r, "gpu_type", GPU_TYPE_BYTES_MAX, &poll->gpu_type);
    json_take_i64_opt(&r, "gpu_memory_bytes", 0, COUNT_MAX, &poll->gpu_memory_bytes);
    json_take_bool_opt(&r, "several", &poll->several);
    take_features(&r, poll);
    if (outer->code == OK)
        outer->code = json_reader_end(&r);
}

static enum err_code take_attempt(json_t *object, size_t index, struct wire_attempt *ret_attempt,
                                  struct err *err)
{
    char path[40], problem[80];
    struct str id = {0}, token = {0};
    struct json_reader r;

    (void)snprintf(path, sizeof(path), "attempts[%zu].", index);
    json_reader_init_strict(&r, object, path, err);
    json_take_text(&r, "attempt", ID_LEN, &id);
    json_take_text(&r, "token", WIRE_TOKEN_LEN, &token);
    TRY(json_reader_end(&r));
    if (!id_parse(id, ID_ATTEMPT, &ret_attempt->id)) {
        (void)snprintf(problem, sizeof(problem), "\"%.*s\" is not the id of an attempt",
                       STR_ARG(id));
        json_reader_fail(&r, "attempt", problem);
    } else if (!wire_token_parse(token, ret_attempt->token)) {
        json_reader_fail(&r, "token", "is not an attempt token"); /* a secret: not shown */
    }
    return r.code;
}

static enum err_code take_attempts(struct arena *arena, json_t *array, struct wire_poll *poll,
                                   struct err *err)
{
    size_t count = json_array_size(array);
    struct wire_attempt *attempts = arena_array(arena, count, sizeof(attempts[0]));

    for (size_t i = 0; i < count; i++)
        TRY(take_attempt(json_array_get(array, i), i, &attempts[i], err));
    poll->attempts = attempts;
    poll->attempt_count = count;
    return OK;
}

static bool boot_is_valid(struct str boot)
{
    for (size_t i = 0; i < boot.len; i++) {
        if (!memchr("abcdefghijklmnopqrstuvwxyz234567", boot.data[i], 32))
            return false;
    }
    return boot.len == WIRE_BOOT_LEN;
}

enum err_code wire_poll_decode(struct arena *arena, json_t *body, struct wire_poll *ret_poll,
                               struct err *err)
{
    struct wire_poll poll = {.executor = STR("process")};
    json_t *capacity = NULL, *attempts = NULL, *node = NULL;
    struct json_reader r;

    json_reader_init_strict(&r, body, "", err);
    json_take_object_opt(&r, "node", &node);
    json_take_text(&r, "boot", WIRE_BOOT_LEN, &poll.boot);
    json_take_text(&r, "version", VERSION_BYTES, &poll.version);
    json_take_text_opt(&r, "executor", LABEL_BYTES_MAX, &poll.executor);
    json_take_i64(&r, "wait_ms", 0, WAIT_MS_MAX, &poll.wait_ms);
    json_take_object_opt(&r, "capacity", &capacity);
    json_take_array_opt(&r, "attempts", WIRE_ATTEMPTS_MAX, &attempts);
    if (!boot_is_valid(poll.boot))
        json_reader_fail(&r, "boot", "expected 12 of a-z and 2-7");
    if (!str_eq_c(poll.executor, "process") && !str_eq_c(poll.executor, "docker") &&
        !str_eq_c(poll.executor, "kubernetes"))
        json_reader_fail(&r, "executor", "expected \"process\", \"docker\" or \"kubernetes\"");
    if (!capacity)
        json_reader_fail(&r, "capacity", "is required");
    if (!attempts)
        json_reader_fail(&r, "attempts", "is required");
    if (r.code == OK)
        take_capacity(capacity, &poll, &r);
    TRY(json_reader_end(&r));
    TRY(take_attempts(arena, attempts, &poll, err));
    if (node) {
        struct wire_node *said = ARENA_NEW(arena, struct wire_node);
        TRY(wire_node_decode(arena, node, "node.", said, err));
        poll.node = said;
    }
    *ret_poll = poll;
    return OK;
}

static void take_state(struct json_reader *r, enum wire_attempt_state *ret_state)
{
    struct str name = {0};

    json_take_text(r, "state", LABEL_BYTES_MAX, &name);
    for (size_t i = 0; i < ARRAY_LEN(status_names); i++) {
        if (str_eq_c(name, status_names[i])) {
            *ret_state = (enum wire_attempt_state)i;
            return;
        }
    }
    json_reader_fail(r, "state", "expected \"starting\", \"running\" or \"ended\"");
}

static void take_health(struct json_reader *r, struct wire_status *status)
{
    struct str name = {0};

    json_take_bool_opt(r, "unhealthy", &status->unhealthy);
    json_take_text_opt(r, "health", LABEL_BYTES_MAX, &name);
    json_take_text_opt(r, "health_problem", HEALTH_PROBLEM_BYTES_MAX, &status->health_problem);
    status->health = name.data ? health_state_from_name(name) : HEALTH_NONE;
    if (name.data && (status->health == HEALTH_NONE || status->health == HEALTH_STATE_COUNT))
        json_reader_fail(r, "health", "expected \"starting\", \"healthy\" or \"unhealthy\"");
    if (status->health_problem.data && !name.data)
        json_reader_fail(r, "health_problem", "is of a \"health\", and there is none");
}

enum err_code wire_status_decode(json_t *body, struct wire_status *ret_status, struct err *err)
{
    struct wire_status status = {.at = TIME_NONE, .run_time_ms = -1, .console_bytes = -1};
    int64_t exit_code = EXIT_NONE, exit_signal = EXIT_NONE, port;
    struct json_reader r;
    struct str host;

    json_reader_init_strict(&r, body, "", err);
    take_state(&r, &status.state);
    json_take_time_opt(&r, "at", &status.at);
    json_take_i64_opt(&r, "exit_code", 0, EXIT_CODE_MAX, &exit_code);
    json_take_i64_opt(&r, "signal", 1, SIGNAL_MAX, &exit_signal);
    json_take_bool_opt(&r, "oom", &status.oom);
    json_take_bool_opt(&r, "failed_to_start", &status.failed_to_start);
    json_take_bool_opt(&r, "timed_out", &status.timed_out);
    json_take_bool_opt(&r, "stopped", &status.stopped);
    json_take_bool_opt(&r, "image_failed", &status.image_failed);
    json_take_bool_opt(&r, "disk_full", &status.disk_full);
    json_take_bool_opt(&r, "gpu_failed", &status.gpu_failed);
    json_take_text_opt(&r, "image", WIRE_IMAGE_BYTES_MAX, &status.image);
    json_take_text_opt(&r, "progress", REASON_BYTES_MAX, &status.progress);
    json_take_text_opt(&r, "rendezvous", WIRE_RENDEZVOUS_MAX, &status.rendezvous);
    if (status.rendezvous.len && !wire_rendezvous_parse(status.rendezvous, &host, &port))
        json_reader_fail(&r, "rendezvous", "is not HOST:PORT");
    take_health(&r, &status);
    json_take_text_opt(&r, "reason", REASON_BYTES_MAX, &status.reason);
    json_take_i64_opt(&r, "run_time_ms", 0, COUNT_MAX, &status.run_time_ms);
    json_take_i64_opt(&r, "console_bytes", 0, COUNT_MAX, &status.console_bytes);
    json_take_bool_opt(&r, "final", &status.final);
    TRY(json_reader_end(&r));
    status.exit_code = (int)exit_code;
    status.exit_signal = (int)exit_signal;
    *ret_status = status;
    return OK;
}
