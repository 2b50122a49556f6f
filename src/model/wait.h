/* Why a job waits: stable codes, the same for every kind of hardware. The numbers beside a code
 * are named in `struct wait`; the texts are the console's and the command line's. thread: any */
#pragma once

#include "model/ids.h"

#include "base/str.h"
#include "base/timeval.h"

/*      code                        name                   asked / available / of */
#define WAIT_CODES(X)                                                                              \
    /* not for the scheduler to decide */                                                          \
    X(WAIT_HELD, "held")                   /* until somebody releases it */                        \
    X(WAIT_AFTER, "after")                 /* jobs it comes after: open ones, -, job */            \
    X(WAIT_ARRAY, "array_limit")           /* elements at once: -, limit */                        \
    X(WAIT_BACKOFF, "backoff")             /* a pause after its last attempt */                    \
    X(WAIT_RECORD, "last_record")          /* its last attempt still sends its log */              \
    X(WAIT_OFFERED, "offered")             /* agents have it and did not start it yet */           \
    X(WAIT_QUEUE_HELD, "queue_held")       /* the queue starts nothing: queue */                   \
    X(WAIT_QUEUE_DRAINED, "queue_drained") /* nor takes anything more: queue */                    \
    X(WAIT_PROJECT_HELD, "project_held")   /* the project is being deleted or is stopped */        \
    /* what its project, team or organisation may have: share node */                              \
    X(WAIT_QUOTA, "quota")               /* quota and what it may borrow: asked, left */           \
    X(WAIT_LENT_BACK, "kept_for_owner")  /* free, but kept for those who own it */                 \
    X(WAIT_PARALLEL, "parallel_jobs")    /* jobs at once: running, limit */                        \
    X(WAIT_BUDGET_HOURS, "budget_hours") /* GPU-ms this month: asked, left */                      \
    X(WAIT_BUDGET_MONEY, "budget_money") /* micro-currency this month: asked, left */              \
    /* the hardware */                                                                             \
    X(WAIT_NO_AGENT, "no_agent")             /* nothing is connected at all */                     \
    X(WAIT_NO_TARGET, "no_target")           /* none it may use: target */                         \
    X(WAIT_TARGET_STEP, "target_step")       /* the next target opens at `until`: target */        \
    X(WAIT_MAINTENANCE, "maintenance")       /* target is in maintenance until `until` */          \
    X(WAIT_AGENT_OFFLINE, "agent_offline")   /* of nodes that could take it: needed, online */     \
    X(WAIT_NODES_EXCLUDED, "nodes_excluded") /* of those: needed, left after exclusions */         \
    X(WAIT_GPU_TYPE, "gpu_type")             /* no node has such a GPU */                          \
    X(WAIT_NO_FEATURE, "no_feature")         /* no node can do that: features */                   \
    X(WAIT_TOO_BIG, "too_big")               /* one node, empty: asked, largest */                 \
    X(WAIT_TOO_FEW_NODES, "too_few_nodes")   /* nodes that fit when empty: asked, there */         \
    X(WAIT_BUSY, "busy")                     /* one node: asked, most free on one */               \
    X(WAIT_FRAGMENTED, "fragmented")         /* enough in sum, on no one node: asked, sum */       \
    X(WAIT_GANG, "waiting_gang")             /* nodes free for it now: asked, free */              \
    X(WAIT_RESERVED, "reserved_for_other")   /* free, but held for `job` until `until` */          \
    X(WAIT_VICTIMS, "waiting_victims")       /* others are being ended for it: jobs */             \
    X(WAIT_COMING, "machine_coming")         /* ordered capacity comes at `until` */               \
    X(WAIT_TURN, "turn")                     /* others go first: `rank` says how many */           \
    X(WAIT_NOT_LOOKED, "not_looked_at")      /* the last pass did not reach it */

enum wait_code {
#define X(code, name) code,
    WAIT_CODES(X)
#undef X
        WAIT_CODE_COUNT
};
const char *wait_code_name(enum wait_code code);
enum wait_code wait_code_from_name(struct str name); /* WAIT_CODE_COUNT when unknown */

/* `asked`, `available` and `resource` mean what the table says; 0 and RESOURCE_NONE where the code
 * has none. */
enum resource {
    RESOURCE_CPU,    /* thousandths of a core */
    RESOURCE_GPU,    /* whole devices */
    RESOURCE_MEMORY, /* bytes */
    RESOURCE_SLOT,   /* places for a job; each placement takes one */
    RESOURCE_COUNT,
    RESOURCE_NONE = RESOURCE_COUNT,
};
const char *resource_name(enum resource resource); /* "cpus", "gpus", "memory", "slots", "" */

struct wait {
    enum wait_code code;
    enum resource resource;
    int64_t asked, available;
    share_id share; /* whose limit it is */
    queue_id queue;
    target_id target;  /* which it is about; 0: all it may use */
    job_id job;        /* the other one: it comes after it, or room is held for it */
    uint64_t features; /* of enum job_feature, that are missing */
    time_ms until;     /* TIME_NONE */
    /* When it may start as far as is known now, TIME_NONE: nothing bounds what runs before it. */
    time_ms start_estimate;
    int64_t rank; /* 1: next */
};
