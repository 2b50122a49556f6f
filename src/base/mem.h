/* Allocation for programs: aborts when memory is out, so callers check nothing. Every size that a
 * user controls is checked against a named limit before it comes here. thread: any */
#pragma once

#include "base/macros.h"

void *mem_alloc(size_t bytes);                    /* zeroed; 0 bytes give a valid pointer */
void *mem_array(size_t count, size_t item_bytes); /* zeroed; overflow aborts */
void *mem_grow(void *ptr, size_t bytes);          /* realloc; new bytes are not zeroed */
void *mem_copy(const void *data, size_t bytes);
char *mem_copy_text(const char *text); /* NULL gives NULL */
void mem_free(void *ptr);
void mem_free_text(char **text); /* for CLEANUP; sets it to NULL */

#define MEM_NEW(type) ((type *)mem_alloc(sizeof(type)))
