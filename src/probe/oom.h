/* Evidence that the kernel killed a process for lack of memory: the count that its cgroup keeps,
 * and the kernel's own log where it may be read. Without evidence nothing is claimed. may block;
 * one thread at a time */
#pragma once

#include "base/macros.h"

#include <limits.h>

struct probe_oom {
    char path[PATH_MAX]; /* of the file with the count, or "" */
    int64_t before;      /* kills at the beginning */
    int kmsg_fd;         /* the kernel's log from the beginning on, or -1 */
};

/* Remembers where things stand. `pid` is whose cgroup is watched (0: ours). */
void probe_oom_begin(struct probe_oom *oom, int pid);
/* Whether the kernel has killed for lack of memory since, in the cgroup or (pid above 0) that very
 * process. Can be asked again. */
bool probe_oom_happened(struct probe_oom *oom, int pid);
void probe_oom_end(struct probe_oom *oom); /* accepts a zeroed one that never began */

/* The number behind `oom_kill` in memory.events or memory.oom_control; -1 when there is none. */
int64_t probe_parse_oom_kills(const char *text);
/* The cgroup of /proc/<pid>/cgroup that counts memory, as a path below /sys/fs/cgroup; false when
 * there is none. */
bool probe_parse_cgroup(const char *text, char *ret_path, size_t path_bytes);
