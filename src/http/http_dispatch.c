/* Admission. Order matters: a caller learns nothing about a thing before it is known to be allowed
 * to see it, and no body is read before its size is. */
#include "http/http_dispatch.h"

#include "domain/identity/identity.h"
#include "domain/jobs/jobs.h"
#include "domain/projects/projects.h"
#include "domain/runs/runs.h"
#include "gen/http_routes.h"

#define COOKIE_NAME "__Host-euvyra="

static enum err_code check_version(const struct http_exchange *x, struct err *err)
{
    struct str client = http_exchange_header(x, "Euvyra-Client"), part;
    int64_t protocol = HTTP_PROTOCOL;

    if (!client.data)
        return OK;
    while (str_cut(&client, ';', &part), part.len || client.len) {
        part = str_trim(part);
        if (str_starts(part, STR("protocol=")) &&
            !str_to_i64(str_n(part.data + 9, part.len - 9), &protocol))
            return err_set_field(err, ERR_INVALID, "Euvyra-Client", "protocol is not a number");
    }
    if (protocol >= HTTP_PROTOCOL_MIN && protocol <= HTTP_PROTOCOL)
        return OK;
    (void)err_set(err, ERR_UPGRADE, "this server speaks protocol %d to %d, the client %lld",
                  HTTP_PROTOCOL_MIN, HTTP_PROTOCOL, (long long)protocol);
    err_hint(err, protocol > HTTP_PROTOCOL ? "upgrade the server" : "upgrade the client");
    return ERR_UPGRADE;
}

static enum err_code find_route(const struct http_exchange *x, struct str method, struct str path,
                                struct http_route_match *ret_match, struct err *err)
{
    http_route_find(http_path_nodes, method, path, ret_match);
    if (!ret_match->route && ret_match->allow)
        return err_set(err, ERR_METHOD, "%.*s is not possible here; allowed: %s", STR_ARG(method),
                       ret_match->allow);
    if (!ret_match->route)
        return err_set(err, ERR_NOT_FOUND, "there is nothing at %.*s",
                       (int)MIN(path.len, (size_t)200), path.data);
    return check_version(x, err);
}

static enum err_code check_encoding(const struct http_exchange *x, struct err *err)
{
    struct str encoding = http_exchange_header(x, "Content-Encoding");

    if (encoding.data && !str_eq_c(encoding, "identity"))
        return err_set_field(err, ERR_MEDIA_TYPE, "Content-Encoding",
                             "a body with Content-Encoding \"%.*s\" is not accepted",
                             (int)MIN(encoding.len, (size_t)40), encoding.data);
    return OK;
}

enum err_code http_dispatch_head(const struct http_head *head, struct http_body_plan *ret_plan,
                                 struct err *err)
{
    struct http_route_match match = {0};
    enum err_code code = find_route(head->exchange, head->method, head->path, &match, err);

    ret_plan->allow = match.allow;
    TRY(code);
    if (head->content_length != 0)
        TRY(check_encoding(head->exchange, err));
    ret_plan->bytes_max = match.route->body_bytes_max;
    ret_plan->to_file = match.route->body_to_file;
    return OK;
}

enum err_code http_dispatch_route(struct http_call *call, struct err *err)
{
    struct http_route_match match;

    TRY(find_route(call->exchange, http_exchange_method(call->exchange),
                   http_exchange_path(call->exchange), &match, err));
    call->route = match.route;
    call->param_count = match.param_count;
    for (size_t i = 0; i < match.param_count; i++)
        call->params[i] = arena_copy(&call->arena, match.params[i]);
    return OK;
}

/* The session token in the Cookie header, or {0}. */
static struct str session_token(const struct http_exchange *x)
{
    struct str cookies = http_exchange_header(x, "Cookie"), part;

    if (!cookies.data)
        return (struct str){0};
    do {
        (void)str_cut(&cookies, ';', &part);
        part = str_trim(part);
        if (str_starts(part, STR(COOKIE_NAME)))
            return str_n(part.data + sizeof COOKIE_NAME - 1, part.len - sizeof COOKIE_NAME + 1);
    } while (cookies.len);
    return (struct str){0};
}

/* A browser sends cookies by itself, so a change needs what another site cannot send: our own
 * header and this very origin. */
static enum err_code check_origin(const struct http_call *call, struct err *err)
{
    struct str origin = http_exchange_header(call->exchange, "Origin");
    struct str host = http_exchange_header(call->exchange, "Host");
    struct str scheme = call->env->tls ? STR("https://") : STR("http://");

    if (!str_eq_c(http_exchange_header(call->exchange, "Euvyra-Console"), "1"))
        return err_set_field(err, ERR_FORBIDDEN, "Euvyra-Console",
                             "a change with a session needs the header Euvyra-Console: 1");
    if (!str_starts(origin, scheme) ||
        !str_eq(str_n(origin.data + scheme.len, origin.len - scheme.len), host))
        return err_set_field(err, ERR_FORBIDDEN, "Origin", "the request comes from another site");
    return OK;
}

static bool is_reading(const struct http_call *call)
{
    return str_eq_c(str_from(call->route->method), "GET");
}

static enum err_code authenticate(struct http_call *call, struct err *err)
{
    struct str authorization = http_exchange_header(call->exchange, "Authorization");
    struct str token;

    if (authorization.data) {
        if (!str_starts(authorization, STR("Bearer ")))
            return err_set_field(err, ERR_UNAUTHENTICATED, "Authorization",
                                 "expected Authorization: Bearer <key>");
        return identity_by_key(&call->cmd, str_n(authorization.data + 7, authorization.len - 7),
                               &call->who, err);
    }
    token = session_token(call->exchange);
    if (!token.data)
        return call->route->role == HTTP_ROLE_PUBLIC
                   ? OK
                   : err_set(err, ERR_UNAUTHENTICATED, "sign in, or send a key");
    if (call->route->role == HTTP_ROLE_PUBLIC)
        return OK; /* an old cookie is no reason to refuse a sign-in */
    if (!is_reading(call))
        TRY(check_origin(call, err));
    return identity_by_session(&call->cmd, token, &call->who, &call->session_stale, err);
}

static uint32_t principal_bit(enum principal_kind kind)
{
    switch (kind) {
    case PRINCIPAL_SESSION: return HTTP_PRINCIPAL_SESSION;
    case PRINCIPAL_USER: return HTTP_PRINCIPAL_USER;
    case PRINCIPAL_SERVICE: return HTTP_PRINCIPAL_SERVICE;
    case PRINCIPAL_JOB: return HTTP_PRINCIPAL_JOB;
    case PRINCIPAL_AGENT: return HTTP_PRINCIPAL_AGENT;
    case PRINCIPAL_NOBODY: break;
    }
    return 0;
}

static enum role role_needed(enum http_role role)
{
    return role == HTTP_ROLE_OWNER    ? ROLE_OWNER
           : role == HTTP_ROLE_EDITOR ? ROLE_EDITOR
                                      : ROLE_VIEWER;
}

/* Loads what the scope names; the role is checked on its project. */
static enum err_code load_scope(struct http_call *call, struct err *err)
{
    enum role need = role_needed(call->route->role);
    struct id id;

    switch (call->route->scope) {
    case HTTP_SCOPE_PROJECT:
        return projects_require(&call->cmd, http_call_path(call, 0), need, &call->project, err);
    case HTTP_SCOPE_RUN:
        id = http_call_path_id(call, 0);
        return runs_require(&call->cmd, &id, need, call->route->fenced, &call->run, err);
    case HTTP_SCOPE_JOB:
        id = http_call_path_id(call, 0);
        return jobs_require(&call->cmd, &id, need, &call->job, err);
    case HTTP_SCOPE_NONE:
    case HTTP_SCOPE_KEY: break;
    }
    return OK;
}

static enum err_code authorise(struct http_call *call, struct err *err)
{
    const struct http_route *route = call->route;

    if (route->role == HTTP_ROLE_PUBLIC)
        return OK;
    if (!(route->principals & principal_bit(call->who.kind)))
        return err_set(err, ERR_FORBIDDEN, "a key of kind %s cannot do this",
                       principal_kind_name(call->who.kind));
    if (route->role == HTTP_ROLE_ADMIN && !call->who.admin)
        return err_set(err, ERR_FORBIDDEN, "only administrators can do this");
    return load_scope(call, err);
}

static const struct http_param *param_of(const struct http_route *route, struct str name)
{
    for (size_t i = 0; i < route->param_count; i++)
        if (route->params[i].kind == HTTP_PARAM_QUERY && str_eq_c(name, route->params[i].name))
            return &route->params[i];
    return NULL;
}

static enum err_code check_query(struct http_call *call, struct err *err)
{
    struct str name, value, first;

    for (size_t i = 0; http_exchange_query_at(call->exchange, i, &name, &value); i++) {
        const struct http_param *param = param_of(call->route, name);
        bool twice = false;
        char *field = arena_text(&call->arena, str_n(name.data, MIN(name.len, (size_t)60)));
        if (!param)
            return err_set_field(err, ERR_UNKNOWN_FIELD, field, "unknown query parameter \"%s\"",
                                 field);
        TRY(http_param_check(param, value, err));
        (void)http_exchange_query(call->exchange, param->name, &first, &twice);
        if (twice)
            return err_set_field(err, ERR_INVALID, field, "query parameter \"%s\" is there twice",
                                 field);
    }
    return OK;
}

static enum err_code check_path(struct http_call *call, struct err *err)
{
    for (size_t i = 0; i < call->param_count; i++)
        TRY(http_param_check(&call->route->params[i], call->params[i], err));
    return OK;
}

static enum err_code parse_body(struct http_call *call, struct err *err)
{
    struct str type = http_exchange_header(call->exchange, "Content-Type");
    struct str body = http_exchange_body(call->exchange), media;

    if (call->route->body_bytes_max == 0 || call->body)
        return OK;
    media = type;
    (void)str_cut(&type, ';', &media);
    media = str_trim(media);
    if (!call->route->body_is_json)
        return !media.data || str_eq_c(media, "application/octet-stream")
                   ? OK
                   : err_set_field(err, ERR_MEDIA_TYPE, "Content-Type",
                                   "expected application/octet-stream, not \"%.*s\"",
                                   (int)MIN(media.len, (size_t)60), media.data);
    if (!str_eq_c(media, "application/json"))
        return err_set_field(err, ERR_MEDIA_TYPE, "Content-Type",
                             "expected application/json, not \"%.*s\"",
                             (int)MIN(media.len, (size_t)60), media.data ? media.data : "");
    return json_parse(body, call->route->body_bytes_max, &call->body, err);
}

enum err_code http_dispatch_admit(struct http_call *call, struct err *err)
{
    call->cmd.who = &call->who;
    call->cmd.arena = &call->arena;
    call->cmd.request_id = str_from(http_exchange_request_id(call->exchange));
    TRY(check_path(call, err));
    TRY(authenticate(call, err));
    TRY(authorise(call, err));
    TRY(check_query(call, err));
    return parse_body(call, err);
}

void http_render_error(const struct err *err, const char *request_id, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_key(&w, "code");
    json_put_text(&w, err_code_name(err->code));
    json_put_key(&w, "message");
    json_put_text(&w, err->text);
    if (err->field[0]) {
        json_put_key(&w, "field");
        json_put_text(&w, err->field);
    }
    if (err->column > 0) {
        json_put_key(&w, "column");
        json_put_i64(&w, err->column);
    }
    if (err->hint[0]) {
        json_put_key(&w, "hint");
        json_put_text(&w, err->hint);
    }
    json_put_key(&w, "request_id");
    json_put_text(&w, request_id);
    json_end_object(&w);
}

void http_security_headers(struct http_header *ret_headers, size_t *ret_count)
{
    static const struct http_header headers[] = {
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
    };

    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        ret_headers[i] = headers[i];
    *ret_count = ARRAY_LEN(headers);
}
