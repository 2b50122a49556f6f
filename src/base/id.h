/* Public ids: one letter for the kind and 12 characters of lower-case base32 (a-z, 2-7), made by
 * whoever creates the thing: "r4k2m7qwertyu". Valid DNS labels. thread: any */
#pragma once

#include "base/str.h"

#define ID_LEN   13
#define ID_BYTES 14 /* with the NUL */

/*      kind           letter */
#define ID_KINDS(X)                                                                                \
    X(ID_AGENT, 'a')                                                                               \
    X(ID_ATTEMPT, 't')                                                                             \
    X(ID_JOB, 'j')                                                                                 \
    X(ID_KEY, 'k')                                                                                 \
    X(ID_RUN, 'r')                                                                                 \
    X(ID_USER, 'u')                                                                                \
    X(ID_SESSION, 's')                                                                             \
    X(ID_WRITER, 'w')

enum id_kind {
#define X(kind, letter) kind = letter,
    ID_KINDS(X)
#undef X
};

struct id {
    char text[ID_BYTES];
};

/* 60 random bits in, an id out. */
struct id id_make(enum id_kind kind, uint64_t random_bits);
bool id_parse(struct str text, enum id_kind kind, struct id *ret_id);
static inline struct str id_str(const struct id *id)
{
    return (struct str){id->text, ID_LEN};
}
