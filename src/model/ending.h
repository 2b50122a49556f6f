/* How a job or an attempt ended: stable codes with numbers, kept apart from the exit code.
 * thread: any */
#pragma once

#include "base/str.h"

/*      code                       name                number  */
#define ENDINGS(X)                                                                                 \
    X(ENDING_NONE, "", 0)                                                                          \
    X(ENDING_DONE, "done", 1)      /* exit code 0 */                                               \
    X(ENDING_EXIT, "exit_code", 2) /* another exit code */                                         \
    X(ENDING_SIGNAL, "signal", 3)                                                                  \
    X(ENDING_OOM, "out_of_memory", 4)            /* on cgroup or kernel evidence */                \
    X(ENDING_TIMEOUT, "timeout", 5)              /* its own time limit */                          \
    X(ENDING_START, "start_failed", 6)           /* the command could not be run */                \
    X(ENDING_IMAGE, "image", 7)                  /* missing, refused, wrong architecture */        \
    X(ENDING_CANCELLED, "cancelled", 8)          /* by a person */                                 \
    X(ENDING_RECLAIMED, "reclaimed", 9)          /* what it had borrowed was taken back */         \
    X(ENDING_OUTRANKED, "outranked", 10)         /* a higher priority of its queue */              \
    X(ENDING_SPOT, "spot_reclaimed", 11)         /* the provider took the machine */               \
    X(ENDING_NODE_LOST, "node_lost", 12)         /* nothing heard for too long */                  \
    X(ENDING_GONE, "work_gone", 13)              /* the agent does not hold it any more */         \
    X(ENDING_AGENT_STOPPED, "agent_stopped", 14) /* the agent ended it as it left */               \
    X(ENDING_NOT_TAKEN, "offer_not_taken", 15)                                                     \
    X(ENDING_GANG, "other_rank", 16)         /* another rank's end ended it */                     \
    X(ENDING_AFTER, "dependency", 17)        /* a job it comes after did not succeed */            \
    X(ENDING_MAINTENANCE, "maintenance", 18) /* its target or node was emptied */                  \
    X(ENDING_BUDGET, "budget", 19)           /* the month's budget is spent */                     \
    X(ENDING_DISK, "disk_full", 20)                                                                \
    X(ENDING_HEALTH, "unhealthy", 21) /* a service that did not answer */                          \
    X(ENDING_SECRET, "secret_missing", 22)                                                         \
    X(ENDING_DELETED, "deleted", 23) /* its project, queue or target is deleted */                 \
    X(ENDING_IDLE, "idle_gpus", 24)  /* it left its GPUs idle, and its project stops such jobs */  \
    X(ENDING_GPU, "gpu_failed", 25)  /* it failed, and a GPU of it is ill */

enum ending {
#define X(code, name, number) code = (number),
    ENDINGS(X)
#undef X
        ENDING_COUNT
};
const char *ending_name(enum ending ending);
enum ending ending_from_name(struct str name); /* ENDING_COUNT when unknown */
