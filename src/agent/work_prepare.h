/* What an attempt needs before it starts and after it ended: its code unpacked, its key, its run
 * log brought to the server. What handles bytes of the job runs in a process of its own, as the
 * job's user: a link that the job made leads no further than the job itself could go. may block;
 * thread: the attempt's */
#pragma once

#include "agent/calls.h"
#include "agent/work.h"

#define WORK_PATH_BYTES 3072

/* An attempt that is to start. */
struct work_start {
    const struct work_env *env;
    const struct attempt_calls *calls;
    const struct wire_offer *offer;
    const struct executor_place *place;
    struct str rendezvous; /* where its ranks meet; len 0: it has one */
};

/* Fetches and unpacks the code, writes the key, starts it. CALL_REFUSED: it can never start, err
 * says why. *ret_here: what is in the way is on this machine. */
enum call_outcome work_prepare(const struct work_start *start, bool *ret_here, struct err *err);
/* Sends what the run folders under `folder` hold. OK also when there is none. */
MUST_CHECK enum err_code work_upload(const struct work_env *env, const struct wire_offer *offer,
                                     const char *folder, bool (*keep_going)(void *ctx), void *ctx,
                                     struct err *err);
/* Moves the run folders aside, with the console text beside them, to be sent by hand. */
MUST_CHECK enum err_code work_keep_record(const struct work_env *env,
                                          const struct wire_offer *offer, const char *folder,
                                          struct err *err);
