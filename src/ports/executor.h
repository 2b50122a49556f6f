/* The port of what runs an attempt: a process, a container, a pod. An executor keeps its own record
 * of what it started, outside this process: after a restart of the agent everything is found again
 * by the attempt's id. Each attempt has a folder on the host that belongs to it alone. may block:
 * the thread that owns the attempt; calls about different attempts may run at once */
#pragma once

#include "base/err.h"
#include "base/id.h"
#include "base/timeval.h"

#define EXECUTOR_REASON_BYTES      256
#define EXECUTOR_CONSOLE_BYTES_MIN (1024 * 1024)

struct executor_spec {
    struct id attempt;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH of env */
    const char *const *env;  /* whole, NULL-terminated */
    const char *work_dir;    /* under the attempt's folder; the job starts there */
    int64_t timeout_s;       /* then it is ended like a stop, and `timed_out`; 0: never */
    int64_t grace_s;         /* between SIGTERM and SIGKILL */
    int64_t memory_bytes;    /* 0: no limit */
    /* Console text beyond this is left out, and the text says so; 0: no limit, else at least
     * EXECUTOR_CONSOLE_BYTES_MIN. */
    int64_t console_bytes_max;
    int64_t gpus; /* ERR_UNPROCESSABLE where they cannot be isolated */
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
    char reason[EXECUTOR_REASON_BYTES]; /* one line, or "" */
};

struct executor_port {
    void *ctx;
    bool shares_ports; /* what runs here listens on the ports of this machine, one beside the other
                        */
    /* The attempt's folder, made when missing; with what must be in it before start: `work`,
     * `runs`. */
    enum err_code (*prepare)(void *ctx, const struct id *attempt, char *ret_folder, size_t size,
                             struct err *err);
    /* Starting twice starts once. */
    enum err_code (*start)(void *ctx, const struct executor_spec *spec, struct err *err);
    enum err_code (*look)(void *ctx, const struct id *attempt, struct executor_look *ret_look,
                          struct err *err);
    /* Where what listens inside a running attempt is reached from here, such as "127.0.0.1".
     * ERR_UNAVAILABLE: it is not known now. */
    enum err_code (*address)(void *ctx, const struct id *attempt, char *ret_address, size_t size,
                             struct err *err);
    /* Asks it to end (SIGTERM, after the grace SIGKILL); returns at once, `look` tells. */
    enum err_code (*stop)(void *ctx, const struct id *attempt, struct err *err);
    /* Ends it without a grace; returns at once. */
    enum err_code (*kill)(void *ctx, const struct id *attempt, struct err *err);
    /* Console text is the file `console` of the folder. Removes the folder; it must have ended. */
    enum err_code (*remove)(void *ctx, const struct id *attempt, struct err *err);
    /* All attempts that have a folder. Returns the count, at most `max`. */
    size_t (*list)(void *ctx, struct id *ret_attempts, size_t max);
};
