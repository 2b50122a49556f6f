/* What this side remembers of an attempt, in its folder, so that an agent may die at any moment:
 *
 *   pod.json      limits, and whether the Job was told to run; written before anything is created
 *   stop, kill    requests
 *   timed_out     we ended it for its time limit
 *   exit.json     how it ended: the first proven end, for good
 *
 * thread: the attempt's, or the agent's about it; may block */
#pragma once

#include "ports/executor.h"

#define POD_FOLDER_BYTES EXECUTOR_PATH_BYTES

struct pod_record {
    int64_t grace_s, timeout_s, console_bytes_max;
    bool released; /* its Job was created, and told to run */
};

MUST_CHECK enum err_code pod_record_write(const char *folder, const struct pod_record *record,
                                          struct err *err);
/* ERR_NOT_FOUND: it was never started. */
MUST_CHECK enum err_code pod_record_read(const char *folder, struct pod_record *ret_record,
                                         struct err *err);
MUST_CHECK enum err_code pod_exit_write(const char *folder, const struct executor_look *look,
                                        struct err *err);
/* ERR_NOT_FOUND: it has not ended. */
MUST_CHECK enum err_code pod_exit_read(const char *folder, struct executor_look *ret_look,
                                       struct err *err);
bool pod_mark_is_set(const char *folder, const char *name);
MUST_CHECK enum err_code pod_mark_set(const char *folder, const char *name, struct err *err);
