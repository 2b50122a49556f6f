/* Whose program computes on a GPU. Each program of an attempt has EUVYRA_ATTEMPT in its
 * environment, in containers too, and what a program starts inherits it; one that cleared its
 * environment is known by its parents. A process that cannot be looked at (another user's, or the
 * agent is in a container) is taken for ours while an attempt of ours has the GPU, and for somebody
 * else's when none has. */
#include "agent/gpus_impl.h"
#include "probe/procfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRON_BYTES (256 * 1024)
#define PARENTS_MAX   32

static int parent_of(int pid)
{
    char path[64], text[4096], value[32];
    int64_t parent = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (!probe__read(path, text, sizeof text) || !probe__field(text, "PPid", value, sizeof value))
        return 0;
    return str_to_i64(str_from(value), &parent) ? (int)parent : 0;
}

static bool find_attempt(const char *text, size_t len, struct id *ret_attempt)
{
    static const char name[] = "EUVYRA_ATTEMPT=";

    for (size_t at = 0; at < len; at += strlen(text + at) + 1)
        if (strncmp(text + at, name, sizeof name - 1) == 0 &&
            id_parse(str_from(text + at + sizeof name - 1), ID_ATTEMPT, ret_attempt))
            return true;
    return false;
}

bool gpus__attempt_of(int pid, struct id *ret_attempt, bool *ret_readable)
{
    char *text = malloc(ENVIRON_BYTES);
    bool found = false;

    *ret_readable = false;
    for (int i = 0; text && pid > 1 && !found && i < PARENTS_MAX; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%d/environ", pid);
        FILE *file = fopen(path, "re");
        if (file) {
            size_t len = fread(text, 1, ENVIRON_BYTES - 1, file);
            text[len] = '\0';
            *ret_readable |= i == 0;
            found = find_attempt(text, len, ret_attempt);
            (void)fclose(file); /* it was only read */
        }
        pid = parent_of(pid);
    }
    free(text);
    return found;
}

static bool is_owner(const struct gpu_owner *owners, size_t count, const struct id *attempt,
                     int entry)
{
    for (size_t i = 0; i < count; i++)
        if ((owners[i].gpus >> entry & 1) && str_eq(id_str(&owners[i].attempt), id_str(attempt)))
            return true;
    return false;
}

static bool has_owner(const struct gpu_owner *owners, size_t count, int entry)
{
    for (size_t i = 0; i < count; i++)
        if (owners[i].gpus >> entry & 1)
            return true;
    return false;
}

/* "python3" of a pid; "" when it cannot be seen. */
static void name_of(int pid, char ret_name[32])
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (!probe__read(path, ret_name, 32))
        ret_name[0] = '\0';
    ret_name[strcspn(ret_name, "\n")] = '\0';
    for (char *c = ret_name; *c; c++) /* a program may call itself anything */
        *c = (*c > ' ' && *c < 0x7f && *c != '"') ? *c : '?';
}

/* Adds one process to the text. */
static void add_process(char *text, const struct nvml_process *process, const struct id *attempt)
{
    size_t len = strlen(text);
    char name[32], what[120];

    name_of(process->pid, name);
    if (process->pid <= 0)
        (void)snprintf(what, sizeof what, "very many processes");
    else if (attempt)
        (void)snprintf(what, sizeof what, "process %d (%s) of attempt %s, which has not this GPU",
                       process->pid, name, attempt->text);
    else if (name[0])
        (void)snprintf(what, sizeof what, "process %d (%s)", process->pid, name);
    else
        (void)snprintf(what, sizeof what, "process %d", process->pid);
    if (len + strlen(what) + 8 < WIRE_GPU_REASON_MAX)
        (void)snprintf(text + len, WIRE_GPU_REASON_MAX + 1 - len, "%s%s", len ? ", " : "", what);
    else if (len && text[len - 1] != '.')
        (void)snprintf(text + len, WIRE_GPU_REASON_MAX + 1 - len, ", ...");
}

void gpus__foreign(const struct nvml_process *processes, int count, int entry,
                   const struct gpu_owner *owners, size_t owner_count,
                   char ret_text[WIRE_GPU_REASON_MAX + 1])
{
    ret_text[0] = '\0';
    for (int i = 0; i < count; i++) {
        struct id attempt;
        bool readable, named = gpus__attempt_of(processes[i].pid, &attempt, &readable);

        if (named && is_owner(owners, owner_count, &attempt, entry))
            continue;
        if (!named && !readable && has_owner(owners, owner_count, entry))
            continue;
        add_process(ret_text, &processes[i], named ? &attempt : NULL);
    }
}
