/* NVML through dlopen. The few types that we need are declared here: NVIDIA keeps this interface
 * stable, and its header is not a dependency. The library is opened once and stays: closing it
 * again has been seen to upset drivers.
 *
 * A GPU that shares the machine's memory (GB10) is known by its answers, never by its name: memory
 * is "not supported" while other readings come. */
#include "probe/nvml.h"

#include "probe/load.h"
#include "probe/procfile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVML_NOT_SUPPORTED 3
#define NVML_TOO_SMALL     7
#define NVML_LOST          15
#define NVML_NEEDS_RESET   16
#define EVENT_XID          8ULL
#define MEMINFO_BYTES      8192
#define NO_MEMORY_KNOWN    (~0ULL)

typedef struct nvml_device *nvml_handle;
typedef struct nvml_event_set *nvml_events;
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_pci {
    char bus_id_old[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct nvml_process_info {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};
struct nvml_event {
    nvml_handle gpu;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
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
    X(pci, "nvmlDeviceGetPciInfo_v3", (nvml_handle, struct nvml_pci *))                            \
    X(mig, "nvmlDeviceGetMigMode", (nvml_handle, unsigned *, unsigned *))                          \
    X(memory, "nvmlDeviceGetMemoryInfo", (nvml_handle, struct nvml_memory *))                      \
    X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_handle, struct nvml_utilization *))      \
    X(temperature, "nvmlDeviceGetTemperature", (nvml_handle, int, unsigned *))                     \
    X(power, "nvmlDeviceGetPowerUsage", (nvml_handle, unsigned *))                                 \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (nvml_handle, unsigned long long *))          \
    X(ecc, "nvmlDeviceGetTotalEccErrors", (nvml_handle, int, int, unsigned long long *))           \
    X(rows, "nvmlDeviceGetRemappedRows",                                                           \
      (nvml_handle, unsigned *, unsigned *, unsigned *, unsigned *))                               \
    X(pages, "nvmlDeviceGetRetiredPagesPendingStatus", (nvml_handle, int *))                       \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
      (nvml_handle, unsigned *, struct nvml_process_info *))                                       \
    X(processes_v2, "nvmlDeviceGetComputeRunningProcesses_v2",                                     \
      (nvml_handle, unsigned *, struct nvml_process_info *))                                       \
    X(events_new, "nvmlEventSetCreate", (nvml_events *))                                           \
    X(events_free, "nvmlEventSetFree", (nvml_events))                                              \
    X(events_add, "nvmlDeviceRegisterEvents", (nvml_handle, unsigned long long, nvml_events))      \
    X(events_wait, "nvmlEventSetWait_v2", (nvml_events, struct nvml_event *, unsigned))

struct nvml {
#define X(field, symbol, arguments) int(*field) arguments;
    NVML_CALLS(X)
#undef X
    int gpu_count;
    nvml_handle gpus[PROBE_GPUS_MAX]; /* NULL: it did not answer when the library was opened */
    bool lost[PROBE_GPUS_MAX];        /* because it was lost then */
    nvml_events events;               /* NULL: Xids are not told */
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

static void find_gpus(struct nvml *nvml)
{
    unsigned count = 0;

    if (nvml->count(&count) != 0)
        return;
    nvml->gpu_count = (int)MIN(count, PROBE_GPUS_MAX);
    for (int i = 0; i < nvml->gpu_count; i++) {
        int code = nvml->handle((unsigned)i, &nvml->gpus[i]);
        if (code != 0)
            nvml->gpus[i] = NULL;
        nvml->lost[i] = code == NVML_LOST || code == NVML_NEEDS_RESET;
    }
}

static void listen_to_xids(struct nvml *nvml)
{
    bool any = false;

    if (!nvml->events_new || !nvml->events_free || !nvml->events_add || !nvml->events_wait ||
        nvml->events_new(&nvml->events) != 0) {
        nvml->events = NULL;
        return;
    }
    for (int i = 0; i < nvml->gpu_count; i++)
        any |= nvml->gpus[i] && nvml->events_add(nvml->gpus[i], EVENT_XID, nvml->events) == 0;
    if (any)
        return;
    (void)nvml->events_free(nvml->events); /* nothing to do about a failure */
    nvml->events = NULL;
}

struct nvml *nvml_open_path(const char *path)
{
    if (!path)
        path = getenv("EUVYRA_NVML");
    void *library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct nvml *nvml = library != NULL ? calloc(1, sizeof *nvml) : NULL;

    if (nvml == NULL)
        return NULL;
    find_calls(nvml, library);
    if (nvml->init == NULL || nvml->count == NULL || nvml->handle == NULL || nvml->init() != 0) {
        free(nvml);
        return NULL;
    }
    find_gpus(nvml);
    if (nvml->gpu_count == 0) {
        nvml_close(nvml);
        return NULL;
    }
    listen_to_xids(nvml);
    return nvml;
}

struct nvml *nvml_open(void)
{
    return nvml_open_path(NULL);
}

void nvml_close(struct nvml *nvml)
{
    if (nvml == NULL)
        return;
    if (nvml->events != NULL)
        (void)nvml->events_free(nvml->events); /* nothing to do about a failure, here and below */
    if (nvml->shutdown != NULL)
        (void)nvml->shutdown();
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

/* The machine's memory as a GPU that shares it can use it: what may be reclaimed is free, which
 * CUDA's own figure leaves out. */
static bool read_unified(struct nvml_memory *ret_memory)
{
    char text[MEMINFO_BYTES];
    double total, available, swap = 0;

    if (!probe__read("/proc/meminfo", text, sizeof text) ||
        !probe_parse_meminfo(text, "MemTotal", &total) ||
        !probe_parse_meminfo(text, "MemAvailable", &available))
        return false;
    (void)probe_parse_meminfo(text, "SwapFree", &swap); /* none: 0 */
    double reserve = (double)probe_host_reserve((int64_t)total);
    double usable = total - reserve, unused = MIN(MAX(available + swap - reserve, 0), usable);
    *ret_memory = (struct nvml_memory){.total = (unsigned long long)usable,
                                       .free = (unsigned long long)unused,
                                       .used = (unsigned long long)(usable - unused)};
    return true;
}

static enum gpu_memory_kind read_memory(struct nvml *nvml, nvml_handle gpu,
                                        struct nvml_memory *ret_memory, int *ret_code)
{
    char uuid[96];

    *ret_code = nvml->memory ? nvml->memory(gpu, ret_memory) : NVML_NOT_SUPPORTED;
    if (*ret_code == 0 && ret_memory->total > 0)
        return GPU_MEMORY_DEDICATED;
    if (nvml->memory && *ret_code == NVML_NOT_SUPPORTED && nvml->uuid &&
        nvml->uuid(gpu, uuid, sizeof uuid) == 0 && read_unified(ret_memory))
        return GPU_MEMORY_UNIFIED;
    return GPU_MEMORY_UNKNOWN;
}

void nvml_gpu_describe(struct nvml *nvml, int index, struct probe_gpu *ret_gpu)
{
    nvml_handle gpu = nvml->gpus[index];
    struct nvml_memory memory;
    struct nvml_pci pci;
    unsigned now = 0, later = 0;
    int code;

    *ret_gpu = (struct probe_gpu){0};
    if (gpu == NULL)
        return;
    if (nvml->name == NULL || nvml->name(gpu, ret_gpu->name, sizeof ret_gpu->name) != 0)
        ret_gpu->name[0] = '\0';
    if (nvml->uuid == NULL || nvml->uuid(gpu, ret_gpu->uuid, sizeof ret_gpu->uuid) != 0)
        ret_gpu->uuid[0] = '\0';
    if (nvml->pci != NULL && nvml->pci(gpu, &pci) == 0)
        (void)snprintf(ret_gpu->bus_id, sizeof ret_gpu->bus_id, "%.31s", pci.bus_id);
    ret_gpu->mig = nvml->mig != NULL && nvml->mig(gpu, &now, &later) == 0 && now != 0;
    ret_gpu->memory_kind = read_memory(nvml, gpu, &memory, &code);
    if (ret_gpu->memory_kind != GPU_MEMORY_UNKNOWN)
        ret_gpu->memory_bytes = (int64_t)memory.total;
}

/* Whether a call gave its reading; what it says of the GPU's health is kept. */
static bool gave(int code, struct nvml_reading *reading)
{
    if (code == NVML_LOST || code == NVML_NEEDS_RESET)
        reading->lost = true;
    if (code == 0 || code == NVML_NOT_SUPPORTED)
        reading->silent = false;
    return code == 0;
}

static void read_wear(struct nvml *nvml, nvml_handle gpu, struct nvml_reading *reading)
{
    static const int uncorrected = 1, volatile_counter = 0;
    unsigned corrected, not_corrected, pending = 0, failed = 0;
    unsigned long long errors;
    int pages = 0;

    if (nvml->ecc != NULL && gave(nvml->ecc(gpu, uncorrected, volatile_counter, &errors), reading))
        reading->memory_errors = (double)errors;
    if (nvml->rows != NULL &&
        gave(nvml->rows(gpu, &corrected, &not_corrected, &pending, &failed), reading))
        reading->rows_pending = pending || failed;
    else if (nvml->pages != NULL && gave(nvml->pages(gpu, &pages), reading))
        reading->rows_pending = pages != 0;
}

void nvml_gpu_read(struct nvml *nvml, int index, struct nvml_reading *ret_reading)
{
    static const int sensor_of_the_chip = 0;
    nvml_handle gpu = nvml->gpus[index];
    struct nvml_reading r = {.percent = -1,
                             .memory_bytes = -1,
                             .memory_percent = -1,
                             .celsius = -1,
                             .watts = -1,
                             .energy_j = -1,
                             .memory_errors = -1,
                             .rows_pending = -1,
                             .silent = true};
    struct nvml_utilization use;
    struct nvml_memory memory;
    unsigned long long energy;
    unsigned number;
    int code;

    r.lost = nvml->lost[index];
    *ret_reading = r;
    if (gpu == NULL)
        return;
    if (nvml->utilization != NULL && gave(nvml->utilization(gpu, &use), &r))
        r.percent = use.gpu;
    if (read_memory(nvml, gpu, &memory, &code) != GPU_MEMORY_UNKNOWN && memory.total > 0) {
        r.memory_bytes = (double)memory.used;
        r.memory_percent = 100.0 * (double)memory.used / (double)memory.total;
    }
    if (nvml->memory != NULL)
        (void)gave(code, &r); /* whether it answers is all that is asked here */
    if (nvml->temperature != NULL && gave(nvml->temperature(gpu, sensor_of_the_chip, &number), &r))
        r.celsius = number;
    if (nvml->power != NULL && gave(nvml->power(gpu, &number), &r))
        r.watts = number / 1000.0;
    if (nvml->energy != NULL && gave(nvml->energy(gpu, &energy), &r))
        r.energy_j = (double)energy / 1000.0;
    read_wear(nvml, gpu, &r);
    *ret_reading = r;
}

int nvml_gpu_processes(struct nvml *nvml, int index,
                       struct nvml_process ret_processes[NVML_PROCESSES_MAX])
{
    struct nvml_process_info found[NVML_PROCESSES_MAX];
    unsigned count = NVML_PROCESSES_MAX;
    nvml_handle gpu = nvml->gpus[index];
    int code = NVML_NOT_SUPPORTED;

    if (gpu != NULL && nvml->processes != NULL)
        code = nvml->processes(gpu, &count, found);
    else if (gpu != NULL && nvml->processes_v2 != NULL)
        code = nvml->processes_v2(gpu, &count, found);
    if (code == NVML_TOO_SMALL) {
        ret_processes[0] = (struct nvml_process){.memory_bytes = -1};
        return 1;
    }
    if (code != 0)
        return -1;
    count = MIN(count, NVML_PROCESSES_MAX);
    for (unsigned i = 0; i < count; i++)
        ret_processes[i] = (struct nvml_process){
            .pid = (int)found[i].pid,
            .memory_bytes = found[i].memory == NO_MEMORY_KNOWN ? -1 : (int64_t)found[i].memory};
    return (int)count;
}

bool nvml_next_xid(struct nvml *nvml, int *ret_index, unsigned long long *ret_xid)
{
    struct nvml_event event = {0};

    while (nvml->events != NULL && nvml->events_wait(nvml->events, &event, 0) == 0) {
        for (int i = 0; i < nvml->gpu_count; i++) {
            if (nvml->gpus[i] != event.gpu || event.type != EVENT_XID)
                continue;
            *ret_index = i;
            *ret_xid = event.data;
            return true;
        }
    }
    return false;
}
