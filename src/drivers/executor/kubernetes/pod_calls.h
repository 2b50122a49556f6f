/* The calls to the API about one attempt; deploy/kubernetes/agent-role.yaml allows these and the
 * lists and watches of watch.c. may block; thread: the client's */
#pragma once

#include "drivers/executor/kubernetes/api.h"
#include "drivers/executor/kubernetes/objects.h"
#include "drivers/executor/kubernetes/pod_spec.h"

struct pod_calls {
    struct kube_api *api;
    const char *space; /* namespace */
    struct id attempt;
};

/* Job, Secrets that it owns, then the word to run: each step may have been done before.
 * ERR_UNPROCESSABLE: the API refuses these objects. ERR_CONFLICT: a Job that is not ours has this
 * name. */
MUST_CHECK enum err_code pod_calls_create(const struct pod_calls *calls,
                                          const struct pod_objects *objects, struct err *err);
/* ERR_NOT_FOUND: it is not there. */
MUST_CHECK enum err_code pod_calls_find_job(const struct pod_calls *calls, struct err *err);
/* ERR_NOT_FOUND: the Job has no pod now. */
MUST_CHECK enum err_code pod_calls_find_pod(const struct pod_calls *calls, struct err *err);
/* OK also when it is not there. */
MUST_CHECK enum err_code pod_calls_end_pod(const struct pod_calls *calls, const char *pod,
                                           int64_t grace_s, struct err *err);
/* With all that belongs to it; OK also when there is none. */
MUST_CHECK enum err_code pod_calls_delete_job(const struct pod_calls *calls, struct err *err);
/* Why the cluster makes no pod for the Job: its last event about that; "" when there is none. */
MUST_CHECK enum err_code pod_calls_why_no_pod(const struct pod_calls *calls,
                                              char ret_text[KUBE_TEXT_BYTES], struct err *err);
