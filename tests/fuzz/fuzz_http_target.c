/* Fuzz target: request targets, from the line as it came to parameters that a handler sees. What is
 * accepted holds nothing that a second reader could read differently, and parameters are what the
 * description of the API says. */
#include "gen/http_routes.h"
#include "http/http_route.h"
#include "net/http_target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(struct str path)
{
    struct str segment, rest = path;
    bool more = true;

    if (path.len == 0 || path.data[0] != '/' || str_has_control(path) || !str_is_utf8(path, NULL))
        abort();
    while (more) {
        more = str_cut(&rest, '/', &segment);
        if (str_eq_c(segment, "..") || str_eq_c(segment, "."))
            abort();
    }
}

static void check_value(const struct http_param *param, struct str value)
{
    struct err err = {0};
    int64_t number;

    if (http_param_check(param, value, &err) != OK) {
        if (!err.text[0] || (err.code != ERR_INVALID && err.code != ERR_NOT_FOUND))
            abort();
        return;
    }
    if (param->type == HTTP_PARAM_TEXT && value.len > param->bytes_max)
        abort();
    if (param->type == HTTP_PARAM_INTEGER &&
        (!str_to_i64(value, &number) || number < param->min || number > param->max))
        abort();
}

static void check_parameters(const struct http_target *target, const char *method)
{
    struct http_route_match match;

    http_route_find(http_path_nodes, str_from(method), target->path, &match);
    if (!match.route)
        return;
    if (match.param_count > match.route->param_count)
        abort();
    for (size_t i = 0; i < match.route->param_count; i++) {
        const struct http_param *param = &match.route->params[i];

        if ((param->kind == HTTP_PARAM_PATH) != (i < match.param_count))
            abort();
        if (param->kind == HTTP_PARAM_PATH)
            check_value(param, match.params[i]);
        for (size_t j = 0; param->kind == HTTP_PARAM_QUERY && j < target->param_count; j++)
            if (str_eq_c(target->params[j].name, param->name))
                check_value(param, target->params[j].value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct http_target target;

    if (http_target_parse(&arena, str_n((const char *)data, size), &target, NULL) == OK) {
        check_path(target.path);
        for (size_t i = 0; i < target.param_count; i++) {
            struct str value = target.params[i].value;

            if (!str_is_utf8(value, NULL) || (value.len && memchr(value.data, '\0', value.len)))
                abort();
        }
        check_parameters(&target, "GET");
        check_parameters(&target, "PUT");
        check_parameters(&target, "POST");
    }
    arena_release(&arena);
    return 0;
}
