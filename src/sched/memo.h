/* What a cycle has found out already: from four words to a number. Grows in an arena, forgets
 * nothing. One thread at a time. */
#pragma once

#include "base/arena.h"

struct memo_key {
    uint64_t v[4];
};

struct memo {
    struct arena *arena;
    uint32_t *slots; /* entry + 1; 0: free */
    uint32_t slot_count;
    struct memo_entry {
        struct memo_key key;
        uint32_t value;
    } * entries;
    size_t count, room;
};

void sched__memo_init(struct memo *memo, struct arena *arena);
/* Where the value under the key is, until the next call: 0 and *ret_new true when it was not
 * there. */
uint32_t *sched__memo_get(struct memo *memo, struct memo_key key, bool *ret_new);
/* NULL when it is not there. */
const uint32_t *sched__memo_find(const struct memo *memo, struct memo_key key);
