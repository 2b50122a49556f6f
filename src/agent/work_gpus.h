/* The GPUs of an attempt: claimed before it starts, counted while it runs, given back when nothing
 * of it runs any more. Executors on other machines allot theirs themselves. thread: the attempt's;
 * may block */
#pragma once

#include "agent/work.h"

/* *ret_uuids: NULL-terminated, in the arena; NULL: it wants none. ERR_UNAVAILABLE: too few are free
 * now. */
MUST_CHECK enum err_code work_gpus_take(const struct work_env *env, const struct wire_offer *offer,
                                        const struct executor_place *place, struct arena *arena,
                                        const char *const **ret_uuids, struct err *err);
/* What it had before the agent was started again. */
void work_gpus_resume(const struct work_env *env, const struct wire_offer *offer,
                      const struct executor_place *place);
/* It has failed: whether a GPU of it is ill, and why. may block for some seconds */
bool work_gpus_failed(const struct work_env *env, const struct wire_offer *offer,
                      char ret_reason[EXECUTOR_REASON_BYTES]);
void work_gpus_release(const struct work_env *env, const struct wire_offer *offer,
                       const struct executor_place *place);
