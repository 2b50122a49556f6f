/* `euvyra sync --follow DIR`: the sidecar of one run folder on this host.
 *
 * It is a writer of the run itself: code, machine, system samples, heartbeats. It flushes the
 * trainer's log to the disk every second, uploads, and writes the server's answers to the file
 * `status` in the folder. It ends when every process that writes there is gone (pid and start time)
 * or has recorded its end, and everything is acknowledged; offline it ends at once then.
 * may block */
#pragma once

#include "sync/server.h"

struct sync_follow_options {
    struct sync_server server;
    const char *dir;     /* the run folder */
    bool detach;         /* go on in a process of its own session; the call returns OK at once */
    int64_t patience_ms; /* after the trainer: how long to wait for a server; 0: a day */
};

/* ERR_CONFLICT: another sidecar follows this folder already (fine for a second rank: exit 0).
 * With `detach` only what is wrong before detaching is returned. thread: main, before any other
 * thread exists */
MUST_CHECK enum err_code sync_follow(const struct sync_follow_options *options, struct err *err);
