/* The thread that uploads while the sidecar goes on watching. Messages only: nudge it, tell it that
 * nothing more will come, wait for its end. It writes the folder's `status` file. */
#pragma once

#include "sync/server.h"
#include "sync/upload.h"

/* A server that is away is tried again after these times, each twice the one before. */
#define SENDER_RETRY_MS_MIN 1000
#define SENDER_RETRY_MS_MAX 60000

struct sender;

struct sender_options {
    const struct run_folder *folder;  /* borrowed until sender_free */
    const struct sync_server *server; /* borrowed */
    int64_t patience_ms; /* after sender_finish: how long to wait for a server that is away */
};

/* How long to wait after another try that failed, given how long before it. Pure. thread: any */
int64_t sender_retry_ms(int64_t before_ms);

MUST_CHECK enum err_code sender_start(struct sender **ret_sender,
                                      const struct sender_options *options, struct err *err);
/* Nothing more is written to the folder: send the rest and end. thread: the owner */
void sender_finish(struct sender *sender);
/* Stop now, also inside a request; what was acknowledged stays acknowledged. thread: the owner */
void sender_abort(struct sender *sender);
/* True when the thread has ended, waiting up to timeout_ms. thread: the owner */
bool sender_wait(struct sender *sender, int64_t timeout_ms);
/* After sender_wait said true: OK when everything was acknowledged. Frees. */
MUST_CHECK enum err_code sender_free(struct sender **sender, struct err *err);
