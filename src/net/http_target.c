/* Decoding request targets. A path is decoded once and must mean the same to every reader: what
 * could hide a separator, a NUL or a step upwards is refused, not cleaned. */
#include "net/http_target.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Percent-decodes into the arena. `forbidden`: bytes that may not be the result of an escape. */
static enum err_code decode(struct arena *arena, struct str raw, bool plus_is_space,
                            struct str *ret_text, struct err *err)
{
    char *text = arena_alloc(arena, raw.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.data[i];

        if (c == '%') {
            int high = i + 1 < raw.len ? hex_value(raw.data[i + 1]) : -1;
            int low = i + 2 < raw.len ? hex_value(raw.data[i + 2]) : -1;

            if (high < 0 || low < 0)
                return err_set(err, ERR_INVALID, "the target has a bad percent escape");
            c = (char)(high << 4 | low);
            if (c == '\0' || (!plus_is_space && (c == '/' || c == '\\')))
                return err_set(err, ERR_INVALID, "the target hides a %%%02X in an escape",
                               (unsigned)(unsigned char)c);
            i += 2;
        } else if ((unsigned char)c <= 0x20 || c == 0x7f) {
            return err_set(err, ERR_INVALID, "the target has control characters or blanks");
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        text[len++] = c;
    }
    *ret_text = str_n(text, len);
    if (!str_is_utf8(*ret_text, NULL))
        return err_set(err, ERR_BAD_UTF8, "the target is not valid UTF-8");
    return OK;
}

static enum err_code check_path(struct str path, struct err *err)
{
    struct str rest = str_n(path.data + 1, path.len - 1), segment;
    bool more = true;

    if (str_has_control(path) || memchr(path.data, '\\', path.len))
        return err_set(err, ERR_INVALID, "the path has control characters or a backslash");
    while (more) {
        more = str_cut(&rest, '/', &segment);
        if (str_eq_c(segment, ".") || str_eq_c(segment, "..") || (segment.len == 0 && more))
            return err_set(err, ERR_INVALID, "the path has a \".\", \"..\" or empty segment");
    }
    return OK;
}

static enum err_code parse_params(struct arena *arena, struct str query, struct http_target *target,
                                  struct err *err)
{
    bool more = query.len > 0;

    target->params = arena_array(arena, HTTP_TARGET_PARAMS_MAX, sizeof(target->params[0]));
    while (more) {
        struct http_param_text *param = &target->params[target->param_count];
        struct str value, name;

        more = str_cut(&query, '&', &value);
        if (value.len == 0)
            continue;
        if (target->param_count == HTTP_TARGET_PARAMS_MAX)
            return err_set(err, ERR_INVALID, "the target has more than %d parameters",
                           HTTP_TARGET_PARAMS_MAX);
        (void)str_cut(&value, '=', &name); /* without '=' the value is empty */
        TRY(decode(arena, name, true, &param->name, err));
        TRY(decode(arena, value, true, &param->value, err));
        target->param_count++;
    }
    return OK;
}

enum err_code http_target_parse(struct arena *arena, struct str raw, struct http_target *ret_target,
                                struct err *err)
{
    struct http_target target = {0};
    struct str path;

    if (raw.len > HTTP_TARGET_BYTES_MAX)
        return err_set(err, ERR_HEADER_TOO_LARGE, "the target is longer than %d bytes",
                       HTTP_TARGET_BYTES_MAX);
    if (raw.len == 0 || raw.data[0] != '/')
        return err_set(err, ERR_INVALID, "the target does not begin with \"/\"");
    (void)str_cut(&raw, '?', &path); /* no '?': no parameters */
    TRY(decode(arena, path, false, &target.path, err));
    TRY(check_path(target.path, err));
    if (raw.len > 0)
        TRY(parse_params(arena, raw, &target, err));
    *ret_target = target;
    return OK;
}
