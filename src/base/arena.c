/* Bump allocation in a chain of blocks, newest first. A block's bytes are zero when they are handed
 * out: fresh blocks come zeroed, and the one that a reset keeps is cleared as far as it was used.
 */
#include "base/arena.h"

#include "base/mem.h"

#include <stdio.h>

#define ARENA_ALIGN           16u
#define ARENA_BLOCK_BYTES_MIN 4096u
#define ARENA_BLOCK_BYTES_MAX (256u * 1024u)

struct arena_block {
    struct arena_block *older;
    size_t bytes;
    _Alignas(ARENA_ALIGN) char data[];
};

static void arena_add_block(struct arena *arena, size_t bytes_needed)
{
    size_t bytes = arena->blocks ? arena->blocks->bytes * 2 : ARENA_BLOCK_BYTES_MIN;

    bytes = MIN(bytes, ARENA_BLOCK_BYTES_MAX);
    bytes = MAX(bytes, bytes_needed);
    ENSURE(bytes <= SIZE_MAX - sizeof(struct arena_block));

    struct arena_block *block = mem_alloc(sizeof(*block) + bytes);

    block->bytes = bytes;
    block->older = arena->blocks;
    arena->blocks = block;
    arena->used_bytes = 0;
    arena->total_bytes += bytes;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    ENSURE(bytes <= SIZE_MAX - ARENA_ALIGN);

    size_t rounded = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);

    if (rounded == 0)
        rounded = ARENA_ALIGN;
    if (!arena->blocks || arena->blocks->bytes - arena->used_bytes < rounded)
        arena_add_block(arena, rounded);

    void *ptr = arena->blocks->data + arena->used_bytes;

    arena->used_bytes += rounded;
    return ptr;
}

void *arena_array(struct arena *arena, size_t count, size_t item_bytes)
{
    size_t bytes;

    ENSURE(!__builtin_mul_overflow(count, item_bytes, &bytes));
    return arena_alloc(arena, bytes);
}

void *arena_more(struct arena *arena, void *items, size_t count, size_t *room, size_t item_bytes)
{
    size_t more_room = *room ? *room * 2 : 8;
    void *more;

    if (count < *room)
        return items;
    more = arena_array(arena, more_room, item_bytes);
    if (count)
        memcpy(more, items, count * item_bytes);
    *room = more_room;
    return more;
}

char *arena_text(struct arena *arena, struct str s)
{
    char *text = arena_alloc(arena, s.len + 1);

    if (s.len)
        memcpy(text, s.data, s.len);
    return text;
}

struct str arena_copy(struct arena *arena, struct str s)
{
    return (struct str){arena_text(arena, s), s.len};
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);

    int len = vsnprintf(NULL, 0, format, args);

    ENSURE(len >= 0);

    char *text = arena_alloc(arena, (size_t)len + 1);

    (void)vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

static void arena_free_chain(struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;

        mem_free(block);
        block = older;
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_block *kept = arena->blocks;

    if (!kept)
        return;
    if (kept->bytes > ARENA_BLOCK_BYTES_MAX) { /* one huge request must not stay for ever */
        arena_release(arena);
        return;
    }
    arena_free_chain(kept->older);
    kept->older = NULL;
    memset(kept->data, 0, arena->used_bytes);
    arena->used_bytes = 0;
    arena->total_bytes = kept->bytes;
}

void arena_release(struct arena *arena)
{
    arena_free_chain(arena->blocks);
    *arena = (struct arena){0};
}

void arena_adopt(struct arena *arena, struct arena *from)
{
    struct arena_block **oldest = &arena->blocks;

    while (*oldest)
        oldest = &(*oldest)->older;
    *oldest = from->blocks;
    if (arena->blocks == from->blocks)
        arena->used_bytes = from->used_bytes;
    arena->total_bytes += from->total_bytes;
    *from = (struct arena){0};
}
