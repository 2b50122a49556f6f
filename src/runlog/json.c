/* The tricky part is the locale: printf may write a decimal comma (some locales even more than one
 * byte), so the text is cleaned of everything that does not belong into a JSON number. */
#include "runlog/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define INTEGER_EXACT_MAX (INT64_C(1) << 53)

static void json_add(struct runlog_json *json, const char *data, size_t len)
{
    if (json->full || len > json->capacity - json->len) {
        json->full = true;
        return;
    }
    memcpy(json->data + json->len, data, len);
    json->len += len;
}

static void json_before_value(struct runlog_json *json)
{
    if (json->need_comma)
        json_add(json, ",", 1);
    json->need_comma = true;
}

void runlog_json_init(struct runlog_json *json, char *data, size_t capacity)
{
    *json = (struct runlog_json){.data = data, .capacity = capacity};
}

void runlog_json_begin(struct runlog_json *json, char bracket)
{
    json_before_value(json);
    json_add(json, &bracket, 1);
    json->need_comma = false;
}

void runlog_json_end(struct runlog_json *json, char bracket)
{
    json_add(json, &bracket, 1);
    json->need_comma = true;
}

void runlog_json_key(struct runlog_json *json, const char *key)
{
    runlog_json_text(json, key);
    json_add(json, ":", 1);
    json->need_comma = false;
}

size_t runlog_utf8_len(const char *p, size_t len)
{
    const uint8_t *u = (const uint8_t *)p;

    if (len == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    size_t need = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4 || need > len)
        return 0;
    for (size_t i = 1; i < need; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies above U+10FFFF. */
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return need;
}

static void json_add_escaped(struct runlog_json *json, char c)
{
    static const char hex[] = "0123456789abcdef";
    char unicode[6] = {'\\', 'u', '0', '0', hex[(c >> 4) & 15], hex[c & 15]};
    char pair[2] = {'\\', c};

    switch (c) {
    case '"':
    case '\\': json_add(json, pair, 2); break;
    case '\n': json_add(json, "\\n", 2); break;
    case '\t': json_add(json, "\\t", 2); break;
    case '\r': json_add(json, "\\r", 2); break;
    case '\0': json_add(json, "\xef\xbf\xbd", 3); break;
    default: json_add(json, unicode, sizeof unicode); break;
    }
}

static bool json_is_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

void runlog_json_text_n(struct runlog_json *json, const char *text, size_t len)
{
    json_before_value(json);
    json_add(json, "\"", 1);
    for (size_t i = 0; i < len;) {
        size_t sequence = runlog_utf8_len(text + i, len - i);
        if (sequence == 0)
            json_add(json, "\xef\xbf\xbd", 3);
        else if (sequence > 1 || json_is_plain(text[i]))
            json_add(json, text + i, sequence);
        else
            json_add_escaped(json, text[i]);
        i += sequence == 0 ? 1 : sequence;
    }
    json_add(json, "\"", 1);
}

void runlog_json_text(struct runlog_json *json, const char *text)
{
    if (text == NULL)
        runlog_json_raw(json, "null", 4);
    else
        runlog_json_text_n(json, text, strlen(text));
}

void runlog_json_i64(struct runlog_json *json, int64_t value)
{
    bool exact = value >= -INTEGER_EXACT_MAX && value <= INTEGER_EXACT_MAX;
    char text[48];
    int len = snprintf(text, sizeof text, exact ? "%lld" : "{\"$i\":\"%lld\"}", (long long)value);

    runlog_json_raw(json, text, (size_t)len);
}

size_t runlog_f64_format(double value, char ret_text[RUNLOG_F64_TEXT_BYTES])
{
    char text[RUNLOG_F64_TEXT_BYTES];
    size_t len = 0;
    bool has_point = false;

    if (!isfinite(value))
        return (size_t)snprintf(ret_text, RUNLOG_F64_TEXT_BYTES, "{\"$f\":\"%s\"}",
                                isnan(value) ? "NaN"
                                : value > 0  ? "Infinity"
                                             : "-Infinity");
    (void)snprintf(text, sizeof text, "%.17g", value); /* always fits: at most 24 bytes */
    for (const char *p = text; *p != '\0'; p++) {
        bool digit = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';
        if (!digit && has_point)
            continue; /* a further byte of the locale's decimal point */
        has_point = has_point || !digit || *p == 'e';
        ret_text[len++] = digit ? *p : '.';
    }
    if (!has_point) {
        ret_text[len++] = '.';
        ret_text[len++] = '0';
    }
    ret_text[len] = '\0';
    return len;
}

bool runlog_f64_from_tag(const char *text, size_t len, double *ret_value)
{
    if (len == 3 && memcmp(text, "NaN", 3) == 0)
        *ret_value = (double)NAN;
    else if (len == 8 && memcmp(text, "Infinity", 8) == 0)
        *ret_value = (double)INFINITY;
    else if (len == 9 && memcmp(text, "-Infinity", 9) == 0)
        *ret_value = -(double)INFINITY;
    else
        return false;
    return true;
}

void runlog_json_f64(struct runlog_json *json, double value)
{
    char text[RUNLOG_F64_TEXT_BYTES];
    size_t len = runlog_f64_format(value, text);

    runlog_json_raw(json, text, len);
}

void runlog_json_bool(struct runlog_json *json, bool value)
{
    runlog_json_raw(json, value ? "true" : "false", value ? 4 : 5);
}

void runlog_json_raw(struct runlog_json *json, const char *text, size_t len)
{
    json_before_value(json);
    json_add(json, text, len);
}
