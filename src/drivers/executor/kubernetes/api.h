/* The API of a cluster: calls with JSON, and streams. https alone, with the cluster's own
 * certificates; no redirect is followed. One client is used by one thread at a time; it keeps
 * connections alive. may block */
#pragma once

#include "base/json.h"
#include "drivers/executor/kubernetes/kube_config.h"

#define KUBE_PATH_BYTES 1024

struct kube_api;

struct kube_call {
    const char *method;
    const char *path;         /* from '/', with query, encoded */
    const char *content_type; /* NULL: application/json */
    const json_t *body;       /* NULL: none */
    int64_t timeout_ms;       /* 0: 10 s */
};

/* `config` is borrowed. `keep_going` is asked several times a second while something is under way;
 * false gives it up (ERR_TIMEOUT). */
struct kube_api *kube_api_new(const struct kube_config *config, bool (*keep_going)(void *ctx),
                              void *ctx);
void kube_api_free(struct kube_api *api);

/* 2xx: OK, and *ret_answer (may be NULL) belongs to the caller. What the API server says otherwise
 * becomes an error with its message: ERR_UNAUTHENTICATED, ERR_FORBIDDEN, ERR_NOT_FOUND,
 * ERR_CONFLICT, ERR_GONE, ERR_UNPROCESSABLE (400, 422), ERR_LIMIT (429). ERR_UNAVAILABLE: 5xx, no
 * connection, no answer in time, an answer that is no JSON. */
MUST_CHECK enum err_code kube_api_call(struct kube_api *api, const struct kube_call *call,
                                       json_t **ret_answer, struct err *err);

struct kube_stream {
    const char *path;
    int64_t silent_ms_max; /* without a byte for so long it counts as cut; 0: for ever */
    bool (*on_data)(void *ctx, struct str data); /* false ends the stream */
    bool (*on_tick)(void *ctx); /* several times a second, also between data; false ends it; or NULL
                                 */
    void *ctx;
};
/* GET. OK: the server or a callback ended it. Errors as for a call, and ERR_UNAVAILABLE when it was
 * cut. */
MUST_CHECK enum err_code kube_api_stream(struct kube_api *api, const struct kube_stream *stream,
                                         struct err *err);

/* Waiting that makes sense: the API server is away, busy, or refuses for now. */
bool kube_is_worth_waiting(enum err_code code);
/* The wait after another failure, in ms: doubles from 0.25 s to 15 s, at least what the server
 * asked for. */
int64_t kube_backoff_ms(const struct kube_api *api, int64_t before_ms);
