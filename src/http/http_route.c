/* Walks the generated tree of paths: one binary search a segment, no backtracking, no
 * allocation. Then checks parameters by hand, without a regex engine. */
#include "http/http_route.h"

static int segment_compare(const struct http_path_node *node, struct str segment)
{
    size_t shared = node->segment_len < segment.len ? node->segment_len : segment.len;
    int order = memcmp(segment.data, node->segment, shared);
    if (order != 0)
        return order;
    return (segment.len > node->segment_len) - (segment.len < node->segment_len);
}

static const struct http_path_node *child_find(const struct http_path_node *nodes,
                                               const struct http_path_node *at, struct str segment)
{
    size_t low = 0;
    size_t high = at->literal_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct http_path_node *child = &nodes[at->first_child + middle];
        int order = segment_compare(child, segment);
        if (order == 0)
            return child;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return at->has_param ? &nodes[at->first_child + at->literal_count] : NULL;
}

/* The node of the whole path, or NULL. Fills the parameters on the way. */
static const struct http_path_node *path_walk(const struct http_path_node *nodes, struct str path,
                                              struct http_route_match *match)
{
    const struct http_path_node *at = &nodes[0];
    size_t start = 1;
    if (path.len == 0 || path.data[0] != '/')
        return NULL;
    for (size_t i = 1; i <= path.len; i++) {
        if (i < path.len && path.data[i] != '/')
            continue;
        struct str segment = {path.data + start, i - start};
        if (segment.len == 0)
            return NULL;
        const struct http_path_node *child = child_find(nodes, at, segment);
        if (!child)
            return NULL;
        bool is_param = at->has_param && child == &nodes[at->first_child + at->literal_count];
        if (is_param) {
            if (match->param_count == HTTP_ROUTE_PARAMS_MAX)
                return NULL;
            match->params[match->param_count++] = segment;
        }
        at = child;
        start = i + 1;
    }
    return at;
}

void http_route_find(const struct http_path_node *nodes, struct str method, struct str path,
                     struct http_route_match *ret_match)
{
    struct http_route_match match = {0};
    const struct http_path_node *node = path_walk(nodes, path, &match);
    if (!node || !node->routes) {
        *ret_match = (struct http_route_match){0};
        return;
    }
    match.allow = node->allow;
    struct str wanted = str_eq_c(method, "HEAD") ? STR("GET") : method;
    for (const struct http_route *const *route = node->routes; *route; route++) {
        if (str_eq_c(wanted, (*route)->method))
            match.route = *route;
    }
    *ret_match = match;
}

static bool bytes_from(struct str text, const char *allowed)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\0' || !strchr(allowed, text.data[i]))
            return false;
    }
    return true;
}

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* 1 to 63 bytes that start and end with a letter or digit. */
static bool is_name(struct str text, const char *allowed)
{
    if (text.len < 1 || text.len > 63 || !bytes_from(text, allowed))
        return false;
    struct str ends[] = {str_n(text.data, 1), str_n(text.data + text.len - 1, 1)};
    return bytes_from(ends[0], LOWER DIGITS) && bytes_from(ends[1], LOWER DIGITS);
}

/* 1 to 63 bytes that do not start with a digit. */
static bool is_variable(struct str text)
{
    return text.len >= 1 && text.len <= 63 && bytes_from(text, UPPER LOWER DIGITS "_") &&
           !bytes_from(str_n(text.data, 1), DIGITS);
}

static bool pattern_fits(const char *name, struct str text)
{
    if (strncmp(name, "id:", 3) == 0) {
        struct str tail = {text.data + 1, text.len - 1};
        return text.len == 13 && text.data[0] == name[3] && bytes_from(tail, LOWER "234567");
    }
    if (strcmp(name, "label") == 0)
        return is_name(text, LOWER DIGITS "-");
    if (strcmp(name, "login") == 0)
        return is_name(text, LOWER DIGITS "-._");
    if (strcmp(name, "variable") == 0)
        return is_variable(text);
    return strcmp(name, "digest") == 0 && text.len == 64 && bytes_from(text, DIGITS "abcdef");
}

bool http_login_is_valid(struct str text)
{
    return pattern_fits("login", text);
}

bool http_label_is_valid(struct str text)
{
    return pattern_fits("label", text);
}

bool http_digest_is_valid(struct str text)
{
    return pattern_fits("digest", text);
}

bool http_variable_is_valid(struct str text)
{
    return pattern_fits("variable", text);
}

static bool is_listed(const char *const *values, struct str text)
{
    for (; *values; values++) {
        if (str_eq_c(text, *values))
            return true;
    }
    return false;
}

static bool text_fits(const struct http_param *param, struct str value)
{
    if (value.len < (size_t)param->min || value.len > param->bytes_max)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f)
            return false;
    }
    if (param->enum_values && !is_listed(param->enum_values, value))
        return false;
    return !param->pattern_name || pattern_fits(param->pattern_name, value);
}

static bool value_fits(const struct http_param *param, struct str value)
{
    int64_t number;
    switch (param->type) {
    case HTTP_PARAM_INTEGER:
        return str_to_i64(value, &number) && number >= param->min && number <= param->max;
    case HTTP_PARAM_BOOLEAN: return str_eq_c(value, "true") || str_eq_c(value, "false");
    case HTTP_PARAM_TEXT: return text_fits(param, value);
    }
    return false;
}

enum err_code http_param_check(const struct http_param *param, struct str value, struct err *err)
{
    if (value_fits(param, value))
        return OK;
    int shown = value.len < 80 ? (int)value.len : 80;
    enum err_code code = param->kind == HTTP_PARAM_PATH ? ERR_NOT_FOUND : ERR_INVALID;
    return err_set_field(err, code, param->name, "%s \"%.*s\" is not valid", param->name, shown,
                         value.data);
}
