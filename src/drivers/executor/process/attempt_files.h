/* The record that the process executor keeps of an attempt, as files in the attempt's folder:
 *
 *   spec.json        what is to run; written before anything starts
 *   lock             held (flock) while the supervisor lives
 *   supervisor.json  who the supervisor is; its first act
 *   started.json     the job's process, once it runs
 *   cgroup           path of the job's control group, where there is one
 *   reserve          room on the disk for exit.json, given back before it is written
 *   console          what the job wrote, as it wrote it
 *   stop, kill       requests; the supervisor is also signalled
 *   exit.json        how it ended; written last, with fsync
 *
 * thread: the attempt's owner */
#pragma once

#include "base/arena.h"
#include "ports/executor.h"
#include "sys/process.h"

#define ATTEMPT_PATH_BYTES 4096

struct attempt_user {
    bool set; /* start the job as uid and gid */
    uid_t uid;
    gid_t gid;
};

void attempt_path(const char *folder, const char *name, char ret_path[ATTEMPT_PATH_BYTES]);
bool attempt_file_exists(const char *folder, const char *name);

MUST_CHECK enum err_code attempt_spec_write(const char *folder, const struct executor_spec *spec,
                                            const struct attempt_user *user, struct err *err);
MUST_CHECK enum err_code attempt_spec_read(struct arena *arena, const char *folder,
                                           struct executor_spec *ret_spec,
                                           struct attempt_user *ret_user, struct err *err);
/* supervisor.json and started.json. */
MUST_CHECK enum err_code attempt_process_write(const char *folder, const char *name,
                                               const struct process *process, time_ms at,
                                               struct err *err);
MUST_CHECK enum err_code attempt_process_read(const char *folder, const char *name,
                                              struct process *ret_process, time_ms *ret_at,
                                              struct err *err);
MUST_CHECK enum err_code attempt_reserve_make(const char *folder, struct err *err);
MUST_CHECK enum err_code attempt_exit_write(const char *folder, const struct executor_look *look,
                                            struct err *err);
MUST_CHECK enum err_code attempt_exit_read(const char *folder, struct executor_look *ret_look,
                                           struct err *err);
