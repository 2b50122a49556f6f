/* Control groups through their files. Every step may fail on a given host; each failure only means
 * that this host gives us less.
 *
 * Version 2 gives controllers only to groups below one that has no processes of its own. A systemd
 * unit has them all in one group, so root makes its groups beside the units, below MOUNT/euvyra. */
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

#define FILE_BYTES    65536
#define CPU_PERIOD_US 100000
#define NAME_START    "/euvyra-"

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

static bool has_file(const char *dir, const char *name)
{
    char path[CGROUP_PATH_BYTES + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, W_OK) == 0;
}

static bool has_word(struct str list, const char *word)
{
    struct str one;
    bool more = true;

    while (more) {
        more = str_cut(&list, ',', &one);
        if (str_eq_c(one, word))
            return true;
    }
    return false;
}

/* Our own group in the hierarchy of a controller of version 1, or ("") in that of version 2. */
static bool own_group(const char *controller, char ret_path[CGROUP_PATH_BYTES])
{
    char space[8192];
    struct str rest = read_small("/proc/self/cgroup", space, sizeof(space)), line;
    bool more = rest.len > 0;

    while (more) {
        struct str number, controllers;

        more = str_cut(&rest, '\n', &line);
        if (!str_cut(&line, ':', &number) || !str_cut(&line, ':', &controllers))
            continue;
        if (*controller ? !has_word(controllers, controller) : !str_eq_c(number, "0"))
            continue;
        if (str_eq_c(line, "/"))
            line.len = 0;
        return (size_t)snprintf(ret_path, CGROUP_PATH_BYTES, "%.*s", STR_ARG(line)) <
               CGROUP_PATH_BYTES;
    }
    return false;
}

/* A group below `parent`; false when it cannot be made. */
static bool make_part(const char *parent, const char *name, struct attempt_cgroup_part *part)
{
    if ((size_t)snprintf(part->path, sizeof(part->path), "%s" NAME_START "%s", parent, name) >=
        sizeof(part->path))
        return false;
    if (mkdir(part->path, 0755) != 0 && errno != EEXIST)
        return false;
    (void)snprintf(part->procs, sizeof(part->procs), "%s/cgroup.procs", part->path);
    if (access(part->procs, W_OK) == 0)
        return true;
    (void)rmdir(part->path); /* a plain folder, not a group */
    return false;
}

static void make_v1(const char *mount, const char *name, struct attempt_cgroup *group)
{
    static const struct {
        const char *controller, *file;
        unsigned limit;
    } kinds[CGROUP_PARTS_MAX] = {{"memory", "memory.limit_in_bytes", CGROUP_MEMORY},
                                 {"cpu", "cpu.cfs_quota_us", CGROUP_CPU},
                                 {"pids", "pids.max", CGROUP_PIDS}};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct attempt_cgroup_part *part = &group->parts[group->count];
        char own[CGROUP_PATH_BYTES], parent[CGROUP_PATH_BYTES + 64];

        if (!own_group(kinds[i].controller, own))
            continue;
        (void)snprintf(parent, sizeof(parent), "%s/%s%s", mount, kinds[i].controller, own);
        if (!make_part(parent, name, part))
            continue;
        part->limits = has_file(part->path, kinds[i].file) ? kinds[i].limit : 0;
        group->count++;
    }
}

/* Asks for the controllers below a group; what is refused is not there below. */
static void give_controllers(const char *dir)
{
    static const char *const all[] = {"+memory", "+cpu", "+pids"};

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        (void)write_small(dir, "cgroup.subtree_control", all[i]);
}

static unsigned limits_v2(const char *dir)
{
    return (has_file(dir, "memory.max") ? CGROUP_MEMORY : 0) |
           (has_file(dir, "cpu.max") ? CGROUP_CPU : 0) |
           (has_file(dir, "pids.max") ? CGROUP_PIDS : 0);
}

static void make_v2(const char *mount, const char *name, struct attempt_cgroup *group)
{
    struct attempt_cgroup_part *part = &group->parts[0];
    char own[CGROUP_PATH_BYTES], parent[CGROUP_PATH_BYTES + 64];

    (void)snprintf(parent, sizeof(parent), "%s/euvyra", mount);
    give_controllers(mount);
    if (mkdir(parent, 0755) == 0 || errno == EEXIST) {
        give_controllers(parent);
        if (make_part(parent, name, part)) {
            part->limits = limits_v2(part->path);
            group->count = 1;
            return;
        }
    }
    if (!own_group("", own))
        return;
    (void)snprintf(parent, sizeof(parent), "%s%s", mount, own);
    give_controllers(parent);
    if (!make_part(parent, name, part))
        return;
    part->limits = limits_v2(part->path);
    group->count = 1;
}

static void make(const char *mount, const char *name, struct attempt_cgroup *ret_group)
{
    struct attempt_cgroup group = {0};

    if (has_file(mount, "cgroup.subtree_control"))
        make_v2(mount, name, &group);
    else
        make_v1(mount, name, &group);
    *ret_group = group;
}

static void limit_memory(const struct attempt_cgroup_part *part, int64_t bytes)
{
    bool is_v2 = has_file(part->path, "memory.max");
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRIi64, bytes);
    (void)write_small(part->path, is_v2 ? "memory.max" : "memory.limit_in_bytes", text);
    if (is_v2)
        (void)write_small(part->path, "memory.swap.max", "0");
    else
        (void)write_small(part->path, "memory.memsw.limit_in_bytes", text);
}

static void limit_cpu(const struct attempt_cgroup_part *part, int64_t cpus)
{
    char text[64];
    bool is_v2 = has_file(part->path, "cpu.max");

    (void)snprintf(text, sizeof(text), is_v2 ? "%" PRIi64 " %d" : "%" PRIi64, cpus * CPU_PERIOD_US,
                   CPU_PERIOD_US);
    if (!is_v2)
        (void)write_small(part->path, "cpu.cfs_period_us", "100000");
    (void)write_small(part->path, is_v2 ? "cpu.max" : "cpu.cfs_quota_us", text);
}

void attempt_cgroup_make(const char *mount, const char *name, const struct attempt_limits *limits,
                         struct attempt_cgroup *ret_group)
{
    char text[32];

    make(mount, name, ret_group);
    for (size_t i = 0; i < ret_group->count; i++) {
        const struct attempt_cgroup_part *part = &ret_group->parts[i];

        if ((part->limits & CGROUP_MEMORY) && limits->memory_bytes > 0)
            limit_memory(part, limits->memory_bytes);
        if ((part->limits & CGROUP_CPU) && limits->cpus > 0)
            limit_cpu(part, limits->cpus);
        (void)snprintf(text, sizeof(text), "%" PRIi64, limits->pids);
        if ((part->limits & CGROUP_PIDS) && limits->pids > 0)
            (void)write_small(part->path, "pids.max", text);
    }
}

unsigned attempt_cgroup_can(const char *mount)
{
    struct attempt_cgroup group;
    unsigned can = 0;
    char name[32];

    (void)snprintf(name, sizeof(name), "try-%d", (int)getpid());
    make(mount, name, &group);
    for (size_t i = 0; i < group.count; i++)
        can |= group.parts[i].limits;
    attempt_cgroup_remove(&group);
    return can;
}

int64_t attempt_cgroup_oom_kills(const struct attempt_cgroup *group)
{
    static const char *const files[] = {"memory.events", "memory.oom_control"};

    for (size_t i = 0; i < group->count * ARRAY_LEN(files); i++) {
        char path[CGROUP_PATH_BYTES + 64], space[4096];
        struct str rest, line, name;
        int64_t count = 0;
        bool more = true;

        (void)snprintf(path, sizeof(path), "%s/%s", group->parts[i / ARRAY_LEN(files)].path,
                       files[i % ARRAY_LEN(files)]);
        rest = read_small(path, space, sizeof(space));
        while (more) {
            more = str_cut(&rest, '\n', &line);
            if (str_cut(&line, ' ', &name) && str_eq_c(name, "oom_kill") &&
                str_to_i64(line, &count))
                return count;
        }
    }
    return 0;
}

void attempt_cgroup_record(const struct attempt_cgroup *group, char ret_text[CGROUP_RECORD_MAX + 1])
{
    size_t len = 0;

    ret_text[0] = '\0';
    for (size_t i = 0; i < group->count; i++)
        len += (size_t)snprintf(&ret_text[len], CGROUP_RECORD_MAX + 1 - len, "%s\n",
                                group->parts[i].path);
}

bool attempt_cgroup_find(struct str record, struct attempt_cgroup *ret_group)
{
    struct attempt_cgroup group = {0};
    bool more = record.len > 0;
    struct str line;

    while (more && group.count < CGROUP_PARTS_MAX) {
        struct attempt_cgroup_part *part = &group.parts[group.count];

        more = str_cut(&record, '\n', &line);
        if (!line.len || line.len >= sizeof(part->path))
            continue;
        (void)snprintf(part->path, sizeof(part->path), "%.*s", STR_ARG(line));
        (void)snprintf(part->procs, sizeof(part->procs), "%.*s/cgroup.procs", STR_ARG(line));
        if (str_starts(line, STR(CGROUP_MOUNT "/")) && strstr(part->path, NAME_START "t") &&
            !strstr(part->path, "..") && access(part->procs, R_OK) == 0)
            group.count++;
    }
    *ret_group = group;
    return group.count > 0;
}

size_t attempt_cgroup_kill(const struct attempt_cgroup *group)
{
    size_t count = 0;

    for (size_t i = 0; i < group->count; i++) {
        char space[FILE_BYTES];
        struct str rest = read_small(group->parts[i].procs, space, sizeof(space)), line;
        bool more = rest.len > 0;

        (void)write_small(group->parts[i].path, "cgroup.kill", "1"); /* version 2: all at once */
        while (more) {
            int64_t pid;

            more = str_cut(&rest, '\n', &line);
            if (!str_to_i64(line, &pid) || pid <= 1 || pid > INT32_MAX)
                continue;
            (void)kill((pid_t)pid, SIGKILL); /* gone meanwhile: fine */
            count++;
        }
    }
    return count;
}

void attempt_cgroup_remove(struct attempt_cgroup *group)
{
    for (size_t i = 0; i < group->count; i++)
        (void)rmdir(group->parts[i].path); /* one that stays is empty and harms nobody */
    group->count = 0;
}
