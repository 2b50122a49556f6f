/* One attempt under way: a thread that brings its image, makes and starts its container, copies its
 * output, obeys requests to end it, keeps its time limit, and says how it ended. */
#pragma once

#include "base/arena.h"
#include "drivers/executor/docker/docker_host.h"
#include "drivers/executor/docker/docker_record.h"
#include "drivers/executor/docker/engine.h"
#include "sys/thread.h"

#include <stdatomic.h>

/* What attempts share; outlives them. */
struct docker_shared {
    const char *root;
    struct engine *engine; /* sessions are made of it */
    struct docker_host host;
    char agent[32]; /* id of the agent's folder, for labels */
    char user[32];  /* "UID:GID" */
    bool home_in_work;
    bool limits_disk; /* the engine keeps a limit for what a container writes into its own files */
    int64_t patience_ms;
    const char *nodes_network; /* of jobs on several machines; NULL: there are none here */
    struct lock *lock;         /* over `look` and `address` of all attempts */
    _Atomic bool stops;        /* the agent ends: threads return and leave everything running */
    _Atomic bool away;         /* the engine did not answer last time */
};

struct docker_attempt;

/* Begins: the spec is copied. thread: the attempt's owner */
MUST_CHECK enum err_code docker_attempt_start(struct docker_shared *shared,
                                              const struct executor_spec *spec,
                                              struct docker_attempt **ret_attempt, struct err *err);
/* Takes up what an earlier agent began. *ret_attempt NULL: nothing of it exists, or it has ended
 * and its folder says how. thread: the attempt's owner */
MUST_CHECK enum err_code docker_attempt_resume(struct docker_shared *shared,
                                               const struct id *attempt,
                                               struct docker_attempt **ret_attempt,
                                               struct err *err);
/* Joins its thread, which returns by itself once it has ended, or shared->stops. Accepts NULL. */
void docker_attempt_free(struct docker_attempt *attempt);
const struct id *docker_attempt_id(const struct docker_attempt *attempt);
/* thread: any, for the following */
void docker_attempt_look(struct docker_attempt *attempt, struct executor_look *ret_look);
void docker_attempt_address(struct docker_attempt *attempt, char *ret_address, size_t size);
void docker_attempt_go(struct docker_attempt *attempt);   /* it need not wait any more */
void docker_attempt_wake(struct docker_attempt *attempt); /* a request lies in its folder */

/* Makes the network of jobs when it is missing. may block */
#define DOCKER_NETWORK "euvyra"
MUST_CHECK enum err_code docker_network_make(struct engine *engine, struct err *err);
/* The container of this name or id, if this agent has made it. An agent's name for an attempt is
 * also that of its copy, or of what was in its folder before. ERR_NOT_FOUND: there is none;
 * ERR_CONFLICT: it is another agent's. may block */
MUST_CHECK enum err_code docker_container_find(struct engine *engine, const char *name,
                                               const char *agent, json_t **ret_document,
                                               struct err *err);
/* Removes a container with its volumes, running or not; one that is gone, or another agent's, is no
 * error. may block */
MUST_CHECK enum err_code docker_container_remove(struct engine *engine, const char *name,
                                                 const char *agent, struct err *err);
