/* Runs: made by a client, by a job, or by the first post of a log; renamed, tagged, deleted; and
 * how their state follows from what was recorded. thread: any owner of a store; changes: command */
#pragma once

#include "base/buf.h"
#include "domain/cmd.h"
#include "domain/runs/define.h"
#include "domain/runs/runs_hosts.h"
#include "domain/runs/runs_writers_state.h"
#include "store/store_alert.h"

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
MUST_CHECK enum err_code runs_update(struct cmd *cmd, struct run *run, const struct run_spec *spec,
                                     struct err *err);
/* What a person changed by hand is part of what the run is without its logs, which then change it
 * no more. Part of runs_update. */
MUST_CHECK enum err_code runs_base_edit(struct cmd *cmd, const struct run *run,
                                        const struct run_spec *spec, struct err *err);
/* Gone for everybody at once; runs_purge frees the space. Its job, if any, is deleted by
 * jobs_delete_of_run first. */
MUST_CHECK enum err_code runs_delete(struct cmd *cmd, const struct run *run, struct err *err);
/* A slice of the work that deleted runs leave; *ret_more: call again. A kill between slices loses
 * nothing: the next start goes on. */
MUST_CHECK enum err_code runs_purge(struct cmd *cmd, bool *ret_more, struct err *err);

/* Config and summary; for each metric that the summary does not name itself it has the figure that
 * was defined for it, else the last value. */
MUST_CHECK enum err_code runs_load_docs(struct cmd *cmd, struct run *run, struct err *err);
struct run_detail {
    struct str code, machine; /* JSON or {0}; the machine is that of the first host that has one */
    struct run_hosts hosts;
    struct definitions defined;
    int64_t unknown_records;
    int64_t console_bytes;
    bool parent_exists; /* the run it branches from is still there */
    bool has_hidden;    /* steps were set aside by a later epoch */
};
MUST_CHECK enum err_code runs_load_detail(struct cmd *cmd, const struct run *run,
                                          struct run_detail *ret_detail, struct err *err);

/* Console text from a byte offset: of one writer, or (`writer` empty) of the run: what the agent of
 * its job sent, or else the texts of its writers one after the other, in their order. */
struct console_range {
    struct id writer;
    int64_t offset, bytes_max;
};
/* *ret_size: bytes known so far. ERR_NOT_FOUND: the run has no such writer. */
MUST_CHECK enum err_code runs_console(struct cmd *cmd, const struct run *run,
                                      const struct console_range *range, struct buf *out,
                                      int64_t *ret_size, struct err *err);

/* What a log or a job says of a run's life. */
enum run_event_kind {
    RUN_EVENT_HEARD,   /* records came */
    RUN_EVENT_OPENED,  /* a process took the run up (again) */
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
/* The writer with this id, made when it is new. thread: command */
MUST_CHECK enum err_code runs_writer(struct cmd *cmd, const struct run *run, const struct id *id,
                                     struct writer *ret_writer, struct err *err);
/* The writers of a run in the order in which their points count, with the word of their sidecars.
 */
MUST_CHECK enum err_code runs_writers(struct cmd *cmd, run_id run, struct writer **ret_writers,
                                      size_t *ret_count, struct err *err);
/* Works out the run's state, start, and what else follows from its writers, and saves it. */
MUST_CHECK enum err_code runs_settle(struct cmd *cmd, struct run *run, struct err *err);
/* Asks the processes of the run to stop: they hear it with the answer to their next post. */
MUST_CHECK enum err_code runs_stop(struct cmd *cmd, struct run *run, struct err *err);
/* What its code had changed since the commit, as JSON: diff, bytes, cut. ERR_NOT_FOUND. */
MUST_CHECK enum err_code runs_diff(struct cmd *cmd, const struct run *run, struct str *ret_diff,
                                   struct err *err);
MUST_CHECK enum err_code runs_alerts(struct cmd *cmd, const struct alert_filter *filter,
                                     struct alert **ret_alerts, size_t *ret_count, struct err *err);
/* Marks runs crashed that were silent for too long; at most 100 a call. */
MUST_CHECK enum err_code runs_sweep(struct cmd *cmd, struct err *err);
