/* What the files of the HTTP server share. One lock guards all state below; callbacks of the user
 * are never called under it. Lock order: ours, then libmicrohttpd's own. thread: any, under the
 * lock */
#pragma once

#include "base/arena.h"
#include "base/list.h"
#include "net/http_server.h"
#include "net/http_target.h"
#include "sys/thread.h"

#include <microhttpd.h>
#include <sys/socket.h>

#define HTTP_HEADERS_MAX       100
#define HTTP_HEAD_BYTES_MAX    (12 * 1024) /* less than libmicrohttpd's own, so that we answer */
#define HTTP_DRAIN_BYTES_MAX   (32 * 1024 * 1024)
#define HTTP_STREAM_BYTES_MAX  (256 * 1024)
#define HTTP_STREAM_WAKE_MS    15000
#define HTTP_BODY_BYTES_PER_MS 16 /* a body may be this slow for ever */
#define HTTP_REQUEST_ID_BYTES  14

struct http_connection {
    struct list link; /* in http_server.connections */
    struct MHD_Connection *mhd;
    int fd;
    struct sockaddr_storage address;
    int64_t idle_since_ms;
    struct http_exchange *exchange; /* the current one, or NULL */
    struct http_stream *stream;     /* the answer of that exchange, or NULL */
};

struct http_server {
    struct http_server_options options; /* texts are ours */
    char *spool_dir;
    struct MHD_Daemon *daemon;
    struct lock *lock;
    struct list connections;
    unsigned connection_count;
    unsigned owned_count;   /* exchanges with the user, unanswered */
    unsigned pending_count; /* exchanges from request line to the end of the answer */
    size_t body_bytes;      /* bodies in memory */
    unsigned refs;          /* the server itself, every exchange, every stream */
    bool stopping;
    int port;
    bool is_tls;
    struct buf tls_cert, tls_key;
    struct thread *janitor;
    struct latch *janitor_stop;
};

enum http_exchange_state {
    EXCHANGE_HEAD,     /* headers are coming */
    EXCHANGE_BODY,     /* accepted, body is coming */
    EXCHANGE_REFUSED,  /* `refusal` is set, the rest of the body is thrown away */
    EXCHANGE_OWNED,    /* with the user */
    EXCHANGE_GIVEN_UP, /* the user was too late: `refusal` waits to be answered */
    EXCHANGE_ANSWERED, /* `response` waits to be queued */
    EXCHANGE_QUEUED,   /* libmicrohttpd sends it */
};

struct http_exchange {
    struct http_server *server;
    struct http_connection *connection; /* NULL once libmicrohttpd is done with it */
    unsigned refs;                      /* libmicrohttpd's and the user's */
    enum http_exchange_state state;
    bool suspended, gone, close_after;
    struct arena arena; /* target, headers, method: outlive the connection */
    struct str raw_target;
    struct http_target target;
    struct str method;
    struct http_header *headers;
    size_t header_count;
    char request_id[HTTP_REQUEST_ID_BYTES];
    char peer[64];
    int64_t content_length; /* -1: none given */
    bool chunked;
    struct http_body_plan plan;
    struct buf body;
    int body_fd;
    int64_t body_bytes, drained_bytes, body_since_ms;
    size_t body_charge; /* our part of server->body_bytes */
    struct err refusal;
    int status; /* of `response` */
    struct MHD_Response *response;
};

struct http_stream {
    struct http_server *server;
    struct http_connection *connection; /* NULL when the client is gone */
    unsigned refs;                      /* the owner's and libmicrohttpd's */
    bool suspended, closed, gone;
    int64_t sent_ms;
    struct buf out;
};

/* http_exchange.c */
struct http_exchange *http__exchange_new(struct http_server *server,
                                         struct http_connection *connection, const char *target);
void http__exchange_unref(struct http_exchange *exchange); /* not under the lock */
void http__server_unref(struct http_server *server);       /* not under the lock */
/* Headers are complete: the guards, then the user's `head`. False when the refusal must be answered
 * at once, without reading on. */
bool http__exchange_begin(struct http_exchange *exchange, const char *method, const char *version);
/* Takes a piece of the body. False: the connection must be cut. */
bool http__exchange_body(struct http_exchange *exchange, const char *data, size_t len);
/* The answer to a refusal, with the user's error document. Not under the lock. */
void http__exchange_answer_refusal(struct http_exchange *exchange);
/* http_reply.c; not under the lock */
struct MHD_Response *http__response_make(struct http_exchange *exchange,
                                         const struct http_answer *answer);
/* Under the lock. */
void http__stream_wake(struct http_stream *stream);
void http__stream_heartbeat(struct http_stream *stream, int64_t now_ms);
