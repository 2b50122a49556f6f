/* The agent's options that are about a cluster: where it is, and what the administrator says it
 * holds, since a Role in one namespace cannot see that. thread: main */
#pragma once

#include "base/err.h"

#include <getopt.h>

struct cluster_arguments {
    const char *kubeconfig, *space, *tools_image, *pod_user, *cpus, *memory, *gpus, *gpu_type;
};

struct agent_cluster {
    const char *kubeconfig; /* NULL: of the pod that the agent runs in */
    const char *space;      /* namespace; NULL: the kubeconfig's */
    const char *tools_image;
    int64_t pod_user;
    int64_t cpus, memory_bytes, gpus; /* in all; of other executors the first two, 0: all */
    const char *gpu_type;             /* NULL: not said */
};

enum cluster_option {
    OPTION_KUBECONFIG = 256,
    OPTION_NAMESPACE,
    OPTION_TOOLS_IMAGE,
    OPTION_POD_USER,
    OPTION_CPUS,
    OPTION_MEMORY,
    OPTION_GPUS,
    OPTION_GPU_TYPE,
};

/* For getopt_long. */
#define CLUSTER_OPTIONS                                                                            \
    {"kubeconfig", required_argument, NULL, OPTION_KUBECONFIG},                                    \
        {"namespace", required_argument, NULL, OPTION_NAMESPACE},                                  \
        {"tools-image", required_argument, NULL, OPTION_TOOLS_IMAGE},                              \
        {"pod-user", required_argument, NULL, OPTION_POD_USER},                                    \
        {"cpus", required_argument, NULL, OPTION_CPUS},                                            \
        {"memory", required_argument, NULL, OPTION_MEMORY},                                        \
        {"gpus", required_argument, NULL, OPTION_GPUS},                                            \
    {                                                                                              \
        "gpu-type", required_argument, NULL, OPTION_GPU_TYPE                                       \
    }

#define CLUSTER_USAGE                                                                              \
    "  --kubeconfig FILE the cluster, with --executor kubernetes; without it: the service\n"       \
    "                    account of the pod that the agent runs in\n"                              \
    "  --namespace NAME  where jobs run; default the kubeconfig's\n"                               \
    "  --tools-image NAME  an image with euvyra-agent: it uploads beside each job\n"               \
    "  --pod-user UID    of the containers; default 10001\n"                                       \
    "  --cpus N, --memory GIB\n"                                                                   \
    "                    what jobs may use in all; default all of the machine\n"                   \
    "  --gpus N, --gpu-type NAME\n"                                                                \
    "                    the same of a cluster's namespace\n"

/* False: the option is not one of these. */
bool cluster_option_take(struct cluster_arguments *arguments, int option, const char *value);
/* ERR_INVALID names the option: it is missing, wrong, or not for this executor. */
MUST_CHECK enum err_code cluster_options_check(const struct cluster_arguments *arguments,
                                               bool is_kubernetes,
                                               struct agent_cluster *ret_cluster, struct err *err);
