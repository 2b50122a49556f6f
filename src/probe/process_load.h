/* How much of the machine one process uses. may block; one thread at a time */
#pragma once

#include "base/macros.h"

struct probe_process {
    int pid;
    int64_t at_ns; /* of the last reading; 0: none yet */
    double cpu_s;
};
struct probe_process_reading {
    double cpu_percent; /* of one CPU; below 0: not known yet, as for all of these */
    double memory_bytes;
    double threads;
};
/* False when the process is gone. The first reading has no rate. */
bool probe_process_read(struct probe_process *process, struct probe_process_reading *ret_reading);
/* Fields of /proc/<pid>/stat, whose name may hold anything; false when it has not that form. */
bool probe_parse_stat(const char *text, double *ret_ticks, double *ret_threads, double *ret_pages);
