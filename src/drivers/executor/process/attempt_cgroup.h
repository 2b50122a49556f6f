/* A control group for one attempt, where we may make one (cgroup v1 memory, or v2): a memory limit,
 * and the kernel's own count of processes it killed for memory. Without one nothing is limited and
 * nothing is claimed. thread: supervisor */
#pragma once

#include "base/id.h"

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
void attempt_cgroup_remove(struct attempt_cgroup *group);
