/* A view of bytes that somebody else owns. Not NUL-terminated unless the maker says so.
 * thread: any */
#pragma once

#include "base/macros.h"

#include <string.h>

struct str {
    const char *data;
    size_t len;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
/* For printf: printf("%.*s", STR_ARG(s)) */
#define STR_ARG(s) (int)(s).len, (s).data

static inline struct str str_from(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}
static inline struct str str_n(const char *data, size_t len)
{
    return (struct str){data, len};
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
static inline bool str_eq_c(struct str a, const char *b)
{
    return str_eq(a, str_from(b));
}
/* Below 0, 0 or above 0 as `a` comes before, is equal to or comes after `b` by their bytes. */
static inline int str_compare(struct str a, struct str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.data, b.data, len) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
struct str str_trim(struct str s); /* ASCII white space off both ends */
/* Cuts at the first `sep`: returns what is before it and moves *rest behind it. False and the
 * whole in *ret_head when there is none (then *rest is empty). */
bool str_cut(struct str *rest, char sep, struct str *ret_head);
bool str_to_i64(struct str s, int64_t *ret_value); /* whole text, decimal, in range */
bool str_to_f64(struct str s, double *ret_value);  /* whole text, finite, C locale */
/* Strict UTF-8 (no surrogates, no overlong forms). *ret_offset: first bad byte. */
bool str_is_utf8(struct str s, size_t *ret_offset);
/* Bytes of the strict UTF-8 sequence that begins at `at`; 0 when there is none. */
size_t str_utf8_len(struct str s, size_t at);
bool str_has_control(struct str s); /* a byte below 0x20, 0x7f, or C1 in UTF-8 */
/* Lower-case DNS label: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most `len_max`. */
bool str_is_label(struct str s, size_t len_max);
