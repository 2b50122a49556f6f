/* The executor for a namespace of a Kubernetes cluster: an attempt is a Job of one pod
 * (pod_spec.h). Needs nothing but the Role of deploy/kubernetes/agent-role.yaml. What the agent
 * knows of an attempt lies in the attempt's folder (pod_record.h, pod_logs.h) and in the cluster.
 * may block; thread: the attempt's owner (ports/executor.h) */
#pragma once

#include "ports/executor.h"

struct kubernetes_executor;

struct kubernetes_executor_options {
    const char *root;        /* folder of all attempts; made when missing */
    const char *kubeconfig;  /* NULL: the service account of the pod that we run in */
    const char *space;       /* namespace; NULL: the kubeconfig's */
    const char *tools_image; /* an image with euvyra-agent in /usr/local/bin */
    int64_t uid;             /* of the containers, and their group; not 0 */
};

/* ERR_INVALID: the kubeconfig. Whether the cluster answers shows later. */
MUST_CHECK enum err_code kubernetes_executor_new(struct kubernetes_executor **ret_executor,
                                                 const struct kubernetes_executor_options *options,
                                                 struct err *err);
void kubernetes_executor_free(struct kubernetes_executor *executor); /* what runs goes on */
/* Lives as long as the executor. */
const struct executor_port *kubernetes_executor_port(struct kubernetes_executor *executor);
