/* A growable byte buffer with a maximum. Bytes are always followed by a NUL that is not counted.
 * When an append would pass the maximum nothing is added and the buffer is marked `full`; callers
 * test that once, at the end (buf_check). Owner frees with buf_release. One thread at a time. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct buf {
    char *data;
    size_t len;
    size_t capacity;
    size_t bytes_max; /* 0 is a bug: set it with buf_init */
    bool full;
};

void buf_init(struct buf *buf, size_t bytes_max);
void buf_release(struct buf *buf); /* accepts a zeroed buffer; leaves it zeroed */
void buf_clear(struct buf *buf);   /* keeps memory and maximum */
bool buf_add(struct buf *buf, const void *data,
             size_t len); /* false when it would pass the maximum */
bool buf_add_str(struct buf *buf, struct str s);
bool buf_add_text(struct buf *buf, const char *text);
bool buf_add_char(struct buf *buf, char c);
bool buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
/* Makes room for `len` bytes and returns where they go; the caller then adds to buf->len.
 * NULL when it would pass the maximum. */
char *buf_reserve(struct buf *buf, size_t len);
void buf_drop_front(struct buf *buf, size_t len);
struct str buf_str(const struct buf *buf);        /* view, valid until the next change */
char *buf_take(struct buf *buf, size_t *ret_len); /* heap memory, caller frees with mem_free */
/* ERR_TOO_LARGE when an append was refused. `what` names the thing in the message. */
MUST_CHECK enum err_code buf_check(const struct buf *buf, const char *what, struct err *err);
