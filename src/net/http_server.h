/* The HTTP server: libmicrohttpd behind an interface of our own, with the guards it needs.
 *
 * A request goes through two callbacks, both on a loop thread, neither may block:
 *   `head`    when the headers are complete: says how much body is welcome and where it goes, or
 *             refuses. Framing that could smuggle a second request never gets this far (400,
 * close). `request` when the body is complete. The exchange now belongs to the callee, who answers
 * it once, from any thread, at any time later: http_reply or http_stream_open. While it is
 * unanswered the connection is suspended and costs no thread.
 *
 * Limits: 12 KiB of head (431), target 8 KiB, bodies as `head` says (413 before they are read),
 * a head or body slower than the deadline (408), connections in all and per address. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct http_server;
struct http_exchange;
struct http_stream;

struct http_head { /* what `head` may look at; valid during the call */
    struct http_exchange *exchange;
    struct str method;      /* "GET" */
    struct str path;        /* decoded, starts with '/', no "..", no NUL, no %2F tricks */
    int64_t content_length; /* -1: chunked or none */
};

struct http_body_plan {
    size_t bytes_max;  /* 0: a body is refused */
    bool to_file;      /* spool to an unlinked temporary file instead of memory */
    void *ctx;         /* kept with the exchange, see http_exchange_ctx */
    const char *allow; /* set it beside ERR_METHOD: the Allow header, a constant */
};

struct http_header {
    const char *name;
    const char *value;
};

struct http_server_options {
    const char *listen;        /* "127.0.0.1:8080", "[::1]:0" */
    const char *tls_cert_file; /* PEM, with the chain; NULL: plain HTTP */
    const char *tls_key_file;
    const char *spool_dir; /* where to_file bodies go */
    unsigned thread_count; /* loop threads, 1 to 64 */
    unsigned connections_max;
    unsigned connections_per_address_max; /* loopback is exempt */
    int64_t body_deadline_ms;             /* from the head to the last byte without progress */
    size_t memory_bodies_bytes_max;       /* over all bodies in memory; beyond: 503 */
    void *ctx;
    /* Return OK and fill *ret_plan, or an error: it is rendered with `render_error`. */
    enum err_code (*head)(void *ctx, const struct http_head *head, struct http_body_plan *ret_plan,
                          struct err *err);
    void (*request)(void *ctx, struct http_exchange *exchange);
    /* Writes the error document for errors that the server itself finds. */
    void (*render_error)(void *ctx, const struct http_exchange *exchange, const struct err *err,
                         struct buf *out);
};

MUST_CHECK enum err_code http_server_start(struct http_server **ret_server,
                                           const struct http_server_options *options,
                                           struct err *err);
int http_server_port(const struct http_server *server); /* the real one, after ":0" */
/* Stops accepting, ends streams, waits for open exchanges to be answered (at most wait_ms; those
 * left are answered 503), then stops. */
void http_server_stop(struct http_server **server, int64_t wait_ms);
unsigned http_server_connection_count(const struct http_server *server);

/* All borrowed, valid until the exchange is answered. thread: the owner of the exchange */
void *http_exchange_ctx(const struct http_exchange *exchange);
struct str http_exchange_method(const struct http_exchange *exchange);
struct str http_exchange_path(const struct http_exchange *exchange);
struct str http_exchange_header(const struct http_exchange *exchange,
                                const char *name); /* {0} if absent */
/* Percent-decoded query parameter. False when absent; ERR via *ret_twice when it is there twice. */
bool http_exchange_query(const struct http_exchange *exchange, const char *name,
                         struct str *ret_value, bool *ret_twice);
/* Walks all query parameters; false at the end. */
bool http_exchange_query_at(const struct http_exchange *exchange, size_t index,
                            struct str *ret_name, struct str *ret_value);
struct str http_exchange_body(const struct http_exchange *exchange); /* memory bodies */
int http_exchange_body_fd(
    const struct http_exchange *exchange); /* to_file bodies, at offset 0; else -1 */
int64_t http_exchange_body_bytes(const struct http_exchange *exchange);
struct str http_exchange_peer(const struct http_exchange *exchange); /* "127.0.0.1" */
bool http_exchange_is_tls(const struct http_exchange *exchange);
const char *
http_exchange_request_id(const struct http_exchange *exchange); /* 13 characters, made here */

struct http_answer {
    int status;
    const struct http_header *headers; /* beside the server's own */
    size_t header_count;
    struct buf *body_take; /* taken (may be NULL) */
    struct str
        body_static;  /* used when body_take is NULL; must outlive the server (embedded files) */
    int body_fd_take; /* 0 or -1: none; else a file; taken */
    int64_t body_fd_offset, body_fd_bytes; /* the part of it that is sent */
};
/* Answers; the exchange is gone afterwards. HEAD sends no body. thread: any */
void http_reply(struct http_exchange *exchange, const struct http_answer *answer);
/* True when the client has hung up, as far as known: long work may stop. thread: any */
bool http_exchange_is_gone(const struct http_exchange *exchange);

/* Server-sent events: turns the exchange into a stream (200, text/event-stream). The server wakes
 * it with a comment at least every 15 s, which is also how a dead client is noticed. */
struct http_stream *http_stream_open(struct http_exchange *exchange,
                                     const struct http_header *headers, size_t header_count);
/* Queues one event; `data` has no newline (JSON). False when the client is gone or 256 KiB wait
 * unsent: the owner then closes it, and the browser reconnects. thread: any */
bool http_stream_send(struct http_stream *stream, const char *event, struct str data);
bool http_stream_is_gone(const struct http_stream *stream);
void http_stream_close(struct http_stream *stream); /* the owner's last call */
