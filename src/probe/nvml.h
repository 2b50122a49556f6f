/* NVIDIA's management library, opened at run time: a machine without it has no GPUs, and a library
 * without one of the calls has one reading less. may block; one thread at a time */
#pragma once

#include "probe/gpu.h"

struct nvml;

/* NULL when there is no library, no driver, or no GPU. The library is the one that EUVYRA_NVML
 * names, else libnvidia-ml.so.1. */
struct nvml *nvml_open(void);
/* As nvml_open, from the library at `path`; NULL: as nvml_open. */
struct nvml *nvml_open_path(const char *path);
void nvml_close(struct nvml *nvml); /* accepts NULL */

/* GPUs have the indices below the count; one that the driver knows but that does not answer counts.
 */
int nvml_gpu_count(const struct nvml *nvml);
void nvml_gpu_describe(struct nvml *nvml, int index, struct probe_gpu *ret_gpu);
void nvml_gpu_read(struct nvml *nvml, int index, struct nvml_reading *ret_reading);
void nvml_driver_version(struct nvml *nvml, char *ret_text, size_t text_bytes);
/* "12.8"; "" when it is not known. */
void nvml_cuda_version(struct nvml *nvml, char *ret_text, size_t text_bytes);

/* Processes that compute on a GPU, as the kernel numbers them outside any container. */
#define NVML_PROCESSES_MAX 128
struct nvml_process {
    int pid;
    int64_t memory_bytes; /* -1: not known */
};
/* -1: it cannot be told. More than NVML_PROCESSES_MAX: one with pid 0 stands for all of them. */
int nvml_gpu_processes(struct nvml *nvml, int index,
                       struct nvml_process ret_processes[NVML_PROCESSES_MAX]);
/* The next Xid that the driver reported since the library was opened; false: none for now. Does not
 * wait. */
bool nvml_next_xid(struct nvml *nvml, int *ret_index, unsigned long long *ret_xid);
