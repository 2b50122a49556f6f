/* Reading JSON. Depth and UTF-8 are checked before jansson sees the text: it would recurse 2,048
 * levels deep, and its message for bad UTF-8 has no offset. */
#include "base/json.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

void json_release(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

size_t json_depth(struct str text)
{
    size_t depth = 0, deepest = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            depth++;
            deepest = MAX(deepest, depth);
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

void json_setup(void)
{
    json_set_alloc_funcs(mem_alloc, mem_free);
}

enum err_code json_parse(struct str text, size_t bytes_max, json_t **ret_value, struct err *err)
{
    json_error_t problem;
    size_t offset = 0;

    if (text.len > bytes_max)
        return err_set(err, ERR_TOO_LARGE, "JSON of %zu bytes is larger than %zu", text.len,
                       bytes_max);
    if (!str_is_utf8(text, &offset))
        return err_set(err, ERR_BAD_UTF8, "byte %zu is not valid UTF-8", offset);
    if (json_depth(text) > JSON_DEPTH_MAX)
        return err_set(err, ERR_BAD_JSON, "JSON is nested deeper than %d levels", JSON_DEPTH_MAX);

    json_t *value = json_loadb(text.data ? text.data : "", text.len,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);

    if (!value)
        return err_set(err, ERR_BAD_JSON, "line %d, column %d: %s", problem.line, problem.column,
                       problem.text);
    *ret_value = value;
    return OK;
}

static void reader_fail(struct json_reader *r, enum err_code code, const char *name,
                        const char *problem)
{
    char field[ERR_FIELD_BYTES_MAX];

    if (r->code != OK)
        return;
    (void)snprintf(field, sizeof(field), "%s%.100s", r->path, name);
    if (name[0])
        r->code = err_set_field(r->err, code, field, "%s: %s", field, problem);
    else
        r->code = err_set(r->err, code, "%s", problem);
}

void json_reader_fail(struct json_reader *r, const char *name, const char *problem)
{
    reader_fail(r, ERR_INVALID, name, problem);
}

void json_reader_init(struct json_reader *r, json_t *value, const char *path, struct err *err)
{
    *r = (struct json_reader){.path = path, .err = err};
    if (!json_is_object(value)) {
        /* "spec." names the field spec here */
        size_t len = strlen(path);
        char field[ERR_FIELD_BYTES_MAX];

        (void)snprintf(field, sizeof(field), "%.*s", (int)MIN(len, sizeof(field) - 1), path);
        if (len && len < sizeof(field) && field[len - 1] == '.')
            field[len - 1] = '\0';
        r->code = field[0] ? err_set_field(err, ERR_INVALID, field, "%s: expected an object", field)
                           : err_set(err, ERR_INVALID, "expected an object");
        return;
    }
    r->object = value;
    if (json_object_size(value) > 8 * sizeof(r->taken))
        reader_fail(r, ERR_TOO_LARGE, "", "an object has more than 256 fields");
}

void json_reader_init_strict(struct json_reader *r, json_t *value, const char *path,
                             struct err *err)
{
    json_reader_init(r, value, path, err);
    r->refuses_null = true;
}

/* The value of a field, marked as taken; NULL when absent, null, or after an error. */
static json_t *reader_take(struct json_reader *r, const char *name)
{
    size_t index = 0;

    if (r->code != OK)
        return NULL;
    for (void *at = json_object_iter(r->object); at; at = json_object_iter_next(r->object, at)) {
        if (strcmp(json_object_iter_key(at), name) == 0) {
            json_t *value = json_object_iter_value(at);

            r->taken[index / 64] |= UINT64_C(1) << (index % 64);
            if (!json_is_null(value))
                return value;
            if (r->refuses_null)
                reader_fail(r, ERR_INVALID, name, "must not be null; leave it out");
            return NULL;
        }
        index++;
    }
    return NULL;
}

static json_t *reader_take_required(struct json_reader *r, const char *name)
{
    json_t *value = reader_take(r, name);

    if (!value) /* a null was refused already: the first failure stays */
        reader_fail(r, ERR_INVALID, name, "is required");
    return value;
}

enum text_rule { TEXT_LINE, TEXT_NOTE };

static bool text_has_control(struct str text, enum text_rule rule)
{
    if (rule == TEXT_LINE)
        return str_has_control(text);
    while (text.len) { /* a note may have line ends and tabs: test what lies between */
        size_t len = 0;

        while (len < text.len && text.data[len] != '\n' && text.data[len] != '\t')
            len++;
        if (str_has_control(str_n(text.data, len)))
            return true;
        len = MIN(len + 1, text.len);
        text = str_n(text.data + len, text.len - len);
    }
    return false;
}

static void reader_text(struct json_reader *r, json_t *value, const char *name, size_t bytes_max,
                        enum text_rule rule, struct str *ret_text)
{
    char problem[64];

    if (!value)
        return;
    if (!json_is_string(value)) {
        reader_fail(r, ERR_INVALID, name, "expected text");
        return;
    }

    struct str text = str_n(json_string_value(value), json_string_length(value));

    if (text.len > bytes_max) {
        (void)snprintf(problem, sizeof(problem), "is longer than %zu bytes", bytes_max);
        reader_fail(r, ERR_INVALID, name, problem);
    } else if (text_has_control(text, rule)) {
        reader_fail(r, ERR_INVALID, name, "has control characters");
    } else {
        *ret_text = text;
    }
}

void json_take_text(struct json_reader *r, const char *name, size_t bytes_max, struct str *ret)
{
    json_t *value = reader_take_required(r, name);

    if (json_is_string(value) && json_string_length(value) == 0)
        reader_fail(r, ERR_INVALID, name, "is empty");
    if (r->code == OK)
        reader_text(r, value, name, bytes_max, TEXT_LINE, ret);
}

void json_take_text_opt(struct json_reader *r, const char *name, size_t bytes_max, struct str *ret)
{
    reader_text(r, reader_take(r, name), name, bytes_max, TEXT_LINE, ret);
}

void json_take_note_opt(struct json_reader *r, const char *name, size_t bytes_max, struct str *ret)
{
    reader_text(r, reader_take(r, name), name, bytes_max, TEXT_NOTE, ret);
}

static void reader_i64(struct json_reader *r, json_t *value, const char *name, int64_t range[2],
                       int64_t *ret)
{
    char problem[96];

    if (!value)
        return;
    if (!json_is_integer(value)) {
        reader_fail(r, ERR_INVALID, name, "expected an integer");
        return;
    }

    int64_t number = json_integer_value(value);

    if (number < range[0] || number > range[1]) {
        (void)snprintf(problem, sizeof(problem),
                       "%" PRIi64 " is not between %" PRIi64 " and %" PRIi64, number, range[0],
                       range[1]);
        reader_fail(r, ERR_INVALID, name, problem);
    } else {
        *ret = number;
    }
}

void json_take_i64(struct json_reader *r, const char *name, int64_t min, int64_t max, int64_t *ret)
{
    reader_i64(r, reader_take_required(r, name), name, (int64_t[]){min, max}, ret);
}

void json_take_i64_opt(struct json_reader *r, const char *name, int64_t min, int64_t max,
                       int64_t *ret)
{
    reader_i64(r, reader_take(r, name), name, (int64_t[]){min, max}, ret);
}

void json_take_f64_opt(struct json_reader *r, const char *name, double *ret)
{
    json_t *value = reader_take(r, name);

    if (value && !json_is_number(value))
        reader_fail(r, ERR_INVALID, name, "expected a number");
    else if (value)
        *ret = json_number_value(value);
}

void json_take_bool_opt(struct json_reader *r, const char *name, bool *ret)
{
    json_t *value = reader_take(r, name);

    if (value && !json_is_boolean(value))
        reader_fail(r, ERR_INVALID, name, "expected true or false");
    else if (value)
        *ret = json_is_true(value);
}

void json_take_time_opt(struct json_reader *r, const char *name, time_ms *ret)
{
    json_t *value = reader_take(r, name);
    time_ms at;

    if (!value)
        return;
    if (!json_is_string(value) ||
        !time_parse(str_n(json_string_value(value), json_string_length(value)), &at))
        reader_fail(r, ERR_INVALID, name, "expected a time such as 2026-11-30T04:05:52.123Z");
    else
        *ret = at;
}

void json_take_object_opt(struct json_reader *r, const char *name, json_t **ret)
{
    json_t *value = reader_take(r, name);

    if (value && !json_is_object(value))
        reader_fail(r, ERR_INVALID, name, "expected an object");
    else if (value)
        *ret = value;
}

void json_take_array_opt(struct json_reader *r, const char *name, size_t count_max, json_t **ret)
{
    json_t *value = reader_take(r, name);
    char problem[64];

    if (!value)
        return;
    if (!json_is_array(value)) {
        reader_fail(r, ERR_INVALID, name, "expected a list");
    } else if (json_array_size(value) > count_max) {
        (void)snprintf(problem, sizeof(problem), "has more than %zu items", count_max);
        reader_fail(r, ERR_INVALID, name, problem);
    } else {
        *ret = value;
    }
}

void json_take_any_opt(struct json_reader *r, const char *name, json_t **ret)
{
    json_t *value = reader_take(r, name);

    if (value)
        *ret = value;
}

enum err_code json_reader_end(struct json_reader *r)
{
    size_t index = 0;

    if (r->code != OK)
        return r->code;
    for (void *at = json_object_iter(r->object); at; at = json_object_iter_next(r->object, at)) {
        if (!(r->taken[index / 64] >> (index % 64) & 1)) {
            reader_fail(r, ERR_UNKNOWN_FIELD, json_object_iter_key(at), "is not a known field");
            break;
        }
        index++;
    }
    return r->code;
}

enum err_code json_reader_end_open(const struct json_reader *r)
{
    return r->code;
}
