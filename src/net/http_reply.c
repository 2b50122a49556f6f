/* Answers and event streams. Both may come from any thread while the connection is suspended; the
 * tricky part is that they may also come before it is: the access callback looks again, under the
 * lock, before it suspends. */
#include "net/http_server.h"

#include "base/mem.h"
#include "net/http_server_impl.h"
#include "sys/clock.h"

#include <unistd.h>

struct MHD_Response *http__response_make(struct http_exchange *exchange,
                                         const struct http_answer *answer)
{
    struct MHD_Response *response;

    if (answer->body_take) {
        size_t len = 0;
        char *data = buf_take(answer->body_take, &len);

        response = MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);
    } else if (answer->body_fd_take > 0) {
        response = MHD_create_response_from_fd_at_offset64((uint64_t)answer->body_fd_bytes,
                                                           answer->body_fd_take,
                                                           (uint64_t)answer->body_fd_offset);
    } else {
        response = MHD_create_response_from_buffer(answer->body_static.len,
                                                   (void *)(uintptr_t)answer->body_static.data,
                                                   MHD_RESPMEM_PERSISTENT);
    }
    ENSURE(response != NULL);
    for (size_t i = 0; i < answer->header_count; i++)
        (void)MHD_add_response_header(response, answer->headers[i].name, answer->headers[i].value);
    (void)MHD_add_response_header(response, "Euvyra-Request-Id", exchange->request_id);
    lock_enter(exchange->server->lock);

    bool close_after = exchange->close_after || exchange->server->stopping;

    lock_leave(exchange->server->lock);
    if (close_after)
        (void)MHD_add_response_header(response, "Connection", "close");
    return response;
}

/* Hands a response over and gives up the user's reference. */
static void exchange_answer(struct http_exchange *exchange, struct MHD_Response *response,
                            int status)
{
    struct http_server *server = exchange->server;

    lock_enter(server->lock);
    if (exchange->state == EXCHANGE_OWNED) {
        exchange->response = response;
        exchange->status = status;
        exchange->state = EXCHANGE_ANSWERED;
        response = NULL;
        server->owned_count--;
        if (exchange->suspended) {
            exchange->suspended = false;
            MHD_resume_connection(exchange->connection->mhd);
        }
    }
    lock_leave(server->lock);
    if (response) /* the server was stopped and has answered 503 */
        MHD_destroy_response(response);
    http__exchange_unref(exchange);
}

void http_reply(struct http_exchange *exchange, const struct http_answer *answer)
{
    exchange_answer(exchange, http__response_make(exchange, answer), answer->status);
}

static void stream_unref(struct http_stream *stream)
{
    struct http_server *server = stream->server;

    lock_enter(server->lock);

    bool last = --stream->refs == 0;

    lock_leave(server->lock);
    if (!last)
        return;
    buf_release(&stream->out);
    mem_free(stream);
    http__server_unref(server);
}

static ssize_t stream_read(void *ctx, uint64_t position, char *ret_data, size_t max)
{
    struct http_stream *stream = ctx;
    ssize_t got = 0;

    (void)position;
    lock_enter(stream->server->lock);
    if (stream->gone) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (stream->out.len > 0) {
        got = (ssize_t)MIN(stream->out.len, max);
        memcpy(ret_data, stream->out.data, (size_t)got);
        buf_drop_front(&stream->out, (size_t)got);
    } else if (stream->closed || stream->server->stopping) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        stream->suspended = true;
        MHD_suspend_connection(stream->connection->mhd);
    }
    lock_leave(stream->server->lock);
    return got;
}

/* libmicrohttpd is done with the connection. */
static void stream_ended(void *ctx)
{
    struct http_stream *stream = ctx;

    lock_enter(stream->server->lock);
    if (stream->connection && stream->connection->stream == stream)
        stream->connection->stream = NULL;
    stream->connection = NULL;
    stream->gone = true;
    lock_leave(stream->server->lock);
    stream_unref(stream);
}

struct http_stream *http_stream_open(struct http_exchange *exchange,
                                     const struct http_header *headers, size_t header_count)
{
    struct http_server *server = exchange->server;
    struct http_stream *stream = MEM_NEW(struct http_stream);
    struct MHD_Response *response;

    stream->server = server;
    stream->refs = 2;
    stream->sent_ms = clock_mono_ms();
    buf_init(&stream->out, HTTP_STREAM_BYTES_MAX);
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, stream_read, stream,
                                                 stream_ended);
    ENSURE(response != NULL);
    (void)MHD_add_response_header(response, "Content-Type", "text/event-stream");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Accel-Buffering", "no");
    (void)MHD_add_response_header(response, "Euvyra-Request-Id", exchange->request_id);
    for (size_t i = 0; i < header_count; i++)
        (void)MHD_add_response_header(response, headers[i].name, headers[i].value);

    /* The first comment makes proxies and browsers see the headers at once. */
    (void)buf_add_text(&stream->out, ": open\n\n");
    lock_enter(server->lock);
    server->refs++;
    if (exchange->connection && exchange->state == EXCHANGE_OWNED) {
        stream->connection = exchange->connection;
        exchange->connection->stream = stream;
    } else {
        stream->gone = true;
    }
    lock_leave(server->lock);
    exchange_answer(exchange, response, 200);
    return stream;
}

void http__stream_wake(struct http_stream *stream)
{
    if (!stream->suspended || !stream->connection)
        return;
    stream->suspended = false;
    MHD_resume_connection(stream->connection->mhd);
}

void http__stream_heartbeat(struct http_stream *stream, int64_t now_ms)
{
    if (now_ms - stream->sent_ms < HTTP_STREAM_WAKE_MS)
        return;
    stream->sent_ms = now_ms;
    (void)buf_add_text(&stream->out, ":\n\n"); /* full: the client is being told enough */
    http__stream_wake(stream);
}

bool http_stream_send(struct http_stream *stream, const char *event, struct str data)
{
    struct http_server *server = stream->server;
    size_t len = strlen(event) + data.len + 32;
    bool sent = false;

    lock_enter(server->lock);
    if (!stream->gone && !stream->closed && len <= HTTP_STREAM_BYTES_MAX - stream->out.len) {
        sent = buf_printf(&stream->out, "event: %s\ndata: ", event) &&
               buf_add_str(&stream->out, data) && buf_add_text(&stream->out, "\n\n");
        stream->sent_ms = clock_mono_ms();
        http__stream_wake(stream);
    }
    lock_leave(server->lock);
    return sent;
}

bool http_stream_is_gone(const struct http_stream *stream)
{
    lock_enter(stream->server->lock);

    bool gone = stream->gone || stream->server->stopping;

    lock_leave(stream->server->lock);
    return gone;
}

void http_stream_close(struct http_stream *stream)
{
    lock_enter(stream->server->lock);
    stream->closed = true;
    http__stream_wake(stream);
    lock_leave(stream->server->lock);
    stream_unref(stream);
}
