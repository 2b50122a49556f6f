/* What starts the command of a job on each of its machines. Pure. thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct launch {
    struct str launcher;     /* "exec", "torchrun" or "deepspeed" */
    int64_t nodes, rank;     /* machines, and which this is */
    int64_t processes;       /* on each */
    const char *master_addr; /* of rank 0; NULL: there is one machine */
    int64_t master_port;
};

/* The argv that runs `argv` that way, NULL-terminated, in the arena. A command of Python goes on
 * with the same interpreter: `python -u train.py` becomes `python -u -m torch.distributed.run ...
 * train.py`. ERR_UNPROCESSABLE: the launcher cannot run such a command. */
MUST_CHECK enum err_code launch_argv(const struct launch *launch, const char *const *argv,
                                     struct arena *arena, const char *const **ret_argv,
                                     struct err *err);
