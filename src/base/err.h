/* Errors: a code, one factual line and, where there is advice, a hint.
 *
 * Every function that can fail returns `enum err_code` and takes `struct err *` last. The one table
 * below maps a code to its name in JSON, its HTTP status and the exit code of the command line.
 * `struct err` holds its text inline: nothing to free, may be copied. thread: any */
#pragma once

#include "base/macros.h"

#include <stdarg.h>

/*      code                 JSON name              HTTP  exit */
#define ERR_CODES(X)                                                                               \
    X(ERR_INVALID, "invalid", 400, 2)                                                              \
    X(ERR_BAD_JSON, "bad_json", 400, 2)                                                            \
    X(ERR_BAD_UTF8, "bad_utf8", 400, 2)                                                            \
    X(ERR_UNKNOWN_FIELD, "unknown_field", 400, 2)                                                  \
    X(ERR_UNAUTHENTICATED, "unauthenticated", 401, 77)                                             \
    X(ERR_FORBIDDEN, "forbidden", 403, 77)                                                         \
    X(ERR_NOT_FOUND, "not_found", 404, 4)                                                          \
    X(ERR_METHOD, "method_not_allowed", 405, 2)                                                    \
    X(ERR_TIMEOUT, "timeout", 408, 75)                                                             \
    X(ERR_CONFLICT, "conflict", 409, 5)                                                            \
    X(ERR_FENCED, "fenced", 409, 5)                                                                \
    X(ERR_AGENT_CONFLICT, "agent_conflict", 409, 5)                                                \
    X(ERR_WRITER_DIVERGED, "writer_diverged", 409, 5)                                              \
    X(ERR_RUN_FINISHED, "run_finished", 409, 5)                                                    \
    X(ERR_GONE, "gone", 410, 4)                                                                    \
    X(ERR_TOO_LARGE, "too_large", 413, 2)                                                          \
    X(ERR_MEDIA_TYPE, "unsupported_media", 415, 2)                                                 \
    X(ERR_OFFSET, "wrong_offset", 416, 5)                                                          \
    X(ERR_UNPROCESSABLE, "unprocessable", 422, 2)                                                  \
    X(ERR_UPGRADE, "upgrade_required", 426, 76)                                                    \
    X(ERR_LIMIT, "limit", 429, 75)                                                                 \
    X(ERR_HEADER_TOO_LARGE, "header_too_large", 431, 2)                                            \
    X(ERR_INTERNAL, "internal", 500, 70)                                                           \
    X(ERR_UNAVAILABLE, "unavailable", 503, 69)                                                     \
    X(ERR_DISK_FULL, "disk_full", 507, 74)                                                         \
    X(ERR_IO, "io", 500, 74)

enum err_code {
    OK = 0,
#define X(code, name, status, exit_code) code,
    ERR_CODES(X)
#undef X
};

#define ERR_TEXT_BYTES_MAX  512
#define ERR_HINT_BYTES_MAX  256
#define ERR_FIELD_BYTES_MAX 128

struct err {
    enum err_code code;
    char text[ERR_TEXT_BYTES_MAX];   /* `queue "a100" is full (64 of 64)` */
    char hint[ERR_HINT_BYTES_MAX];   /* advice, or "" */
    char field[ERR_FIELD_BYTES_MAX]; /* the input field at fault, e.g. "spec.gpus", or "" */
    int column; /* where in the text of that field, in characters from 1; 0: not said */
};

/* Fill `err` (may be NULL) and return `code`. Control bytes in the text become '?'. */
enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
    PRINTF_LIKE(3, 4);
enum err_code err_set_va(struct err *err, enum err_code code, const char *format, va_list args)
    PRINTF_LIKE(3, 0);
/* As err_set, with the input field that is at fault. */
enum err_code err_set_field(struct err *err, enum err_code code, const char *field,
                            const char *format, ...) PRINTF_LIKE(4, 5);
/* As err_set with ": <strerror(errno_value)>" appended; ENOSPC and EDQUOT become ERR_DISK_FULL. */
enum err_code err_set_errno(struct err *err, enum err_code code, int errno_value,
                            const char *format, ...) PRINTF_LIKE(4, 5);
/* Says in which field, and where in its text, an error that is already set lies. */
void err_place(struct err *err, const char *field, int column);
/* Adds advice to an error that is already set. */
void err_hint(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);
/* Puts "prefix: " before the text. */
void err_prefix(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

const char *err_code_name(enum err_code code);      /* "not_found"; "ok" for OK */
int err_code_http_status(enum err_code code);       /* 200 for OK */
int err_code_exit(enum err_code code);              /* 0 for OK */
enum err_code err_code_from_name(const char *name); /* ERR_INTERNAL when unknown */

/* Returns from the calling function when `call` fails. The only macro that returns. An expression,
 * so that it also fits into the head of a loop: for (TRY(next(&row)); row; TRY(next(&row))) */
#define TRY(call)                                                                                  \
    __extension__({                                                                                \
        enum err_code try_code_ = (call);                                                          \
        if (try_code_ != OK)                                                                       \
            return try_code_;                                                                      \
        (void)0;                                                                                   \
    })
