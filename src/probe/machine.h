/* What this machine is. Every reading is optional: 0 or "" when it cannot be told. may block */
#pragma once

#include "probe/gpu.h"

struct probe_machine {
    char host[256];
    char os[128]; /* "Debian GNU/Linux 12 (bookworm)" */
    char kernel[136];
    char arch[66];
    char cpu_model[128];
    int cpu_threads;  /* online in the machine */
    int cpu_cores;    /* physical, 0 when unknown */
    double cpu_limit; /* of our cgroup, in CPUs; 0: none */
    int64_t memory_bytes;
    int64_t memory_limit_bytes; /* of our cgroup; 0: none */
    int64_t disk_bytes;         /* of the file system that holds `path` */
    int64_t disk_free_bytes;
    char driver[64]; /* NVIDIA driver version */
    char cuda[16];   /* newest CUDA that the driver knows: "12.8" */
    int gpu_count;
    struct probe_gpu gpus[PROBE_GPUS_MAX];
};

struct nvml; /* see probe/nvml.h */

/* `nvml` may be NULL; `path` names the file system to look at. */
void probe_machine_read(struct probe_machine *ret_machine, struct nvml *nvml, const char *path);
