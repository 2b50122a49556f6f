/* Metrics that are logged together have the same times. One of them keeps its columns of times, and
 * the blobs of the others go without: their flag says so, and a column of the table whose metric
 * has them. This is how they are taken out of a chunk, or of a row of level 1, and put back.
 * thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* Second byte of a chunk and of a row of a level. */
#define TIMES_ELSEWHERE 1

enum timed { TIMED_CHUNK, TIMED_LEVEL };

/* The columns of times, with their heads and checksums; len 0 when the blob has none. */
struct str times_of(enum timed kind, struct str blob);
/* The blob without its times, which it has. */
struct str times_drop(enum timed kind, struct str blob, struct arena *arena);
/* The blob with the times that `lender` has. ERR_IO: there are none, or one of them is damaged. */
MUST_CHECK enum err_code times_restore(enum timed kind, struct str blob, struct str lender,
                                       struct arena *arena, struct str *ret_blob, struct err *err);
