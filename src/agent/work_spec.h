/* What the executor is told about an attempt: the offer, with its paths as the job sees them, its
 * environment, and the volumes and GPUs that this agent gives. Writes the files of the attempt's
 * folder that the job alone may read. thread: the attempt's; may block */
#pragma once

#include "agent/work_prepare.h"

/* The spec lives in the arena, with pointers into offer and options. ERR_UNPROCESSABLE: it can
 * never start here. ERR_UNAVAILABLE: not now. */
MUST_CHECK enum err_code work_spec_make(const struct work_start *start, struct arena *arena,
                                        struct executor_spec *ret_spec, struct err *err);
