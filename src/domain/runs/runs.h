/* Runs: made by a client, by a job, or by the first post of a log; renamed, tagged, deleted; and
 * how their state follows from what was recorded. thread: any owner of a store; changes: command */
#pragma once

#include "base/buf.h"
#include "domain/cmd.h"

struct run_spec {
    struct id id;
    struct str name; /* data NULL: made from the id */
    struct str group, job_type, notes;
    struct str tags;          /* JSON array; data NULL: none (create) or as they were (update) */
    struct str command;       /* JSON array; data NULL: none */
    time_ms created;          /* TIME_NONE: now */
    struct id job;            /* of the job it is made for, else empty */
    uint8_t hash[HASH_BYTES]; /* of the body, so that a repeat is recognised */
};

/* ERR_CONFLICT: the id is taken by a run with another body or in another project. */
MUST_CHECK enum err_code runs_create(struct cmd *cmd, project_id project, struct str project_name,
                                     const struct run_spec *spec, struct run *ret_run,
                                     bool *ret_created, struct err *err);
/* Finds a run whose project gives the caller at least `need`. The key of a fenced attempt finds
 * its own run, and nothing else, when `fenced_ok`. */
MUST_CHECK enum err_code runs_require(struct cmd *cmd, const struct id *id, enum role need,
                                      bool fenced_ok, struct run *ret_run, struct err *err);
MUST_CHECK enum err_code runs_list(struct cmd *cmd, project_id project,
                                   const struct run_filter *filter, struct run **ret_runs,
                                   size_t *ret_count, struct err *err);
MUST_CHECK enum err_code runs_update(struct cmd *cmd, struct run *run, const struct run_spec *spec,
                                     struct err *err);
/* The run and all it recorded. Its job, if any, is deleted by jobs_delete_of_run first. */
MUST_CHECK enum err_code runs_delete(struct cmd *cmd, const struct run *run, struct err *err);

/* Config and summary with the last value of each metric that the summary does not name itself. */
MUST_CHECK enum err_code runs_load_docs(struct cmd *cmd, struct run *run, struct err *err);
struct run_detail {
    struct str code, machine; /* JSON or {0} */
    int64_t unknown_records;
};
MUST_CHECK enum err_code runs_load_detail(struct cmd *cmd, const struct run *run,
                                          struct run_detail *ret_detail, struct err *err);

/* Console text from a byte offset, at most `bytes_max`; empty at the end. */
MUST_CHECK enum err_code runs_console(struct cmd *cmd, const struct run *run, int64_t offset,
                                      int64_t bytes_max, struct buf *out, struct err *err);

/* What a log or a job says of a run's life. */
enum run_event_kind {
    RUN_EVENT_HEARD,   /* records came */
    RUN_EVENT_ENDED,   /* an end record, or the verdict of its job */
    RUN_EVENT_SILENT,  /* nothing for too long */
    RUN_EVENT_PENDING, /* its job waits (again) */
    RUN_EVENT_RUNNING, /* its job runs */
};
struct run_event {
    enum run_event_kind kind;
    time_ms at;
    bool from_job;
    enum run_state end;         /* of RUN_EVENT_ENDED */
    int exit_code, exit_signal; /* EXIT_NONE */
    bool oom;
    struct str reason;
};
/* Pure: the run after the event. A run of a job follows its job alone. */
void run_apply(struct run *run, const struct run_event *event);
/* Applies and saves; notifies when the state changed. */
MUST_CHECK enum err_code runs_happen(struct cmd *cmd, struct run *run,
                                     const struct run_event *event, struct err *err);
/* Marks runs crashed that were silent for too long; at most 100 a call. */
MUST_CHECK enum err_code runs_sweep(struct cmd *cmd, struct err *err);
