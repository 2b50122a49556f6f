/* Request targets: "/api/v1/runs?limit=10" into a decoded path and parameters. Pure. thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define HTTP_TARGET_BYTES_MAX  8192
#define HTTP_TARGET_PARAMS_MAX 64

struct http_param_text {
    struct str name;
    struct str value;
};

struct http_target {
    struct str path; /* decoded UTF-8; begins with '/'; no segment is "." or ".." or empty inside */
    struct http_param_text *params;
    size_t param_count;
};

/* Refuses, with ERR_INVALID, what different readers could read differently: absolute targets, bad
 * escapes, %00, %2F and %5C in the path, control bytes, bytes that are not UTF-8. */
MUST_CHECK enum err_code http_target_parse(struct arena *arena, struct str raw,
                                           struct http_target *ret_target, struct err *err);
