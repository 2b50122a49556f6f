/* The calls an agent makes about one attempt. Every answer is one of four things for the caller:
 * done, try again later, not ours any more, or refused for good. may block; thread: the client's */
#pragma once

#include "net/http_client.h"
#include "wire/agent_messages.h"

enum call_outcome {
    CALL_DONE,
    CALL_AGAIN,   /* no connection, the server is busy or broken, the key is not accepted now */
    CALL_FENCED,  /* the attempt is not ours: kill the work, report nothing */
    CALL_REFUSED, /* this call will never succeed: go on without it */
};

/* `err` tells why it was not CALL_DONE. */
struct attempt_calls {
    struct http_client *client;
    struct wire_attempt attempt;
    bool (*keep_going)(void *ctx); /* false: give the call up (CALL_AGAIN) */
    void *ctx;
};

/* `rendezvous` is where the ranks of the attempt could meet here, or NULL. ret_accepted->state is
 * ATTEMPT_OFFERED while others that take part have not accepted: call again. */
enum call_outcome call_accept(const struct attempt_calls *calls, const char *rendezvous,
                              struct arena *arena, struct wire_accepted *ret_accepted,
                              struct err *err);
enum call_outcome call_status(const struct attempt_calls *calls, const struct wire_status *status,
                              struct err *err);
/* Appends console text at *offset and moves *offset to where the server now is, also when it knows
 * better (then CALL_DONE as well, and nothing was appended). */
enum call_outcome call_console(const struct attempt_calls *calls, struct str text, int64_t *offset,
                               struct err *err);
/* Writes the packed folder to `fd`. */
enum call_outcome call_code(const struct attempt_calls *calls, int fd, struct err *err);
