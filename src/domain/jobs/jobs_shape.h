/* What a job asks of hardware beside its amounts, as the row keeps it: jobs that ask for the same
 * have the same text, which is how the scheduler tells that they are alike. Pure. thread: any */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "model/job.h"

struct job_step {
    target_id target; /* 0: any */
    int64_t wait_ms;  /* before the next step opens too; of the last it means nothing */
};

struct job_shape {
    const struct str *gpu_types; /* any of these; none: whatever there is */
    size_t gpu_type_count;
    int64_t gpu_memory_bytes; /* at least, of each; 0: any */
    uint64_t needs;           /* of enum job_feature, that the agent must be able to do */
    const struct job_step *steps;
    size_t step_count;
    const agent_id *excluded; /* by rising id */
    size_t excluded_count;
};

struct str job_shape_encode(const struct job_shape *shape, struct arena *arena);
MUST_CHECK enum err_code job_shape_decode(struct str text, struct arena *arena,
                                          struct job_shape *ret_shape, struct err *err);
