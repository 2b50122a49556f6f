/* A control group for one attempt, where we may make one (cgroup v1 memory, or v2): a memory limit,
 * and the kernel's own count of processes it killed for memory. Without one nothing is limited and
 * nothing is claimed. thread: the
 * supervisor's, or the attempt's owner after it */
#pragma once

#include "base/id.h"

#include <stddef.h>

#define CGROUP_PATH_BYTES 1024

struct attempt_cgroup {
    bool made;
    bool is_v2;
    char path[CGROUP_PATH_BYTES];
    char procs[CGROUP_PATH_BYTES + 32]; /* its cgroup.procs */
};

/* Best effort: ret_group->made says whether there is one. */
void attempt_cgroup_make(const struct id *attempt, int64_t memory_bytes,
                         struct attempt_cgroup *ret_group);
int64_t attempt_cgroup_oom_kills(const struct attempt_cgroup *group); /* 0 when not known */
/* The group that an earlier supervisor has made, by the path it wrote down; false when it is gone.
 */
bool attempt_cgroup_find(const char *path, struct attempt_cgroup *ret_group);
/* SIGKILL to all that live in it. Returns how many there were. */
size_t attempt_cgroup_kill(const struct attempt_cgroup *group);
void attempt_cgroup_remove(struct attempt_cgroup *group);
