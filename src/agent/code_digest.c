/* The digest of packed code. */
#include "agent/code_digest.h"

#include "crypto/digest.h"

#include <unistd.h>

#define READ_BYTES 65536

enum err_code code_digest_check(int fd, struct str wanted, struct err *err)
{
    struct sha256_state *sha = sha256_new();
    uint8_t digest[SHA256_BYTES];
    char text[SHA256_HEX_BYTES], data[READ_BYTES];
    off_t at = 0;
    ssize_t got;

    while ((got = pread(fd, data, sizeof(data), at)) > 0) {
        sha256_add(sha, data, (size_t)got);
        at += got;
    }
    sha256_finish(sha, digest);
    hex_encode(digest, sizeof(digest), text);
    if (got < 0 || !str_eq_c(wanted, text))
        return err_set(err, ERR_UNAVAILABLE, "the code arrived damaged");
    return OK;
}
