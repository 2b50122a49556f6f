/* Base64, three bytes at a time. */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_add(struct buf *out, struct str bytes)
{
    size_t len = (bytes.len + 2) / 3 * 4, at = 0;
    char *to = buf_reserve(out, len);

    if (!to)
        return false;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t word = (uint32_t)(unsigned char)bytes.data[i] << 16;
        if (left > 1)
            word |= (uint32_t)(unsigned char)bytes.data[i + 1] << 8;
        if (left > 2)
            word |= (unsigned char)bytes.data[i + 2];
        to[at++] = digits[word >> 18];
        to[at++] = digits[word >> 12 & 63];
        to[at++] = '=';
        to[at++] = '=';
        if (left > 1)
            to[at - 2] = digits[word >> 6 & 63];
        if (left > 2)
            to[at - 1] = digits[word & 63];
    }
    out->len += len;
    out->data[out->len] = '\0';
    return true;
}

static int digit_of(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

bool base64_decode(struct str text, struct arena *arena, struct str *ret_bytes)
{
    size_t pad = 0, len = 0;
    uint32_t word = 0;
    char *bytes;

    if (text.len % 4)
        return false;
    while (pad < 2 && pad < text.len && text.data[text.len - 1 - pad] == '=')
        pad++;
    bytes = arena_alloc(arena, text.len / 4 * 3 + 1);
    for (size_t i = 0; i < text.len; i++) {
        int digit = i >= text.len - pad ? 0 : digit_of(text.data[i]);
        if (digit < 0)
            return false;
        word = word << 6 | (uint32_t)digit;
        if (i % 4 != 3)
            continue;
        bytes[len++] = (char)(word >> 16);
        bytes[len++] = (char)(word >> 8);
        bytes[len++] = (char)word;
        word = 0;
    }
    *ret_bytes = str_n(bytes, len - pad);
    return true;
}
