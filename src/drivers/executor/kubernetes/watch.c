/* List and watch. Lists come in pages, watches as one JSON object a line. */
#include "drivers/executor/kubernetes/watch.h"

#include "base/log.h"
#include "base/mem.h"
#include "drivers/executor/kubernetes/pod_spec.h"
#include "sys/thread.h"

#include <stdatomic.h>
#include <stdio.h>

#define PAGE_OBJECTS    200
#define WATCH_S         240
#define SILENT_MS_MAX   ((WATCH_S + 30) * 1000)
#define EVENT_BYTES_MAX (8 * 1024 * 1024)
#define VERSION_BYTES   128
#define TOKEN_BYTES     4096

struct kube_watch {
    struct kube_watch_options options;
    struct thread *thread;
    struct queue *wake;
    struct kube_api *api;
    _Atomic bool stops;
    struct buf line;
    char version[VERSION_BYTES]; /* where the watch is; "": list first */
};

static bool keep_going(void *ctx)
{
    return !atomic_load(&((struct kube_watch *)ctx)->stops);
}

static void collection_path(const struct kube_watch *watch, char ret_path[KUBE_PATH_BYTES])
{
    bool jobs = watch->options.kind == VIEW_JOBS;

    (void)snprintf(ret_path, KUBE_PATH_BYTES,
                   "/%s/namespaces/%s/%s?labelSelector=" POD_LABEL_AGENT "%%3D%s",
                   jobs ? "apis/batch/v1" : "api/v1", watch->options.config->space,
                   jobs ? "jobs" : "pods", watch->options.agent);
}

static const char *metadata_text(const json_t *object, const char *name)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(object, "metadata"), name));

    return text ? text : "";
}

/* One page into `all`; *token is where the next one begins, "" at the end. */
static enum err_code list_page(struct kube_watch *watch, json_t *all, char token[TOKEN_BYTES],
                               struct err *err)
{
    CLEANUP(json_release) json_t *page = NULL;
    char path[KUBE_PATH_BYTES + TOKEN_BYTES], base[KUBE_PATH_BYTES];

    collection_path(watch, base);
    (void)snprintf(path, sizeof(path), "%s&limit=%d%s%s", base, PAGE_OBJECTS,
                   token[0] ? "&continue=" : "", token);
    TRY(kube_api_call(watch->api, &(struct kube_call){.method = "GET", .path = path}, &page, err));
    if (!json_is_array(json_object_get(page, "items")))
        return err_set(err, ERR_UNAVAILABLE, "the API server's list holds no items");
    (void)json_array_extend(all, json_object_get(page, "items"));
    (void)snprintf(watch->version, sizeof(watch->version), "%s",
                   metadata_text(page, "resourceVersion"));
    (void)snprintf(token, TOKEN_BYTES, "%s", metadata_text(page, "continue"));
    return OK;
}

static enum err_code list_all(struct kube_watch *watch, struct err *err)
{
    CLEANUP(json_release) json_t *all = json_array();
    char token[TOKEN_BYTES] = "";

    do
        TRY(list_page(watch, all, token, err));
    while (token[0]);
    cluster_view_replace(watch->options.view, watch->options.kind, all);
    return OK;
}

/* False: this watch is over. */
static bool take_event(struct kube_watch *watch, struct str line)
{
    CLEANUP(json_release) json_t *event = NULL;
    const json_t *object;
    const char *type, *version;

    if (str_trim(line).len == 0)
        return true;
    if (json_parse(line, EVENT_BYTES_MAX, &event, NULL) != OK ||
        !(type = json_string_value(json_object_get(event, "type")))) {
        watch->version[0] = '\0'; /* not a word of an API server: begin anew */
        return false;
    }
    object = json_object_get(event, "object");
    if (strcmp(type, "ERROR") == 0) { /* 410 mostly: it does not know our place any more */
        watch->version[0] = '\0';
        return false;
    }
    version = metadata_text(object, "resourceVersion");
    if (version[0])
        (void)snprintf(watch->version, sizeof(watch->version), "%s", version);
    if (strcmp(type, "BOOKMARK") != 0)
        cluster_view_put(watch->options.view, watch->options.kind, object,
                         strcmp(type, "DELETED") == 0);
    return true;
}

static bool take_data(void *ctx, struct str data)
{
    struct kube_watch *watch = ctx;

    while (data.len > 0) {
        const char *end = memchr(data.data, '\n', data.len);
        size_t len = end ? (size_t)(end - data.data) + 1 : data.len;
        bool fits = buf_add(&watch->line, data.data, len);

        data = str_n(data.data + len, data.len - len);
        if (fits && !end)
            return true;
        if (!fits)
            watch->version[0] = '\0';
        if (!fits || !take_event(watch, buf_str(&watch->line)))
            return false;
        buf_clear(&watch->line);
    }
    return true;
}

static enum err_code watch_on(struct kube_watch *watch, struct err *err)
{
    char path[2 * KUBE_PATH_BYTES], base[KUBE_PATH_BYTES];
    struct kube_stream stream = {
        .path = path, .silent_ms_max = SILENT_MS_MAX, .on_data = take_data, .ctx = watch};

    collection_path(watch, base);
    (void)snprintf(path, sizeof(path),
                   "%s&watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s", base,
                   WATCH_S, watch->version);
    buf_clear(&watch->line);
    return kube_api_stream(watch->api, &stream, err);
}

static void watch_run(void *ctx)
{
    struct kube_watch *watch = ctx;
    int64_t backoff_ms = 0;

    while (keep_going(watch)) {
        struct err err = {0};
        enum err_code code = watch->version[0] ? OK : list_all(watch, &err);

        if (code == OK && watch->options.tend)
            watch->options.tend(watch->options.ctx, watch->api);
        if (code == OK)
            code = watch_on(watch, &err);
        if (code == ERR_GONE)
            watch->version[0] = '\0';
        if (code == OK || code == ERR_GONE) {
            if (backoff_ms)
                log_info("kubernetes.back");
            backoff_ms = 0;
            continue;
        }
        if (!keep_going(watch))
            break;
        if (!backoff_ms)
            log_warn("kubernetes.away", "error", err.text);
        backoff_ms = kube_backoff_ms(watch->api, backoff_ms);
        (void)queue_pop(watch->wake, backoff_ms);
    }
}

enum err_code kube_watch_start(struct kube_watch **ret_watch,
                               const struct kube_watch_options *options, struct err *err)
{
    struct kube_watch *watch = MEM_NEW(struct kube_watch);
    enum err_code code;

    watch->options = *options;
    watch->wake = queue_new(1);
    watch->api = kube_api_new(options->config, keep_going, watch);
    buf_init(&watch->line, EVENT_BYTES_MAX);
    code = thread_start(&watch->thread, options->kind == VIEW_JOBS ? "kube-jobs" : "kube-pods",
                        watch_run, watch, err);
    if (code != OK) {
        kube_watch_stop(watch);
        return code;
    }
    *ret_watch = watch;
    return OK;
}

void kube_watch_stop(struct kube_watch *watch)
{
    if (!watch)
        return;
    atomic_store(&watch->stops, true);
    (void)queue_push(watch->wake, watch);
    thread_join(&watch->thread);
    kube_api_free(watch->api);
    queue_free(watch->wake);
    buf_release(&watch->line);
    mem_free(watch);
}
