/* Container, Slurm and Kubernetes. Names and numbers alone are taken from the environment, never
 * whole environments: those hold secrets. */
#include "probe/place.h"

#include "probe/procfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMESPACE_FILE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

struct facts {
    struct probe_fact *out;
    size_t count;
};

static void put(struct facts *facts, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0' || facts->count == PROBE_PLACE_MAX)
        return;
    facts->out[facts->count].key = key;
    (void)snprintf(facts->out[facts->count].value, sizeof facts->out[0].value, "%s", value);
    facts->count++;
}

static const char *container(void)
{
    const char *named = getenv("container"); /* systemd, podman, lxc set it */

    if (getenv("KUBERNETES_SERVICE_HOST") != NULL)
        return "kubernetes";
    if (access("/.dockerenv", F_OK) == 0)
        return "docker";
    if (access("/run/.containerenv", F_OK) == 0)
        return "podman";
    if (getenv("APPTAINER_NAME") != NULL || getenv("SINGULARITY_NAME") != NULL)
        return "apptainer";
    return named;
}

size_t probe_place_read(struct probe_fact ret_facts[PROBE_PLACE_MAX])
{
    static const char *const variables[][2] = {
        {"slurm_job_id", "SLURM_JOB_ID"},
        {"slurm_step_id", "SLURM_STEP_ID"},
        {"slurm_array_job_id", "SLURM_ARRAY_JOB_ID"},
        {"slurm_array_task_id", "SLURM_ARRAY_TASK_ID"},
        {"slurm_job_name", "SLURM_JOB_NAME"},
        {"slurm_partition", "SLURM_JOB_PARTITION"},
        {"slurm_nodes", "SLURM_JOB_NODELIST"},
        {"slurm_node", "SLURMD_NODENAME"},
        {"slurm_cluster", "SLURM_CLUSTER_NAME"},
        {"slurm_restarts", "SLURM_RESTART_COUNT"},
        {"kubernetes_pod", "POD_NAME"},
        {"kubernetes_namespace", "POD_NAMESPACE"},
        {"kubernetes_node", "NODE_NAME"},
        {"conda_env", "CONDA_DEFAULT_ENV"},
        {"cuda_visible_devices", "CUDA_VISIBLE_DEVICES"},
        {"torchelastic_run_id", "TORCHELASTIC_RUN_ID"},
    };
    bool in_pod = getenv("KUBERNETES_SERVICE_HOST") != NULL;
    struct facts facts = {.out = ret_facts};
    char text[256];

    put(&facts, "container", container());
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        put(&facts, variables[i][0], getenv(variables[i][1]));
    if (in_pod && getenv("POD_NAME") == NULL)
        put(&facts, "kubernetes_pod", getenv("HOSTNAME"));
    if (in_pod && getenv("POD_NAMESPACE") == NULL &&
        probe__read(NAMESPACE_FILE, text, sizeof text)) {
        text[strcspn(text, "\n")] = '\0';
        put(&facts, "kubernetes_namespace", text);
    }
    return facts.count;
}
