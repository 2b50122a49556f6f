/* The Docker Engine's API over its unix socket, by libcurl. A session belongs to one thread at a
 * time and keeps its connection; sessions of one engine are made from each other (engine_again).
 * All calls may block. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define ENGINE_VERSION_BYTES 16
#define ENGINE_SOCKET        "/var/run/docker.sock"

struct engine;

struct engine_call {
    const char *method;
    const char *path;           /* from '/', without the version, with query, already encoded */
    struct str body;            /* JSON, or empty */
    const char *const *headers; /* "Name: value", NULL-terminated, or NULL; never logged */
    int64_t timeout_ms;         /* of the whole call; 0: 60 s; -1: none */
    int64_t silence_ms;         /* ends the call when nothing comes for so long; 0: never */
    /* Takes the body of a 2xx as it comes; NULL: it goes into the answer. What it returns ends the
     * call if it is not OK. */
    enum err_code (*sink)(void *ctx, struct str bytes, struct err *err);
    /* Asked at least every second, and soon after engine_wake; false ends with ERR_TIMEOUT. May use
     * another session. */
    bool (*keep_going)(void *ctx);
    void *ctx;
};

struct engine_answer {
    int status;
    struct buf body; /* release with engine_answer_release */
};

/* The session speaks the newest version that both sides know (engine_agree), until then none. */
MUST_CHECK enum err_code engine_new(struct engine **ret_engine, const char *socket,
                                    struct err *err);
/* Another session with the same engine and version, for another thread. */
struct engine *engine_again(const struct engine *engine);
void engine_free(struct engine *engine);                /* accepts NULL */
const char *engine_socket(const struct engine *engine); /* its path */

/* Asks for the engine's versions and pins the one we speak. ERR_UPGRADE: it is too old or too new.
 * *ret_version (owned by the caller) is its answer to GET /version. */
MUST_CHECK enum err_code engine_agree(struct engine *engine, json_t **ret_version, struct err *err);

/* OK for every answer, whatever its status. ERR_UNAVAILABLE: the engine is away or the answer was
 * cut; ERR_FORBIDDEN: we may not use its socket; ERR_TIMEOUT: given up by keep_going. */
MUST_CHECK enum err_code engine_send(struct engine *engine, const struct engine_call *call,
                                     struct engine_answer *ret_answer, struct err *err);
void engine_wake(struct engine *engine); /* of a call in progress. thread: any */
void engine_answer_release(struct engine_answer *answer);
/* What an answer that is no 2xx says, as an error. */
enum err_code engine_answer_error(const struct engine_answer *answer, struct err *err);
/* The usual call: expects 2xx, or 304 (it is so already). *ret_json (may be NULL) is the caller's;
 * NULL when there was no body. */
MUST_CHECK enum err_code engine_json(struct engine *engine, const char *method, const char *path,
                                     struct str body, json_t **ret_json, struct err *err);
/* Adds `text` as it stands in a query or a path; the characters of `keep` stay as they are. */
void engine_escape(struct buf *out, struct str text, const char *keep);
