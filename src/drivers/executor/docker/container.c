/* One body for every container: nothing in a job's spec can loosen it. */
#include "drivers/executor/docker/container.h"

#include "crypto/digest.h"
#include "drivers/executor/docker/logs.h"

#include <signal.h>
#include <stdio.h>

/* What stands before every message of runc. */
#define CREATE_NOISE "unable to start container process: "

void container_name(const struct id *attempt, int64_t rank, char ret_name[CONTAINER_NAME_BYTES])
{
    if (rank > 0)
        (void)snprintf(ret_name, CONTAINER_NAME_BYTES, CONTAINER_PREFIX "%s-%lld", attempt->text,
                       (long long)rank);
    else
        (void)snprintf(ret_name, CONTAINER_NAME_BYTES, CONTAINER_PREFIX "%s", attempt->text);
}

static void put_text(struct json_writer *w, const char *key, const char *value)
{
    json_put_key(w, key);
    json_put_text(w, value);
}

static void put_number(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

static void put_flag(struct json_writer *w, const char *key, bool value)
{
    json_put_key(w, key);
    json_put_bool(w, value);
}

/* A number as text, as options of drivers want it. */
static void put_digits(struct json_writer *w, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    put_text(w, key, text);
}

static bool has_variable(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return true;
    }
    return false;
}

static void join_gpus(const struct executor_spec *spec, struct buf *out)
{
    for (size_t i = 0; spec->gpus && spec->gpus[i]; i++)
        (void)buf_printf(out, "%s%s", i ? "," : "", spec->gpus[i]);
}

static bool has_gpus(const struct executor_spec *spec)
{
    return spec->gpus && spec->gpus[0];
}

/* Which GPUs are seen is not the job's choice, nor its image's: images for CUDA ask for all. */
static void put_env(struct json_writer *w, const struct container_plan *plan, const char *gpus)
{
    const struct executor_spec *spec = plan->spec;
    CLEANUP(buf_release) struct buf line = {0};

    json_put_key(w, "Env");
    json_begin_array(w);
    if (plan->home_in_work && !has_variable(spec->env, "HOME"))
        json_put_text(w, "HOME=" CONTAINER_INSIDE "/work");
    for (const char *const *entry = spec->env; *entry; entry++) {
        if (strncmp(*entry, "NVIDIA_VISIBLE_DEVICES=", 23) != 0)
            json_put_text(w, *entry);
    }
    buf_init(&line, 64 * 1024);
    (void)buf_printf(&line, "NVIDIA_VISIBLE_DEVICES=%s", gpus[0] ? gpus : "void");
    json_put_str(w, buf_str(&line));
    if (gpus[0] && !has_variable(spec->env, "NVIDIA_DRIVER_CAPABILITIES"))
        json_put_text(w, "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
    json_end_array(w);
}

static void put_labels(struct json_writer *w, const struct container_plan *plan, const char *gpus)
{
    struct str token = plan->spec->files.token;
    uint8_t digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];

    sha256(token.data, token.len, digest);
    hex_encode(digest, sizeof(digest), hex);
    json_put_key(w, "Labels");
    json_begin_object(w);
    put_text(w, CONTAINER_LABEL_AGENT, plan->agent);
    put_text(w, CONTAINER_LABEL_ATTEMPT, plan->spec->attempt.text);
    put_text(w, CONTAINER_LABEL_TOKEN, hex);
    if (gpus[0])
        put_text(w, CONTAINER_LABEL_GPUS, gpus);
    json_end_object(w);
}

static void put_bind(struct json_writer *w, const char *source, const char *target, bool read_only)
{
    json_begin_object(w);
    put_text(w, "Type", "bind");
    put_text(w, "Source", source);
    put_text(w, "Target", target);
    if (read_only)
        put_flag(w, "ReadOnly", true);
    json_end_object(w);
}

/* A folder or file of the attempt, at the same name inside. */
static void put_own(struct json_writer *w, const struct container_plan *plan, const char *name,
                    bool read_only)
{
    char source[EXECUTOR_PATH_BYTES + 32], target[64];

    (void)snprintf(source, sizeof(source), "%s/%s", plan->folder, name);
    (void)snprintf(target, sizeof(target), CONTAINER_INSIDE "/%s", name);
    put_bind(w, source, target, read_only);
}

static void put_mounts(struct json_writer *w, const struct container_plan *plan)
{
    const struct executor_spec *spec = plan->spec;

    json_put_key(w, "Mounts");
    json_begin_array(w);
    put_own(w, plan, "work", false);
    put_own(w, plan, "runs", false);
    if (plan->has_key)
        put_own(w, plan, "key", true);
    if (plan->has_config)
        put_own(w, plan, "config.json", true);
    if (plan->has_ca)
        put_own(w, plan, "ca.pem", true);
    for (size_t i = 0; i < spec->mount_count; i++) {
        if (spec->mounts[i].host_path)
            put_bind(w, spec->mounts[i].host_path, spec->mounts[i].target,
                     spec->mounts[i].read_only);
    }
    json_end_array(w);
}

static void put_limits(struct json_writer *w, const struct container_plan *plan)
{
    const struct executor_spec *spec = plan->spec;
    int64_t half = spec->memory_bytes > 0 ? spec->memory_bytes / 2 : INT64_MAX;
    char tmp[96];

    if (spec->cpus > 0)
        put_number(w, "NanoCpus", MIN(spec->cpus, INT64_MAX / 1000000000) * 1000000000);
    if (spec->memory_bytes > 0) {
        put_number(w, "Memory", spec->memory_bytes);
        put_number(w, "MemorySwap", spec->memory_bytes); /* no swap */
    }
    put_number(w, "ShmSize",
               spec->shm_bytes > 0 ? spec->shm_bytes : MIN(CONTAINER_SHM_DEFAULT, half));
    put_number(w, "PidsLimit", spec->pids > 0 ? spec->pids : CONTAINER_PIDS_DEFAULT);
    if (spec->disk_bytes > 0 && plan->limits_disk) {
        json_put_key(w, "StorageOpt");
        json_begin_object(w);
        put_digits(w, "size", spec->disk_bytes);
        json_end_object(w);
    }
    if (!spec->read_only_root)
        return;
    put_flag(w, "ReadonlyRootfs", true);
    (void)snprintf(tmp, sizeof(tmp), "rw,nosuid,nodev,mode=1777,size=%lld",
                   (long long)MIN(CONTAINER_TMP_DEFAULT, half));
    json_put_key(w, "Tmpfs");
    json_begin_object(w);
    put_text(w, "/tmp", tmp);
    json_end_object(w);
}

static void put_gpus(struct json_writer *w, const struct executor_spec *spec)
{
    json_put_key(w, "DeviceRequests");
    json_begin_array(w);
    json_begin_object(w);
    put_text(w, "Driver", "nvidia");
    json_put_key(w, "DeviceIDs");
    json_begin_array(w);
    for (size_t i = 0; spec->gpus[i]; i++)
        json_put_text(w, spec->gpus[i]);
    json_end_array(w);
    json_put_key(w, "Capabilities");
    json_begin_array(w);
    json_begin_array(w);
    json_put_text(w, "gpu");
    if (!has_variable(spec->env, "NVIDIA_DRIVER_CAPABILITIES")) { /* the engine would set it */
        json_put_text(w, "compute");
        json_put_text(w, "utility");
    }
    json_end_array(w);
    json_end_array(w);
    json_end_object(w);
    json_end_array(w);
}

/* The driver "local": "json-file" would turn what is no UTF-8 into replacement characters. */
static void put_log(struct json_writer *w, const struct executor_spec *spec)
{
    json_put_key(w, "LogConfig");
    json_begin_object(w);
    put_text(w, "Type", "local");
    json_put_key(w, "Config");
    json_begin_object(w);
    put_digits(w, "max-size", logs_file_bytes(spec->console_bytes_max));
    put_digits(w, "max-file", LOGS_FILES);
    put_text(w, "compress", "false");
    json_end_object(w);
    json_end_object(w);
}

static void put_host(struct json_writer *w, const struct container_plan *plan)
{
    json_put_key(w, "HostConfig");
    json_begin_object(w);
    put_text(w, "NetworkMode", plan->network);
    json_put_key(w, "CapDrop");
    json_begin_array(w);
    json_put_text(w, "ALL");
    json_end_array(w);
    json_put_key(w, "SecurityOpt");
    json_begin_array(w);
    json_put_text(w, "no-new-privileges");
    json_end_array(w);
    put_flag(w, "Init", true);
    put_flag(w, "AutoRemove", false);
    json_put_key(w, "RestartPolicy");
    json_begin_object(w);
    put_text(w, "Name", "no");
    json_end_object(w);
    put_limits(w, plan);
    put_mounts(w, plan);
    if (has_gpus(plan->spec))
        put_gpus(w, plan->spec);
    put_log(w, plan->spec);
    json_end_object(w);
}

void container_body(const struct container_plan *plan, struct json_writer *w)
{
    const struct executor_spec *spec = plan->spec;
    CLEANUP(buf_release) struct buf gpus = {0};

    buf_init(&gpus, 32 * 1024);
    (void)buf_add_text(&gpus, "");
    join_gpus(spec, &gpus);
    json_begin_object(w);
    put_text(w, "Image", plan->image);
    /* As the entry point, so that the image's own does not come before it. */
    json_put_key(w, "Entrypoint");
    json_begin_array(w);
    for (const char *const *word = spec->argv; *word; word++)
        json_put_text(w, *word);
    json_end_array(w);
    put_env(w, plan, gpus.data);
    put_text(w, "User", plan->user);
    if (spec->files.code.len > 0)
        put_text(w, "WorkingDir", spec->work_dir);
    put_labels(w, plan, gpus.data);
    put_host(w, plan);
    json_end_object(w);
}

/* ---- What the engine says */

static time_ms time_of(const json_t *state, const char *name)
{
    const char *text = json_string_value(json_object_get(state, name));
    time_ms at;

    if (!text || strncmp(text, "0001-", 5) == 0 || !time_parse(str_from(text), &at))
        return TIME_NONE;
    return at;
}

static void copy_text(char *out, size_t size, const json_t *text)
{
    (void)snprintf(out, size, "%s", json_string_value(text) ? json_string_value(text) : "");
}

static bool is_being_removed(const json_t *state)
{
    const char *status = json_string_value(json_object_get(state, "Status"));

    return json_is_true(json_object_get(state, "Dead")) ||
           (status && strcmp(status, "removing") == 0);
}

static enum container_phase phase_of(const json_t *state)
{
    const char *status = json_string_value(json_object_get(state, "Status"));

    if (json_is_true(json_object_get(state, "Running")) ||
        json_is_true(json_object_get(state, "Paused")))
        return CONTAINER_RUNNING;
    if (status && strcmp(status, "created") == 0)
        return CONTAINER_CREATED;
    return CONTAINER_ENDED;
}

enum err_code container_read(const json_t *document, const char *network,
                             struct container_state *ret_state, struct err *err)
{
    const json_t *state = json_object_get(document, "State");
    const json_t *networks =
        json_object_get(json_object_get(document, "NetworkSettings"), "Networks");
    const json_t *config = json_object_get(document, "Config");
    bool ignored;

    if (!json_is_object(state) || !json_is_object(config))
        return err_set(err, ERR_UNAVAILABLE, "the Docker engine's answer is not a container");
    *ret_state = (struct container_state){
        .phase = phase_of(state),
        .started_at = time_of(state, "StartedAt"),
        .ended_at = time_of(state, "FinishedAt"),
        .exit_code = (int)json_integer_value(json_object_get(state, "ExitCode")),
        .being_removed = is_being_removed(state),
        .oom = json_is_true(json_object_get(state, "OOMKilled"))};
    copy_text(ret_state->image, sizeof(ret_state->image), json_object_get(config, "Image"));
    copy_text(ret_state->address, sizeof(ret_state->address),
              json_object_get(json_object_get(networks, network), "IPAddress"));
    if (json_string_length(json_object_get(state, "Error")) > 0)
        container_explain(json_string_value(json_object_get(state, "Error")), ret_state->problem,
                          &ignored);
    return OK;
}

/* "[FATAL tini (7)] exec PROGRAM failed: No such file or directory", of docker-init. */
bool container_never_ran(struct str output, int exit_code, char ret_reason[EXECUTOR_REASON_BYTES])
{
    struct str head, line = str_trim(output), program;

    if ((exit_code != 126 && exit_code != 127) || !str_starts(line, STR("[FATAL tini (")) ||
        memchr(line.data, '\n', line.len) || !str_cut(&line, ']', &head) ||
        !str_starts(line, STR(" exec ")))
        return false;
    program = str_n(line.data + 6, line.len - 6);
    for (size_t i = 0; i + 8 <= program.len; i++) {
        if (memcmp(program.data + i, " failed:", 8) == 0)
            program.len = i;
    }
    (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES,
                   exit_code == 127 ? "program \"%.*s\" is not in the image"
                                    : "program \"%.*s\" may not be run",
                   (int)MIN(program.len, 120), program.data);
    return true;
}

/* The word in quotation marks after `mark`. */
static struct str quoted_after(const char *message, const char *mark)
{
    const char *at = strstr(message, mark), *end;

    if (!at)
        return STR("");
    at += strlen(mark);
    end = strchr(at, '"');
    return end ? str_n(at, (size_t)(end - at)) : STR("");
}

void container_explain(const char *message, char ret_reason[EXECUTOR_REASON_BYTES],
                       bool *ret_image_failed)
{
    struct str program = quoted_after(message, "exec: \"");
    const char *told;

    *ret_image_failed = false;
    if (str_eq_c(program, "docker-init"))
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES,
                       "the Docker engine lacks its program docker-init (package tini)");
    else if (program.len > 0 && (strstr(message, "executable file not found") ||
                                 strstr(message, "no such file or directory")))
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES, "program \"%.*s\" is not in the image",
                       (int)MIN(program.len, 120), program.data);
    else if (program.len > 0 && strstr(message, "permission denied"))
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES, "program \"%.*s\" may not be run",
                       (int)MIN(program.len, 120), program.data);
    else if (strstr(message, "exec format error"))
        *ret_image_failed = true,
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES,
                       "the image's programs are for another kind of machine");
    else if (strstr(message, "could not select device driver"))
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES,
                       "the Docker engine cannot give GPUs: NVIDIA's container toolkit is missing");
    else if ((told = strstr(message, "nvidia-container-cli: ")) != NULL)
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES, "its GPUs cannot be given: %.200s",
                       told + strlen("nvidia-container-cli: "));
    else
        (void)snprintf(ret_reason, EXECUTOR_REASON_BYTES, "%.250s",
                       (told = strstr(message, CREATE_NOISE)) ? told + strlen(CREATE_NOISE)
                                                              : message);
    for (char *c = ret_reason; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
}
