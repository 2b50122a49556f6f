/* One command or query on its way through the rules.
 *
 * A command runs on the command thread inside a transaction and reads all it decides on there; a
 * query runs on a worker with a read connection. What the world must hear of a change leaves as a
 * notice after the commit. thread: the one that owns `store` */
#pragma once

#include "base/map.h"
#include "crypto/seal.h"
#include "model/forecast.h"
#include "model/job.h"
#include "model/wait.h"
#include "ports/blob.h"
#include "ports/random.h"
#include "ports/zones.h"
#include "store/store.h"

/* Limits and times of an installation; the program's options set them. */
struct domain_config {
    const char *currency;    /* "EUR" */
    const char *zone;        /* whose months budgets count in where a project says none */
    int64_t heartbeat_ms;    /* agents poll at least this often */
    int64_t agent_silent_ms; /* then an agent is shown as unreachable and gets nothing new */
    int64_t lost_after_ms;   /* then its attempts are lost and start again elsewhere */
    int64_t final_within_ms; /* an ended attempt's record is closed after this */
    int64_t run_silent_ms;   /* a run without a job is crashed after this */
    int64_t min_run_ms;      /* an attempt is not ended for another job before it ran so long */
    int64_t offer_ms;        /* an offer that nobody takes goes back to the queue */
    int64_t open_jobs_max;   /* of a project, that have not ended */
};

/* When an agent was heard last, on the leader's monotonic clock: when it called here, or when its
 * last call in the store was seen to be another one than before (it called another server; the
 * clocks of servers are not compared). Owned by the command thread. */
struct lease_table {
    struct map by_agent; /* id text -> struct lease */
    struct arena arena;
    int64_t started_mono_ms; /* before it was heard, an agent counts as heard then: a full term */
};

/* A job in the order in which the scheduler looks at them. */
struct wait_place {
    job_id job, array; /* array 0: none */
    project_id project;
};

/* What the scheduler said of waiting jobs in its last pass; false: nothing. thread: any */
struct waits_port {
    bool (*find)(void *ctx, job_id job, struct wait *ret_wait);
    /* Takes as long as the scheduler needs; false: not known. The arena is for its work. may block:
     * worker only */
    bool (*forecast)(void *ctx, const struct forecast_question *question, struct arena *arena,
                     struct forecast *ret_forecast);
    /* Those of rank `passed` + 1 on; 0: there are no more. */
    size_t (*ranked)(void *ctx, int64_t passed, struct wait_place *ret_places, size_t max);
    void *ctx;
};

/* The most that agents have shown on one machine, and what they can do together. Owned by the
 * command thread. */
struct fleet {
    int64_t read_mono_ms;
    bool known, any;
    struct job_need most;
    uint64_t features;
};

struct domain {
    struct domain_config config;
    struct waits_port waits;
    struct random_port random;
    struct zones_port zones;
    struct blob_port blobs;
    const struct seal_key *seal_key; /* of secrets; NULL: it is missing */
    struct lease_table leases;
    struct fleet fleet;
};

/* NOTICE_POKE is for the server alone: the agent `id` has something to fetch. */
enum notice_kind {
    NOTICE_RUN,
    NOTICE_METRICS,
    NOTICE_CONSOLE,
    NOTICE_ALERT,
    NOTICE_JOB,
    NOTICE_AGENT,
    NOTICE_POKE,
};
const char *notice_kind_name(enum notice_kind kind);

struct notice {
    struct notice *next;
    enum notice_kind kind;
    project_id project; /* 0: for everybody */
    struct str project_name;
    struct id id;
};

struct cmd;

/* A query that can be answered in parts, on several threads: each part once, in any order, with a
 * store that sees some moment since the query began. What a part leaves in its cmd's arena lives as
 * long as the query's. */
struct cmd_parts {
    void *ctx;
    size_t count;
    enum err_code (*answer)(void *ctx, size_t part, struct cmd *cmd, struct err *err);
};
/* Threads that have nothing else to do. */
struct cmd_helpers {
    void *ctx;
    enum err_code (*answer)(void *ctx, const struct cmd_parts *parts, struct cmd *cmd,
                            struct err *err);
};

struct cmd {
    struct domain *domain;
    struct store *store;
    struct arena *arena;
    const struct cmd_helpers *helpers; /* NULL: there are none */
    time_ms now;                       /* wall clock, for records */
    int64_t mono_ms;                   /* for leases */
    bool woken; /* the call has waited and runs once more: what it says of itself is old */
    const struct principal *who;
    const char *operation; /* for audit rows */
    struct str request_id;
    struct notice *notices; /* newest first; sent after the commit */
    bool wake_scheduler;    /* agents, targets, queues or shares changed: it reads them again */
    writer_id appended;     /* this log has bytes to apply */
    run_id appended_run;
};

/* Answers all parts, with helpers where there are some. The first error ends it. */
MUST_CHECK enum err_code cmd_answer_parts(struct cmd *cmd, const struct cmd_parts *parts,
                                          struct err *err);
/* Adds a notice unless the same one was added a moment ago. */
void cmd_notice(struct cmd *cmd, enum notice_kind kind, project_id project, struct str project_name,
                const struct id *id);
/* Actor for events and audit rows: "user:ada", "agent:rack1", "system". */
struct str cmd_actor(struct cmd *cmd);
/* SHA-256 of what something was made with, by which a repeated create is recognised. */
void cmd_body_hash(struct str canonical, uint8_t ret_hash[HASH_BYTES]);
