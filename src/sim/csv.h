/* Tables as comma-separated text: a header row names the columns, in any order; fields may be in
 * double quotes. Every error names file, line, column and value. One thread at a time. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define CSV_COLUMNS_MAX 32
#define CSV_BYTES_MAX   (1024u * 1024 * 1024)
#define CSV_FIELD_BYTES 4096

struct csv {
    const char *path; /* borrowed */
    struct buf text;
    struct str rest;
    const char *const *known; /* NULL-terminated */
    int at[CSV_COLUMNS_MAX];  /* of each known column; -1: not in the file */
    struct str fields[CSV_COLUMNS_MAX];
    char unquoted[CSV_FIELD_BYTES]; /* of the field that was asked for last */
    int count;                      /* columns of the file */
    int64_t line;
};

/* `known` ends with NULL; those from `optional` on may be missing. */
MUST_CHECK enum err_code csv_open(struct csv *csv, const char *path, const char *const *known,
                                  size_t optional, struct err *err);
/* The same of a text, which is copied. */
MUST_CHECK enum err_code csv_open_text(struct csv *csv, struct str text, const char *const *known,
                                       size_t optional, struct err *err);
void csv_release(struct csv *csv); /* accepts a zeroed one */
/* False in *ret_row at the end. Empty lines are passed over. */
MUST_CHECK enum err_code csv_next(struct csv *csv, bool *ret_row, struct err *err);
/* Of this row: "" where the column is missing. Valid until the next call. */
struct str csv_text(struct csv *csv, size_t column);
/* An empty or missing field gives `none`. */
MUST_CHECK enum err_code csv_i64(struct csv *csv, size_t column, int64_t min, int64_t max,
                                 int64_t none, int64_t *ret_value, struct err *err);
/* Seconds or GiB with up to 9 decimals, times `unit`. */
MUST_CHECK enum err_code csv_amount(struct csv *csv, size_t column, int64_t unit, int64_t none,
                                    int64_t *ret_value, struct err *err);
/* ERR_INVALID about a field of this row. */
enum err_code csv_refuse(struct csv *csv, size_t column, const char *why, struct err *err);
