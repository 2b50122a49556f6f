/* Open addressing with linear probing; a removed entry is closed by moving later ones back, so
 * there are no tombstones. Keys are hashed with SipHash-1-3 under a seed of the program's own. */
#include "base/map.h"

#include "base/mem.h"

#include <stdatomic.h>

#define MAP_CAPACITY_MIN 16u

struct map_entry {
    char *key; /* NULL: free slot */
    size_t key_len;
    uint64_t hash;
    void *value;
};

static _Atomic uint64_t map_seed = UINT64_C(0x9e3779b97f4a7c15);

void map_seed_set(uint64_t seed)
{
    atomic_store(&map_seed, seed);
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t map_hash(struct str key)
{
    uint64_t k0 = atomic_load(&map_seed);
    uint64_t k1 = rotate(k0, 29) ^ UINT64_C(0xd6e8feb86659fd93);
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                     k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)key.len << 56;
    size_t at = 0;

    for (; at + 8 <= key.len; at += 8) {
        uint64_t word;

        memcpy(&word, key.data + at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (unsigned shift = 0; at < key.len; at++, shift += 8)
        last |= (uint64_t)(unsigned char)key.data[at] << shift;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_init(struct map *map, size_t entries_max)
{
    *map = (struct map){.entries_max = entries_max};
}

void map_release(struct map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        mem_free(map->entries[i].key);
    mem_free(map->entries);
    *map = (struct map){0};
}

/* The slot that holds `key`, or the free one where it would go. The table is never full. */
static size_t map_slot(const struct map *map, struct str key, uint64_t hash)
{
    size_t mask = map->capacity - 1;
    size_t at = (size_t)hash & mask;

    while (map->entries[at].key) {
        const struct map_entry *entry = &map->entries[at];

        if (entry->hash == hash && str_eq(str_n(entry->key, entry->key_len), key))
            break;
        at = (at + 1) & mask;
    }
    return at;
}

static void map_grow(struct map *map)
{
    struct map old = *map;

    map->capacity = MAX(old.capacity * 2, MAP_CAPACITY_MIN);
    map->entries = mem_array(map->capacity, sizeof(map->entries[0]));
    for (size_t i = 0; i < old.capacity; i++) {
        struct map_entry *entry = &old.entries[i];

        if (entry->key)
            map->entries[map_slot(map, str_n(entry->key, entry->key_len), entry->hash)] = *entry;
    }
    mem_free(old.entries);
}

void *map_get(const struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    return map->entries[map_slot(map, key, map_hash(key))].value;
}

bool map_put(struct map *map, struct str key, void *value)
{
    uint64_t hash = map_hash(key);

    ENSURE(value != NULL);
    if (map->count * 4 >= map->capacity * 3)
        map_grow(map);

    struct map_entry *entry = &map->entries[map_slot(map, key, hash)];

    if (!entry->key) {
        if (map->count >= map->entries_max)
            return false;
        entry->key = mem_copy(key.data, key.len);
        entry->key_len = key.len;
        entry->hash = hash;
        map->count++;
    }
    entry->value = value;
    return true;
}

/* Moves entries that probed past the freed slot back into it, until the run ends. */
static void map_close_gap(struct map *map, size_t gap)
{
    size_t mask = map->capacity - 1;

    for (size_t at = (gap + 1) & mask; map->entries[at].key; at = (at + 1) & mask) {
        size_t home = (size_t)map->entries[at].hash & mask;

        if (((at - home) & mask) < ((at - gap) & mask))
            continue; /* its home lies behind the gap: it stays reachable */
        map->entries[gap] = map->entries[at];
        map->entries[at] = (struct map_entry){0};
        gap = at;
    }
}

void *map_take(struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;

    size_t at = map_slot(map, key, map_hash(key));
    void *value = map->entries[at].value;

    if (!map->entries[at].key)
        return NULL;
    mem_free(map->entries[at].key);
    map->entries[at] = (struct map_entry){0};
    map->count--;
    map_close_gap(map, at);
    return value;
}

bool map_next(const struct map *map, size_t *cursor, struct str *ret_key, void **ret_value)
{
    while (*cursor < map->capacity) {
        const struct map_entry *entry = &map->entries[(*cursor)++];

        if (!entry->key)
            continue;
        *ret_key = str_n(entry->key, entry->key_len);
        *ret_value = entry->value;
        return true;
    }
    return false;
}
