/* The parts of a target's body that are documents of their own: checked here, kept as JSON text.
 * Each leaves *ret alone when the member is absent; the first error sticks to the reader.
 * thread: any */
#pragma once

#include "http/http_call.h"

void http_take_target_labels(struct http_call *call, struct json_reader *r, struct str *ret);
void http_take_target_excluded(struct http_call *call, struct json_reader *r, struct str *ret);
void http_take_target_tolerations(struct http_call *call, struct json_reader *r, struct str *ret);
void http_take_target_volumes(struct http_call *call, struct json_reader *r, struct str *ret);
void http_take_target_buckets(struct http_call *call, struct json_reader *r, struct str *ret);
/* An object with env and volumes, under the name `settings`. */
void http_take_target_settings(struct http_call *call, struct json_reader *r, struct str *ret);
/* The member `volumes`: a list of volumes by name, each at a path of its own. */
void http_take_mounts(struct http_call *call, struct json_reader *r);
/* The same, as the whole body. */
MUST_CHECK enum err_code http_take_settings_body(struct http_call *call, struct str *ret,
                                                 struct err *err);
