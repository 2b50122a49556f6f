/* What attempts do with their GPUs: energy, and whether they leave them idle. thread: command */
#pragma once

#include "domain/cmd.h"
#include "wire/node_messages.h"

#define IDLE_PERCENT 5.0

/* An agent's readings: kept, and what its attempts used is added to these. What is said of attempts
 * that it does not hold counts for nothing. */
MUST_CHECK enum err_code jobs_node_sampled(struct cmd *cmd, const struct wire_samples *samples,
                                           struct err *err);
/* Marks running jobs all of whose GPUs were idle for as long as their project allows, as far as
 * readings reach, tells their owners, and stops them where the project wants that. */
MUST_CHECK enum err_code jobs_idle_sweep(struct cmd *cmd, struct err *err);
