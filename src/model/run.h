/* Runs and the logs (writers) they are made of. thread: any */
#pragma once

#include "model/identity.h"

#define NAME_BYTES_MAX 200
#define TAG_BYTES_MAX  64
#define TAG_COUNT_MAX  64

/*      state              name        ended */
#define RUN_STATES(X)                                                                              \
    X(RUN_PENDING, "pending", false)                                                               \
    X(RUN_RUNNING, "running", false)                                                               \
    X(RUN_FINISHED, "finished", true)                                                              \
    X(RUN_FAILED, "failed", true)                                                                  \
    X(RUN_CRASHED, "crashed", true)                                                                \
    X(RUN_KILLED, "killed", true)                                                                  \
    X(RUN_PREEMPTED, "preempted", true)

enum run_state {
#define X(state, name, ended) state,
    RUN_STATES(X)
#undef X
        RUN_STATE_COUNT
};
const char *run_state_name(enum run_state state);
bool run_state_ended(enum run_state state);
enum run_state run_state_from_name(struct str name); /* RUN_STATE_COUNT when unknown */

#define EXIT_NONE (-1)      /* no exit code, no signal */
#define RANK_NONE (-1)      /* a process that is not one of many */
#define STEP_NONE INT64_MIN /* no step: not one that can be logged */

struct run {
    run_id id;
    struct id public_id;
    project_id project;
    struct str project_name, name;
    enum run_state state;
    user_id owner;
    struct str owner_login;
    struct id job_public_id; /* text[0] == 0: no job */
    struct str group, job_type, host, notes, reason;
    struct str command;         /* JSON array */
    struct str tags;            /* JSON array */
    struct str config, summary; /* JSON objects; {0} unless asked for */
    int exit_code, exit_signal; /* EXIT_NONE */
    bool oom;
    time_ms created, started, ended, seen; /* TIME_NONE */
    int64_t cost_micro;                    /* -1: no job */
    int64_t console_bytes;
    bool console_final;
    struct id parent;    /* the run it branches from, which may be gone; text[0] == 0: none */
    int64_t parent_step; /* it has the parent's steps below this one */
    int64_t redacted;    /* secrets that were taken out before anything was written */
    bool facts_cut;      /* not all points of its logs count */
    time_ms stop_asked;  /* TIME_NONE: nobody asked its processes to stop */
    uint64_t read_mark;  /* store_run_mark when it was read; 0: not read */
    uint8_t create_hash[HASH_BYTES]; /* of what it was made with: repeats are recognised */
};

/*      kind                name     */
#define RUN_DOCS(X)                                                                                \
    X(RUN_DOC_CONFIG, "config")                                                                    \
    X(RUN_DOC_SUMMARY, "summary")                                                                  \
    X(RUN_DOC_CODE, "code")                                                                        \
    X(RUN_DOC_MACHINE, "machine") /* of runs of the first version: else their writers have it */   \
    X(RUN_DOC_DIFF, "diff")                                                                        \
    X(RUN_DOC_DEFINED, "defined") /* what its metrics mean, inherited or its own */                \
    X(RUN_DOC_BASE, "base")       /* what it was before its logs said anything */

enum run_doc {
#define X(kind, name) kind,
    RUN_DOCS(X)
#undef X
        RUN_DOC_COUNT
};
const char *run_doc_name(enum run_doc kind);

/* How the part of a run that a writer writes is joined to what older writers wrote. */
enum epoch_kind {
    EPOCH_CONTINUE, /* all of it is shown */
    EPOCH_TRUNCATE, /* older epochs show only steps below `epoch_step` */
    EPOCH_ATTEMPT,  /* the same, from the first step that the epoch logs */
};
const char *epoch_kind_name(enum epoch_kind kind);
enum epoch_kind epoch_kind_from_name(struct str name); /* EPOCH_CONTINUE when unknown */

struct writer {
    writer_id id;
    struct id public_id;
    run_id run;
    struct str kind; /* trainer, child, sidecar, exec, agent; "" until its start record came */
    struct str host;
    int rank, local_rank, world_size; /* RANK_NONE */
    time_ms started;
    enum epoch_kind epoch_kind;
    struct str epoch_key;     /* writers with the same key are of one epoch; "": none of its own */
    int64_t epoch_step;       /* of EPOCH_TRUNCATE; else STEP_NONE */
    int64_t first_step;       /* the first it logged, or STEP_NONE */
    time_ms heard;            /* newest time in its records, or TIME_NONE */
    int64_t committed_offset; /* on disk */
    uint32_t committed_crc;   /* CRC-32C of all committed bytes */
    int64_t applied_offset;   /* decoded into rows */
    int64_t compacted_offset; /* rows of metrics up to here lie in chunks */
    int64_t console_bytes;    /* text in its records */
    int64_t redacted;         /* secrets that it took out */
    bool fenced;              /* of an attempt that lost its lease: stored, hidden */
    bool preempting;          /* it said that its machine will be taken away */
    bool ended;               /* its end record was applied: the next four say how */
    time_ms ended_at;         /* TIME_NONE */
    int exit_code, exit_signal;
    bool oom;
    struct str reason;
    time_ms gone; /* its sidecar saw that the process is gone; TIME_NONE. Only in writers of a run
                     that runs_writers gave */
    bool gone_oom;
};

/* That a process is gone, as its sidecar saw it. */
struct writer_gone {
    struct id writer;
    time_ms at;
    bool oom;
};

/*      kind                     name       */
#define WRITER_DOCS(X)                                                                             \
    X(WRITER_DOC_FACTS, "facts") /* name, group, tags and the like of its start */                 \
    X(WRITER_DOC_CONFIG, "config")                                                                 \
    X(WRITER_DOC_SUMMARY, "summary")                                                               \
    X(WRITER_DOC_CODE, "code")                                                                     \
    X(WRITER_DOC_MACHINE, "machine")                                                               \
    X(WRITER_DOC_DIFF, "diff")       /* what its code had changed since the commit */              \
    X(WRITER_DOC_DEFINED, "defined") /* what metrics mean */

enum writer_doc {
#define X(kind, name) kind,
    WRITER_DOCS(X)
#undef X
        WRITER_DOC_COUNT
};
const char *writer_doc_name(enum writer_doc kind);

#define ALERT_TITLE_BYTES_MAX 200
#define ALERT_TEXT_BYTES_MAX  10000

/*      level          name    */
#define ALERT_LEVELS(X)                                                                            \
    X(ALERT_INFO, "info")                                                                          \
    X(ALERT_WARN, "warn")                                                                          \
    X(ALERT_ERROR, "error")

enum alert_level {
#define X(level, name) level,
    ALERT_LEVELS(X)
#undef X
        ALERT_LEVEL_COUNT
};
const char *alert_level_name(enum alert_level level);
enum alert_level alert_level_from_name(struct str name); /* ALERT_LEVEL_COUNT when unknown */

struct alert {
    int64_t id;
    struct id run;
    struct str run_name;
    enum alert_level level;
    struct str title, text;
    time_ms at, received;
};

struct log_blob {
    writer_id writer;
    int64_t start_offset, end_offset;
    struct str data;
};
