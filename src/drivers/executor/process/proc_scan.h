/* Finding processes in /proc. What is found may be gone a moment later; signals to what is gone do
 * nothing. thread: any */
#pragma once

#include "base/str.h"

#include <sys/types.h>

#define PROC_SCAN_MAX 65536

/* Signals every descendant of `root` (not root itself). Returns how many there were. */
size_t proc_signal_descendants(pid_t root, int signal_number);
/* Signals every process whose environment has this entry ("NAME=value"). Returns how many there
 * were. */
size_t proc_signal_marked(struct str entry, int signal_number);
