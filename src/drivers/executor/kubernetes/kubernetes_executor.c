/* The port. Attempts are found by their folders, their Jobs by our label; a Job of ours whose
 * attempt has no folder any more is deleted whenever the watch goes on, so a removal that the API
 * server did not hear is made good. */
#include "drivers/executor/kubernetes/kubernetes_executor.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "drivers/common/attempt_list.h"
#include "drivers/executor/kubernetes/attempt_pod.h"
#include "drivers/executor/kubernetes/pod_calls.h"
#include "drivers/executor/kubernetes/watch.h"
#include "sys/file.h"
#include "sys/random.h"
#include "sys/thread.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define ATTEMPTS_MAX 10000
#define GPU_RESOURCE "nvidia.com/gpu"
#define NAME_FILE    "kubernetes-agent"

struct kubernetes_executor {
    struct executor_port port;
    char *root;
    char agent[ID_BYTES]; /* our label */
    struct kube_config config;
    struct pod_options pod_options;
    char *tools_image;
    struct cluster_view *view;
    struct kube_watch *watches[VIEW_KINDS];
    struct attempt_pod_env env;
    struct lock *lock; /* of `pods` */
    struct map pods;   /* struct attempt_pod by attempt */
};

static void folder_of(const struct kubernetes_executor *executor, const struct id *attempt,
                      char ret_folder[POD_FOLDER_BYTES])
{
    (void)snprintf(ret_folder, POD_FOLDER_BYTES, "%s/%s", executor->root, attempt->text);
}

static enum err_code make_folder(const char *path, struct err *err)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set_errno(err, ERR_IO, errno, "cannot create folder %s", path);
    return OK;
}

static enum err_code executor_prepare(void *ctx, const struct id *attempt,
                                      struct executor_place *ret_place, struct err *err)
{
    struct kubernetes_executor *executor = ctx;
    char path[POD_FOLDER_BYTES + 16];

    folder_of(executor, attempt, ret_place->folder);
    (void)snprintf(ret_place->inside, sizeof(ret_place->inside), POD_INSIDE);
    TRY(make_folder(ret_place->folder, err));
    (void)snprintf(path, sizeof(path), "%s/work", ret_place->folder);
    TRY(make_folder(path, err));
    (void)snprintf(path, sizeof(path), "%s/runs", ret_place->folder);
    return make_folder(path, err);
}

static struct attempt_pod *pod_of(struct kubernetes_executor *executor, const struct id *attempt)
{
    struct attempt_pod *pod;

    lock_enter(executor->lock);
    pod = map_get(&executor->pods, id_str(attempt));
    lock_leave(executor->lock);
    return pod;
}

/* Calls about one attempt come one after the other, so nobody else starts it meanwhile. */
static enum err_code start_pod(struct kubernetes_executor *executor, const struct id *attempt,
                               const struct pod_record *record, struct pod_objects *objects,
                               struct err *err)
{
    char folder[POD_FOLDER_BYTES];
    struct attempt_pod_options options = {.env = &executor->env,
                                          .attempt = *attempt,
                                          .folder = folder,
                                          .record = *record,
                                          .objects = objects};
    struct attempt_pod *pod = NULL;
    bool fits;

    folder_of(executor, attempt, folder);
    TRY(attempt_pod_start(&pod, &options, err));
    lock_enter(executor->lock);
    fits = map_put(&executor->pods, id_str(attempt), pod);
    lock_leave(executor->lock);
    if (fits)
        return OK;
    attempt_pod_free(pod);
    return err_set(err, ERR_LIMIT, "more than %d attempts", ATTEMPTS_MAX);
}

static enum err_code executor_start(void *ctx, const struct executor_spec *spec, struct err *err)
{
    struct kubernetes_executor *executor = ctx;
    struct pod_record record = {.grace_s = spec->grace_s,
                                .timeout_s = spec->timeout_s,
                                .console_bytes_max = spec->console_bytes_max};
    struct pod_record before;
    struct pod_objects objects;
    char folder[POD_FOLDER_BYTES];
    enum err_code code;

    if (pod_of(executor, &spec->attempt))
        return OK;
    folder_of(executor, &spec->attempt, folder);
    if (pod_record_read(folder, &before, NULL) == OK && before.released)
        return start_pod(executor, &spec->attempt, &before, NULL, err);
    TRY(pod_spec_make(spec, &executor->pod_options, &objects, err));
    code = pod_record_write(folder, &record, err);
    if (code == OK)
        code = start_pod(executor, &spec->attempt, &record, &objects, err);
    pod_objects_release(&objects);
    return code;
}

static enum err_code executor_look(void *ctx, const struct id *attempt,
                                   struct executor_look *ret_look, struct err *err)
{
    struct kubernetes_executor *executor = ctx;
    struct attempt_pod *pod = pod_of(executor, attempt);
    struct pod_record record;
    char folder[POD_FOLDER_BYTES];

    folder_of(executor, attempt, folder);
    if (!pod && pod_exit_read(folder, ret_look, NULL) == OK)
        return OK;
    if (!pod) { /* of an agent before this one */
        *ret_look = (struct executor_look){
            .started_at = TIME_NONE, .ended_at = TIME_NONE, .run_time_ms = -1, .exit_code = -1};
        if (pod_record_read(folder, &record, NULL) != OK || !record.released)
            return OK; /* EXECUTOR_ABSENT: what was made of it is found by the next start */
        TRY(start_pod(executor, attempt, &record, NULL, err));
        pod = pod_of(executor, attempt);
    }
    attempt_pod_look(pod, ret_look);
    return OK;
}

static enum err_code executor_address(void *ctx, const struct id *attempt, char *ret_address,
                                      size_t size, struct err *err)
{
    struct kubernetes_executor *executor = ctx;
    struct view_seen seen;

    cluster_view_get(executor->view, attempt, &seen);
    if (!seen.pod.address[0] || seen.pod.gone ||
        (size_t)snprintf(ret_address, size, "%s", seen.pod.address) >= size)
        return err_set(err, ERR_UNAVAILABLE, "its pod has no address now");
    return OK;
}

static enum err_code ask(struct kubernetes_executor *executor, const struct id *attempt,
                         const char *request, struct err *err)
{
    struct attempt_pod *pod = pod_of(executor, attempt);
    char folder[POD_FOLDER_BYTES];

    folder_of(executor, attempt, folder);
    TRY(pod_mark_set(folder, request, err));
    if (pod)
        attempt_pod_wake(pod);
    return OK;
}

static enum err_code executor_stop(void *ctx, const struct id *attempt, struct err *err)
{
    return ask(ctx, attempt, "stop", err);
}

static enum err_code executor_kill(void *ctx, const struct id *attempt, struct err *err)
{
    return ask(ctx, attempt, "kill", err);
}

static enum err_code executor_remove(void *ctx, const struct id *attempt, struct err *err)
{
    struct kubernetes_executor *executor = ctx;
    struct kube_api *api = kube_api_new(&executor->config, NULL, NULL);
    struct pod_calls calls = {.api = api, .space = executor->config.space, .attempt = *attempt};
    char folder[POD_FOLDER_BYTES];
    struct attempt_pod *pod;

    lock_enter(executor->lock);
    pod = map_take(&executor->pods, id_str(attempt));
    lock_leave(executor->lock);
    attempt_pod_free(pod);
    if (pod_calls_delete_job(&calls, err) == OK)
        cluster_view_forget(executor->view, attempt);
    /* else: once the folder is gone, `sweep` deletes it */
    kube_api_free(api);
    folder_of(executor, attempt, folder);
    return file_remove_tree(folder, err);
}

static size_t executor_list(void *ctx, struct id *ret_attempts, size_t max)
{
    const struct kubernetes_executor *executor = ctx;

    return attempt_list(executor->root, ret_attempts, max);
}

/* On a watching thread. */
static bool on_change(void *ctx, const struct id *attempt)
{
    struct kubernetes_executor *executor = ctx;
    struct attempt_pod *pod;

    lock_enter(executor->lock);
    pod = map_get(&executor->pods, id_str(attempt));
    if (pod)
        attempt_pod_wake(pod);
    lock_leave(executor->lock);
    return pod != NULL;
}

/* Deletes Jobs of ours that nobody here knows: their removal was not heard, or the agent's folder
 * was lost. On the watching thread of Jobs. */
static void sweep(void *ctx, struct kube_api *api)
{
    struct kubernetes_executor *executor = ctx;
    struct id *found = mem_array(ATTEMPTS_MAX, sizeof(found[0]));
    size_t count = cluster_view_jobs(executor->view, found, ATTEMPTS_MAX);
    char folder[POD_FOLDER_BYTES];

    for (size_t i = 0; i < count; i++) {
        struct pod_calls calls = {.api = api, .space = executor->config.space, .attempt = found[i]};
        struct err err = {0};

        folder_of(executor, &found[i], folder);
        if (file_exists(folder))
            continue;
        if (pod_calls_delete_job(&calls, &err) == OK)
            log_info("kubernetes.swept", "attempt", found[i].text);
        else
            log_warn("kubernetes.sweep", "attempt", found[i].text, "error", err.text);
    }
    mem_free(found);
}

/* Our label: made once, kept beside the attempts. */
static enum err_code take_name(struct kubernetes_executor *executor, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[POD_FOLDER_BYTES];
    struct id name;

    (void)snprintf(path, sizeof(path), "%s/" NAME_FILE, executor->root);
    if (file_read(path, ID_BYTES, &text, NULL) != OK ||
        !id_parse(str_trim(buf_str(&text)), ID_AGENT, &name)) {
        name = id_make(ID_AGENT, random_u64());
        TRY(file_write_atomic(path, id_str(&name), 0600, err));
    }
    (void)snprintf(executor->agent, sizeof(executor->agent), "%s", name.text);
    return OK;
}

static enum err_code start_watches(struct kubernetes_executor *executor, struct err *err)
{
    for (int kind = 0; kind < VIEW_KINDS; kind++) {
        struct kube_watch_options options = {.config = &executor->config,
                                             .view = executor->view,
                                             .kind = (enum view_kind)kind,
                                             .agent = executor->agent,
                                             .tend = kind == VIEW_JOBS ? sweep : NULL,
                                             .ctx = executor};

        TRY(kube_watch_start(&executor->watches[kind], &options, err));
    }
    return OK;
}

static struct executor_port make_port(struct kubernetes_executor *executor)
{
    return (struct executor_port){
        .ctx = executor,
        .name = "kubernetes",
        .features = FEATURE_BIT(FEATURE_IMAGE) | FEATURE_BIT(FEATURE_SHM) |
                    FEATURE_BIT(FEATURE_DISK) | FEATURE_BIT(FEATURE_READ_ONLY_ROOT) |
                    FEATURE_BIT(FEATURE_REGISTRY) | FEATURE_BIT(FEATURE_VOLUMES) |
                    FEATURE_BIT(FEATURE_LAUNCHER) | FEATURE_BIT(FEATURE_HEALTH),
        .remote = true,
        .prepare = executor_prepare,
        .start = executor_start,
        .look = executor_look,
        .address = executor_address,
        .stop = executor_stop,
        .kill = executor_kill,
        .remove = executor_remove,
        .list = executor_list};
}

static enum err_code open_parts(struct kubernetes_executor *executor,
                                const struct kubernetes_executor_options *options, struct err *err)
{
    TRY(file_make_dirs(options->root, 0700, err));
    TRY(take_name(executor, err));
    TRY(kube_config_load(options->kubeconfig, options->space, &executor->config, err));
    executor->pod_options = (struct pod_options){.agent = executor->agent,
                                                 .tools_image = executor->tools_image,
                                                 .gpu_resource = GPU_RESOURCE,
                                                 .uid = options->uid};
    executor->env = (struct attempt_pod_env){.config = &executor->config, .view = executor->view};
    executor->port = make_port(executor);
    return start_watches(executor, err);
}

enum err_code kubernetes_executor_new(struct kubernetes_executor **ret_executor,
                                      const struct kubernetes_executor_options *options,
                                      struct err *err)
{
    struct kubernetes_executor *executor = MEM_NEW(struct kubernetes_executor);
    enum err_code code;

    executor->root = mem_copy_text(options->root);
    executor->tools_image = mem_copy_text(options->tools_image);
    executor->lock = lock_new();
    map_init(&executor->pods, ATTEMPTS_MAX);
    executor->view = cluster_view_new(on_change, executor);
    code = open_parts(executor, options, err);
    if (code != OK) {
        kubernetes_executor_free(executor);
        return code;
    }
    *ret_executor = executor;
    return OK;
}

void kubernetes_executor_free(struct kubernetes_executor *executor)
{
    size_t cursor = 0;
    struct str key;
    void *pod;

    if (!executor)
        return;
    for (int kind = 0; kind < VIEW_KINDS; kind++)
        kube_watch_stop(executor->watches[kind]);
    while (map_next(&executor->pods, &cursor, &key, &pod))
        attempt_pod_free(pod);
    map_release(&executor->pods);
    cluster_view_free(executor->view);
    lock_free(executor->lock);
    kube_config_release(&executor->config);
    mem_free(executor->root);
    mem_free(executor->tools_image);
    mem_free(executor);
}

const struct executor_port *kubernetes_executor_port(struct kubernetes_executor *executor)
{
    return &executor->port;
}
