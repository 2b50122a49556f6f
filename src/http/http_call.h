/* One request on its way from the route to the answer.
 *
 * The dispatcher (http_dispatch.h) has authenticated the caller, checked the permission of the
 * route and every parameter, loaded what the route's scope names and parsed the JSON body before a
 * handler sees the call. A handler reads, makes one domain call and fills the answer; an error it
 * returns becomes the error document. thread: the lane of the route */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "domain/cmd.h"
#include "http/http_route.h"
#include "model/project.h"
#include "net/http_server.h"

#define HTTP_ANSWER_BYTES_MAX (64u * 1024 * 1024)
#define HTTP_HEADERS_MAX      8
#define HTTP_PAGE_DEFAULT     100
#define HTTP_PAGE_MAX         1000

/* What the program gives to all calls. */
struct http_env {
    struct domain *domain;
    const char *version;
    bool tls;
    /* Whether somebody looks at what runs record, so that it should come soon. */
    void *watch_ctx;
    bool (*is_watched)(void *ctx, const struct run *run);  /* thread: command */
    void (*watch)(void *ctx, run_id run, int64_t mono_ms); /* it is being read. thread: any */
};

struct http_call {
    struct http_exchange *exchange; /* owned by the server, until it answers */
    const struct http_env *env;
    const struct http_route *route;
    struct str params[HTTP_ROUTE_PARAMS_MAX]; /* of the path, copied into the arena */
    size_t param_count;
    struct arena arena;
    struct principal who;
    struct cmd cmd;
    bool session_stale; /* the server writes its last-seen time again */
    json_t *body;       /* parsed JSON, or NULL */

    struct project project; /* loaded when the scope names a project, */
    struct run run;         /* a run */
    struct job job;         /* or a job */

    void *prepared; /* what the prepare step made, in the arena */

    int status;              /* of the answer, 200 at first */
    struct buf out;          /* its body */
    struct json_writer json; /* writes into `out` */
    const char *content_type;
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t header_count;
    int answer_fd; /* -1, or a file as the body: see http_call_file */
    int64_t answer_fd_offset, answer_fd_bytes;
    int64_t park_ms;    /* > 0: nothing to say yet; run again when poked, or after this */
    bool woken;         /* it was parked, and runs again */
    bool stream;        /* turn it into an event stream */
    bool close_streams; /* somebody's rights changed: streams start afresh */
};

void http_call_init(struct http_call *call);
void http_call_release(struct http_call *call);

/* A path parameter, in the order of the path. */
struct str http_call_path(const struct http_call *call, size_t index);
struct id http_call_path_id(const struct http_call *call, size_t index);
/* A query parameter; false when absent. The route has checked its shape. */
bool http_call_query(const struct http_call *call, const char *name, struct str *ret_value);
int64_t http_call_query_i64(const struct http_call *call, const char *name, int64_t otherwise);
bool http_call_query_bool(const struct http_call *call, const char *name);
int http_call_limit(const struct http_call *call); /* one more is asked for, to see the end */
/* A cursor that is a number; 0 when absent. */
MUST_CHECK enum err_code http_call_cursor_i64(const struct http_call *call, int64_t *ret_cursor,
                                              struct err *err);
struct str http_call_cursor_text(const struct http_call *call);
/* A header that must be a number of at least 0. */
MUST_CHECK enum err_code http_call_header_i64(const struct http_call *call, const char *name,
                                              int64_t *ret_value, struct err *err);
/* The body with sorted members: what decides whether a create is a repeat. */
struct str http_call_canonical_body(struct http_call *call);

/* `value` is copied. */
void http_call_header(struct http_call *call, const char *name, const char *value);
void http_call_header_number(struct http_call *call, const char *name, int64_t value);
/* Answers with the stored file `fd`, taken, of `bytes` bytes and this digest; or with the part that
 * the Range header names (206), unless If-Range names another file. ERR_OFFSET when nothing of the
 * file lies in it. */
MUST_CHECK enum err_code http_call_file(struct http_call *call, int fd, int64_t bytes,
                                        struct str digest, struct err *err);
/* 201 when created, else 200. */
void http_call_created(struct http_call *call, bool created);
/* Ends a page: the array of items and the cursor (NULL: the last page). */
void http_call_page_begin(struct http_call *call);
void http_call_page_end(struct http_call *call, const char *next_cursor);
const char *http_call_number_cursor(struct http_call *call, int64_t value);
