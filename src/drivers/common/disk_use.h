/* How much a folder holds on the disk. thread: any; may block */
#pragma once

#include "base/err.h"

/* Bytes of the blocks of all files below `dir`, without following links or leaving its file system.
 * Counting ends as soon as it is above `enough`. 0 when nothing can be read. */
int64_t disk_used(const char *dir, int64_t enough);
/* No block of the file system that holds `dir` is left for its user. */
bool disk_is_full(const char *dir);
