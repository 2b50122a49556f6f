/* `euvyra-agent follow DIR`: brings the logs of all runs in a folder to the server while others
 * write them, and to their last byte when it is told to end. It takes no lock and writes nothing: a
 * sidecar may do the same beside it. may block */
#pragma once

#include "sync/server.h"

struct sync_uploader_options {
    struct sync_server server;
    const char *dir; /* holds run folders, now or later */
    int signal_fd;   /* any signal: what is there is brought in, then the call returns */
    /* Whether somebody may still write there; asked after the signal. NULL: nobody does then. */
    bool (*is_written)(void *ctx);
    void *ctx;
};

/* Returns after a signal, when nobody writes any more and everything is on the server; until then
 * it goes on trying. OK also where a writer's log cannot be brought in (it is told in the log). */
MUST_CHECK enum err_code sync_uploader_run(const struct sync_uploader_options *options,
                                           struct err *err);
