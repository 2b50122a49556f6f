/* The port for files kept by their SHA-256. A file is there whole or not at all.
 * may block: worker only */
#pragma once

#include "base/err.h"

#define BLOB_DIGEST_LEN 64

struct blob_port {
    void *ctx;
    /* Stores `bytes` bytes of `fd` (from its offset 0) under the digest. ERR_UNPROCESSABLE when
     * they have another digest; nothing is kept then. Storing twice is fine. */
    enum err_code (*put)(void *ctx, int fd, int64_t bytes, const char *digest, struct err *err);
    /* ERR_NOT_FOUND. The caller closes *ret_fd. */
    enum err_code (*open)(void *ctx, const char *digest, int *ret_fd, int64_t *ret_bytes,
                          struct err *err);
};
