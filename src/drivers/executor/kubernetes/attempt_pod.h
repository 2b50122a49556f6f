/* One attempt in the cluster, with a thread of its own: creates its Job and Secrets, follows its
 * log, ends it when asked, and finds out how it ended. Whatever the API server does not do now is
 * tried again. thread: any, but for attempt_pod_free */
#pragma once

#include "drivers/executor/kubernetes/api.h"
#include "drivers/executor/kubernetes/cluster_view.h"
#include "drivers/executor/kubernetes/pod_record.h"
#include "drivers/executor/kubernetes/pod_spec.h"

struct attempt_pod;

struct attempt_pod_env {
    const struct kube_config *config;
    struct cluster_view *view;
};

struct attempt_pod_options {
    const struct attempt_pod_env *env; /* borrowed */
    struct id attempt;
    const char *folder; /* copied */
    struct pod_record record;
    struct pod_objects *objects; /* taken; NULL: they were created before */
};

MUST_CHECK enum err_code attempt_pod_start(struct attempt_pod **ret_pod,
                                           const struct attempt_pod_options *options,
                                           struct err *err);
void attempt_pod_free(struct attempt_pod *pod); /* what runs goes on; accepts NULL */
const struct id *attempt_pod_id(const struct attempt_pod *pod);
void attempt_pod_look(struct attempt_pod *pod, struct executor_look *ret_look);
/* Something about it has changed: a request, or what is seen of it. */
void attempt_pod_wake(struct attempt_pod *pod);
