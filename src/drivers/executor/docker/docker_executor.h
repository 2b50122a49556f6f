/* The executor for hosts with a Docker engine: an attempt is a container. The engine keeps what
 * runs, and the attempt's folder says the rest (docker_record.h), so that agent and engine may each
 * die and come back. Each attempt that is under way has a thread of its own (docker_attempt.c). may
 * block; thread: the attempt's owner (ports/executor.h) */
#pragma once

#include "ports/executor.h"

#include <sys/types.h>

struct docker_executor;

struct docker_executor_options {
    const char *root;   /* folder of all attempts; made when missing */
    const char *socket; /* NULL: the engine's usual one */
    bool set_user;      /* jobs run as uid and gid, with their work folder as HOME */
    uid_t uid;
    gid_t gid;
    bool allow_old_runc;
    int64_t patience_ms; /* with a registry that is away */
    /* Of jobs on several machines: "host", or a network that reaches all of them; NULL: none. Lives
     * as long as the executor. */
    const char *nodes_network;
};

/* Waits for an engine that is away for half a minute. Finds what an earlier agent left, and ends
 * containers of ours that have lost their folder. ERR_FORBIDDEN: the engine's socket is not for us,
 * or it is one with a known hole. */
MUST_CHECK enum err_code docker_executor_new(struct docker_executor **ret_executor,
                                             const struct docker_executor_options *options,
                                             struct err *err);
/* Leaves all containers running. */
void docker_executor_free(struct docker_executor *executor);
/* Lives as long as the executor. */
const struct executor_port *docker_executor_port(struct docker_executor *executor);
