/* Hash map from bytes to a pointer. Keys are copied, values are not owned. Hashing is seeded with
 * map_seed_set (the program gives it random bytes at start), so that input cannot choose
 * collisions. `entries_max` bounds it. One thread at a time. */
#pragma once

#include "base/str.h"

struct map_entry;
struct map {
    struct map_entry *entries;
    size_t capacity; /* power of two, or 0 */
    size_t count;
    size_t entries_max;
};

void map_seed_set(uint64_t seed);
void map_init(struct map *map, size_t entries_max);
void map_release(struct map *map);
/* NULL when absent. */
void *map_get(const struct map *map, struct str key);
/* Adds or replaces; `value` must not be NULL. False when the map is full. */
bool map_put(struct map *map, struct str key, void *value);
/* Removes and returns the value, or NULL. */
void *map_take(struct map *map, struct str key);
/* Walks all entries: start with *cursor = 0; false at the end. No change during the walk. */
bool map_next(const struct map *map, size_t *cursor, struct str *ret_key, void **ret_value);
