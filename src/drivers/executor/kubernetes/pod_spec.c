/* Building Job and Secrets. The rules of the restricted Pod Security Standard are in two places:
 * secure_container and pod_of. */
#include "drivers/executor/kubernetes/pod_spec.h"

#include "base/base64.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SECRET_BYTES_MAX    (1024 * 1024) /* what the API takes in one */
#define ENV_KEY             "env."
#define TMP_BYTES_MIN       (64 * 1024 * 1024)
#define TOOL_CPU            "100m"
#define TOOL_MEMORY         "128Mi"
#define BACKSTOP_S          3600 /* the agent keeps the time limit; without one the cluster */
#define PULL_SUFFIX         "-pull"
#define CONFIG_SUFFIX       "-config"
#define DOCKER_HUB          "https://index.docker.io/v1/"
#define AGENT_PROGRAM       "/usr/local/bin/euvyra-agent"
#define QUANTITY_TEXT_BYTES 32
#define GPU_VARIABLE        "NVIDIA_VISIBLE_DEVICES"

struct making {
    const struct executor_spec *spec;
    const struct pod_options *options;
    char name[POD_JOB_NAME_BYTES];
};

void pod_job_name(const struct id *attempt, char ret_name[POD_JOB_NAME_BYTES])
{
    (void)snprintf(ret_name, POD_JOB_NAME_BYTES, "euvyra-%s", attempt->text);
}

static void put(json_t *object, const char *name, json_t *value)
{
    ENSURE(json_object_set_new(object, name, value) == 0);
}

static void add(json_t *array, json_t *value)
{
    ENSURE(json_array_append_new(array, value) == 0);
}

static json_t *quantity(int64_t value)
{
    char text[QUANTITY_TEXT_BYTES];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    return json_string(text);
}

static json_t *labels_of(const struct making *m)
{
    return json_pack("{s:s, s:s, s:s}", "app.kubernetes.io/managed-by", "euvyra-agent",
                     POD_LABEL_ATTEMPT, m->spec->attempt.text, POD_LABEL_AGENT, m->options->agent);
}

/* ---- Secrets */

static json_t *secret_new(const struct making *m, const char *suffix, const char *type)
{
    char name[POD_JOB_NAME_BYTES + 16];

    (void)snprintf(name, sizeof(name), "%s%s", m->name, suffix);
    return json_pack("{s:s, s:s, s:s, s:{s:s, s:o}, s:{}}", "apiVersion", "v1", "kind", "Secret",
                     "type", type, "metadata", "name", name, "labels", labels_of(m), "data");
}

static enum err_code secret_put(json_t *secret, const char *key, struct str bytes, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    json_t *value;

    buf_init(&text, 4 * SECRET_BYTES_MAX);
    (void)base64_add(&text, bytes);
    TRY(buf_check(&text, key, err));
    value = json_stringn(text.len ? text.data : "", text.len);
    explicit_bzero(text.data, text.len);
    put(json_object_get(secret, "data"), key, value);
    return OK;
}

static enum err_code put_environment(json_t *secret, const struct making *m, struct err *err)
{
    char key[264];

    for (const char *const *entry = m->spec->env; *entry; entry++) {
        const char *equals = strchr(*entry, '=');

        ENSURE(equals != NULL);
        if ((size_t)snprintf(key, sizeof(key), ENV_KEY "%.*s", (int)(equals - *entry), *entry) >=
            sizeof(key))
            return err_set(err, ERR_UNPROCESSABLE, "the variable %.60s... has too long a name",
                           *entry);
        TRY(secret_put(secret, key, str_from(equals + 1), err));
    }
    return OK;
}

static void add_secret(struct pod_objects *objects, json_t *secret)
{
    ENSURE(objects->secret_count < POD_SECRETS_MAX);
    objects->secrets[objects->secret_count++] = secret;
}

/* Where the image's registry is, as the credential names it. */
static void registry_of(const char *image, char *ret_registry, size_t size)
{
    const char *slash = strchr(image, '/');
    struct str host = str_n(image, slash ? (size_t)(slash - image) : 0);
    bool is_host = slash && (memchr(host.data, '.', host.len) || memchr(host.data, ':', host.len) ||
                             str_eq_c(host, "localhost"));

    if (is_host)
        (void)snprintf(ret_registry, size, "%.*s", STR_ARG(host));
    else
        (void)snprintf(ret_registry, size, "%s", DOCKER_HUB);
}

static enum err_code make_pull_secret(const struct making *m, struct pod_objects *objects,
                                      struct err *err)
{
    CLEANUP(json_release) json_t *auths = NULL;
    char registry[512];
    json_t *secret;
    char *text;
    enum err_code code;

    if (!m->spec->registry_user)
        return OK;
    registry_of(m->spec->image, registry, sizeof(registry));
    auths = json_pack("{s:{s:{s:s, s:s}}}", "auths", registry, "username", m->spec->registry_user,
                      "password", m->spec->registry_secret ? m->spec->registry_secret : "");
    if (!auths)
        return err_set(err, ERR_UNPROCESSABLE, "the registry's credential is not text");
    secret = secret_new(m, PULL_SUFFIX, "kubernetes.io/dockerconfigjson");
    add_secret(objects, secret);
    text = json_dumps(auths, JSON_COMPACT);
    code = secret_put(secret, ".dockerconfigjson", str_from(text), err);
    explicit_bzero(text, strlen(text));
    free(text);
    return code;
}

/* The configuration may be as large as a Secret may be, so it has one of its own. */
static enum err_code make_secrets(const struct making *m, struct pod_objects *objects,
                                  struct err *err)
{
    const struct executor_files *files = &m->spec->files;
    json_t *secret = secret_new(m, "", "Opaque");

    add_secret(objects, secret);
    TRY(secret_put(secret, "key", files->key, err));
    if (files->ca.len)
        TRY(secret_put(secret, "ca.pem", files->ca, err));
    TRY(put_environment(secret, m, err));
    if (files->config.len) {
        secret = secret_new(m, CONFIG_SUFFIX, "Opaque");
        add_secret(objects, secret);
        TRY(secret_put(secret, "config.json", files->config, err));
    }
    return make_pull_secret(m, objects, err);
}

void pod_secret_own(json_t *secret, const char *job_name, const char *job_uid)
{
    put(json_object_get(secret, "metadata"), "ownerReferences",
        json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "batch/v1", "kind", "Job",
                  "name", job_name, "uid", job_uid, "controller", 0, "blockOwnerDeletion", 0));
}

/* ---- Containers */

static json_t *secure_container(void)
{
    return json_pack("{s:b, s:{s:[s]}}", "allowPrivilegeEscalation", 0, "capabilities", "drop",
                     "ALL");
}

static bool is_variable(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static bool has_variable(const struct executor_spec *spec, const char *name)
{
    for (const char *const *entry = spec->env; *entry; entry++) {
        if (is_variable(*entry, name))
            return true;
    }
    return false;
}

static json_t *variable_of(const struct making *m, const char *name)
{
    char key[264];

    (void)snprintf(key, sizeof(key), ENV_KEY "%s", name);
    return json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", name, "valueFrom", "secretKeyRef", "name",
                     m->name, "key", key);
}

/* Our user has no entry in an image's passwd, so programs are told a home and a name. Which GPUs a
 * container sees is the device plugin's word; images that want all get none where none was counted.
 */
static json_t *job_environment(const struct making *m)
{
    json_t *list = json_array();

    if (!has_variable(m->spec, "HOME"))
        add(list, json_pack("{s:s, s:s}", "name", "HOME", "value", POD_INSIDE "/work"));
    if (!has_variable(m->spec, "USER"))
        add(list, json_pack("{s:s, s:s}", "name", "USER", "value", "euvyra"));
    if (!has_variable(m->spec, "LOGNAME"))
        add(list, json_pack("{s:s, s:s}", "name", "LOGNAME", "value", "euvyra"));
    if (m->spec->gpu_count == 0)
        add(list, json_pack("{s:s, s:s}", "name", GPU_VARIABLE, "value", "void"));
    for (const char *const *entry = m->spec->env; *entry; entry++) {
        char name[256];

        if (is_variable(*entry, GPU_VARIABLE))
            continue;
        (void)snprintf(name, sizeof(name), "%.*s", (int)(strchr(*entry, '=') - *entry), *entry);
        add(list, variable_of(m, name));
    }
    return list;
}

/* Of the job's variables, those that say where and who the server is. */
static json_t *tool_environment(const struct making *m)
{
    static const char *const names[] = {"EUVYRA_SERVER",  "EUVYRA_API_KEY_FILE", "EUVYRA_CA",
                                        "EUVYRA_PROJECT", "HTTPS_PROXY",         "NO_PROXY"};
    json_t *list = json_array();

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (has_variable(m->spec, names[i]))
            add(list, variable_of(m, names[i]));
    }
    return list;
}

static void add_mount(json_t *mounts, const char *volume, const char *path, const char *sub,
                      bool read_only)
{
    json_t *mount = json_pack("{s:s, s:s}", "name", volume, "mountPath", path);

    if (sub)
        put(mount, "subPath", json_string(sub));
    if (read_only)
        put(mount, "readOnly", json_true());
    add(mounts, mount);
}

static json_t *common_mounts(const struct making *m)
{
    json_t *mounts = json_array();

    add_mount(mounts, "work", POD_INSIDE "/work", NULL, false);
    add_mount(mounts, "runs", POD_INSIDE "/runs", NULL, false);
    add_mount(mounts, "secret", POD_INSIDE "/key", "key", true);
    if (m->spec->files.ca.len)
        add_mount(mounts, "secret", POD_INSIDE "/ca.pem", "ca.pem", true);
    return mounts;
}

static json_t *job_mounts(const struct making *m)
{
    json_t *mounts = common_mounts(m);
    char name[32];

    if (m->spec->files.config.len)
        add_mount(mounts, "config", POD_INSIDE "/config.json", "config.json", true);
    if (m->spec->shm_bytes > 0)
        add_mount(mounts, "shm", "/dev/shm", NULL, false);
    if (m->spec->read_only_root)
        add_mount(mounts, "tmp", "/tmp", NULL, false);
    for (size_t i = 0; i < m->spec->mount_count; i++) {
        (void)snprintf(name, sizeof(name), "volume-%zu", i);
        add_mount(mounts, name, m->spec->mounts[i].target, NULL, m->spec->mounts[i].read_only);
    }
    return mounts;
}

/* Requests are limits: nobody gets more than was counted. */
static json_t *job_resources(const struct making *m)
{
    json_t *limits = json_object();

    if (m->spec->cpus > 0)
        put(limits, "cpu", quantity(m->spec->cpus));
    if (m->spec->memory_bytes > 0)
        put(limits, "memory", quantity(m->spec->memory_bytes));
    if (m->spec->disk_bytes > 0)
        put(limits, "ephemeral-storage", quantity(m->spec->disk_bytes));
    if (m->spec->gpu_count > 0)
        put(limits, m->options->gpu_resource, quantity(m->spec->gpu_count));
    return json_pack("{s:O, s:o}", "limits", limits, "requests", limits);
}

/* The API puts variables in where it finds $(NAME), and reads $$ as $: a command is meant as it is.
 */
static json_t *word_of(const char *word)
{
    char *text = mem_alloc(2 * strlen(word) + 1), *end = text;
    json_t *value;

    for (; *word; word++) {
        if (*word == '$')
            *end++ = '$';
        *end++ = *word;
    }
    value = json_string(text);
    mem_free(text);
    return value;
}

static json_t *argv_of(const char *const *argv)
{
    json_t *list = json_array();

    for (; *argv; argv++)
        add(list, word_of(*argv));
    return list;
}

/* Without a folder of its own a job starts where its image says. */
static json_t *main_container(const struct making *m)
{
    json_t *security = secure_container(), *container;

    if (m->spec->read_only_root)
        put(security, "readOnlyRootFilesystem", json_true());
    container =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", "main", "image", m->spec->image,
                  "command", argv_of(m->spec->argv), "env", job_environment(m), "resources",
                  job_resources(m), "securityContext", security, "volumeMounts", job_mounts(m));
    if (container && m->spec->files.code.len)
        put(container, "workingDir", json_string(m->spec->work_dir));
    return container;
}

static json_t *tool_container(const struct making *m, const char *name, json_t *command)
{
    json_t *security = secure_container();

    put(security, "readOnlyRootFilesystem", json_true());
    return json_pack("{s:s, s:s, s:o, s:o, s:s, s:{s:{s:s, s:s}, s:{s:s, s:s}}, s:o, s:o}", "name",
                     name, "image", m->options->tools_image, "command", command, "env",
                     tool_environment(m), "terminationMessagePolicy", "FallbackToLogsOnError",
                     "resources", "limits", "cpu", TOOL_CPU, "memory", TOOL_MEMORY, "requests",
                     "cpu", TOOL_CPU, "memory", TOOL_MEMORY, "securityContext", security,
                     "volumeMounts", common_mounts(m));
}

static json_t *init_containers(const struct making *m)
{
    json_t *list = json_array(), *uploader;
    char digest[80];

    if (m->spec->files.code.len) {
        (void)snprintf(digest, sizeof(digest), "%.*s", STR_ARG(m->spec->files.code));
        add(list, tool_container(m, "prepare",
                                 json_pack("[s, s, s, s]", AGENT_PROGRAM, "fetch", digest,
                                           POD_INSIDE "/work")));
    }
    /* An init container that restarts always is a sidecar: it runs beside `main` and is told to end
     * after it. */
    uploader = tool_container(m, "uploader",
                              json_pack("[s, s, s]", AGENT_PROGRAM, "follow", POD_INSIDE "/runs"));
    put(uploader, "restartPolicy", json_string("Always"));
    add(list, uploader);
    return list;
}

/* ---- Volumes */

static void add_empty(json_t *volumes, const char *name, int64_t bytes_max, bool in_memory)
{
    json_t *empty = json_object();

    if (bytes_max > 0)
        put(empty, "sizeLimit", quantity(bytes_max));
    if (in_memory)
        put(empty, "medium", json_string("Memory"));
    add(volumes, json_pack("{s:s, s:o}", "name", name, "emptyDir", empty));
}

static void add_secret_volume(json_t *volumes, const char *name, const char *secret)
{
    add(volumes, json_pack("{s:s, s:{s:s, s:i}}", "name", name, "secret", "secretName", secret,
                           "defaultMode", 0440));
}

static json_t *volumes_of(const struct making *m)
{
    const struct executor_spec *spec = m->spec;
    json_t *volumes = json_array();
    char name[POD_JOB_NAME_BYTES + 16];

    add_empty(volumes, "work", spec->disk_bytes, false);
    add_empty(volumes, "runs", spec->disk_bytes, false);
    add_secret_volume(volumes, "secret", m->name);
    if (spec->files.config.len) {
        (void)snprintf(name, sizeof(name), "%s" CONFIG_SUFFIX, m->name);
        add_secret_volume(volumes, "config", name);
    }
    if (spec->shm_bytes > 0)
        add_empty(volumes, "shm", spec->shm_bytes, true);
    if (spec->read_only_root)
        add_empty(volumes, "tmp", spec->disk_bytes > 0 ? MAX(spec->disk_bytes, TMP_BYTES_MIN) : 0,
                  false);
    for (size_t i = 0; i < spec->mount_count; i++) {
        (void)snprintf(name, sizeof(name), "volume-%zu", i);
        add(volumes,
            json_pack("{s:s, s:{s:s, s:b}}", "name", name, "persistentVolumeClaim", "claimName",
                      spec->mounts[i].claim, "readOnly", spec->mounts[i].read_only ? 1 : 0));
    }
    return volumes;
}

/* ---- Pod and Job */

/* In a process namespace of its own the command would be process 1, which a SIGTERM does not end
 * unless it handles it; in the pod's the sandbox is. */
static json_t *pod_of(const struct making *m)
{
    const struct executor_spec *spec = m->spec;
    json_int_t uid = m->options->uid;
    json_t *pod = json_pack(
        "{s:s, s:b, s:b, s:b, s:I, s:{s:b, s:I, s:I, s:I, s:{s:s}}, s:o, s:[o], s:o}",
        "restartPolicy", "Never", "shareProcessNamespace", 1, "automountServiceAccountToken", 0,
        "enableServiceLinks", 0, "terminationGracePeriodSeconds",
        (json_int_t)MAX(spec->grace_s, POD_UPLOAD_GRACE_S), "securityContext", "runAsNonRoot", 1,
        "runAsUser", uid, "runAsGroup", uid, "fsGroup", uid, "seccompProfile", "type",
        "RuntimeDefault", "initContainers", init_containers(m), "containers", main_container(m),
        "volumes", volumes_of(m));
    char name[POD_JOB_NAME_BYTES + 16];

    if (spec->timeout_s > 0)
        put(pod, "activeDeadlineSeconds",
            json_integer(spec->timeout_s + spec->grace_s + POD_UPLOAD_GRACE_S + BACKSTOP_S));
    if (spec->registry_user) {
        (void)snprintf(name, sizeof(name), "%s" PULL_SUFFIX, m->name);
        put(pod, "imagePullSecrets", json_pack("[{s:s}]", "name", name));
    }
    return pod;
}

static json_t *job_of(const struct making *m)
{
    return json_pack("{s:s, s:s, s:{s:s, s:o}, s:{s:b, s:i, s:i, s:i, s:s, s:{s:{s:o}, s:o}}}",
                     "apiVersion", "batch/v1", "kind", "Job", "metadata", "name", m->name, "labels",
                     labels_of(m), "spec", "suspend", 1, "backoffLimit", 0, "completions", 1,
                     "parallelism", 1, "podReplacementPolicy", "Failed", "template", "metadata",
                     "labels", labels_of(m), "spec", pod_of(m));
}

static enum err_code check(const struct executor_spec *spec, struct err *err)
{
    if (!spec->image)
        return err_set(err, ERR_UNPROCESSABLE, "the job names no image");
    for (const char *const *arg = spec->argv; *arg; arg++) {
        if (!str_is_utf8(str_from(*arg), NULL))
            return err_set(err, ERR_UNPROCESSABLE,
                           "the command holds bytes that are not UTF-8, which a cluster refuses");
    }
    for (size_t i = 0; i < spec->mount_count; i++) {
        if (!spec->mounts[i].claim)
            return err_set(err, ERR_UNPROCESSABLE,
                           "volume %.200s is a folder of a machine; a cluster has claims",
                           spec->mounts[i].target);
    }
    return OK;
}

enum err_code pod_spec_make(const struct executor_spec *spec, const struct pod_options *options,
                            struct pod_objects *ret_objects, struct err *err)
{
    struct making m = {.spec = spec, .options = options};
    enum err_code code;

    *ret_objects = (struct pod_objects){0};
    TRY(check(spec, err));
    pod_job_name(&spec->attempt, m.name);
    code = make_secrets(&m, ret_objects, err);
    if (code == OK) {
        ret_objects->job = job_of(&m);
        if (!ret_objects->job)
            code = err_set(err, ERR_UNPROCESSABLE, "the job's spec holds what is not text");
    }
    if (code != OK)
        pod_objects_release(ret_objects);
    return code;
}

void pod_objects_release(struct pod_objects *objects)
{
    json_release(&objects->job);
    for (size_t i = 0; i < objects->secret_count; i++)
        json_release(&objects->secrets[i]);
    *objects = (struct pod_objects){0};
}
