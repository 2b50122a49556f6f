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

#define EXIT_NONE (-1) /* no exit code, no signal */

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
    uint8_t create_hash[HASH_BYTES]; /* of what it was made with: repeats are recognised */
};

/*      kind                name     */
#define RUN_DOCS(X)                                                                                \
    X(RUN_DOC_CONFIG, "config")                                                                    \
    X(RUN_DOC_SUMMARY, "summary")                                                                  \
    X(RUN_DOC_CODE, "code")                                                                        \
    X(RUN_DOC_MACHINE, "machine")

enum run_doc {
#define X(kind, name) kind,
    RUN_DOCS(X)
#undef X
        RUN_DOC_COUNT
};
const char *run_doc_name(enum run_doc kind);

struct writer {
    writer_id id;
    struct id public_id;
    run_id run;
    struct str kind; /* trainer, sidecar, exec; "" until its start record came */
    time_ms started;
    int64_t committed_offset; /* on disk */
    uint32_t committed_crc;   /* CRC-32C of all committed bytes */
    int64_t applied_offset;   /* decoded into rows */
    int64_t compacted_offset; /* rows of metrics up to here lie in chunks */
    bool fenced;              /* of an attempt that lost its lease: stored, hidden */
    bool ended;               /* its end record was applied */
};

struct log_blob {
    writer_id writer;
    int64_t start_offset, end_offset;
    struct str data;
};

struct run_filter {
    enum run_state state;   /* RUN_STATE_COUNT: any */
    struct str tag, search; /* len 0: any */
    int64_t before_id;      /* paging: ids below; 0: from the newest */
    int limit;
};
