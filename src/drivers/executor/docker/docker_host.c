/* Facts about an engine, and the known holes of old ones. */
#include "drivers/executor/docker/docker_host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNC_LEAKS_FIXED    "1.1.12" /* CVE-2024-21626 */
#define RUNC_MASKS_FIXED    "1.2.8"  /* CVE-2025-31133, CVE-2025-52565, CVE-2025-52881 */
#define RUNC_MASKS_FIXED_13 "1.3.3"

static void copy(char *out, size_t size, const json_t *text)
{
    const char *value = json_string_value(text);

    (void)snprintf(out, size, "%s", value ? value : "");
}

static bool has_option(const json_t *info, const char *start)
{
    const json_t *option;
    size_t i;

    json_array_foreach(json_object_get(info, "SecurityOptions"), i, option)
    {
        const char *text = json_string_value(option);

        if (text && strncmp(text, start, strlen(start)) == 0)
            return true;
    }
    return false;
}

/* "/var/lib/docker/300000.300001": the engine keeps each mapping's data apart. */
static void read_mapping(struct docker_host *host)
{
    const char *slash = strrchr(host->root, '/');
    struct str uid, gid = str_from(slash ? slash + 1 : "");

    if (!str_cut(&gid, '.', &uid) || !str_to_i64(uid, &host->first_uid) ||
        !str_to_i64(gid, &host->first_gid))
        host->first_uid = host->first_gid = 0;
}

void docker_host_read(const json_t *version, const json_t *info, struct docker_host *ret_host)
{
    const char *groups = json_string_value(json_object_get(info, "CgroupDriver"));
    bool can = groups && strcmp(groups, "none") != 0;
    const json_t *component;
    size_t i;

    *ret_host = (struct docker_host){
        .limits_memory = can && json_is_true(json_object_get(info, "MemoryLimit")),
        .limits_cpu = can && json_is_true(json_object_get(info, "CpuCfsQuota")),
        .limits_pids = can && json_is_true(json_object_get(info, "PidsLimit")),
        .rootless = has_option(info, "name=rootless"),
        .remaps_users = has_option(info, "name=userns"),
        .has_seccomp = has_option(info, "name=seccomp")};
    copy(ret_host->version, sizeof(ret_host->version), json_object_get(version, "Version"));
    copy(ret_host->machine, sizeof(ret_host->machine), json_object_get(version, "Arch"));
    copy(ret_host->os, sizeof(ret_host->os), json_object_get(version, "Os"));
    copy(ret_host->root, sizeof(ret_host->root), json_object_get(info, "DockerRootDir"));
    copy(ret_host->driver, sizeof(ret_host->driver), json_object_get(info, "Driver"));
    if (ret_host->remaps_users)
        read_mapping(ret_host);
    json_array_foreach(json_object_get(version, "Components"), i, component)
    {
        const char *name = json_string_value(json_object_get(component, "Name"));

        if (name && strcmp(name, "runc") == 0)
            copy(ret_host->runc, sizeof(ret_host->runc), json_object_get(component, "Version"));
    }
}

int docker_version_compare(const char *a, const char *b)
{
    for (;;) {
        char *a_end, *b_end;
        long left = strtol(a, &a_end, 10), right = strtol(b, &b_end, 10);

        if (left != right)
            return left < right ? -1 : 1;
        if (a_end == a || b_end == b || *a_end != '.' || *b_end != '.')
            return (*a_end == '.') - (*b_end == '.');
        a = a_end + 1;
        b = b_end + 1;
    }
}

enum err_code docker_host_check(const struct docker_host *host, struct err *err)
{
    if (!isdigit((unsigned char)host->runc[0]) ||
        docker_version_compare(host->runc, RUNC_LEAKS_FIXED) >= 0)
        return OK;
    (void)err_set(err, ERR_FORBIDDEN,
                  "the Docker engine runs containers with runc %s, in which an image can take over "
                  "this machine (CVE-2024-21626, mended in runc " RUNC_LEAKS_FIXED ")",
                  host->runc);
    err_hint(err, "upgrade it; --allow-old-runc where your distribution has mended its %s",
             host->runc);
    return ERR_FORBIDDEN;
}

enum err_code docker_host_check_limits(const struct docker_host *host,
                                       const struct executor_spec *spec, struct err *err)
{
    if (spec->memory_bytes > 0 && !host->limits_memory)
        return err_set(err, ERR_UNPROCESSABLE, "this Docker engine cannot limit memory");
    if (spec->cpus > 0 && !host->limits_cpu)
        return err_set(err, ERR_UNPROCESSABLE, "this Docker engine cannot limit CPUs");
    if (spec->pids > 0 && !host->limits_pids)
        return err_set(err, ERR_UNPROCESSABLE, "this Docker engine cannot limit processes");
    if (spec->memory_bytes > 0 && spec->memory_bytes < DOCKER_MEMORY_MIN)
        return err_set(err, ERR_UNPROCESSABLE,
                       "memory %lld is below the %lld bytes a container needs",
                       (long long)spec->memory_bytes, (long long)DOCKER_MEMORY_MIN);
    return OK;
}

enum err_code docker_host_take_user(const struct docker_host *host, int64_t owner,
                                    struct docker_user *user, struct err *err)
{
    if (host->rootless && user->uid != owner) {
        (void)err_set(err, ERR_INVALID,
                      "the Docker engine is rootless and runs as user %lld: user %lld is nobody "
                      "inside",
                      (long long)owner, (long long)user->uid);
        err_hint(err, "start the agent as the engine's user, or name them with --job-user");
        return ERR_INVALID;
    }
    if (host->remaps_users && (user->uid < host->first_uid || user->gid < host->first_gid)) {
        (void)err_set(err, ERR_INVALID,
                      "the Docker engine remaps users: user %lld, group %lld are nobody inside",
                      (long long)user->uid, (long long)user->gid);
        err_hint(err, "--job-user names a user with numbers from %lld and %lld on",
                 (long long)host->first_uid, (long long)host->first_gid);
        return ERR_INVALID;
    }
    user->uid = host->rootless ? 0 : user->uid - host->first_uid;
    user->gid = host->rootless ? 0 : user->gid - host->first_gid;
    return OK;
}

static bool is_13(const char *version)
{
    return docker_version_compare(version, "1.3") >= 0 &&
           docker_version_compare(version, RUNC_MASKS_FIXED_13) < 0;
}

size_t docker_host_notes(const struct docker_host *host, char (*ret_notes)[DOCKER_NOTE_BYTES],
                         size_t max)
{
    size_t count = 0;

#define NOTE(condition, ...)                                                                       \
    do {                                                                                           \
        if ((condition) && count < max)                                                            \
            (void)snprintf(ret_notes[count++], DOCKER_NOTE_BYTES, __VA_ARGS__);                    \
    } while (0)
    NOTE(host->runc[0] &&
             (docker_version_compare(host->runc, RUNC_MASKS_FIXED) < 0 || is_13(host->runc)),
         "runc %s: a container may write to files of the kernel that are masked (CVE-2025-31133, "
         "mended in " RUNC_MASKS_FIXED " and " RUNC_MASKS_FIXED_13 ")",
         host->runc);
    NOTE(!host->has_seccomp, "the engine has no seccomp: containers may use every system call");
    NOTE(!host->limits_memory, "the engine cannot limit memory: jobs that ask for it are refused");
    NOTE(!host->limits_cpu, "the engine cannot limit CPUs: jobs that ask for it are refused");
    NOTE(!host->limits_pids, "the engine cannot limit processes: nothing stops a job from forking "
                             "without end");
#undef NOTE
    return count;
}

/* The longest mount point that the path lies under decides. */
static bool has_quota(const char *root, struct str mounts)
{
    struct str line;
    size_t best = 0;
    bool quota = false;

    while (mounts.len > 0) {
        struct str device, point, type;

        (void)str_cut(&mounts, '\n', &line);
        (void)str_cut(&line, ' ', &device);
        (void)str_cut(&line, ' ', &point);
        (void)str_cut(&line, ' ', &type);
        if (point.len < best || strncmp(root, point.data, point.len) != 0 ||
            (point.len > 1 && root[point.len] != '/' && root[point.len] != '\0'))
            continue;
        best = point.len;
        line.len = MIN(line.len, (size_t)1000);
        quota = str_eq_c(type, "xfs") && (memmem(line.data, line.len, "prjquota", 8) != NULL ||
                                          memmem(line.data, line.len, "pquota", 6) != NULL);
    }
    return quota;
}

bool docker_host_limits_disk(const struct docker_host *host, struct str mounts)
{
    /* Not "btrfs": its limit counts the image too, and a job with a large one would not start. */
    if (strcmp(host->driver, "zfs") == 0)
        return true;
    return strcmp(host->driver, "overlay2") == 0 && host->root[0] == '/' &&
           has_quota(host->root, mounts);
}
