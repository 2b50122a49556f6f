/* The console of an attempt: a file that the job writes into by itself, so that nothing stands
 * between a training and its text, and that may grow only so far. What lies beyond the limit is
 * given back to the disk while the job runs (holes; where the file system has none, the file is
 * cut), and at the end one line stands in its place. The disk holds at most the limit and what is
 * written between two calls of attempt_console_trim.
 * thread: the attempt's owner */
#pragma once

#include "base/err.h"

#include <stdint.h>

struct attempt_console {
    int fd;            /* -1: not open; writes at the end of the file */
    int64_t bytes_max; /* 0: no limit */
    int64_t cut_bytes; /* left out where there are no holes */
    int64_t hole_end;  /* up to here it is given back already */
};

/* The file `console` of the folder, made when missing. */
MUST_CHECK enum err_code attempt_console_open(struct attempt_console *console, const char *folder,
                                              int64_t bytes_max, struct err *err);
/* While the job runs; every second or so. */
void attempt_console_trim(struct attempt_console *console);
/* When nobody writes any more: the line about what was left out. May be repeated after a crash. */
void attempt_console_finish(struct attempt_console *console);
void attempt_console_close(struct attempt_console *console);
/* How much of the file is text that stays, while the job runs. */
int64_t attempt_console_bytes(const char *folder);
