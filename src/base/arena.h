/* Memory that is freed all at once: one arena a request or a tick. What comes from an arena lives
 * until arena_release or arena_reset; nothing is freed alone. One thread at a time. */
#pragma once

#include "base/str.h"

#include <stdarg.h>

struct arena_block;
struct arena {
    struct arena_block *blocks;
    size_t used_bytes;  /* in the newest block */
    size_t total_bytes; /* over all blocks */
};

void *arena_alloc(struct arena *arena, size_t bytes); /* zeroed, aligned to 16 */
void *arena_array(struct arena *arena, size_t count, size_t item_bytes);
/* Room for one more in a list that grows: `items` (NULL at first) if *room is above `count`, else a
 * copy with twice the room. */
void *arena_more(struct arena *arena, void *items, size_t count, size_t *room, size_t item_bytes);
char *arena_text(struct arena *arena, struct str s);      /* NUL-terminated copy */
struct str arena_copy(struct arena *arena, struct str s); /* copy, also NUL-terminated */
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
void arena_reset(struct arena *arena);   /* keeps one block */
void arena_release(struct arena *arena); /* accepts a zeroed arena */
/* What `from` holds lives as long as `arena` from now on; `from` is empty then. */
void arena_adopt(struct arena *arena, struct arena *from);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
