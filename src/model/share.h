/* Shares and queues: by what rules jobs get hardware. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"
#include "model/wait.h"

#define SHARE_UNSET         (-1) /* of a quota, a limit: nobody has set it */
#define SHARE_DEPTH_MAX     8    /* teams one below the other */
#define SHARE_WEIGHT_MAX    1000000
#define SHARE_JOBS_MAX      1000000
#define SHARE_TARGETS_MAX   256
#define SHARES_MAX          100000
#define QUEUES_MAX          1000
#define QUEUE_PRIORITY_MAX  1000
#define QUEUE_AGING_MS_MAX  INT64_C(31536000000)
#define QUEUE_TIMEOUT_S_MAX 31536000
#define QUEUE_DEFAULT       "default" /* of jobs that name none; there from the beginning */

enum share_kind { SHARE_ORGANISATION, SHARE_TEAM, SHARE_PROJECT, SHARE_KIND_COUNT };
const char *share_kind_name(enum share_kind kind);
enum share_kind share_kind_from_name(struct str name); /* SHARE_KIND_COUNT when unknown */

/* In the units of enum resource; SHARE_UNSET where nothing was set, always for slots. */
struct share_amounts {
    int64_t v[RESOURCE_COUNT];
};

/* The targets that are allowed; none: all. By rising id. */
struct allowed_targets {
    target_id *ids;
    size_t count;
};

/* A node of the tree: the organisation, a team, or a project. */
struct share {
    share_id id;
    share_id parent; /* 0: the organisation */
    enum share_kind kind;
    struct str name;    /* of the team or project; "" of the organisation */
    project_id project; /* 0 unless it is one */
    int64_t weight;
    struct share_amounts quota;  /* what it is sure to get */
    struct share_amounts borrow; /* so much more while others leave it; SHARE_UNSET: any */
    struct share_amounts lend;   /* so much of the quota to others; SHARE_UNSET: all */
    int64_t jobs_max;            /* running at once, with all below it; SHARE_UNSET: any */
    bool held;                   /* nothing below it starts */
    time_ms created;
    struct allowed_targets targets;

    size_t parent_at; /* place in the list it came in; of the organisation: its own */
    int depth;        /* 0: the organisation */
    /* What its open attempts hold, with all below it. */
    struct share_amounts use;
    int64_t running;
};

struct job_queue {
    queue_id id;
    struct str name;
    int64_t priority;  /* between queues: higher goes first */
    int64_t aging_ms;  /* so much waiting counts as one step of priority; 0: none does */
    int64_t timeout_s; /* time limit of jobs that say none; 0: the server's */
    bool spread;       /* over the emptiest nodes instead of keeping whole nodes free */
    bool held;         /* starts nothing */
    bool draining;     /* takes nothing more; what is in it runs */
    time_ms created;
    struct allowed_targets targets;
    int64_t open_jobs; /* that have not ended */
};
