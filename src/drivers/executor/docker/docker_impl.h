/* Inside of an attempt, for docker_attempt.c, docker_begin.c and docker_tend.c. thread: the
 * attempt's */
#pragma once

#include "drivers/executor/docker/container.h"
#include "drivers/executor/docker/docker_attempt.h"
#include "drivers/executor/docker/logs.h"

struct docker_attempt {
    struct docker_shared *shared;
    struct id id;
    char name[CONTAINER_NAME_BYTES];
    char folder[EXECUTOR_PATH_BYTES];
    struct arena arena; /* of the spec */
    struct executor_spec spec;
    bool begins; /* there is a spec: the container is to be made and started */
    struct thread *thread;
    struct engine *engine;  /* of the thread's main work */
    struct engine *errands; /* for short calls while the other one waits */
    struct logs *_Atomic logs;
    _Atomic bool woken;
    _Atomic bool goes;         /* a start that waits need not any more */
    struct executor_look look; /* under shared->lock */
    char address[48];          /* the same */
    /* The rest is the thread's own. */
    struct docker_record record;
    struct container_state state;
    bool term_sent, kill_sent, was_stopped, cut_stream;
    int64_t kill_at, kill_again_at; /* monotonic; 0: not */
    int64_t looked_at, missing_count, disk_at;
};

/* docker_begin.c: the network that the attempt's container is on. */
const char *docker__network(const struct docker_attempt *attempt);
/* docker_begin.c: image, container, start. OK: it runs, or ran. */
MUST_CHECK enum err_code docker__begin(struct docker_attempt *attempt, bool *ret_image_failed,
                                       struct err *err);
/* docker_tend.c: called while the thread waits for anything; false: leave what you do. */
bool docker__tend(void *attempt);
/* Waits so long, tending. False: the agent stops, or it is not to start. */
bool docker__wait(struct docker_attempt *attempt, int64_t ms);
/* Our container as the engine knows it now; ERR_NOT_FOUND: it does not. */
MUST_CHECK enum err_code docker__inspect(struct docker_attempt *attempt, struct engine *engine,
                                         struct container_state *ret_state, struct err *err);
/* What an engine's silence means is said once, and once that it is back. */
void docker__note_away(struct docker_attempt *attempt, enum err_code code, const struct err *err);
