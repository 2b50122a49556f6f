/* Signals of a program as something to poll for: they are blocked in every thread and arrive on one
 * descriptor. Call signals_open in main before the first thread starts. */
#pragma once

#include "base/err.h"

/* Blocks the signals of the 0-terminated list and returns a close-on-exec descriptor on which they
 * arrive. SIGPIPE is ignored from then on. thread: main */
MUST_CHECK enum err_code signals_open(const int *signal_numbers, int *ret_fd, struct err *err);
/* Waits up to timeout_ms (-1: for ever) for a signal; 0 on time-out. thread: any */
int signals_wait(int fd, int64_t timeout_ms);
