/* libeuvyra: records a training run. This header is the whole surface of the library.
 *
 * A handle is one writer's log of one run, in a folder on disk; the `euvyra` program uploads it.
 * Nothing here waits for a network, prints, aborts, forks or installs a signal handler. Every
 * function is safe from any thread. After fork() the child's first call opens a writer of its own
 * in the same run; the parent's log is not touched.
 *
 * What an option leaves NULL comes from the environment: EUVYRA_DIR, EUVYRA_PROJECT, EUVYRA_RUN,
 * EUVYRA_JOB, EUVYRA_MODE, EUVYRA_SERVER. Text is UTF-8. JSON payloads may hold the tagged forms of
 * docs/internals/run-log.md for NaN, the infinities and large integers. Secrets (values of keys
 * that name one, access keys, passwords in URLs, private keys) are taken out before writing.
 *
 * thread: any */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EUVYRA_API __attribute__((visibility("default")))

#define EUVYRA_VERSION "0.1.0"

/*      code                  number  name */
#define EUVYRA_CODES(X)                                                                            \
    X(EUVYRA_OK, 0, "ok")                                                                          \
    X(EUVYRA_INVALID, 1, "invalid")     /* an argument that cannot be */                           \
    X(EUVYRA_TOO_LARGE, 2, "too_large") /* a payload above its limit: not recorded */              \
    X(EUVYRA_DISK_FULL, 3, "disk_full") /* not recorded; counted, told in the log */               \
    X(EUVYRA_IO, 4, "io")               /* the disk refused */                                     \
    X(EUVYRA_CLOSED, 5, "closed")       /* the run is finished */                                  \
    X(EUVYRA_NO_MEMORY, 6, "no_memory")                                                            \
    X(EUVYRA_NOT_FOUND, 7, "not_found") /* the run to continue is not there */

enum euvyra_code {
#define EUVYRA_CODE(code, number, name) code = number,
    EUVYRA_CODES(EUVYRA_CODE)
#undef EUVYRA_CODE
};

struct euvyra_run;

struct euvyra_options {
    size_t struct_bytes; /* sizeof(struct euvyra_options): tells versions apart */
    const char *dir;     /* where run folders lie; default EUVYRA_DIR, then "euvyra-runs" */
    const char *project; /* default EUVYRA_PROJECT, then "default" */
    const char *name;    /* for people; may be NULL */
    const char *group;
    const char *job_type;
    const char *notes;
    const char *mode;   /* "online" (default) or "offline": whether the uploader dials */
    const char *resume; /* recorded as it is; may be NULL */
    const char *run;    /* id of a run to attach to; NULL: EUVYRA_RUN, else a new run; "": new */
    const char *folder; /* an existing run folder to join; wins over dir and run */
    const char *config_json; /* an object; may be NULL */
    const char *tags_json;   /* an array of texts; may be NULL */
    const char *sdk;         /* "python/0.1.0"; NULL for C */
    const char *kind;        /* "trainer" (default), "child" of a process that tells how it ended */
    const char *const *argv; /* the command, may be NULL */
    size_t argc;
    int64_t first_step; /* where automatic steps start */
    /* How many processes write the run, and which this one is (local_rank -1: not known). 0: as the
     * environment says (RANK, LOCAL_RANK, WORLD_SIZE, and what MPI and Slurm set). */
    int world_size, rank, local_rank;
    /* When has_from_step is not 0 the run goes on at from_step: what earlier processes logged at
     * that step and later is set aside, not lost. With branch_from the run is a new one that has
     * that run's steps below from_step. */
    int has_from_step;
    int64_t from_step;
    const char *branch_from; /* id of a run, or NULL */
};

/* Makes or joins the run's folder and opens a new writer in it. The caller closes *ret_run. */
EUVYRA_API enum euvyra_code euvyra_open(const struct euvyra_options *options,
                                        struct euvyra_run **ret_run);

/* The id of a metric name in this log: the same name gives the same id. Names are 1 to 512 bytes
 * without control characters. */
EUVYRA_API enum euvyra_code euvyra_metric(struct euvyra_run *run, const char *name, size_t len,
                                          uint32_t *ret_id);

/* One step's values. EUVYRA_STEP_NEXT: one after the last step. Any step is accepted, in any
 * order; all values are kept, NaN and infinities too. */
#define EUVYRA_STEP_NEXT INT64_MIN
EUVYRA_API enum euvyra_code euvyra_log(struct euvyra_run *run, int64_t step, const uint32_t *ids,
                                       const double *values, size_t count);

/* JSON objects. Config and summary are merged key by key; tags and notes replace. */
EUVYRA_API enum euvyra_code euvyra_config(struct euvyra_run *run, const char *json, size_t len);
EUVYRA_API enum euvyra_code euvyra_summary(struct euvyra_run *run, const char *json, size_t len);
EUVYRA_API enum euvyra_code euvyra_code_facts(struct euvyra_run *run, const char *json, size_t len);
EUVYRA_API enum euvyra_code euvyra_tags(struct euvyra_run *run, const char *json, size_t len);
EUVYRA_API enum euvyra_code euvyra_notes(struct euvyra_run *run, const char *text);
/* Tells people something: `level` is "info", "warn" or "error"; `text` may be NULL. */
EUVYRA_API enum euvyra_code euvyra_alert(struct euvyra_run *run, const char *title,
                                         const char *text, const char *level);
/* Says what a metric means. `name` is that of a metric (as for euvyra_metric; it need not exist
 * yet), or the beginning of names with '*' behind it: "val/" and '*' together. Which of its figures
 * is its summary value: "last" (the default), "first", "min", "max", "mean", or "none". What is
 * better: "minimize" or "maximize", which without `summary` means "min" or "max". `step_metric`:
 * the metric that it is drawn over. NULL: not said. Saying it again for a name replaces what was
 * said; a server keeps 1,000 names of a run. EUVYRA_INVALID: one of them cannot be.
 *
 *     euvyra_define_metric(run, "val/loss", "epoch", NULL, "minimize"); */
EUVYRA_API enum euvyra_code euvyra_define_metric(struct euvyra_run *run, const char *name,
                                                 const char *step_metric, const char *summary,
                                                 const char *goal);
/* The machine will be taken away soon: an end that is no success is then no failure either. */
EUVYRA_API enum euvyra_code euvyra_preempting(struct euvyra_run *run);
/* Output of the program: stream 1 or 2, any bytes. */
EUVYRA_API enum euvyra_code euvyra_console(struct euvyra_run *run, int stream, const void *bytes,
                                           size_t len);

/* How it ended: an exit code, or a signal when `signal` is above 0. `reason` is one word ("finish",
 * "exit", "exception", "signal"), `error` a line or NULL. After it the run takes nothing more. */
EUVYRA_API enum euvyra_code euvyra_end(struct euvyra_run *run, int exit_code, int signal,
                                       const char *reason, const char *error);
/* Closes without an end record where euvyra_end was not called. Accepts NULL. */
EUVYRA_API void euvyra_close(struct euvyra_run *run);

/* Borrowed until euvyra_close. */
EUVYRA_API const char *euvyra_run_id(const struct euvyra_run *run);
EUVYRA_API const char *euvyra_run_folder(const struct euvyra_run *run);
EUVYRA_API const char *euvyra_writer_id(struct euvyra_run *run); /* a forked child has its own */
/* Records that could not be written, over the life of this writer. */
EUVYRA_API uint64_t euvyra_lost(struct euvyra_run *run);
/* True in the process that opened the handle, false in its forked children. */
EUVYRA_API int euvyra_is_owner(const struct euvyra_run *run);

/* The folder of a run below `dir`, for resume: the newest whose id is `run`, or (run NULL) the
 * newest of that project and name that has no end record. EUVYRA_NOT_FOUND. */
struct euvyra_query {
    const char *dir, *run, *project, *name; /* NULL: by the environment */
    int rank; /* last_step counts what processes of this rank logged, where there are any; -1: all
               */
};
struct euvyra_found {
    char folder[4096];
    char run[14];
    int64_t last_step; /* INT64_MIN when nothing was logged */
};
EUVYRA_API enum euvyra_code euvyra_find(const struct euvyra_query *query,
                                        struct euvyra_found *ret_found);
/* True once in about `every_ms` of recording: a cheap way to do something now and then without a
 * thread. Only in the process that opened the handle. */
EUVYRA_API int euvyra_is_due(struct euvyra_run *run, int64_t every_ms);

EUVYRA_API const char *euvyra_code_name(enum euvyra_code code);

#ifdef __cplusplus
}
#endif
