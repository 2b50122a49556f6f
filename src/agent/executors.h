/* The executors that an agent can be told to use, by name. thread: main */
#pragma once

#include "agent/agent.h"

struct agent_executor {
    const struct executor_port *port;
    void *own;
    void (*release)(void *own);
};

/* By options->executor; `root` is the folder of the attempts. ERR_INVALID: no such executor. */
MUST_CHECK enum err_code agent_executor_open(const struct agent_options *options, const char *root,
                                             struct agent_executor *ret_executor, struct err *err);
void agent_executor_close(struct agent_executor *executor); /* accepts a zeroed one */
/* "docker or process": for people. */
const char *agent_executor_names(void);
