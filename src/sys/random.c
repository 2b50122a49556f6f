/* Random bytes from the kernel. */
#include "sys/random.h"

#include <errno.h>
#include <sys/random.h>

void random_fill(void *ret_bytes, size_t len)
{
    char *at = ret_bytes;

    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);

        ENSURE(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            len -= (size_t)got;
        }
    }
}

uint64_t random_u64(void)
{
    uint64_t bits;

    random_fill(&bits, sizeof(bits));
    return bits;
}

struct id random_id(enum id_kind kind)
{
    return id_make(kind, random_u64());
}
