/* The verbs of euvyra-sim. Each reads its own options and returns the exit code.
 * thread: main */
#pragma once

#include "base/buf.h"
#include "base/err.h"

int cmd_check(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_scenario(int argc, char **argv);

/* Says the error on stderr; returns its exit code. */
int cmd_fail(const struct err *err);
/* `text` whole as a number from `min` to `max`, else ERR_INVALID that names the option. */
MUST_CHECK enum err_code cmd_number(const char *option, const char *text, int64_t min, int64_t max,
                                    int64_t *ret_value, struct err *err);
/* All of it to stdout. */
MUST_CHECK enum err_code cmd_print(const struct buf *out, struct err *err);
