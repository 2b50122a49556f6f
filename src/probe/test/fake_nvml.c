/* A library with NVML's names, for machines without a driver. What its GPUs say is a text file that
 * EUVYRA_FAKE_NVML names and that a test may change at any moment (by renaming another over it).
 * Each line is `GPU KEY VALUE`; GPU is an index, or * for all; later lines win:
 *
 *     * power 250            watts; "none": not supported, as for utilization, memory, temperature,
 *                            energy, name, uuid, processes
 *     0 utilization 93       percent
 *     0 memory 81920 1024    MiB in all, MiB used
 *     0 energy 1500          joules since the driver was loaded
 *     0 ecc 2                uncorrected errors
 *     0 pending 1            rows wait to be remapped
 *     0 mig 1
 *     0 process 4711 900     a process computes on it, with so many MiB
 *     0 lost 1               fallen off the bus: every call says so
 *     0 silent 1             every call fails
 *     0 xid 79               one event, told once for each number
 *     * count 4              GPUs in all; 0: no driver. 8 when nothing is said
 *
 * Without the file there are two GPUs, the second of which cannot tell its memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define GPUS   64

enum { OK, NOT_SUPPORTED = 3, NO_DRIVER = 9, TIME_OUT = 10, LOST = 15, UNKNOWN = 999 };

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};
struct event {
    void *gpu;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};
struct memory {
    unsigned long long total, free, used;
};
struct pci {
    char bus_id_old[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned len);
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version);
EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu);
EXPORT int nvmlDeviceGetName(void *gpu, char *text, unsigned len);
EXPORT int nvmlDeviceGetUUID(void *gpu, char *text, unsigned len);
EXPORT int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci *pci);
EXPORT int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *later);
EXPORT int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *memory);
EXPORT int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *use);
EXPORT int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *millijoules);
EXPORT int nvmlDeviceGetTotalEccErrors(void *gpu, int kind, int counter, unsigned long long *count);
EXPORT int nvmlDeviceGetRemappedRows(void *gpu, unsigned *a, unsigned *b, unsigned *c, unsigned *d);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *count, struct process *out);
EXPORT int nvmlEventSetCreate(void **set);
EXPORT int nvmlEventSetFree(void *set);
EXPORT int nvmlDeviceRegisterEvents(void *gpu, unsigned long long types, void *set);
EXPORT int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms);

static int gpus[GPUS];
static unsigned long long told_xids[GPUS];
static int the_set;

static const char without_file[] = "* count 2\n"
                                   "* utilization 37\n* power 70.5\n* temperature none\n"
                                   "* name GPU\n0 memory 1000 250\n1 memory none\n";
static const char defaults[] = "* count 8\n"
                               "* name NVIDIA A100-SXM4-80GB\n* utilization 0\n* memory 81920 4\n"
                               "* power 60\n* temperature 30\n* energy none\n* ecc 0\n"
                               "* pending 0\n* mig 0\n";

static int index_of(const void *gpu)
{
    return (int)((const int *)gpu - gpus);
}

static int number_of(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* Calls `take` for each line about a GPU and key, with its value. */
static void each_line(const char *text, int gpu, const char *key,
                      void (*take)(void *ctx, const char *value), void *ctx)
{
    while (*text) {
        char line[256], name[32];
        int used = 0, n = (int)strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s", n, text);
        text += n + (text[n] == '\n');
        char whom[16];
        if (sscanf(line, "%15s %31s %n", whom, name, &used) < 2 || strcmp(name, key) != 0)
            continue;
        if (strcmp(whom, "*") == 0 || number_of(whom) == gpu)
            take(ctx, line + used);
    }
}

static void each(int gpu, const char *key, void (*take)(void *ctx, const char *value), void *ctx)
{
    static char text[65536];
    const char *path = getenv("EUVYRA_FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;

    if (!file) {
        each_line(without_file, gpu, key, take, ctx);
        return;
    }
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    each_line(defaults, gpu, key, take, ctx);
    each_line(text, gpu, key, take, ctx);
}

static void take_last(void *ctx, const char *value)
{
    (void)snprintf(ctx, 128, "%s", value);
}

/* The value of a key; an error where the GPU does not answer or has no such reading. */
static int get(const void *gpu, const char *key, char value[128])
{
    int i = index_of(gpu);
    char state[128] = "";

    each(i, "lost", take_last, state);
    if (number_of(state))
        return LOST;
    state[0] = '\0';
    each(i, "silent", take_last, state);
    if (number_of(state))
        return UNKNOWN;
    value[0] = '\0';
    each(i, key, take_last, value);
    return value[0] == '\0' || strcmp(value, "none") == 0 ? NOT_SUPPORTED : OK;
}

static int get_number(const void *gpu, const char *key, double *number)
{
    char value[128];
    int code = get(gpu, key, value);

    if (code == OK)
        *number = strtod(value, NULL);
    return code;
}

static unsigned count_now(void)
{
    char value[128] = "";

    each(-1, "count", take_last, value);
    return (unsigned)number_of(value);
}

int nvmlInit_v2(void)
{
    return count_now() ? OK : NO_DRIVER;
}
int nvmlShutdown(void)
{
    memset(told_xids, 0, sizeof told_xids);
    return OK;
}
int nvmlSystemGetDriverVersion(char *text, unsigned len)
{
    return snprintf(text, len, "570.1") < 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = 12080;
    return OK;
}
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = count_now();
    return OK;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu)
{
    char value[128];
    int code = get(&gpus[index], "name", value);

    *gpu = &gpus[index];
    return code == LOST ? LOST : OK;
}
int nvmlDeviceGetName(void *gpu, char *text, unsigned len)
{
    char value[128];
    int code = get(gpu, "name", value);

    return code ? code : snprintf(text, len, "%s", value) < 0;
}
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned len)
{
    char value[128];
    int code = get(gpu, "uuid", value);

    if (code == LOST || code == UNKNOWN || strcmp(value, "none") == 0)
        return code;
    return snprintf(text, len, "GPU-%08d-aaaa-bbbb-cccc-0123456789ab", index_of(gpu)) < 0;
}
int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci *pci)
{
    memset(pci, 0, sizeof *pci);
    return snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", index_of(gpu) + 1) < 0;
}
int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *later)
{
    double mig = 0;
    int code = get_number(gpu, "mig", &mig);

    *now = *later = (unsigned)mig;
    return code;
}
int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *memory)
{
    char value[128];
    double total = 0, used = 0;
    int code = get(gpu, "memory", value);

    if (code)
        return code;
    (void)sscanf(value, "%lf %lf", &total, &used);
    memory->total = (unsigned long long)(total * 1048576);
    memory->used = (unsigned long long)(used * 1048576);
    memory->free = memory->total - memory->used;
    return OK;
}
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *use)
{
    double percent = 0;
    int code = get_number(gpu, "utilization", &percent);

    use[0] = (unsigned)percent;
    use[1] = 5;
    return code;
}
int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *celsius)
{
    double value = 0;
    int code = get_number(gpu, "temperature", &value);

    *celsius = (unsigned)value;
    return sensor ? NOT_SUPPORTED : code;
}
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts)
{
    double watts = 0;
    int code = get_number(gpu, "power", &watts);

    *milliwatts = (unsigned)(watts * 1000);
    return code;
}
int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *millijoules)
{
    double joules = 0;
    int code = get_number(gpu, "energy", &joules);

    *millijoules = (unsigned long long)(joules * 1000);
    return code;
}
int nvmlDeviceGetTotalEccErrors(void *gpu, int kind, int counter, unsigned long long *count)
{
    double errors = 0;
    int code = get_number(gpu, "ecc", &errors);

    *count = (unsigned long long)errors;
    return kind == 1 && counter == 0 ? code : NOT_SUPPORTED;
}
int nvmlDeviceGetRemappedRows(void *gpu, unsigned *a, unsigned *b, unsigned *c, unsigned *d)
{
    double pending = 0;
    int code = get_number(gpu, "pending", &pending);

    *a = *b = *d = 0;
    *c = (unsigned)pending;
    return code;
}

struct processes {
    struct process *out;
    unsigned count, max;
};

static void take_process(void *ctx, const char *value)
{
    struct processes *found = ctx;
    unsigned pid = 0;
    double mib = 0;

    if (found->count < found->max && sscanf(value, "%u %lf", &pid, &mib) == 2)
        found->out[found->count++] =
            (struct process){.pid = pid, .memory = (unsigned long long)(mib * 1048576)};
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *count, struct process *out)
{
    struct processes found = {.out = out, .max = *count};
    char value[128];
    int code = get(gpu, "processes", value);

    if (code == LOST || code == UNKNOWN || strcmp(value, "none") == 0)
        return code;
    each(index_of(gpu), "process", take_process, &found);
    *count = found.count;
    return OK;
}

int nvmlEventSetCreate(void **set)
{
    *set = &the_set;
    return OK;
}
int nvmlEventSetFree(void *set)
{
    (void)set;
    return OK;
}
int nvmlDeviceRegisterEvents(void *gpu, unsigned long long types, void *set)
{
    (void)gpu;
    (void)set;
    return types == 8 ? OK : NOT_SUPPORTED;
}
int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms)
{
    (void)set;
    (void)timeout_ms;
    for (unsigned i = 0; i < count_now() && i < GPUS; i++) {
        char value[128] = "";
        each((int)i, "xid", take_last, value);
        unsigned long long xid = strtoull(value, NULL, 10);
        if (xid == told_xids[i])
            continue;
        told_xids[i] = xid;
        *event = (struct event){.gpu = &gpus[i], .type = 8, .data = xid};
        if (xid)
            return OK;
    }
    return TIME_OUT;
}
