/* What a Docker engine says about itself, and what follows from it: pure. thread: any */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "ports/executor.h"

#define DOCKER_NOTE_BYTES 256
/* What an engine refuses to go below. */
#define DOCKER_MEMORY_MIN (INT64_C(6) << 20)

struct docker_host {
    char version[32];         /* "20.10.24" */
    char runc[32];            /* "1.1.5+ds1"; "" not known */
    char machine[32], os[32]; /* "amd64", "linux" */
    char root[1024];          /* where it keeps its data, on this machine */
    char driver[32];          /* of images: "overlay2" */
    bool limits_memory, limits_cpu, limits_pids;
    bool rootless;     /* root inside is the engine's own user */
    bool remaps_users; /* a user N inside is the user first_uid + N of the machine */
    int64_t first_uid, first_gid;
    bool has_seccomp;
};

/* From GET /version and GET /info. */
void docker_host_read(const json_t *version, const json_t *info, struct docker_host *ret_host);
/* ERR_FORBIDDEN: its runc lets a container take over this machine. */
MUST_CHECK enum err_code docker_host_check(const struct docker_host *host, struct err *err);
/* What this engine cannot keep is refused, not forgotten. ERR_UNPROCESSABLE. */
MUST_CHECK enum err_code docker_host_check_limits(const struct docker_host *host,
                                                  const struct executor_spec *spec,
                                                  struct err *err);
struct docker_user {
    int64_t uid, gid;
};
/* From a user of this machine to what they are inside: in a rootless engine root is who runs the
 * engine (`owner` of its socket), and there is nobody else. ERR_INVALID: they are nobody inside. */
MUST_CHECK enum err_code docker_host_take_user(const struct docker_host *host, int64_t owner,
                                               struct docker_user *user, struct err *err);
/* What an administrator should know, one line each. Returns how many, at most `max`. */
size_t docker_host_notes(const struct docker_host *host, char (*ret_notes)[DOCKER_NOTE_BYTES],
                         size_t max);
/* True when containers can be given a limit for what they write: by driver and the text of
 * /proc/mounts. */
bool docker_host_limits_disk(const struct docker_host *host, struct str mounts);
/* Compares versions as far as they are numbers: below 0, 0, above 0. */
int docker_version_compare(const char *a, const char *b);
