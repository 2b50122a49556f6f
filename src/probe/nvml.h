/* NVIDIA's management library, opened at run time: a machine without it has no GPUs, and a library
 * without one of the calls has one reading less. may block; one thread at a time */
#pragma once

#include "probe/machine.h"

/* NULL when there is no library, no driver, or no GPU. */
struct nvml *nvml_open(void);
/* As nvml_open, from the library at `path`: what tests use. */
struct nvml *nvml_open_path(const char *path);
void nvml_close(struct nvml *nvml); /* accepts NULL */

struct nvml_reading {
    double percent; /* busy; below 0: unknown, as for all of these */
    double memory_bytes;
    double memory_percent;
    double celsius;
    double watts;
};
int nvml_gpu_count(const struct nvml *nvml);
void nvml_gpu_describe(struct nvml *nvml, int index, struct probe_gpu *ret_gpu);
void nvml_gpu_read(struct nvml *nvml, int index, struct nvml_reading *ret_reading);
void nvml_driver_version(struct nvml *nvml, char *ret_text, size_t text_bytes);
/* "12.8"; "" when it is not known. */
void nvml_cuda_version(struct nvml *nvml, char *ret_text, size_t text_bytes);
