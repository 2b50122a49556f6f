/* Regular expressions of users (PCRE2, UTF-8), searched in short texts.
 *
 * Everything is bounded, because a pattern of a few bytes can ask for hours: the pattern's length
 * and nesting, the steps and the heap of one search, and how many searches of one expression may
 * be costly. `(?i)` at the start ignores case. Owner frees with regex_free. thread: one at a time
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define REGEX_PATTERN_BYTES_MAX 1000
#define REGEX_NESTING_MAX       50
#define REGEX_HEAP_KIB_MAX      1024
#define REGEX_STEPS_CHEAP       500   /* a search within these costs nothing of the allowance */
#define REGEX_STEPS_MAX         50000 /* of one search */
#define REGEX_COSTLY_MAX        200   /* searches beyond REGEX_STEPS_CHEAP, over its whole life */

struct regex;

/* ERR_INVALID: the text names what is wrong and at which byte (counted from 0); `fault_offset` (may
 * be NULL) receives that byte then. */
MUST_CHECK enum err_code regex_new(struct str pattern, size_t *fault_offset,
                                   struct regex **ret_regex, struct err *err);
void regex_free(struct regex *regex);
void regex_release(struct regex **regex); /* for CLEANUP; sets it to NULL */
/* Whether the expression occurs anywhere in the text. Bytes that are not UTF-8 match nothing.
 * ERR_LIMIT: it asks for too many steps or too much memory. */
MUST_CHECK enum err_code regex_search(struct regex *regex, struct str text, bool *ret_found,
                                      struct err *err);
