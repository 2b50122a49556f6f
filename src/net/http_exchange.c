/* One request: the guards at its head, its body, what the user may ask about it. The guards exist
 * because libmicrohttpd 0.9.75 accepts framing that two readers understand differently; such a
 * connection is answered 400 and closed. What it answers by itself, before we are asked, is in
 * docs/decisions/0004-what-the-http-library-answers-itself.md. */
#include "net/http_server.h"

#include "base/mem.h"
#include "net/http_server_impl.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/random.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

static void peer_format(const struct sockaddr_storage *address, char *ret_text, size_t size)
{
    const void *raw = &((const struct sockaddr_in *)address)->sin_addr;

    if (address->ss_family == AF_INET6)
        raw = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (!inet_ntop(address->ss_family, raw, ret_text, (socklen_t)size))
        (void)snprintf(ret_text, size, "unknown");
}

struct http_exchange *http__exchange_new(struct http_server *server,
                                         struct http_connection *connection, const char *target)
{
    struct http_exchange *exchange = MEM_NEW(struct http_exchange);
    struct id id = id_make((enum id_kind)'q', random_u64());

    exchange->server = server;
    exchange->connection = connection;
    exchange->refs = 1;
    exchange->body_fd = -1;
    exchange->content_length = -1;
    exchange->raw_target = arena_copy(&exchange->arena, str_from(target));
    exchange->method = STR("");
    exchange->target.path = STR("");
    memcpy(exchange->request_id, id.text, sizeof(exchange->request_id));
    peer_format(&connection->address, exchange->peer, sizeof(exchange->peer));

    lock_enter(server->lock);
    server->refs++;
    server->pending_count++;
    exchange->body_since_ms = clock_mono_ms();
    connection->exchange = exchange;
    connection->stream = NULL;
    lock_leave(server->lock);
    return exchange;
}

void http__server_unref(struct http_server *server)
{
    lock_enter(server->lock);

    bool last = --server->refs == 0;

    lock_leave(server->lock);
    if (!last)
        return;
    lock_free(server->lock);
    latch_free(server->janitor_stop);
    buf_release(&server->tls_cert);
    buf_release(&server->tls_key);
    mem_free(server->spool_dir);
    mem_free(server);
}

void http__exchange_unref(struct http_exchange *exchange)
{
    struct http_server *server = exchange->server;

    lock_enter(server->lock);

    bool last = --exchange->refs == 0;

    if (last)
        server->body_bytes -= exchange->body_charge;
    lock_leave(server->lock);
    if (!last)
        return;
    if (exchange->response)
        MHD_destroy_response(exchange->response);
    file_close(&exchange->body_fd);
    buf_release(&exchange->body);
    arena_release(&exchange->arena);
    mem_free(exchange);
    http__server_unref(server);
}

struct header_copy {
    struct http_exchange *exchange;
    size_t bytes; /* that the lines of the headers had, as far as we were shown them */
    bool bad;
};

static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c <= 0x20 || c >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", c))
            return false;
    }
    return len > 0;
}

/* library callback */
static enum MHD_Result copy_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                   size_t name_len, const char *value, size_t value_len)
{
    struct header_copy *copy = ctx;
    struct http_exchange *exchange = copy->exchange;

    (void)kind;
    if (!is_token(name, name_len) || (value_len && memchr(value, '\0', value_len)) ||
        exchange->header_count == HTTP_HEADERS_MAX) {
        copy->bad = true;
        return MHD_NO;
    }
    /* Name and value lie in the same buffer, as they came: between them are colon and blanks. */
    copy->bytes += (size_t)((uintptr_t)value - (uintptr_t)name) + value_len + 2;
    exchange->headers[exchange->header_count++] = (struct http_header){
        .name = arena_text(&exchange->arena, str_n(name, name_len)),
        .value = arena_text(&exchange->arena, str_n(value ? value : "", value_len)),
    };
    return MHD_YES;
}

static enum err_code check_head_size(const struct http_exchange *exchange, size_t *ret_bytes,
                                     struct err *err)
{
    *ret_bytes =
        MHD_get_connection_info(exchange->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
            ->header_size;
    if (*ret_bytes <= HTTP_HEAD_BYTES_MAX)
        return OK;
    return err_set(err, ERR_HEADER_TOO_LARGE,
                   "the head of the request has %zu bytes, not at most %d", *ret_bytes,
                   HTTP_HEAD_BYTES_MAX);
}

/* Copies method, version and headers, and counts: libmicrohttpd cuts a line at a NUL, joins folded
 * lines, takes a line that begins with NUL for the end and a lone LF for CRLF. Then the bytes that
 * came are not those that its words account for. */
static enum err_code copy_head(struct http_exchange *exchange, const char *version, struct err *err)
{
    struct header_copy copy = {.exchange = exchange};
    size_t bytes;

    TRY(check_head_size(exchange, &bytes, err));
    exchange->headers =
        arena_array(&exchange->arena, HTTP_HEADERS_MAX, sizeof(exchange->headers[0]));
    (void)MHD_get_connection_values_n(exchange->connection->mhd, MHD_HEADER_KIND, copy_header,
                                      &copy);
    if (copy.bad)
        return err_set(err, ERR_INVALID, "a header is malformed, or there are more than %d",
                       HTTP_HEADERS_MAX);
    copy.bytes += exchange->method.len + 1 + exchange->raw_target.len + 1 + strlen(version) + 4;
    if (bytes != copy.bytes)
        return err_set(err, ERR_INVALID,
                       "the head of the request has NUL, folded lines or line ends without CR");
    return OK;
}

static size_t header_times(const struct http_exchange *exchange, const char *name)
{
    size_t times = 0;

    for (size_t i = 0; i < exchange->header_count; i++)
        times += strcasecmp(exchange->headers[i].name, name) == 0 ? 1 : 0;
    return times;
}

/* Headers that must mean one thing: a second one is an attack or a bug. */
static enum err_code check_once(const struct http_exchange *exchange, struct err *err)
{
    static const char *const once[] = {"Content-Length", "Host",          "Transfer-Encoding",
                                       "Content-Type",   "Authorization", "Content-Encoding"};

    for (size_t i = 0; i < ARRAY_LEN(once); i++) {
        if (header_times(exchange, once[i]) > 1)
            return err_set(err, ERR_INVALID, "the request has two %s headers", once[i]);
    }
    return OK;
}

static enum err_code check_framing(struct http_exchange *exchange, const char *version,
                                   struct err *err)
{
    bool is_11 = strcmp(version, "HTTP/1.1") == 0;

    if (!is_11 && strcmp(version, "HTTP/1.0") != 0)
        return err_set(err, ERR_INVALID, "HTTP version \"%.20s\" is not 1.0 or 1.1", version);
    TRY(copy_head(exchange, version, err));
    TRY(check_once(exchange, err));

    struct str length = http_exchange_header(exchange, "Content-Length");
    struct str coding = http_exchange_header(exchange, "Transfer-Encoding");

    if (is_11 && header_times(exchange, "Host") != 1)
        return err_set(err, ERR_INVALID, "the request has no Host header");
    if (coding.data && (length.data || !is_11))
        return err_set(err, ERR_INVALID, "Transfer-Encoding beside Content-Length or HTTP/1.0");
    if (coding.data && strcasecmp(coding.data, "chunked") != 0)
        return err_set(err, ERR_INVALID, "Transfer-Encoding \"%.40s\" is not \"chunked\"",
                       coding.data);
    if (length.data &&
        (!str_to_i64(length, &exchange->content_length) || exchange->content_length < 0))
        return err_set(err, ERR_INVALID, "Content-Length \"%.40s\" is not a number", length.data);
    exchange->chunked = coding.data != NULL;
    return OK;
}

/* Takes `bytes` of the room for bodies in memory. */
static enum err_code charge_body(struct http_exchange *exchange, size_t bytes, struct err *err)
{
    struct http_server *server = exchange->server;

    lock_enter(server->lock);

    bool fits = bytes <= server->options.memory_bodies_bytes_max - server->body_bytes;

    if (fits) {
        server->body_bytes += bytes;
        exchange->body_charge += bytes;
    }
    lock_leave(server->lock);
    if (fits)
        return OK;
    (void)err_set(err, ERR_UNAVAILABLE, "too many request bodies at once");
    err_hint(err, "try again in a moment");
    return ERR_UNAVAILABLE;
}

static enum err_code plan_body(struct http_exchange *exchange, struct err *err)
{
    const struct http_body_plan *plan = &exchange->plan;
    int64_t length = exchange->content_length;

    if ((exchange->chunked || length > 0) && plan->bytes_max == 0)
        return err_set(err, ERR_TOO_LARGE, "this operation takes no body");
    if (length > 0 && (uint64_t)length > plan->bytes_max)
        return err_set(err, ERR_TOO_LARGE, "the body of %lld bytes is larger than %zu",
                       (long long)length, plan->bytes_max);
    if (plan->bytes_max > 0)
        buf_init(&exchange->body, plan->bytes_max);
    if (length > 0 && !plan->to_file)
        TRY(charge_body(exchange, (size_t)length, err));
    if (plan->to_file)
        TRY(file_open_unlinked(exchange->server->spool_dir, &exchange->body_fd, err));
    return OK;
}

static enum err_code ask_head(struct http_exchange *exchange, struct err *err)
{
    const struct http_server_options *options = &exchange->server->options;
    struct http_head head = {
        .exchange = exchange,
        .method = exchange->method,
        .path = exchange->target.path,
        .content_length = exchange->content_length,
    };

    lock_enter(exchange->server->lock);

    bool stopping = exchange->server->stopping;

    lock_leave(exchange->server->lock);
    if (stopping)
        return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
    TRY(options->head(options->ctx, &head, &exchange->plan, err));
    return plan_body(exchange, err);
}

bool http__exchange_begin(struct http_exchange *exchange, const char *method, const char *version)
{
    struct err err = {0};
    enum err_code code;

    exchange->method = arena_copy(&exchange->arena, str_from(method));
    code = check_framing(exchange, version, &err);
    if (code == OK)
        code = http_target_parse(&exchange->arena, exchange->raw_target, &exchange->target, &err);
    if (code != OK)
        exchange->close_after = true;
    else
        code = ask_head(exchange, &err);

    lock_enter(exchange->server->lock);
    exchange->body_since_ms = clock_mono_ms();
    exchange->refusal = err;
    exchange->state = code == OK ? EXCHANGE_BODY : EXCHANGE_REFUSED;
    lock_leave(exchange->server->lock);
    if (code == OK)
        return true;
    /* A small body is read and thrown away, so that a client that is busy sending it sees the
     * answer and not a reset. One that asked first, or has too much, is answered at once. */
    if (exchange->close_after || exchange->content_length > HTTP_DRAIN_BYTES_MAX ||
        http_exchange_header(exchange, "Expect").data) {
        exchange->close_after = true;
        return false;
    }
    return true;
}

static enum err_code add_body(struct http_exchange *exchange, const char *data, size_t len,
                              struct err *err)
{
    const struct http_body_plan *plan = &exchange->plan;

    if (len > plan->bytes_max - (size_t)exchange->body_bytes)
        return err_set(err, ERR_TOO_LARGE, "the body is larger than %zu bytes", plan->bytes_max);
    if (plan->to_file) {
        TRY(file_write_all(exchange->body_fd, data, len, err));
    } else {
        if (exchange->content_length < 0)
            TRY(charge_body(exchange, len, err));
        (void)buf_add(&exchange->body, data, len); /* fits: tested above */
    }
    return OK;
}

bool http__exchange_body(struct http_exchange *exchange, const char *data, size_t len)
{
    struct http_server *server = exchange->server;
    struct err err = {0};
    enum err_code code = OK;

    if (exchange->state == EXCHANGE_REFUSED) {
        lock_enter(server->lock); /* the janitor looks at it */
        exchange->drained_bytes += (int64_t)len;
        lock_leave(server->lock);
        return exchange->drained_bytes <= HTTP_DRAIN_BYTES_MAX;
    }
    ENSURE(exchange->state == EXCHANGE_BODY);
    code = add_body(exchange, data, len, &err);

    lock_enter(server->lock);
    exchange->body_bytes += code == OK ? (int64_t)len : 0;
    if (code != OK) {
        exchange->state = EXCHANGE_REFUSED;
        exchange->refusal = err;
    }
    lock_leave(server->lock);
    return true;
}

void http__exchange_answer_refusal(struct http_exchange *exchange)
{
    const struct http_server_options *options = &exchange->server->options;
    struct buf body;
    enum err_code code = exchange->refusal.code;
    struct http_header headers[3] = {{"Content-Type", "application/json"},
                                     {"Cache-Control", "no-store"}};
    struct http_answer answer = {
        .status = err_code_http_status(exchange->refusal.code),
        .headers = headers,
        .header_count = 2,
        .body_take = &body,
        .body_fd_take = -1,
    };

    if (code == ERR_UNAVAILABLE)
        headers[answer.header_count++] = (struct http_header){"Retry-After", "1"};
    else if (code == ERR_METHOD && exchange->plan.allow)
        headers[answer.header_count++] = (struct http_header){"Allow", exchange->plan.allow};
    buf_init(&body, 64 * 1024);
    options->render_error(options->ctx, exchange, &exchange->refusal, &body);

    struct MHD_Response *response = http__response_make(exchange, &answer);

    lock_enter(exchange->server->lock);
    exchange->response = response;
    exchange->status = answer.status;
    exchange->state = EXCHANGE_ANSWERED;
    lock_leave(exchange->server->lock);
}

void *http_exchange_ctx(const struct http_exchange *exchange)
{
    return exchange->plan.ctx;
}

struct str http_exchange_method(const struct http_exchange *exchange)
{
    return exchange->method;
}

struct str http_exchange_path(const struct http_exchange *exchange)
{
    return exchange->target.path;
}

struct str http_exchange_header(const struct http_exchange *exchange, const char *name)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        if (strcasecmp(exchange->headers[i].name, name) == 0)
            return str_from(exchange->headers[i].value);
    }
    return (struct str){0};
}

bool http_exchange_query(const struct http_exchange *exchange, const char *name,
                         struct str *ret_value, bool *ret_twice)
{
    size_t times = 0;

    for (size_t i = 0; i < exchange->target.param_count; i++) {
        if (!str_eq_c(exchange->target.params[i].name, name))
            continue;
        if (times++ == 0)
            *ret_value = exchange->target.params[i].value;
    }
    if (ret_twice)
        *ret_twice = times > 1;
    return times > 0;
}

bool http_exchange_query_at(const struct http_exchange *exchange, size_t index,
                            struct str *ret_name, struct str *ret_value)
{
    if (index >= exchange->target.param_count)
        return false;
    *ret_name = exchange->target.params[index].name;
    *ret_value = exchange->target.params[index].value;
    return true;
}

struct str http_exchange_body(const struct http_exchange *exchange)
{
    return buf_str(&exchange->body);
}

int http_exchange_body_fd(const struct http_exchange *exchange)
{
    return exchange->body_fd;
}

int64_t http_exchange_body_bytes(const struct http_exchange *exchange)
{
    return exchange->body_bytes;
}

struct str http_exchange_peer(const struct http_exchange *exchange)
{
    return str_from(exchange->peer);
}

bool http_exchange_is_tls(const struct http_exchange *exchange)
{
    return exchange->server->is_tls;
}

const char *http_exchange_request_id(const struct http_exchange *exchange)
{
    return exchange->request_id;
}

bool http_exchange_is_gone(const struct http_exchange *exchange)
{
    lock_enter(exchange->server->lock);

    bool gone = exchange->gone || !exchange->connection;

    lock_leave(exchange->server->lock);
    return gone;
}
