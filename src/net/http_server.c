/* The daemon: listening, libmicrohttpd's callbacks, the janitor, the shutdown.
 *
 * The janitor thread does what libmicrohttpd 0.9.75 does not: it ends slow bodies and slow heads,
 * notices clients that hung up while their connection is suspended, and gives streams a sign of
 * life. Stopping with a suspended connection would abort the process, so the shutdown answers
 * everything first. */
#include "net/http_server.h"

#include "base/mem.h"
#include "net/http_server_impl.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define POOL_BYTES     16384 /* a connection's memory: one header block of up to 16,097 bytes */
#define IDLE_SECONDS   75
#define LISTEN_BACKLOG 512
#define TLS_FILE_BYTES (256 * 1024)
#define JANITOR_MS_MAX 1000
#define STOP_LINGER_MS 2000
#define POLLS_MAX      65536

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = ctx;
    struct http_connection *connection = *socket_context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        connection = MEM_NEW(struct http_connection);
        connection->mhd = mhd;
        connection->fd =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        const struct sockaddr *address =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;

        memcpy(&connection->address, address,
               address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                              : sizeof(struct sockaddr_in));
        *socket_context = connection;
        lock_enter(server->lock);
        connection->idle_since_ms = clock_mono_ms();
        list_add_tail(&server->connections, &connection->link);
        server->connection_count++;
        lock_leave(server->lock);
        return;
    }
    lock_enter(server->lock);
    list_remove(&connection->link);
    server->connection_count--;
    if (connection->exchange)
        connection->exchange->connection = NULL;
    if (connection->stream) {
        connection->stream->connection = NULL;
        connection->stream->gone = true;
    }
    lock_leave(server->lock);
    mem_free(connection);
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (a->sa_family != b->ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static enum MHD_Result on_accept(void *ctx, const struct sockaddr *address, socklen_t len)
{
    struct http_server *server = ctx;
    unsigned count = 0;

    (void)len;
    if (is_loopback(address))
        return MHD_YES;
    lock_enter(server->lock);
    LIST_FOR_EACH (at, &server->connections) {
        if (same_address(address, &CONTAINER_OF(at, struct http_connection, link)->address))
            count++;
    }
    lock_leave(server->lock);
    return count < server->options.connections_per_address_max ? MHD_YES : MHD_NO;
}

static void *on_target(void *ctx, const char *target, struct MHD_Connection *mhd)
{
    return http__exchange_new(ctx, connection_of(mhd), target);
}

static void on_completed(void *ctx, struct MHD_Connection *mhd, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    struct http_server *server = ctx;
    struct http_exchange *exchange = *request_context;
    struct http_connection *connection = connection_of(mhd);

    (void)code;
    *request_context = NULL;
    if (!exchange)
        return;
    lock_enter(server->lock);
    exchange->connection = NULL;
    connection->exchange = NULL;
    connection->idle_since_ms = clock_mono_ms();
    server->pending_count--;
    lock_leave(server->lock);
    http__exchange_unref(exchange);
}

static enum MHD_Result queue_answer(struct http_exchange *exchange, struct MHD_Connection *mhd)
{
    lock_enter(exchange->server->lock);

    struct MHD_Response *response = exchange->response;
    unsigned status = (unsigned)exchange->status;

    exchange->response = NULL;
    exchange->state = EXCHANGE_QUEUED;
    lock_leave(exchange->server->lock);

    /* Not under the lock: both may call back into a stream, which takes it. */
    enum MHD_Result queued = MHD_queue_response(mhd, status, response);

    MHD_destroy_response(response); /* libmicrohttpd holds its own reference */
    return queued;
}

/* The body is complete: the exchange goes to the user, and sleeps unless it is answered already. */
static enum MHD_Result give_to_user(struct http_exchange *exchange, struct MHD_Connection *mhd)
{
    struct http_server *server = exchange->server;

    if (exchange->body_fd >= 0 && lseek(exchange->body_fd, 0, SEEK_SET) != 0)
        return MHD_NO;
    lock_enter(server->lock);
    exchange->state = EXCHANGE_OWNED;
    exchange->refs++;
    server->owned_count++;
    lock_leave(server->lock);
    server->options.request(server->options.ctx, exchange);

    lock_enter(server->lock);
    if (exchange->state == EXCHANGE_OWNED) {
        exchange->suspended = true;
        MHD_suspend_connection(mhd);
    }

    bool answered = exchange->state == EXCHANGE_ANSWERED;

    lock_leave(server->lock);
    return answered ? queue_answer(exchange, mhd) : MHD_YES;
}

/* library callback */
static enum MHD_Result on_access(void *ctx, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_len, void **request_context)
{
    struct http_exchange *exchange = *request_context;
    struct http_server *server = ctx;

    (void)url;
    lock_enter(server->lock);

    enum http_exchange_state state = exchange->state;

    lock_leave(server->lock);
    if (state == EXCHANGE_HEAD) {
        if (http__exchange_begin(exchange, method, version))
            return MHD_YES;
        http__exchange_answer_refusal(exchange);
        return queue_answer(exchange, mhd);
    }
    if (*data_len > 0) {
        size_t len = *data_len;

        *data_len = 0;
        return http__exchange_body(exchange, data, len) ? MHD_YES : MHD_NO;
    }
    switch (state) {
    case EXCHANGE_BODY: return give_to_user(exchange, mhd);
    case EXCHANGE_REFUSED:
    case EXCHANGE_GIVEN_UP: http__exchange_answer_refusal(exchange); break;
    case EXCHANGE_ANSWERED: break;
    default: return MHD_YES; /* woken without an answer: cannot happen, harmless */
    }
    return queue_answer(exchange, mhd);
}

/* Head or body that takes longer than it may; every piece that came buys a little more time. */
static bool is_slow(const struct http_exchange *exchange, int64_t now_ms)
{
    int64_t read = exchange->body_bytes + exchange->drained_bytes;
    int64_t allowed = exchange->server->options.body_deadline_ms + read / HTTP_BODY_BYTES_PER_MS;

    return exchange->state < EXCHANGE_OWNED && now_ms - exchange->body_since_ms > allowed;
}

/* libmicrohttpd takes no answer in the middle of a body, and sends nothing then: the 408 is written
 * past it (not under TLS), and the socket is shut, which it takes as a hang-up. */
static void cut_slow(struct http_connection *connection)
{
    static const char answer[] =
        "HTTP/1.1 408 Request Timeout\r\n"
        "Content-Type: application/json\r\n"
        "Connection: close\r\nContent-Length: 67\r\n\r\n"
        "{\"code\":\"timeout\",\"message\":\"the request did not arrive in time\"}\r\n";

    if (!connection->exchange->server->is_tls) {
        ssize_t sent =
            send(connection->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);

        (void)sent; /* a courtesy */
    }
    (void)shutdown(connection->fd, SHUT_RDWR); /* fails when the client was quicker */
}

static void look_after(struct http_connection *connection, bool hung_up, int64_t now_ms)
{
    struct http_exchange *exchange = connection->exchange;
    struct http_stream *stream = connection->stream;

    if (stream) {
        if (hung_up) {
            stream->gone = true;
            http__stream_wake(stream);
        } else {
            http__stream_heartbeat(stream, now_ms);
        }
    } else if (exchange && exchange->suspended) {
        exchange->gone = exchange->gone || hung_up;
    } else if (exchange && is_slow(exchange, now_ms)) {
        cut_slow(connection);
    } else if (!exchange && now_ms - connection->idle_since_ms > 1000 * IDLE_SECONDS) {
        (void)shutdown(connection->fd, SHUT_RDWR); /* half a request line, for too long */
    }
}

static void janitor_round(struct http_server *server)
{
    int64_t now_ms = clock_mono_ms();
    size_t count = 0;

    lock_enter(server->lock);

    struct pollfd *polls = mem_array(server->connection_count, sizeof(polls[0]));

    LIST_FOR_EACH (at, &server->connections) {
        struct http_connection *connection = CONTAINER_OF(at, struct http_connection, link);

        ENSURE(count < server->connection_count);
        polls[count++] = (struct pollfd){.fd = connection->fd, .events = POLLRDHUP};
    }
    (void)poll(polls, count, 0); /* on failure nobody has hung up */
    count = 0;
    LIST_FOR_EACH (at, &server->connections) {
        struct http_connection *connection = CONTAINER_OF(at, struct http_connection, link);
        short seen = polls[count++].revents;

        look_after(connection, (seen & (POLLRDHUP | POLLHUP | POLLERR)) != 0, now_ms);
    }
    lock_leave(server->lock);
    mem_free(polls);
}

static void janitor_run(void *ctx)
{
    struct http_server *server = ctx;
    int64_t period_ms = server->options.body_deadline_ms / 4;

    period_ms = MAX(MIN(period_ms, JANITOR_MS_MAX), 20);
    while (!latch_wait(server->janitor_stop, period_ms))
        janitor_round(server);
}

/* "127.0.0.1:8080", "[::1]:0", "localhost:8080". */
static enum err_code parse_listen(const char *text, struct sockaddr_storage *ret_address,
                                  struct err *err)
{
    const char *colon = strrchr(text, ':');
    struct str host = str_n(text, colon ? (size_t)(colon - text) : 0);
    char host_text[64];
    int64_t port;
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;

    *ret_address = (struct sockaddr_storage){0};
    if (!colon || !str_to_i64(str_from(colon + 1), &port) || port < 0 || port > 65535)
        return err_set(err, ERR_INVALID, "listen address \"%s\" is not HOST:PORT", text);
    if (str_eq_c(host, "localhost"))
        host = STR("127.0.0.1");
    if (host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']')
        host = str_n(host.data + 1, host.len - 2);
    (void)snprintf(host_text, sizeof(host_text), "%.*s", STR_ARG(host));
    if (inet_pton(AF_INET, host_text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, host_text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
    } else {
        (void)err_set(err, ERR_INVALID, "listen host \"%s\" is not an address", host_text);
        err_hint(err, "for example 127.0.0.1:8080 or [::]:8443");
        return ERR_INVALID;
    }
    return OK;
}

static enum err_code open_listener(struct http_server *server, int *ret_fd, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    int on = 1;

    TRY(parse_listen(server->options.listen, &address, err));
    len = address.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    CLEANUP(file_close)
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, LISTEN_BACKLOG) != 0)
        return err_set_errno(err, ERR_UNAVAILABLE, errno, "cannot listen on %s",
                             server->options.listen);
    len = sizeof(address);
    ENSURE(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    server->port =
        ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                            : ((struct sockaddr_in *)&address)->sin_port);
    *ret_fd = fd;
    fd = -1;
    return OK;
}

static enum err_code start_daemon(struct http_server *server, int listen_fd, struct err *err)
{
    const struct http_server_options *options = &server->options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    struct MHD_OptionItem items[12];
    size_t count = 0;

    items[count++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL_BYTES, NULL};
    items[count++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_LIMIT,
                                             (intptr_t)options->connections_max, NULL};
    items[count++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, NULL};
    items[count++] = (struct MHD_OptionItem){MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL};
    items[count++] = (struct MHD_OptionItem){MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL};
    if (options->thread_count > 1)
        items[count++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE,
                                                 (intptr_t)options->thread_count, NULL};
    if (server->is_tls) {
        flags |= MHD_USE_TLS;
        items[count++] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, server->tls_cert.data};
        items[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, server->tls_key.data};
    }
    items[count++] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    ENSURE(count <= ARRAY_LEN(items));
    server->daemon = MHD_start_daemon(
        flags, 0, on_accept, server, on_access, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, server, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
    if (server->daemon)
        return OK; /* the socket is its own now; else it may have closed it or not: leave it */
    return err_set(err, ERR_UNAVAILABLE,
                   server->is_tls ? "cannot start serving on %s: the TLS "
                                    "certificate or key is not usable"
                                  : "cannot start serving on %s",
                   options->listen);
}

static enum err_code prepare(struct http_server *server, struct err *err)
{
    const struct http_server_options *options = &server->options;

    ENSURE(options->thread_count >= 1 && options->thread_count <= 64);
    ENSURE(options->head && options->request && options->render_error);
    server->is_tls = options->tls_cert_file != NULL;
    if (server->is_tls && !options->tls_key_file)
        return err_set(err, ERR_INVALID, "a TLS certificate needs its key");
    if (server->is_tls) {
        TRY(file_read(options->tls_cert_file, TLS_FILE_BYTES, &server->tls_cert, err));
        TRY(file_read(options->tls_key_file, TLS_FILE_BYTES, &server->tls_key, err));
    }
    return OK;
}

enum err_code http_server_start(struct http_server **ret_server,
                                const struct http_server_options *options, struct err *err)
{
    struct http_server *server = MEM_NEW(struct http_server);
    int listen_fd = -1;
    enum err_code code;

    server->options = *options;
    server->spool_dir = mem_copy_text(options->spool_dir ? options->spool_dir : "/tmp");
    server->lock = lock_new();
    server->janitor_stop = latch_new();
    server->refs = 1;
    list_init(&server->connections);
    code = prepare(server, err);
    if (code == OK)
        code = open_listener(server, &listen_fd, err);
    if (code == OK)
        code = start_daemon(server, listen_fd, err);
    if (code == OK) {
        code = thread_start(&server->janitor, "http-janitor", janitor_run, server, err);
        if (code != OK)
            MHD_stop_daemon(server->daemon);
    }
    /* These were the caller's and may go now. */
    server->options.listen = server->options.spool_dir = NULL;
    server->options.tls_cert_file = server->options.tls_key_file = NULL;
    if (code != OK) {
        http__server_unref(server);
        return code;
    }
    *ret_server = server;
    return OK;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

unsigned http_server_connection_count(const struct http_server *server)
{
    lock_enter(server->lock);

    unsigned count = server->connection_count;

    lock_leave(server->lock);
    return count;
}

/* Takes a suspended exchange from the user; its loop thread answers it. */
static void refuse_owned(struct http_exchange *exchange)
{
    (void)err_set(&exchange->refusal, ERR_UNAVAILABLE, "the server is stopping");
    exchange->state = EXCHANGE_GIVEN_UP;
    exchange->server->owned_count--;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection->mhd);
}

/* One look at everything that is still open. `give_up`: answer what the user has not. */
static bool stop_step(struct http_server *server, bool give_up)
{
    lock_enter(server->lock);
    LIST_FOR_EACH (at, &server->connections) {
        struct http_connection *connection = CONTAINER_OF(at, struct http_connection, link);
        struct http_exchange *exchange = connection->exchange;

        if (connection->stream)
            http__stream_wake(connection->stream);
        if (exchange && exchange->state == EXCHANGE_OWNED && exchange->suspended && give_up)
            refuse_owned(exchange);
        else if (exchange && exchange->state < EXCHANGE_OWNED && give_up)
            (void)shutdown(connection->fd, SHUT_RDWR); /* its body is still on the way */
    }

    bool done = server->pending_count == 0;

    lock_leave(server->lock);
    return done;
}

void http_server_stop(struct http_server **server_ptr, int64_t wait_ms)
{
    struct http_server *server = *server_ptr;
    int64_t give_up_at = clock_mono_ms() + wait_ms;
    bool done;

    if (!server)
        return;
    *server_ptr = NULL;

    int listen_fd = MHD_quiesce_daemon(server->daemon);

    lock_enter(server->lock);
    server->stopping = true;
    lock_leave(server->lock);
    do {
        int64_t now_ms = clock_mono_ms();

        done = stop_step(server, now_ms >= give_up_at);
        if (!done && now_ms >= give_up_at + STOP_LINGER_MS)
            break; /* a client that does not read its answer */
        if (!done)
            (void)poll(NULL, 0, 2);
    } while (!done);
    latch_set(server->janitor_stop);
    thread_join(&server->janitor);
    MHD_stop_daemon(server->daemon);
    file_close(&listen_fd);
    http__server_unref(server);
}
