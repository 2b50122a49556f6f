/* The folders of attempts, which are named by their ids. may block; thread: any */
#pragma once

#include "base/id.h"

#include <stddef.h>

/* Those in `root`; at most `max`. Returns the count. */
size_t attempt_list(const char *root, struct id *ret_attempts, size_t max);
