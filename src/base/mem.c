/* Allocation that aborts when memory is out, and the line that a failed assertion writes. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ensure_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "euvyra: %s:%d: \"%s\" does not hold\n", file, line, condition);
    abort();
}

static NORETURN void mem_out(size_t bytes)
{
    (void)fprintf(stderr, "euvyra: out of memory (asked for %zu bytes)\n", bytes);
    abort();
}

void *mem_alloc(size_t bytes)
{
    void *ptr = calloc(1, bytes ? bytes : 1);

    if (!ptr)
        mem_out(bytes);
    return ptr;
}

void *mem_array(size_t count, size_t item_bytes)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, item_bytes, &bytes))
        mem_out(SIZE_MAX);
    return mem_alloc(bytes);
}

void *mem_grow(void *ptr, size_t bytes)
{
    void *grown = realloc(ptr, bytes ? bytes : 1);

    if (!grown)
        mem_out(bytes);
    return grown;
}

void *mem_copy(const void *data, size_t bytes)
{
    void *ptr = mem_alloc(bytes);

    if (bytes)
        memcpy(ptr, data, bytes);
    return ptr;
}

char *mem_copy_text(const char *text)
{
    return text ? mem_copy(text, strlen(text) + 1) : NULL;
}

void mem_free(void *ptr)
{
    free(ptr);
}

void mem_free_text(char **text)
{
    free(*text);
    *text = NULL;
}
