/* Attributes and small macros that every folder uses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NONNULL           __attribute__((nonnull))
#define NORETURN          __attribute__((noreturn))
#define UNUSED            __attribute__((unused))

/* Declares a variable that `type##_release` (or _free, see CLEANUP_FREE) cleans on every path:
 *     CLEANUP(buf_release) struct buf b = {0};
 * The function receives a pointer to the variable and must accept a zeroed object. */
#define CLEANUP(function) __attribute__((cleanup(function)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

/* The struct of type `type` whose member `member` is at `ptr`. */
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* An assertion that stays in release builds. Only for our own bugs, never for input. */
#define ENSURE(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ensure_failed(#condition, __FILE__, __LINE__);                                         \
    } while (0)

/* Writes one line to stderr and aborts. thread: any */
NORETURN void ensure_failed(const char *condition, const char *file, int line);
