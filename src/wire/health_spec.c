/* Reading how a service is asked. The path goes into a request as it is: only bytes that can stand
 * in one are taken. */
#include "wire/health_spec.h"

static bool path_is_valid(struct str path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.data[i] <= ' ' || path.data[i] > '~' || path.data[i] == '#')
            return false;
    return path.len > 0 && path.data[0] == '/';
}

void health_spec_take(struct json_reader *r, struct health_spec *ret_spec)
{
    *ret_spec = (struct health_spec){
        .path = STR("/"),
        .every_s = HEALTH_EVERY_S_DEFAULT,
        .timeout_s = HEALTH_TIMEOUT_S_DEFAULT,
        .failures = HEALTH_FAILURES_DEFAULT,
        .starts_within_s = HEALTH_STARTS_WITHIN_S_DEFAULT,
    };
    json_take_i64(r, "port", 1, 65535, &ret_spec->port);
    json_take_text_opt(r, "path", HEALTH_PATH_BYTES_MAX, &ret_spec->path);
    json_take_i64_opt(r, "every_s", 1, 3600, &ret_spec->every_s);
    json_take_i64_opt(r, "timeout_s", 1, 60, &ret_spec->timeout_s);
    json_take_i64_opt(r, "failures", 1, 100, &ret_spec->failures);
    json_take_i64_opt(r, "starts_within_s", 1, 86400, &ret_spec->starts_within_s);
    if (r->code == OK && !path_is_valid(ret_spec->path))
        json_reader_fail(r, "path", "begins with '/' and has no spaces, no '#' and ASCII alone");
}
