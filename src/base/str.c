/* Views of bytes: comparing, cutting, numbers, UTF-8. */
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_n(s.data, prefix.len), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len && str_eq(str_n(s.data + (s.len - suffix.len), suffix.len), suffix);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.len && is_space(s.data[0])) {
        s.data++;
        s.len--;
    }
    while (s.len && is_space(s.data[s.len - 1]))
        s.len--;
    return s;
}

bool str_cut(struct str *rest, char sep, struct str *ret_head)
{
    const char *at = rest->len ? memchr(rest->data, sep, rest->len) : NULL;

    if (!at) {
        *ret_head = *rest;
        *rest = str_n(rest->data + rest->len, 0);
        return false;
    }

    size_t head_len = (size_t)(at - rest->data);

    *ret_head = str_n(rest->data, head_len);
    *rest = str_n(at + 1, rest->len - head_len - 1);
    return true;
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
    bool negative = s.len && s.data[0] == '-';
    size_t at = negative ? 1 : 0;
    int64_t value = 0;

    if (at == s.len)
        return false;
    for (; at < s.len; at++) {
        int digit = s.data[at] - '0';

        if (digit < 0 || digit > 9)
            return false;
        /* Built on the negative side, which reaches one further than the positive one. */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return false;
    *ret_value = value;
    return true;
}

bool str_to_f64(struct str s, double *ret_value)
{
    char text[64];
    char *end;

    if (s.len == 0 || s.len >= sizeof(text))
        return false;
    /* strtod also takes hexadecimal, names and leading blanks: only decimal text goes in. */
    for (size_t i = 0; i < s.len; i++) {
        if (!strchr("0123456789+-.eE", s.data[i]) || s.data[i] == '\0')
            return false;
    }
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    errno = 0;

    double value = strtod(text, &end);

    if (*end != '\0' || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

static bool is_follower(unsigned char c)
{
    return (c & 0xc0u) == 0x80u;
}

size_t str_utf8_len(struct str s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.data + at;
    size_t left = s.len - at;

    if (left == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2) /* a follower, or an overlong two-byte form */
        return 0;
    if (p[0] < 0xe0)
        return left >= 2 && is_follower(p[1]) ? 2 : 0;
    if (p[0] < 0xf0) {
        if (left < 3 || !is_follower(p[1]) || !is_follower(p[2]))
            return 0;
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
            return 0; /* overlong, surrogate */
        return 3;
    }
    if (p[0] > 0xf4 || left < 4 || !is_follower(p[1]) || !is_follower(p[2]) || !is_follower(p[3]))
        return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0; /* overlong, beyond U+10FFFF */
    return 4;
}

bool str_is_utf8(struct str s, size_t *ret_offset)
{
    for (size_t at = 0; at < s.len;) {
        size_t len = str_utf8_len(s, at);

        if (len == 0) {
            if (ret_offset)
                *ret_offset = at;
            return false;
        }
        at += len;
    }
    return true;
}

bool str_has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];

        if (c < 0x20 || c == 0x7f)
            return true;
        if (c == 0xc2 && i + 1 < s.len && (unsigned char)s.data[i + 1] < 0xa0)
            return true; /* U+0080 to U+009F */
    }
    return false;
}

bool str_is_label(struct str s, size_t len_max)
{
    if (s.len == 0 || s.len > len_max || s.data[0] == '-' || s.data[s.len - 1] == '-')
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}
