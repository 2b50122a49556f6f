/* In a container the path that /proc/self/cgroup names may be the host's; the container's own group
 * is then the root of what is mounted, which is tried second. */
#include "probe/oom.h"

#include "probe/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES    8192
#define KMSG_READ_MAX 10000

int64_t probe_parse_oom_kills(const char *text)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "oom_kill ", 9) == 0)
            return strtoll(line + 9, NULL, 10);
    }
    return -1;
}

bool probe_parse_cgroup(const char *text, char *ret_path, size_t path_bytes)
{
    bool found = false;

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *kinds = strchr(line, ':'), *path = kinds ? strchr(kinds + 1, ':') : NULL;
        size_t len = path ? strcspn(path + 1, "\n") : 0;
        if (path == NULL)
            break;
        bool v2 = strncmp(line, "0::", 3) == 0;
        bool v1 = memmem(kinds + 1, (size_t)(path - kinds - 1), "memory", 6) != NULL;
        if ((!v1 && (!v2 || found)) || len + 10 >= path_bytes)
            continue;
        (void)snprintf(ret_path, path_bytes, "%s%.*s", v1 ? "memory" : "", (int)len, path + 1);
        found = true;
        if (v1)
            break; /* where both are mounted, v1 counts the memory */
    }
    return found;
}

static int64_t kills_of(const char *path)
{
    char text[TEXT_BYTES];

    return probe__read(path, text, sizeof text) ? probe_parse_oom_kills(text) : -1;
}

static bool find_file(struct probe_oom *oom, int pid)
{
    static const char *const files[] = {"memory.events", "memory.oom_control"};
    static const char *const roots[] = {"/sys/fs/cgroup/memory.events",
                                        "/sys/fs/cgroup/memory/memory.oom_control"};
    char text[TEXT_BYTES], group[TEXT_BYTES], proc[64];

    (void)snprintf(proc, sizeof proc, pid > 0 ? "/proc/%d/cgroup" : "/proc/self/cgroup", pid);
    if (probe__read(proc, text, sizeof text) && probe_parse_cgroup(text, group, sizeof group)) {
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
            int len =
                snprintf(oom->path, sizeof oom->path, "/sys/fs/cgroup/%s/%s", group, files[i]);
            if (len < (int)sizeof oom->path && (oom->before = kills_of(oom->path)) >= 0)
                return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        (void)snprintf(oom->path, sizeof oom->path, "%s", roots[i]);
        if ((oom->before = kills_of(oom->path)) >= 0)
            return true;
    }
    return false;
}

void probe_oom_begin(struct probe_oom *oom, int pid)
{
    *oom = (struct probe_oom){.kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (oom->kmsg_fd >= 0 && lseek(oom->kmsg_fd, 0, SEEK_END) < 0) {
        close(oom->kmsg_fd);
        oom->kmsg_fd = -1;
    }
    if (!find_file(oom, pid))
        oom->path[0] = '\0';
}

/* Whether the kernel's log says since the last look that it killed `pid`. */
static bool is_in_kernel_log(const struct probe_oom *oom, int pid)
{
    char text[TEXT_BYTES], wanted[64];
    bool found = false;

    (void)snprintf(wanted, sizeof wanted, "Killed process %d (", pid);
    for (int i = 0; i < KMSG_READ_MAX; i++) {
        ssize_t n = read(oom->kmsg_fd, text, sizeof text - 1);
        if (n <= 0 && errno != EPIPE) /* EPIPE: some were overwritten before we came */
            break;
        text[n > 0 ? n : 0] = '\0';
        found = found || strstr(text, wanted) != NULL;
    }
    return found;
}

bool probe_oom_happened(struct probe_oom *oom, int pid)
{
    if (oom->path[0] != '\0' && kills_of(oom->path) > oom->before)
        return true;
    return oom->kmsg_fd >= 0 && pid > 0 && is_in_kernel_log(oom, pid);
}

void probe_oom_end(struct probe_oom *oom)
{
    if (oom->kmsg_fd > 0)
        close(oom->kmsg_fd);
    *oom = (struct probe_oom){.kmsg_fd = -1};
}
