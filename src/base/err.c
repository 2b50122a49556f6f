/* Filling errors and the table that maps a code to its name, HTTP status and exit code. The tricky
 * part: texts may carry bytes of hostile input, so control bytes are replaced before anyone prints
 * them. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct err_row {
    const char *name;
    int http_status;
    int exit_code;
};

static const struct err_row err_rows[] = {[OK] = {"ok", 200, 0},
#define X(code, name, status, exit_code) [code] = {name, status, exit_code},
                                          ERR_CODES(X)
#undef X
};

static const struct err_row *err_row_of(enum err_code code)
{
    if ((size_t)code >= ARRAY_LEN(err_rows))
        return &err_rows[ERR_INTERNAL];
    return &err_rows[code];
}

static void err_clean(char *text)
{
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
}

enum err_code err_set_va(struct err *err, enum err_code code, const char *format, va_list args)
{
    ENSURE(code != OK);
    if (!err)
        return code;

    /* The text may be formatted from the old text of the same error: write it aside first. */
    char text[ERR_TEXT_BYTES_MAX];

    (void)vsnprintf(text, sizeof(text), format, args);
    *err = (struct err){.code = code};
    memcpy(err->text, text, sizeof(text));
    err_clean(err->text);
    return code;
}

enum err_code err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)err_set_va(err, code, format, args);
    va_end(args);
    return code;
}

enum err_code err_set_field(struct err *err, enum err_code code, const char *field,
                            const char *format, ...)
{
    char field_copy[ERR_FIELD_BYTES_MAX];
    va_list args;

    (void)snprintf(field_copy, sizeof(field_copy), "%s", field);
    va_start(args, format);
    (void)err_set_va(err, code, format, args);
    va_end(args);
    if (err) {
        memcpy(err->field, field_copy, sizeof(field_copy));
        err_clean(err->field);
    }
    return code;
}

void err_place(struct err *err, const char *field, int column)
{
    if (!err)
        return;
    (void)snprintf(err->field, sizeof(err->field), "%s", field);
    err_clean(err->field);
    err->column = column;
}

enum err_code err_set_errno(struct err *err, enum err_code code, int errno_value,
                            const char *format, ...)
{
    char text[ERR_TEXT_BYTES_MAX];
    char reason_space[128];
    const char *reason = strerror_r(errno_value, reason_space, sizeof(reason_space));
    va_list args;

    if (errno_value == ENOSPC || errno_value == EDQUOT)
        code = ERR_DISK_FULL;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return err_set(err, code, "%.370s: %.128s", text, reason);
}

void err_hint(struct err *err, const char *format, ...)
{
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    err_clean(err->hint);
}

void err_prefix(struct err *err, const char *format, ...)
{
    char prefix[ERR_TEXT_BYTES_MAX];
    char text[ERR_TEXT_BYTES_MAX];
    va_list args;

    if (!err)
        return;
    va_start(args, format);
    (void)vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    memcpy(text, err->text, sizeof(text));
    (void)snprintf(err->text, sizeof(err->text), "%.200s: %.308s", prefix, text);
    err_clean(err->text);
}

const char *err_code_name(enum err_code code)
{
    return err_row_of(code)->name;
}

int err_code_http_status(enum err_code code)
{
    return err_row_of(code)->http_status;
}

int err_code_exit(enum err_code code)
{
    return err_row_of(code)->exit_code;
}

enum err_code err_code_from_name(const char *name)
{
    for (size_t i = 1; name && i < ARRAY_LEN(err_rows); i++) {
        if (strcmp(err_rows[i].name, name) == 0)
            return (enum err_code)i;
    }
    return ERR_INTERNAL;
}
