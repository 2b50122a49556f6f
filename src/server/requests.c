/* From the HTTP server to the lanes, and back to an answer. */
#include "base/log.h"
#include "base/mem.h"
#include "http/http_dispatch.h"
#include "server/server_impl.h"
#include "sys/file.h"

#define CACHE_NONE "no-store"

static bool is_api(struct str path)
{
    return str_starts(path, STR("/api/")) || str_eq_c(path, "/api") || str_eq_c(path, "/health");
}

/* A page of another site must not talk to a server on this machine under a name it controls. */
static enum err_code check_host(const struct server *server, const struct http_exchange *x,
                                struct err *err)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    struct str host = http_exchange_header(x, "Host"), name = host;

    if (server->env.tls)
        return OK; /* the certificate says who we are */
    if (host.len && host.data[0] == '[') {
        (void)str_cut(&host, ']', &name);
        name.len++;
    } else {
        (void)str_cut(&host, ':', &name);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq_c(name, names[i]))
            return OK;
    return err_set_field(err, ERR_INVALID, "Host", "this server is not called \"%.*s\"",
                         (int)MIN(name.len, (size_t)80), name.data ? name.data : "");
}

enum err_code server__head(void *ctx, const struct http_head *head, struct http_body_plan *ret_plan,
                           struct err *err)
{
    TRY(check_host(ctx, head->exchange, err));
    if (is_api(head->path))
        return http_dispatch_head(head, ret_plan, err);
    ret_plan->bytes_max = 0;
    ret_plan->allow = "GET, HEAD";
    if (!str_eq_c(head->method, "GET") && !str_eq_c(head->method, "HEAD"))
        return err_set(err, ERR_METHOD, "%.*s is not possible here; allowed: GET, HEAD",
                       STR_ARG(head->method));
    return OK;
}

void server__render_error(void *ctx, const struct http_exchange *exchange, const struct err *err,
                          struct buf *out)
{
    (void)ctx;
    http_render_error(err, exchange ? http_exchange_request_id(exchange) : "", out);
}

void server__answer(struct http_call *call, const struct err *err)
{
    struct http_header headers[HTTP_HEADERS_MAX + 8];
    struct http_answer answer = {.status = call->status, .headers = headers, .body_fd_take = -1};
    size_t count = 0;

    http_security_headers(headers, &count);
    headers[count++] = (struct http_header){"Cache-Control", CACHE_NONE};
    for (size_t i = 0; i < call->header_count; i++)
        headers[count++] = call->headers[i];
    if (err) {
        answer.status = err_code_http_status(err->code);
        buf_clear(&call->out);
        http_render_error(err, http_exchange_request_id(call->exchange), &call->out);
        call->content_type = "application/json";
        if (answer.status >= 500)
            log_error("request.failed", "id", http_exchange_request_id(call->exchange), "operation",
                      call->route ? call->route->operation : "", "error", err->text);
        if (answer.status == 429 || answer.status == 503)
            headers[count++] = (struct http_header){"Retry-After", "1"};
        if (answer.status == 401)
            headers[count++] = (struct http_header){"WWW-Authenticate", "Bearer"};
    }
    headers[count++] = (struct http_header){"Content-Type", call->content_type};
    answer.header_count = count;
    if (!err && call->answer_fd >= 0) {
        answer.body_fd_take = call->answer_fd;
        answer.body_fd_offset = call->answer_fd_offset;
        answer.body_fd_bytes = call->answer_fd_bytes;
    } else {
        file_close(&call->answer_fd);
        answer.body_take = &call->out;
    }
    http_reply(call->exchange, &answer);
    http_call_release(call);
    mem_free(call);
}

static void enqueue(struct queue *queue, struct http_call *call)
{
    struct work *work = MEM_NEW(struct work);
    struct err err;

    work->call = call;
    if (queue_push(queue, work))
        return;
    (void)err_set(&err, ERR_UNAVAILABLE, "the server is too busy or is stopping");
    mem_free(work);
    server__answer(call, &err);
}

void server__request(void *ctx, struct http_exchange *exchange)
{
    struct server *server = ctx;
    struct http_call *call;
    struct err err;

    if (!is_api(http_exchange_path(exchange)) && server__console(server, exchange))
        return;
    call = MEM_NEW(struct http_call);
    http_call_init(call);
    call->exchange = exchange;
    call->env = &server->env;
    if (http_dispatch_route(call, &err) != OK) {
        server__answer(call, &err);
        return;
    }
    if (call->route->lane == HTTP_LANE_READ || call->route->prepare)
        enqueue(server->reads, call);
    else
        enqueue(server->commands, call);
}
