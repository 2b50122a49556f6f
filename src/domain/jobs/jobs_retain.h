/* Retention: a project may delete runs some days after they ended. thread: command */
#pragma once

#include "domain/cmd.h"

#define RETAIN_TAG "keep" /* runs with it stay */

/* Deletes some old runs, with their jobs; *ret_more: call again soon. */
MUST_CHECK enum err_code jobs_retain(struct cmd *cmd, bool *ret_more, struct err *err);
