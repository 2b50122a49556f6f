/* Options about a cluster. */
#include "agent/cluster_options.h"

#include "base/str.h"

#define POD_USER_DEFAULT 10001
#define POD_USER_MAX     2000000000
#define CPUS_MAX         1000000
#define GIB_MAX          10000000
#define GPUS_MAX         100000
#define GPU_TYPE_BYTES   63
#define GIB              (1024ll * 1024 * 1024)

static const char **place_of(struct cluster_arguments *a, int option)
{
    switch (option) {
    case OPTION_KUBECONFIG: return &a->kubeconfig;
    case OPTION_NAMESPACE: return &a->space;
    case OPTION_TOOLS_IMAGE: return &a->tools_image;
    case OPTION_POD_USER: return &a->pod_user;
    case OPTION_CPUS: return &a->cpus;
    case OPTION_MEMORY: return &a->memory;
    case OPTION_GPUS: return &a->gpus;
    case OPTION_GPU_TYPE: return &a->gpu_type;
    default: return NULL;
    }
}

bool cluster_option_take(struct cluster_arguments *arguments, int option, const char *value)
{
    const char **place = place_of(arguments, option);

    if (place)
        *place = value;
    return place != NULL;
}

static enum err_code take_number(const char *name, const char *text, int64_t min, int64_t max,
                                 int64_t *ret_number, struct err *err)
{
    if (!text)
        return OK;
    if (!str_to_i64(str_from(text), ret_number) || *ret_number < min || *ret_number > max)
        return err_set(err, ERR_INVALID, "%s is a number from %lld to %lld, not \"%.20s\"", name,
                       (long long)min, (long long)max, text);
    return OK;
}

static enum err_code refuse_all(const struct cluster_arguments *a, struct err *err)
{
    const struct {
        const char *name, *value;
    } given[] = {
        {"--kubeconfig", a->kubeconfig},
        {"--namespace", a->space},
        {"--tools-image", a->tools_image},
        {"--pod-user", a->pod_user},
        {"--gpus", a->gpus},
        {"--gpu-type", a->gpu_type},
    };

    for (size_t i = 0; i < ARRAY_LEN(given); i++) {
        if (given[i].value)
            return err_set(err, ERR_INVALID, "%s is for --executor kubernetes alone",
                           given[i].name);
    }
    return OK;
}

enum err_code cluster_options_check(const struct cluster_arguments *a, bool is_kubernetes,
                                    struct agent_cluster *ret_cluster, struct err *err)
{
    struct agent_cluster c = {.kubeconfig = a->kubeconfig,
                              .space = a->space,
                              .tools_image = a->tools_image,
                              .pod_user = POD_USER_DEFAULT,
                              .gpu_type = a->gpu_type};
    int64_t gib = 0;

    TRY(take_number("--cpus", a->cpus, 1, CPUS_MAX, &c.cpus, err));
    TRY(take_number("--memory", a->memory, 1, GIB_MAX, &gib, err));
    c.memory_bytes = gib * GIB;
    *ret_cluster = c;
    if (!is_kubernetes)
        return refuse_all(a, err);
    TRY(take_number("--pod-user", a->pod_user, 1, POD_USER_MAX, &c.pod_user, err));
    TRY(take_number("--gpus", a->gpus, 0, GPUS_MAX, &c.gpus, err));
    if (a->gpu_type && (strlen(a->gpu_type) > GPU_TYPE_BYTES || !a->gpu_type[0] ||
                        str_has_control(str_from(a->gpu_type))))
        return err_set(err, ERR_INVALID, "--gpu-type is a name of at most %d bytes",
                       GPU_TYPE_BYTES);
    if (!a->tools_image || !a->cpus || !a->memory) {
        (void)err_set(err, ERR_INVALID, "%s is missing",
                      !a->tools_image ? "--tools-image NAME"
                      : !a->cpus      ? "--cpus N"
                                      : "--memory GIB");
        err_hint(err, "docs/kubernetes.md");
        return ERR_INVALID;
    }
    *ret_cluster = c;
    return OK;
}
