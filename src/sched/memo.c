/* Open addressing over indices, at most half full. */
#include "sched/memo.h"

#define SLOTS_FIRST 64

static uint64_t mix(const struct memo_key *key)
{
    uint64_t h = 0x9e3779b97f4a7c15;

    for (int i = 0; i < 4; i++) {
        h = (h ^ key->v[i]) * 0xbf58476d1ce4e5b9;
        h ^= h >> 31;
    }
    return h;
}

static uint32_t *slot_find(const struct memo *memo, const struct memo_key *key)
{
    uint32_t mask = memo->slot_count - 1;

    for (uint32_t i = (uint32_t)mix(key) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &memo->slots[i];
        if (*slot == 0 || memcmp(&memo->entries[*slot - 1].key, key, sizeof *key) == 0)
            return slot;
    }
}

static void rehash(struct memo *memo, uint32_t slot_count)
{
    memo->slot_count = slot_count;
    memo->slots = arena_array(memo->arena, slot_count, sizeof *memo->slots);
    for (size_t i = 0; i < memo->count; i++)
        *slot_find(memo, &memo->entries[i].key) = (uint32_t)i + 1;
}

void sched__memo_init(struct memo *memo, struct arena *arena)
{
    *memo = (struct memo){.arena = arena};
    rehash(memo, SLOTS_FIRST);
}

uint32_t *sched__memo_get(struct memo *memo, struct memo_key key, bool *ret_new)
{
    uint32_t *slot = slot_find(memo, &key);

    *ret_new = *slot == 0;
    if (*slot)
        return &memo->entries[*slot - 1].value;
    memo->entries =
        arena_more(memo->arena, memo->entries, memo->count, &memo->room, sizeof *memo->entries);
    memo->entries[memo->count++] = (struct memo_entry){key, 0};
    *slot = (uint32_t)memo->count;
    if (memo->count * 2 > memo->slot_count)
        rehash(memo, memo->slot_count * 2);
    return &memo->entries[memo->count - 1].value;
}

const uint32_t *sched__memo_find(const struct memo *memo, struct memo_key key)
{
    uint32_t slot = *slot_find(memo, &key);

    return slot ? &memo->entries[slot - 1].value : NULL;
}
