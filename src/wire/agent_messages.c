/* Messages between agent and server. */
#include "wire/agent_messages.h"

#include <stdio.h>

#define NAME_BYTES_MAX   200
#define LABEL_BYTES_MAX  63
#define KEY_BYTES_MAX    200
#define REASON_BYTES_MAX 500
#define SECONDS_MAX      INT64_C(31536000)
#define COUNT_MAX        INT64_C(9007199254740991)
#define HEARTBEAT_MS_MAX 3600000

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
    put_text(w, "boot", str_from(poll->boot));
    put_text(w, "version", str_from(poll->version));
    put_text(w, "executor", str_from(poll->executor));
    put_i64(w, "wait_ms", poll->wait_ms);
    json_put_key(w, "capacity");
    json_begin_object(w);
    put_i64(w, "slots", poll->slots);
    put_i64(w, "cpus", poll->cpus);
    put_i64(w, "memory_bytes", poll->memory_bytes);
    put_i64(w, "gpus", poll->gpus);
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
    put_i64(w, "cpus", offer->cpus);
    put_i64(w, "memory_bytes", offer->memory_bytes);
    put_i64(w, "gpus", offer->gpus);
    put_i64(w, "timeout_s", offer->timeout_s);
    put_i64(w, "grace_s", offer->grace_s);
    put_text(w, "key", offer->key);
    json_end_object(w);
}

void wire_status_encode(const struct wire_status *status, struct json_writer *w)
{
    static const char *const names[] = {"starting", "running", "ended"};

    json_begin_object(w);
    put_text(w, "state", str_from(names[status->state]));
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
    if (status->reason && status->reason[0]) {
        struct str reason = str_from(status->reason);

        reason.len = MIN(reason.len, (size_t)REASON_BYTES_MAX);
        while (!str_is_utf8(reason, NULL)) /* the cut may lie inside a character */
            reason.len--;
        put_text(w, "reason", reason);
    }
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

static bool token_is_valid(struct str token)
{
    for (size_t i = 0; i < token.len; i++) {
        char c = token.data[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
            return false;
    }
    return token.len == WIRE_TOKEN_LEN;
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

    if (count > WIRE_ENV_MAX)
        return err_set_field(err, ERR_INVALID, "env", "env: has more than %d entries",
                             WIRE_ENV_MAX);
    json_object_foreach(object, name, value)
    {
        if (!env_name_is_valid(name) || !json_is_string(value) ||
            json_string_length(value) > WIRE_ENV_BYTES_MAX)
            return err_set_field(err, ERR_INVALID, "env", "env: \"%.60s\" is not usable", name);
        env[i++] = arena_printf(arena, "%s=%s", name, json_string_value(value));
    }
    offer->env = env;
    return OK;
}

static enum err_code decode_config(struct arena *arena, json_t *object, struct wire_offer *offer,
                                   struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct json_writer w;

    buf_init(&text, WIRE_CONFIG_BYTES_MAX);
    json_writer_init(&w, &text);
    if (object)
        json_put_value(&w, object);
    else
        (void)buf_add_text(&text, "{}");
    TRY(buf_check(&text, "the config of a job", err));
    offer->config = arena_copy(arena, buf_str(&text));
    return OK;
}

static enum err_code check_offer(struct arena *arena, struct wire_offer *offer, struct str token,
                                 struct err *err)
{
    uint8_t ignored = 0;

    if (!token_is_valid(token))
        return err_set_field(err, ERR_INVALID, "token", "token: is not an attempt token");
    memcpy(offer->attempt.token, token.data, token.len);
    if (!str_is_label(offer->project, LABEL_BYTES_MAX))
        return err_set_field(err, ERR_INVALID, "project", "project: is not a label");
    for (size_t i = 0; i < offer->code.len; i++) {
        if (!strchr("0123456789abcdef", offer->code.data[i]))
            ignored = 1;
    }
    if (offer->code.len != 0 && (offer->code.len != 64 || ignored))
        return err_set_field(err, ERR_INVALID, "code", "code: is not a SHA-256");
    offer->project = arena_copy(arena, offer->project);
    offer->name = arena_copy(arena, offer->name);
    offer->code = arena_copy(arena, offer->code);
    offer->key = arena_copy(arena, offer->key);
    return OK;
}

static enum err_code decode_offer(struct arena *arena, json_t *object, struct wire_offer *ret_offer,
                                  struct err *err)
{
    struct wire_offer offer = {.number = 1};
    struct str token = {0};
    json_t *command = NULL, *env = NULL, *config = NULL;
    struct json_reader r;

    json_reader_init(&r, object, "", err);
    TRY(take_id(&r, "attempt", ID_ATTEMPT, &offer.attempt.id));
    TRY(take_id(&r, "job", ID_JOB, &offer.job));
    TRY(take_id(&r, "run", ID_RUN, &offer.run));
    json_take_text(&r, "token", WIRE_TOKEN_LEN, &token);
    json_take_text(&r, "project", LABEL_BYTES_MAX, &offer.project);
    json_take_text_opt(&r, "name", NAME_BYTES_MAX, &offer.name);
    json_take_i64_opt(&r, "number", 1, COUNT_MAX, &offer.number);
    json_take_array_opt(&r, "command", WIRE_ARGS_MAX, &command);
    json_take_object_opt(&r, "env", &env);
    json_take_object_opt(&r, "config", &config);
    json_take_text_opt(&r, "code", 64, &offer.code);
    json_take_i64_opt(&r, "cpus", 0, COUNT_MAX, &offer.cpus);
    json_take_i64_opt(&r, "memory_bytes", 0, COUNT_MAX, &offer.memory_bytes);
    json_take_i64_opt(&r, "gpus", 0, COUNT_MAX, &offer.gpus);
    json_take_i64(&r, "timeout_s", 1, SECONDS_MAX, &offer.timeout_s);
    json_take_i64(&r, "grace_s", 0, SECONDS_MAX, &offer.grace_s);
    json_take_text(&r, "key", KEY_BYTES_MAX, &offer.key);
    TRY(json_reader_end_open(&r));
    TRY(check_offer(arena, &offer, token, err));
    TRY(decode_argv(arena, command, &offer, err));
    TRY(decode_env(arena, env, &offer, err));
    TRY(decode_config(arena, config, &offer, err));
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
