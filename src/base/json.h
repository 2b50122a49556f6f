/* JSON: reading with jansson under our limits, writing with an append-only writer.
 *
 * Reading refuses duplicate keys, depth over 64, invalid UTF-8, NUL in strings, trailing text.
 * A `struct json_reader` walks one object, takes its fields one by one, and at the end names any
 * field that nobody took: that is how "unknown field: 400" is done everywhere. The first error
 * sticks; later calls do nothing, so a handler checks once, at json_reader_end.
 * One thread at a time. */
#pragma once

#include "base/buf.h"
#include "base/timeval.h"

#include <jansson.h>

#define JSON_DEPTH_MAX 64

/* To be called by a program before anything else of JSON: a value that finds no memory ends the
 * program, as everywhere, where the library would return a document without it. thread: main */
void json_setup(void);
/* ERR_BAD_JSON (with line and column), ERR_BAD_UTF8, ERR_TOO_LARGE. The caller owns *ret_value
 * (json_decref). `bytes_max` is checked before parsing. */
MUST_CHECK enum err_code json_parse(struct str text, size_t bytes_max, json_t **ret_value,
                                    struct err *err);
/* The deepest nesting of a text; brackets inside strings do not count. */
size_t json_depth(struct str text);
void json_release(json_t **value); /* for CLEANUP: json_decref and NULL */

struct json_reader {
    json_t *object;    /* borrowed */
    const char *path;  /* "" at the top, "spec." below; for messages */
    uint64_t taken[4]; /* one bit a field, in iteration order; at most 256 fields */
    struct err *err;
    enum err_code code;
    bool refuses_null;
};

/* `value` must be an object, else the reader starts with ERR_INVALID "expected an object". */
void json_reader_init(struct json_reader *r, json_t *value, const char *path, struct err *err);
/* As above; an optional field that is null is an error too: what the API description promises. */
void json_reader_init_strict(struct json_reader *r, json_t *value, const char *path,
                             struct err *err);
/* Required and optional fields. Optional ones leave *ret alone when absent or null. Text is
 * borrowed from the document, NUL-terminated, checked: 1..bytes_max (text) or 0..bytes_max
 * (optional), no control bytes (json_take_note allows \n and \t). */
void json_take_text(struct json_reader *r, const char *name, size_t bytes_max, struct str *ret);
void json_take_text_opt(struct json_reader *r, const char *name, size_t bytes_max, struct str *ret);
void json_take_note_opt(struct json_reader *r, const char *name, size_t bytes_max, struct str *ret);
void json_take_i64(struct json_reader *r, const char *name, int64_t min, int64_t max, int64_t *ret);
void json_take_i64_opt(struct json_reader *r, const char *name, int64_t min, int64_t max,
                       int64_t *ret);
void json_take_f64_opt(struct json_reader *r, const char *name, double *ret);
void json_take_bool_opt(struct json_reader *r, const char *name, bool *ret);
void json_take_time_opt(struct json_reader *r, const char *name, time_ms *ret);
void json_take_object_opt(struct json_reader *r, const char *name, json_t **ret); /* borrowed */
void json_take_array_opt(struct json_reader *r, const char *name, size_t count_max, json_t **ret);
void json_take_any_opt(struct json_reader *r, const char *name, json_t **ret);
/* ERR_INVALID about the field, unless something failed before: for rules of the caller's own. */
void json_reader_fail(struct json_reader *r, const char *name, const char *problem);
/* The first error, or ERR_UNKNOWN_FIELD that names a field nobody took. */
MUST_CHECK enum err_code json_reader_end(struct json_reader *r);
/* The first error; unknown fields are welcome: for answers of a server that may be newer. */
MUST_CHECK enum err_code json_reader_end_open(const struct json_reader *r);

/* The writer: commas and quoting are its business. NaN and the infinities become the strings
 * "NaN", "Infinity", "-Infinity". Numbers are the shortest text that reads back the same. */
struct json_writer {
    struct buf *out; /* borrowed */
    bool need_comma;
    int depth;
};

void json_writer_init(struct json_writer *w, struct buf *out);
void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_put_key(struct json_writer *w, const char *key);
void json_put_key_str(struct json_writer *w, struct str key);
void json_put_str(struct json_writer *w, struct str value);   /* invalid UTF-8 becomes U+FFFD */
void json_put_text(struct json_writer *w, const char *value); /* NULL becomes null */
void json_put_i64(struct json_writer *w, int64_t value);      /* beyond +-2^53: as a string */
void json_put_f64(struct json_writer *w, double value);
void json_put_bool(struct json_writer *w, bool value);
void json_put_null(struct json_writer *w);
void json_put_time(struct json_writer *w, time_ms at);           /* TIME_NONE becomes null */
void json_put_raw(struct json_writer *w, struct str json);       /* text that is JSON already */
void json_put_value(struct json_writer *w, const json_t *value); /* a whole jansson value */
