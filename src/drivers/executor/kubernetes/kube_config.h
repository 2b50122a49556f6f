/* How the API of a cluster is reached: from a kubeconfig, or from what Kubernetes gives a pod. may
 * block; thread: any */
#pragma once

#include "base/err.h"

#define KUBE_NAME_BYTES 64 /* of a namespace, with the NUL */

struct kube_config {
    char *server;     /* "https://host:port", without a '/' at the end */
    char *ca_pem;     /* NULL: the certificates of the system */
    char *token;      /* NULL: in token_file */
    char *token_file; /* read again for every call: the cluster renews it */
    char space[KUBE_NAME_BYTES];
};

/* `path` NULL: the service account of the pod that we run in. `space` NULL: the namespace that the
 * kubeconfig or the service account names. ERR_INVALID says what is missing or wrong in which file.
 */
MUST_CHECK enum err_code kube_config_load(const char *path, const char *space,
                                          struct kube_config *ret_config, struct err *err);
void kube_config_release(struct kube_config *config); /* accepts a zeroed one */
