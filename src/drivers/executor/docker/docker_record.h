/* What the docker executor keeps of an attempt in its folder, beside what the engine knows:
 *
 *   docker.json  limits that the agent keeps itself, and how far the start has come
 *   logs.json    how far the console is (logs.h)
 *   console      what the container wrote
 *   stop, kill   requests, and when they came
 *   ended.json   how it ended; written last, durable
 *
 * thread: the attempt's owner and the attempt's own */
#pragma once

#include "ports/executor.h"

#define DOCKER_PATH_BYTES (EXECUTOR_PATH_BYTES + 64)

struct docker_record {
    int64_t timeout_s, grace_s, console_bytes_max, disk_bytes;
    int64_t rank, node_count;
    char image[EXECUTOR_IMAGE_BYTES]; /* by digest; "": not resolved yet */
    bool started;                     /* the engine has said yes to its start */
    bool disk_full;                   /* we have begun to end it for what it wrote */
    bool timed_out;                   /* we have begun to end it for its time */
};

void docker_path(const char *folder, const char *name, char ret_path[DOCKER_PATH_BYTES]);
MUST_CHECK enum err_code docker_record_write(const char *folder, const struct docker_record *record,
                                             struct err *err);
/* ERR_NOT_FOUND: it was never begun. */
MUST_CHECK enum err_code docker_record_read(const char *folder, struct docker_record *ret_record,
                                            struct err *err);
MUST_CHECK enum err_code docker_end_write(const char *folder, const struct executor_look *look,
                                          struct err *err);
MUST_CHECK enum err_code docker_end_read(const char *folder, struct executor_look *ret_look,
                                         struct err *err);
/* A request, with its time; the first one counts. */
MUST_CHECK enum err_code docker_request_write(const char *folder, const char *name, time_ms at,
                                              struct err *err);
time_ms docker_request_read(const char *folder, const char *name); /* TIME_NONE: none */
