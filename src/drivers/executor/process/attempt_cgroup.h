/* The control groups of one attempt, where we may make them: limits of memory, CPU time and
 * processes, and the kernel's own count of processes it killed for memory. Version 1 has a
 * hierarchy for each of them, version 2 one for all. Without a group nothing is limited and nothing
 * is claimed. thread: the supervisor's, or the attempt's owner after it; may block */
#pragma once

#include "base/str.h"

#include <stddef.h>

#define CGROUP_PATH_BYTES 1024
#define CGROUP_PARTS_MAX  3
#define CGROUP_RECORD_MAX (CGROUP_PARTS_MAX * (CGROUP_PATH_BYTES + 1))
#define CGROUP_MOUNT      "/sys/fs/cgroup"
#define CGROUP_MEMORY     1u
#define CGROUP_CPU        2u
#define CGROUP_PIDS       4u
#define CGROUP_ALL        (CGROUP_MEMORY | CGROUP_CPU | CGROUP_PIDS)

struct attempt_limits {
    int64_t memory_bytes, cpus, pids; /* 0: none */
};

struct attempt_cgroup_part {
    unsigned limits; /* what it can limit, as bits */
    char path[CGROUP_PATH_BYTES];
    char procs[CGROUP_PATH_BYTES + 32]; /* its cgroup.procs */
};

struct attempt_cgroup {
    size_t count; /* 0: there is none */
    struct attempt_cgroup_part parts[CGROUP_PARTS_MAX];
};

/* Best effort: ret_group->count says how many there are. `mount` is CGROUP_MOUNT but in tests,
 * `name` begins with the attempt's id and is nobody else's on this machine. */
void attempt_cgroup_make(const char *mount, const char *name, const struct attempt_limits *limits,
                         struct attempt_cgroup *ret_group);
/* The limits that can be set here, as bits; makes a group and removes it. */
unsigned attempt_cgroup_can(const char *mount);
int64_t attempt_cgroup_oom_kills(const struct attempt_cgroup *group); /* 0 when not known */
/* The paths, a line each, for attempt_cgroup_find. */
void attempt_cgroup_record(const struct attempt_cgroup *group,
                           char ret_text[CGROUP_RECORD_MAX + 1]);
/* The groups that an earlier supervisor made and that are still there. False: none. */
bool attempt_cgroup_find(struct str record, struct attempt_cgroup *ret_group);
/* SIGKILL to all that live in them. Returns how many there were. */
size_t attempt_cgroup_kill(const struct attempt_cgroup *group);
void attempt_cgroup_remove(struct attempt_cgroup *group);
