/* Why an attempt ended, in the same words whatever it ran in. thread: any */
#pragma once

#include "ports/executor.h"

/* Fills look->reason from what is known about the end; "" when it went well. Leaves a reason that
 * is there already. */
void end_reason_write(struct executor_look *look, int64_t timeout_s);
