/* A blocking HTTP client over libcurl for agent, sidecar and command line: https and http only, no
 * redirects, system proxies from HTTPS_PROXY, certificates from EUVYRA_CA or the system.
 * One client is used by one thread at a time; it keeps connections alive. may block */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

struct http_client;

struct http_client_options {
    const char *base_url; /* "https://host:port", no path; a key goes over http to loopback only */
    const char *key_text; /* bearer key, or NULL; copied, never logged */
    const char *ca_file;  /* or NULL */
    const char *product;  /* "euvyra-agent/0.1.0"; sent in User-Agent and Euvyra-Client */
    int64_t connect_timeout_ms;
};

struct http_client_request {
    const char *method;
    const char *path;         /* from '/', with query, already encoded */
    const char *content_type; /* NULL: application/json when there is a body */
    struct str body;
    int body_fd; /* 0 or -1: none; else a file sent from its offset, `body` is ignored */
    int64_t body_fd_bytes;
    const char *const *headers;    /* "Name: value", NULL-terminated, or NULL */
    int64_t timeout_ms;            /* whole request; 0: 30 s */
    size_t answer_bytes_max;       /* 0: 16 MiB */
    int answer_fd;                 /* 0 or -1: none; else where the body of a 2xx goes */
    bool (*keep_going)(void *ctx); /* asked at least every second; false ends with ERR_TIMEOUT */
    void *ctx;
};

struct http_client_answer {
    int status;
    struct buf body;        /* release with http_client_answer_release */
    int64_t retry_after_ms; /* -1 when absent */
    char request_id[32];
    int64_t offset; /* Euvyra-Offset header, -1 when absent */
    bool final;     /* Euvyra-Final: 1 */
};

MUST_CHECK enum err_code http_client_new(struct http_client **ret_client,
                                         const struct http_client_options *options,
                                         struct err *err);
void http_client_free(struct http_client *client);
/* OK for every answer that arrived whole, whatever its status. ERR_UNAVAILABLE: no connection, cut,
 * time-out (err says which); ERR_TOO_LARGE. */
MUST_CHECK enum err_code http_client_send(struct http_client *client,
                                          const struct http_client_request *request,
                                          struct http_client_answer *ret_answer, struct err *err);
void http_client_answer_release(struct http_client_answer *answer);
/* Turns an error document {code, message, field, hint} into `err`, whatever its shape. */
enum err_code http_client_answer_error(const struct http_client_answer *answer, struct err *err);
/* Sends JSON (or nothing when body.len is 0), expects 2xx and JSON; the usual call. The caller
 * owns *ret_json (may be NULL when the answer has no body). */
MUST_CHECK enum err_code http_client_json(struct http_client *client, const char *method,
                                          const char *path, struct str body, json_t **ret_json,
                                          struct err *err);
