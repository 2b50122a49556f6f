/* Child processes without a shell, and the identity of processes that are not our children.
 *
 * A pid alone may be reused: a process is named by its pid and its start time in clock ticks since
 * boot (/proc/PID/stat), which together never repeat. */
#pragma once

#include "base/err.h"

#include <sys/types.h>

struct process_options {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH of `env` */
    const char *const *env;  /* NULL-terminated; NULL: ours */
    const char *cwd;         /* NULL: ours */
    int stdin_fd; /* -1: /dev/null; the same for the two below. They are not closed here */
    int stdout_fd;
    int stderr_fd;
    bool new_session; /* setsid: own session and group */
    bool new_group;   /* own group in our session */
    bool set_user;    /* become uid and gid with no further groups; needs root */
    uid_t uid;
    gid_t gid;
    int death_signal; /* sent to the child when the starting thread ends; 0: none */
    /* NULL, or cgroup.procs files that the child joins before it runs, NULL-terminated */
    const char *const *cgroup_procs;
    int extra_fd; /* -1, or one more descriptor that stays open, with the same number */
};

struct process {
    pid_t pid;
    int64_t start_ticks;
};

struct process_end {
    bool signaled;
    int code; /* exit code, or the signal's number */
};

/* Every descriptor but those named is closed in the child; signals are unblocked and back at their
 * defaults. A program that cannot be run is an error here, not an exit code: ERR_NOT_FOUND,
 * ERR_FORBIDDEN, ERR_IO. thread: any */
MUST_CHECK enum err_code process_start(struct process *ret_process,
                                       const struct process_options *options, struct err *err);
/* Waits for a child's end, at most timeout_ms (-1: for ever). False when the time is over; then it
 * is still our child. may block */
bool process_wait(const struct process *process, int64_t timeout_ms, struct process_end *ret_end);
/* True while that very process exists and is no zombie. thread: any */
bool process_is_alive(const struct process *process);
/* Start time of a pid; false when there is no such process. thread: any */
bool process_start_ticks(pid_t pid, int64_t *ret_ticks);
/* Signals exactly this process; false when it is gone. thread: any */
bool process_signal(const struct process *process, int signal_number);
/* Signals its whole group (the process must be the group's leader); false when nobody is left.
 * thread: any */
bool process_signal_group(const struct process *process, int signal_number);
/* Name of a signal: "SIGKILL"; "SIG64" for those without a name. Static or in ret_text. */
const char *signal_name(int signal_number, char ret_text[16]);
