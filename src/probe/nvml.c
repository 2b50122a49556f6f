/* NVML through dlopen. The few types that we need are declared here: NVIDIA keeps this interface
 * stable, and its header is not a dependency. The library is opened once and stays: closing it
 * again has been seen to upset drivers. */
#include "probe/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct nvml_device *nvml_handle;
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};

#define NVML_CALLS(X)                                                                              \
    X(init, "nvmlInit_v2", (void))                                                                 \
    X(shutdown, "nvmlShutdown", (void))                                                            \
    X(driver, "nvmlSystemGetDriverVersion", (char *, unsigned))                                    \
    X(cuda, "nvmlSystemGetCudaDriverVersion_v2", (int *))                                          \
    X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                                \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", (unsigned, nvml_handle *))                          \
    X(name, "nvmlDeviceGetName", (nvml_handle, char *, unsigned))                                  \
    X(uuid, "nvmlDeviceGetUUID", (nvml_handle, char *, unsigned))                                  \
    X(memory, "nvmlDeviceGetMemoryInfo", (nvml_handle, struct nvml_memory *))                      \
    X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_handle, struct nvml_utilization *))      \
    X(temperature, "nvmlDeviceGetTemperature", (nvml_handle, int, unsigned *))                     \
    X(power, "nvmlDeviceGetPowerUsage", (nvml_handle, unsigned *))

struct nvml {
#define X(field, symbol, arguments) int(*field) arguments;
    NVML_CALLS(X)
#undef X
    int gpu_count;
    nvml_handle gpus[PROBE_GPUS_MAX];
};

static void find_calls(struct nvml *nvml, void *library)
{
    /* POSIX keeps function addresses in void pointers; the union says so without a cast. */
#define X(field, symbol, arguments)                                                                \
    {                                                                                              \
        union {                                                                                    \
            void *data;                                                                            \
            int(*call) arguments;                                                                  \
        } found = {.data = dlsym(library, symbol)};                                                \
        nvml->field = found.call;                                                                  \
    }
    NVML_CALLS(X)
#undef X
}

struct nvml *nvml_open_path(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unsigned count = 0;
    struct nvml *nvml = library != NULL ? calloc(1, sizeof *nvml) : NULL;

    if (nvml == NULL)
        return NULL;
    find_calls(nvml, library);
    if (nvml->init == NULL || nvml->count == NULL || nvml->handle == NULL || nvml->init() != 0) {
        free(nvml);
        return NULL;
    }
    if (nvml->count(&count) == 0)
        for (unsigned i = 0; i < count && nvml->gpu_count < PROBE_GPUS_MAX; i++)
            if (nvml->handle(i, &nvml->gpus[nvml->gpu_count]) == 0)
                nvml->gpu_count++;
    if (nvml->gpu_count == 0) {
        nvml_close(nvml);
        return NULL;
    }
    return nvml;
}

struct nvml *nvml_open(void)
{
    return nvml_open_path("libnvidia-ml.so.1");
}

void nvml_close(struct nvml *nvml)
{
    if (nvml == NULL)
        return;
    if (nvml->shutdown != NULL)
        (void)nvml->shutdown(); /* nothing to do about a failure */
    free(nvml);
}

int nvml_gpu_count(const struct nvml *nvml)
{
    return nvml->gpu_count;
}

void nvml_driver_version(struct nvml *nvml, char *ret_text, size_t text_bytes)
{
    if (nvml->driver == NULL || nvml->driver(ret_text, (unsigned)text_bytes) != 0)
        ret_text[0] = '\0';
}

void nvml_cuda_version(struct nvml *nvml, char *ret_text, size_t text_bytes)
{
    int version = 0; /* 12080 for 12.8 */

    ret_text[0] = '\0';
    if (nvml->cuda != NULL && nvml->cuda(&version) == 0 && version > 0)
        (void)snprintf(ret_text, text_bytes, "%d.%d", version / 1000, version % 1000 / 10);
}

void nvml_gpu_describe(struct nvml *nvml, int index, struct probe_gpu *ret_gpu)
{
    nvml_handle gpu = nvml->gpus[index];
    struct nvml_memory memory;

    *ret_gpu = (struct probe_gpu){0};
    if (nvml->name == NULL || nvml->name(gpu, ret_gpu->name, sizeof ret_gpu->name) != 0)
        ret_gpu->name[0] = '\0';
    if (nvml->uuid == NULL || nvml->uuid(gpu, ret_gpu->uuid, sizeof ret_gpu->uuid) != 0)
        ret_gpu->uuid[0] = '\0';
    if (nvml->memory != NULL && nvml->memory(gpu, &memory) == 0)
        ret_gpu->memory_bytes = (int64_t)memory.total;
}

void nvml_gpu_read(struct nvml *nvml, int index, struct nvml_reading *ret_reading)
{
    static const int sensor_of_the_chip = 0;
    nvml_handle gpu = nvml->gpus[index];
    struct nvml_utilization use;
    struct nvml_memory memory;
    unsigned number;

    *ret_reading = (struct nvml_reading){-1, -1, -1, -1, -1};
    if (nvml->utilization != NULL && nvml->utilization(gpu, &use) == 0)
        ret_reading->percent = use.gpu;
    if (nvml->memory != NULL && nvml->memory(gpu, &memory) == 0 && memory.total > 0) {
        ret_reading->memory_bytes = (double)memory.used;
        ret_reading->memory_percent = 100.0 * (double)memory.used / (double)memory.total;
    }
    if (nvml->temperature != NULL && nvml->temperature(gpu, sensor_of_the_chip, &number) == 0)
        ret_reading->celsius = number;
    if (nvml->power != NULL && nvml->power(gpu, &number) == 0)
        ret_reading->watts = number / 1000.0;
}
