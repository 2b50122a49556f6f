/* The executor for hosts without a container engine: an attempt is a process under a supervisor of
 * its own (attempt_supervisor.h). Isolates neither GPUs nor files.
 * may block; thread: the attempt's owner (ports/executor.h) */
#pragma once

#include "ports/executor.h"

#include <sys/types.h>

struct process_executor;

struct process_executor_options {
    const char *root;    /* folder of all attempts; made when missing */
    const char *program; /* what is run as `PROGRAM attempt FOLDER LOCK_FD` */
    bool set_user;       /* jobs run as uid and gid; needs root */
    uid_t uid;
    gid_t gid;
};

MUST_CHECK enum err_code process_executor_new(struct process_executor **ret_executor,
                                              const struct process_executor_options *options,
                                              struct err *err);
void process_executor_free(struct process_executor *executor);
/* Lives as long as the executor. */
const struct executor_port *process_executor_port(struct process_executor *executor);
