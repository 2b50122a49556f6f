/* Which attempt has which GPU of this machine, so that no two have the same one, whatever agents
 * and executors they belong to: a folder that all agents of the machine share holds a file for each
 * GPU that is taken, with the folder of the attempt that has it. A claim ends when it is given
 * back, and with the folder it names. thread: any; may block for a moment */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#define GPU_CLAIMS_DIR "/run/lock/euvyra-gpus"
#define GPU_CLAIMS_MAX 64

/* Claims `count` of `usable` for the attempt with this folder, all or none; those that it has
 * already are kept. *ret_uuids: NULL-terminated, in the arena. ERR_UNAVAILABLE: too few are free
 * now, err says who has the others. */
MUST_CHECK enum err_code gpu_claims_take(const char *dir, const char *folder,
                                         const char *const *usable, size_t usable_count,
                                         size_t count, struct arena *arena,
                                         const char *const **ret_uuids, struct err *err);
/* What the attempt with this folder has; *ret_uuids is empty when nothing. */
MUST_CHECK enum err_code gpu_claims_of(const char *dir, const char *folder, struct arena *arena,
                                       const char *const **ret_uuids, size_t *ret_count,
                                       struct err *err);
/* Gives back all that it has. */
MUST_CHECK enum err_code gpu_claims_release(const char *dir, const char *folder, struct err *err);
