/* How an attempt ended, as a file that outlives everybody who knew it; the same for every executor.
 * may block; thread: any */
#pragma once

#include "ports/executor.h"

/* Durable. The phase is not written: it is EXECUTOR_ENDED. */
MUST_CHECK enum err_code end_record_write(const char *path, const struct executor_look *look,
                                          struct err *err);
/* ERR_NOT_FOUND: there is none. */
MUST_CHECK enum err_code end_record_read(const char *path, struct executor_look *ret_look,
                                         struct err *err);
