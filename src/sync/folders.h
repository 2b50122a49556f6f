/* `euvyra sync DIR...`: brings logs from disk to the server, any number of times, from several
 * processes at once; the result is the same run. The agent calls it for a job's folder when the
 * work is over. may block */
#pragma once

#include "sync/server.h"

struct sync_folders_options {
    struct sync_server server;
    /* One line about a folder or a file, as it happens; may be NULL. */
    void (*tell)(void *ctx, bool is_problem, const char *line);
    void *ctx;
    int64_t patience_ms; /* how long to try again while the server is away; 0: not at all */
};

struct sync_folders_report {
    uint64_t folder_count; /* run folders found */
    uint64_t failed_count; /* of them: not whole on the server now */
    uint64_t record_bytes; /* sent by this call */
};

/* Each of `dirs` is a run folder (it holds run.json) or a folder of run folders. A damaged file is
 * told and does not stop the others; *ret_report is filled in any case. OK when everything is on
 * the server; else the first error. ERR_NOT_FOUND when there is no run folder at all. */
MUST_CHECK enum err_code sync_folders(const char *const *dirs, size_t dir_count,
                                      const struct sync_folders_options *options,
                                      struct sync_folders_report *ret_report, struct err *err);
