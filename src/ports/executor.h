/* The port of what runs an attempt: a process, a container, a pod. An executor keeps its own record
 * of what it started, outside this process: after a restart of the agent everything is found again
 * by the attempt's id. Each attempt has a folder on the host that belongs to it alone. may block:
 * the thread that owns the attempt; calls about different attempts may run at once */
#pragma once

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "base/timeval.h"
#include "model/job.h"

#define EXECUTOR_PATH_BYTES        2048
#define EXECUTOR_REASON_BYTES      256
#define EXECUTOR_IMAGE_BYTES       512
#define EXECUTOR_CONSOLE_BYTES_MIN (1024 * 1024)

/* The folder of an attempt. */
struct executor_place {
    char folder[EXECUTOR_PATH_BYTES]; /* on this host */
    char inside[EXECUTOR_PATH_BYTES]; /* the same, as the job sees it */
};

/* A folder of the host, or a claim of the cluster, that the job sees. */
struct executor_mount {
    const char *host_path; /* absolute; NULL: a claim */
    const char *claim;     /* NULL: a folder of the host */
    const char *target;    /* absolute */
    bool read_only;
};

/* What lies in the attempt's folder: files `key`, `config.json` and `ca.pem`, and the code in
 * `work`. An executor whose jobs do not see this host's disk brings it to them itself. */
struct executor_files {
    struct str key;
    struct str config, ca; /* len 0: none */
    struct str code;       /* SHA-256 in hexadecimal; len 0: none */
    struct str server;     /* URL, as the job reaches it */
    struct str token;      /* of the attempt: with it the code is fetched */
};

struct executor_spec {
    struct id attempt;
    int64_t rank, node_count; /* of the machines that run the attempt, from 0 */
    bool waits;               /* all is made ready, and the last step waits for `release` */
    const char *const *argv;  /* NULL-terminated; argv[0] is looked up in PATH of env */
    const char *const *env;   /* whole, NULL-terminated */
    const char *work_dir;     /* where the job starts, as it sees it; under the attempt's folder */
    const char *image;        /* NULL: the host's own programs */
    const char *registry_user, *registry_secret; /* for the image; NULL: none */
    int64_t timeout_s; /* then it is ended like a stop, and `timed_out`; 0: never */
    int64_t grace_s;   /* between SIGTERM and SIGKILL */
    int64_t cpus, memory_bytes, shm_bytes, pids, disk_bytes; /* 0: no limit */
    bool read_only_root;
    /* Console text beyond this is left out, and the text says so; 0: no limit, else at least
     * EXECUTOR_CONSOLE_BYTES_MIN. */
    int64_t console_bytes_max;
    int64_t gpu_count;
    const char *const
        *gpus; /* their UUIDs, NULL-terminated; NULL: none, or the executor's to say */
    const struct executor_mount *mounts;
    size_t mount_count;
    struct executor_files files;
};

enum executor_phase {
    EXECUTOR_ABSENT, /* never started here */
    EXECUTOR_STARTING,
    EXECUTOR_RUNNING,
    EXECUTOR_ENDED, /* nothing of it runs any more */
};

struct executor_look {
    enum executor_phase phase;
    time_ms started_at, ended_at; /* TIME_NONE */
    int64_t run_time_ms;          /* -1: not known */
    int64_t console_bytes;        /* of the file `console`, so far: no more of it may be read */
    int exit_code;                /* -1: none */
    int exit_signal;              /* 0: none */
    bool oom;                     /* the kernel killed it for memory: cgroup evidence only */
    bool timed_out, failed_to_start, was_stopped;
    bool image_failed;                    /* failed to start: missing, refused, another machine's */
    bool disk_full;                       /* it ended with its disk, or the host's, full */
    char image[EXECUTOR_IMAGE_BYTES];     /* as it runs: "NAME@sha256:..."; "": none, not known */
    char progress[EXECUTOR_REASON_BYTES]; /* of a start that takes long, one line, or "" */
    char reason[EXECUTOR_REASON_BYTES];   /* one line, or "" */
};

struct executor_port {
    void *ctx;
    const char *name;   /* "process" */
    uint64_t features;  /* bits of enum job_feature: what it can do */
    bool shares_ports;  /* jobs listen on the ports of this machine, one beside the other */
    bool host_programs; /* jobs run this host's programs, in an environment like the agent's */
    bool meets_late;    /* others find rank 0 only once it runs */
    bool remote; /* jobs do not see this host's disk; what they log it brings to the server */
    /* Makes the attempt's folder when it is missing, with what must be in it before the start:
     * `work`, `runs`. */
    enum err_code (*prepare)(void *ctx, const struct id *attempt, struct executor_place *ret_place,
                             struct err *err);
    /* Begins to start it and returns soon: `look` tells how that goes on. Starting twice starts
     * once; a start that was cut short by a restart of the agent is EXECUTOR_ABSENT. */
    enum err_code (*start)(void *ctx, const struct executor_spec *spec, struct err *err);
    enum err_code (*look)(void *ctx, const struct id *attempt, struct executor_look *ret_look,
                          struct err *err);
    /* Where what listens inside a running attempt is reached from here, such as "127.0.0.1".
     * ERR_UNAVAILABLE: it is not known now. */
    enum err_code (*address)(void *ctx, const struct id *attempt, char *ret_address, size_t size,
                             struct err *err);
    /* Where the ranks of an attempt can meet: "HOST:PORT". Asked where rank 0 runs, and with
     * meets_late for the others too.
     * `machine` is this machine's address as others reach it. NULL without FEATURE_NODES. */
    enum err_code (*rendezvous)(void *ctx, const struct id *attempt, const char *machine,
                                char *ret_text, size_t size, struct err *err);
    /* The last step of a start that waits; again is no error. NULL unless meets_late. */
    enum err_code (*release)(void *ctx, const struct id *attempt, struct err *err);
    /* Asks it to end (SIGTERM, after the grace SIGKILL); returns at once, `look` tells. */
    enum err_code (*stop)(void *ctx, const struct id *attempt, struct err *err);
    /* Ends it without a grace; returns at once. */
    enum err_code (*kill)(void *ctx, const struct id *attempt, struct err *err);
    /* Console text is the file `console` of the folder. Removes the folder; it must have ended.
     * ERR_UNAVAILABLE: what runs attempts is away now, call again. */
    enum err_code (*remove)(void *ctx, const struct id *attempt, struct err *err);
    /* All attempts that have a folder. Returns the count, at most `max`. */
    size_t (*list)(void *ctx, struct id *ret_attempts, size_t max);
};
