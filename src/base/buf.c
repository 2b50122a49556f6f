/* A byte buffer that doubles up to its maximum. */
#include "base/buf.h"

#include "base/mem.h"

#include <stdio.h>

#define BUF_CAPACITY_MIN 64u

void buf_init(struct buf *buf, size_t bytes_max)
{
    ENSURE(bytes_max > 0 && bytes_max < SIZE_MAX / 4);
    *buf = (struct buf){.bytes_max = bytes_max};
}

void buf_release(struct buf *buf)
{
    mem_free(buf->data);
    *buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->full = false;
    if (buf->data)
        buf->data[0] = '\0';
}

char *buf_reserve(struct buf *buf, size_t len)
{
    ENSURE(buf->bytes_max > 0);
    if (buf->full || len > buf->bytes_max - buf->len) {
        buf->full = true;
        return NULL;
    }

    size_t needed = buf->len + len + 1;

    if (needed > buf->capacity) {
        size_t capacity = MAX(buf->capacity * 2, BUF_CAPACITY_MIN);

        capacity = MIN(capacity, buf->bytes_max + 1);
        capacity = MAX(capacity, needed);
        buf->data = mem_grow(buf->data, capacity);
        buf->capacity = capacity;
        buf->data[buf->len] = '\0';
    }
    return buf->data + buf->len;
}

bool buf_add(struct buf *buf, const void *data, size_t len)
{
    char *at = buf_reserve(buf, len);

    if (!at)
        return false;
    if (len)
        memcpy(at, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
    return true;
}

bool buf_add_str(struct buf *buf, struct str s)
{
    return buf_add(buf, s.data, s.len);
}

bool buf_add_text(struct buf *buf, const char *text)
{
    return buf_add(buf, text, strlen(text));
}

bool buf_add_char(struct buf *buf, char c)
{
    return buf_add(buf, &c, 1);
}

bool buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);

    int len = vsnprintf(NULL, 0, format, args);

    ENSURE(len >= 0);

    char *at = buf_reserve(buf, (size_t)len);

    if (at) {
        (void)vsnprintf(at, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
    return at != NULL;
}

void buf_drop_front(struct buf *buf, size_t len)
{
    ENSURE(len <= buf->len);
    if (len == 0)
        return;
    buf->len -= len;
    memmove(buf->data, buf->data + len, buf->len + 1);
}

struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->data ? buf->data : "", buf->len};
}

char *buf_take(struct buf *buf, size_t *ret_len)
{
    char *data = buf->data ? buf->data : mem_alloc(1);

    if (ret_len)
        *ret_len = buf->len;
    *buf = (struct buf){.bytes_max = buf->bytes_max};
    return data;
}

enum err_code buf_check(const struct buf *buf, const char *what, struct err *err)
{
    if (buf->full)
        return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", what, buf->bytes_max);
    return OK;
}
