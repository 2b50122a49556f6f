/* One attempt from its offer to the last acknowledged byte, on a thread of its own. What is known
 * about it lies in the attempt's folder: `offer.json` beside the executor's own files. */
#pragma once

#include "agent/agent.h"
#include "wire/agent_messages.h"

struct agent_gpus; /* agent/gpus.h */
struct work;

/* What works share; outlives them. */
struct work_env {
    const struct agent_options *options;
    const struct executor_port *executor;
    struct agent_gpus *gpus;   /* NULL: the executor allots them itself */
    const char *unsent_dir;    /* run logs that could not be sent in time are moved here */
    _Atomic bool *agent_stops; /* then works return and leave everything running */
};

/* Takes an offer up: writes it down, starts the thread. thread: main */
MUST_CHECK enum err_code work_new(const struct work_env *env, const struct wire_offer *offer,
                                  struct work **ret_work, struct err *err);
/* Takes up what a folder of the executor holds, after a restart. ERR_NOT_FOUND: it holds no offer.
 * thread: main */
MUST_CHECK enum err_code work_resume(const struct work_env *env, const struct id *attempt,
                                     struct work **ret_work, struct err *err);
void work_free(struct work *work); /* joins; accepts NULL. thread: main */
const struct wire_attempt *work_attempt(const struct work *work);
bool work_is_finished(const struct work *work); /* thread: any */
void work_stop(struct work *work);              /* SIGTERM and a grace. thread: main */
void work_fence(struct work *work);             /* kill, tell nothing. thread: main */
void work_wake(struct work *work);              /* looks at agent_stops now. thread: main */
