/* Writing JSON payloads into a caller's buffer, and the tagged forms by which a JSON payload
 * carries what plain JSON cannot:
 *
 *     {"$f": "NaN" | "Infinity" | "-Infinity"}   those doubles
 *     {"$i": "-9223372036854775808"}             an integer beyond +-2^53, decimal
 *     {"$o": {...}}                              an object whose own single key starts with '$'
 *
 * -0.0 is written as the number -0.0; a number with '.', 'e' or 'E' is a double, others integers.
 * thread: any, one writer at a time */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runlog_json {
    char *data; /* borrowed */
    size_t capacity;
    size_t len;
    bool full; /* something did not fit: the text is useless */
    bool need_comma;
};

void runlog_json_init(struct runlog_json *json, char *data, size_t capacity);
void runlog_json_begin(struct runlog_json *json, char bracket); /* '{' or '[' */
void runlog_json_end(struct runlog_json *json, char bracket);   /* '}' or ']' */
void runlog_json_key(struct runlog_json *json, const char *key);
/* Invalid UTF-8 and NUL become U+FFFD; NULL becomes null. */
void runlog_json_text(struct runlog_json *json, const char *text);
void runlog_json_text_n(struct runlog_json *json, const char *text, size_t len);
void runlog_json_i64(struct runlog_json *json, int64_t value);
void runlog_json_f64(struct runlog_json *json, double value);
void runlog_json_bool(struct runlog_json *json, bool value);
void runlog_json_raw(struct runlog_json *json, const char *text, size_t len); /* JSON already */

/* The text of a finite or tagged double, as runlog_json_f64 writes it. Returns its length. */
#define RUNLOG_F64_TEXT_BYTES 40
size_t runlog_f64_format(double value, char ret_text[RUNLOG_F64_TEXT_BYTES]);
/* The inverse for the text inside {"$f": ...}. False when it is none of the three. */
bool runlog_f64_from_tag(const char *text, size_t len, double *ret_value);
/* Bytes of the valid UTF-8 sequence at `p` (1 to 4); 0 when there is none. */
size_t runlog_utf8_len(const char *p, size_t len);
