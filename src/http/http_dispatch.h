/* From an exchange to a handler: route, version, identity, permission, parameters, body.
 * thread: as each function says */
#pragma once

#include "http/http_call.h"

#define HTTP_PROTOCOL     1
#define HTTP_PROTOCOL_MIN 1

/* Finds the route when only the head is there. ERR_NOT_FOUND, ERR_METHOD, ERR_MEDIA_TYPE,
 * ERR_UPGRADE. The plan says how much body is welcome. thread: loop, does not block */
MUST_CHECK enum err_code http_dispatch_head(const struct http_head *head,
                                            struct http_body_plan *ret_plan, struct err *err);
/* Fills route and parameters of a call. thread: any */
MUST_CHECK enum err_code http_dispatch_route(struct http_call *call, struct err *err);
/* Everything up to the handler, with the store in call->cmd. Runs again for each lane a call goes
 * through, because rights may have changed meanwhile. thread: the lane's */
MUST_CHECK enum err_code http_dispatch_admit(struct http_call *call, struct err *err);
/* The error document. */
void http_render_error(const struct err *err, const char *request_id, struct buf *out);
/* Headers that go with every answer of the API and the console. */
void http_security_headers(struct http_header *ret_headers, size_t *ret_count);
