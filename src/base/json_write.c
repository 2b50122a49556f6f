/* Writing JSON: an append-only writer that never builds a tree. What does not fit is the buffer's
 * business (buf_check at the end). */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define JSON_INTEGER_MAX (INT64_C(1) << 53)

void json_writer_init(struct json_writer *w, struct buf *out)
{
    *w = (struct json_writer){.out = out};
}

/* What goes before a value: a comma unless it is the first or follows its key. */
static void begin_value(struct json_writer *w)
{
    if (w->need_comma)
        (void)buf_add_char(w->out, ',');
    w->need_comma = true;
}

static void begin_group(struct json_writer *w, char bracket)
{
    begin_value(w);
    (void)buf_add_char(w->out, bracket);
    w->need_comma = false;
    w->depth++;
}

static void end_group(struct json_writer *w, char bracket)
{
    ENSURE(w->depth > 0);
    (void)buf_add_char(w->out, bracket);
    w->need_comma = true;
    w->depth--;
}

void json_begin_object(struct json_writer *w)
{
    begin_group(w, '{');
}

void json_end_object(struct json_writer *w)
{
    end_group(w, '}');
}

void json_begin_array(struct json_writer *w)
{
    begin_group(w, '[');
}

void json_end_array(struct json_writer *w)
{
    end_group(w, ']');
}

/* Bytes from `at` on that need no escape and are valid UTF-8. */
static size_t plain_len(struct str s, size_t at)
{
    size_t end = at;

    while (end < s.len) {
        unsigned char c = (unsigned char)s.data[end];

        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            break;

        size_t len = c < 0x80 ? 1 : str_utf8_len(s, end);

        if (len == 0)
            break;
        end += len;
    }
    return end - at;
}

static void add_escaped(struct buf *out, unsigned char c)
{
    switch (c) {
    case '"': (void)buf_add_text(out, "\\\""); break;
    case '\\': (void)buf_add_text(out, "\\\\"); break;
    case '\n': (void)buf_add_text(out, "\\n"); break;
    case '\r': (void)buf_add_text(out, "\\r"); break;
    case '\t': (void)buf_add_text(out, "\\t"); break;
    default:
        if (c < 0x80)
            (void)buf_printf(out, "\\u%04x", c);
        else
            (void)buf_add_text(out, "\xef\xbf\xbd"); /* not UTF-8: U+FFFD */
        break;
    }
}

static void add_quoted(struct buf *out, struct str s)
{
    (void)buf_add_char(out, '"');
    for (size_t at = 0; at < s.len;) {
        size_t len = plain_len(s, at);

        (void)buf_add(out, s.data + at, len);
        at += len;
        if (at < s.len)
            add_escaped(out, (unsigned char)s.data[at++]);
    }
    (void)buf_add_char(out, '"');
}

void json_put_key_str(struct json_writer *w, struct str key)
{
    begin_value(w);
    add_quoted(w->out, key);
    (void)buf_add_char(w->out, ':');
    w->need_comma = false;
}

void json_put_key(struct json_writer *w, const char *key)
{
    json_put_key_str(w, str_from(key));
}

void json_put_str(struct json_writer *w, struct str value)
{
    begin_value(w);
    add_quoted(w->out, value);
}

void json_put_text(struct json_writer *w, const char *value)
{
    if (value)
        json_put_str(w, str_from(value));
    else
        json_put_null(w);
}

void json_put_i64(struct json_writer *w, int64_t value)
{
    bool exact = value >= -JSON_INTEGER_MAX && value <= JSON_INTEGER_MAX;

    begin_value(w);
    (void)buf_printf(w->out, exact ? "%" PRIi64 : "\"%" PRIi64 "\"", value);
}

void json_put_f64(struct json_writer *w, double value)
{
    char text[40];

    if (isnan(value) || isinf(value)) {
        json_put_text(w, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) /* the shortest of these that reads back the same */
            break;
    }
    begin_value(w);
    (void)buf_add_text(w->out, text);
    if (value == 0 && signbit(value))
        (void)buf_add_text(w->out, ".0"); /* "-0" would be read as the integer 0 */
}

void json_put_bool(struct json_writer *w, bool value)
{
    begin_value(w);
    (void)buf_add_text(w->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *w)
{
    begin_value(w);
    (void)buf_add_text(w->out, "null");
}

void json_put_time(struct json_writer *w, time_ms at)
{
    char text[TIME_TEXT_BYTES];

    if (at == TIME_NONE) {
        json_put_null(w);
        return;
    }
    time_format(at, text);
    json_put_text(w, text);
}

void json_put_raw(struct json_writer *w, struct str json)
{
    begin_value(w);
    (void)buf_add_str(w->out, json);
}

/* One level of the walk of json_put_value: an object by its iterator, an array by its index. */
struct walk_level {
    const json_t *group;
    void *at;
    size_t index;
};

static void put_scalar(struct json_writer *w, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        json_put_str(w, str_n(json_string_value(value), json_string_length(value)));
        break;
    case JSON_INTEGER:
        /* Copied as it came: the document may hold integers beyond 2^53. */
        begin_value(w);
        (void)buf_printf(w->out, "%" PRIi64, (int64_t)json_integer_value(value));
        break;
    case JSON_REAL: {
        size_t before = w->out->len;

        json_put_f64(w, json_real_value(value));
        /* A real stays a real: 1.0 must not come back as the integer 1. */
        if (!w->out->full && !memchr(w->out->data + before, '.', w->out->len - before) &&
            !memchr(w->out->data + before, 'e', w->out->len - before))
            (void)buf_add_text(w->out, ".0");
        break;
    }
    case JSON_TRUE: json_put_bool(w, true); break;
    case JSON_FALSE: json_put_bool(w, false); break;
    default: json_put_null(w); break;
    }
}

/* The next value of a level, with its key written; NULL at its end. */
static const json_t *walk_next(struct json_writer *w, struct walk_level *level)
{
    if (json_is_array(level->group))
        return json_array_get(level->group, level->index++);

    json_t *group = (json_t *)(uintptr_t)level->group; /* iterating does not change it */

    level->at = level->at ? json_object_iter_next(group, level->at) : json_object_iter(group);
    if (!level->at)
        return NULL;
    json_put_key(w, json_object_iter_key(level->at));
    return json_object_iter_value(level->at);
}

void json_put_value(struct json_writer *w, const json_t *value)
{
    struct walk_level levels[JSON_DEPTH_MAX + 1];
    size_t depth = 0;

    ENSURE(value != NULL);
    do {
        if (value && (json_is_object(value) || json_is_array(value))) {
            ENSURE(depth < ARRAY_LEN(levels));
            levels[depth++] = (struct walk_level){.group = value};
            begin_group(w, json_is_object(value) ? '{' : '[');
        } else if (value) {
            put_scalar(w, value);
        } else {
            depth--; /* json_is_object evaluates its argument twice */
            end_group(w, json_is_object(levels[depth].group) ? '}' : ']');
        }
        if (depth > 0)
            value = walk_next(w, &levels[depth - 1]);
    } while (depth > 0);
}
