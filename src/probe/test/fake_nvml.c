/* A library with NVML's names and two GPUs, one of which has readings missing: what the test opens
 * on machines without a driver. */
#include <stdio.h>
#include <string.h>

#define EXPORT        __attribute__((visibility("default")))
#define NOT_SUPPORTED 3

static int gpus[2];

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned len);
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu);
EXPORT int nvmlDeviceGetName(void *gpu, char *text, unsigned len);
EXPORT int nvmlDeviceGetUUID(void *gpu, char *text, unsigned len);
EXPORT int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *memory);
EXPORT int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *use);
EXPORT int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts);

int nvmlInit_v2(void)
{
    return 0;
}
int nvmlShutdown(void)
{
    return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned len)
{
    return snprintf(text, len, "570.1") < 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 12080;
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu)
{
    *gpu = &gpus[index];
    return 0;
}
int nvmlDeviceGetName(void *gpu, char *text, unsigned len)
{
    return snprintf(text, len, "GPU %d", (int)((int *)gpu - gpus)) < 0;
}
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned len)
{
    return snprintf(text, len, "GPU-%d", (int)((int *)gpu - gpus)) < 0;
}
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *memory)
{
    memory[0] = 1000;
    memory[1] = 750;
    memory[2] = 250;
    return gpu == &gpus[1] ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *use)
{
    (void)gpu;
    use[0] = 37;
    use[1] = 5;
    return 0;
}
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts)
{
    (void)gpu;
    *milliwatts = 70500;
    return 0;
}
