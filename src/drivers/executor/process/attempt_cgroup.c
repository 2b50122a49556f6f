/* Control groups through their files. Every step may fail on a given host; each failure only means
 * that this host gives us less. */
#include "drivers/executor/process/attempt_cgroup.h"

#include "base/err.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_FILE_BYTES 65536

/* /proc files have no size: read what comes. */
static struct str read_small(const char *path, char *space, size_t size)
{
    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, space, size - 1) : -1;

    return str_n(space, got > 0 ? (size_t)got : 0);
}

static bool write_small(const char *dir, const char *name, const char *text)
{
    char path[CGROUP_PATH_BYTES + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);

    CLEANUP(file_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Our own group's folder: of the v1 memory hierarchy where it is mounted, else of v2. */
static bool find_own(struct attempt_cgroup *group)
{
    char space[8192];
    struct str rest = read_small("/proc/self/cgroup", space, sizeof(space)), line;
    bool more = rest.len > 0;

    while (more) {
        struct str number, controllers;

        more = str_cut(&rest, '\n', &line);
        if (!str_cut(&line, ':', &number) || !str_cut(&line, ':', &controllers))
            continue;

        bool is_memory = str_eq_c(controllers, "memory");
        const char *root = is_memory ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";

        if (!is_memory && !(controllers.len == 0 && str_eq_c(number, "0")))
            continue;
        if (str_eq_c(line, "/"))
            line.len = 0;
        (void)snprintf(group->path, sizeof(group->path), "%s%.*s", root, STR_ARG(line));
        group->is_v2 = !is_memory;
        if (is_memory)
            return true;
    }
    return group->path[0] != '\0';
}

void attempt_cgroup_make(const struct id *attempt, int64_t memory_bytes,
                         struct attempt_cgroup *ret_group)
{
    struct attempt_cgroup group = {0};
    char limit[32];
    size_t len;

    *ret_group = group;
    if (!find_own(&group))
        return;
    if (group.is_v2) /* refused where processes live in our group: then there is no count below */
        (void)write_small(group.path, "cgroup.subtree_control", "+memory");
    len = strlen(group.path);
    if ((size_t)snprintf(group.path + len, sizeof(group.path) - len, "/euvyra-%s", attempt->text) >=
        sizeof(group.path) - len)
        return;
    if (mkdir(group.path, 0755) != 0 && errno != EEXIST)
        return;
    (void)snprintf(group.procs, sizeof(group.procs), "%s/cgroup.procs", group.path);
    if (access(group.procs, W_OK) != 0) {
        (void)rmdir(group.path); /* a plain folder, not a group */
        return;
    }
    (void)snprintf(limit, sizeof(limit), "%" PRIi64, memory_bytes);
    if (memory_bytes > 0) /* where it is refused, the job runs without a limit */
        (void)write_small(group.path, group.is_v2 ? "memory.max" : "memory.limit_in_bytes", limit);
    if (memory_bytes > 0 && group.is_v2)
        (void)write_small(group.path, "memory.swap.max", "0");
    else if (memory_bytes > 0)
        (void)write_small(group.path, "memory.memsw.limit_in_bytes", limit);
    group.made = true;
    *ret_group = group;
}

int64_t attempt_cgroup_oom_kills(const struct attempt_cgroup *group)
{
    char path[CGROUP_PATH_BYTES + 64], space[4096];
    struct str rest, line, name;
    int64_t count = 0;
    bool more = true;

    if (!group->made)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/%s", group->path,
                   group->is_v2 ? "memory.events" : "memory.oom_control");
    rest = read_small(path, space, sizeof(space));
    while (more) {
        more = str_cut(&rest, '\n', &line);
        if (str_cut(&line, ' ', &name) && str_eq_c(name, "oom_kill") && str_to_i64(line, &count))
            return count;
    }
    return 0;
}

bool attempt_cgroup_find(const char *path, struct attempt_cgroup *ret_group)
{
    struct attempt_cgroup group = {.made = true};
    int len = snprintf(group.path, sizeof(group.path), "%s", path);

    (void)snprintf(group.procs, sizeof(group.procs), "%s/cgroup.procs", group.path);
    if (len <= 0 || (size_t)len >= sizeof(group.path) ||
        !str_starts(str_from(path), STR("/sys/fs/cgroup/")) || !strstr(path, "/euvyra-t") ||
        strstr(path, "..") || access(group.procs, R_OK) != 0)
        return false;
    *ret_group = group;
    return true;
}

size_t attempt_cgroup_kill(const struct attempt_cgroup *group)
{
    char space[CGROUP_FILE_BYTES];
    struct str rest = read_small(group->procs, space, sizeof(space)), line;
    bool more = rest.len > 0;
    size_t count = 0;

    while (more) {
        int64_t pid;

        more = str_cut(&rest, '\n', &line);
        if (!str_to_i64(line, &pid) || pid <= 1 || pid > INT32_MAX)
            continue;
        (void)kill((pid_t)pid, SIGKILL); /* gone meanwhile: fine */
        count++;
    }
    return count;
}

void attempt_cgroup_remove(struct attempt_cgroup *group)
{
    if (group->made)
        (void)rmdir(group->path); /* one that stays is empty and harms nobody */
    group->made = false;
}
