/* Keeps a view current: lists what has our label, then watches for changes, for ever. A watch that
 * is cut goes on where it was; where the API server no longer knows that place (410 Gone) all is
 * listed anew. thread: one of its own */
#pragma once

#include "drivers/executor/kubernetes/api.h"
#include "drivers/executor/kubernetes/cluster_view.h"

struct kube_watch;

struct kube_watch_options {
    const struct kube_config *config;
    struct cluster_view *view;
    enum view_kind kind;
    const char *agent; /* value of POD_LABEL_AGENT */
    /* Before each watch begins or goes on, every few minutes that is; on the watching thread, with
     * its client. May be NULL. */
    void (*tend)(void *ctx, struct kube_api *api);
    void *ctx;
};

MUST_CHECK enum err_code kube_watch_start(struct kube_watch **ret_watch,
                                          const struct kube_watch_options *options,
                                          struct err *err);
void kube_watch_stop(struct kube_watch *watch); /* joins; accepts NULL */
