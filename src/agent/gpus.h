/* The GPUs of this machine, read every ten seconds on a thread of its own: which there are, which
 * can be given to jobs, what they do, and what our attempts use of them. thread: any */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "wire/node_messages.h"

#define AGENT_GPUS_REASON_BYTES 250

struct agent_gpus;

struct agent_gpus_options {
    const char *nvml_path; /* the library; NULL: where the system has it */
    const char *dir;       /* whose file system is watched; copied, as is the other */
    int64_t period_ms;     /* 0: ten seconds */
};

/* Reads once before it returns. A machine without GPUs, or without a driver yet, is no error: the
 * library is looked for again. */
MUST_CHECK enum err_code agent_gpus_new(struct agent_gpus **ret_gpus,
                                        const struct agent_gpus_options *options, struct err *err);
void agent_gpus_free(struct agent_gpus *gpus); /* joins; accepts NULL */

/* UUIDs of those that can be given to jobs: well, whole (no MIG), and not used by programs that are
 * not ours. Those that our attempts use now are among them: who has which is kept by the caller.
 * The texts live as long as `gpus`. Returns the count, at most `max`. */
size_t agent_gpus_usable(struct agent_gpus *gpus, const char **ret_uuids, size_t max);

/* What the scheduler goes by. */
struct agent_gpus_offer {
    int64_t count;              /* usable ones */
    char type[64];              /* "" where they differ */
    int64_t memory_bytes;       /* of the smallest; 0: not known */
    int64_t host_reserve_bytes; /* not offered to jobs, because a GPU shares the memory; 0: none */
};
void agent_gpus_offer(struct agent_gpus *gpus, struct agent_gpus_offer *ret_offer);

/* An attempt has these GPUs from now on: its programs on them are ours, and its energy is counted.
 * Called again for the same attempt it changes nothing. */
void agent_gpus_use(struct agent_gpus *gpus, const struct id *attempt, const char *const *uuids,
                    size_t count);
void agent_gpus_release(struct agent_gpus *gpus, const struct id *attempt);
/* What its GPUs took since agent_gpus_use in this process, and for how long all of them have been
 * below 5 %. False: not known, or no such attempt. Known until a reading after its release. */
bool agent_gpus_energy(struct agent_gpus *gpus, const struct id *attempt, double *ret_joules,
                       double *ret_idle_s);

/* Reads anew, and says whether one of its GPUs is ill, and why: it has failed, and this may be the
 * cause. may block for some seconds */
bool agent_gpus_failed(struct agent_gpus *gpus, const struct id *attempt,
                       char ret_reason[AGENT_GPUS_REASON_BYTES]);

/* The machine and its GPUs, as a poll's `node`. The number grows with each change of it. */
int64_t agent_gpus_version(struct agent_gpus *gpus);
void agent_gpus_node(struct agent_gpus *gpus, struct arena *arena, struct wire_node *ret_node);

/* Readings that were not acknowledged yet, oldest first, at most an hour of them. Writes the body
 * of a samples call with up to `max`; returns the number of the last, 0: there are none. */
int64_t agent_gpus_samples_encode(struct agent_gpus *gpus, struct str boot, size_t max,
                                  struct json_writer *w);
/* All up to this one are kept by the server, or refused for good. */
void agent_gpus_samples_drop(struct agent_gpus *gpus, int64_t last);
/* Waits until there is a reading that was not there before, or the time is over. */
void agent_gpus_wait(struct agent_gpus *gpus, int64_t timeout_ms);
