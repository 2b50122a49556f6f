/* The load of the machine. Counters of the kernel only ever grow, so a rate is the difference of
 * two readings over their distance; a counter that went back (a device vanished) gives no value. */
#include "probe/load.h"

#include "probe/procfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES   65536
#define SECTOR_BYTES 512.0 /* the unit of /proc/diskstats, whatever the disk */

struct values {
    struct probe_value *out;
    size_t count;
};

static void put(struct values *values, const char *name, double value)
{
    if (values->count >= PROBE_VALUES_MAX)
        return;
    struct probe_value *at = &values->out[values->count++];
    (void)snprintf(at->name, sizeof at->name, "%s", name);
    at->value = value;
}

/* A rate per second since the last reading; remembers the new counter. */
static void put_rate(struct values *values, const char *name, double now, double *before,
                     double seconds)
{
    if (seconds > 0 && now >= *before)
        put(values, name, (now - *before) / seconds);
    *before = now;
}

bool probe_parse_cpu(const char *text, double *ret_busy, double *ret_all)
{
    unsigned long long t[8] = {0};
    int n = sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
                   &t[4], &t[5], &t[6], &t[7]);
    double all = 0;

    if (n < 4)
        return false;
    for (int i = 0; i < 8; i++)
        all += (double)t[i];
    *ret_all = all;
    *ret_busy = all - (double)t[3] - (double)t[4]; /* idle, and waiting for disks */
    return true;
}

bool probe_parse_meminfo(const char *text, const char *key, double *ret_bytes)
{
    char value[64];

    if (!probe__field(text, key, value, sizeof value))
        return false;
    *ret_bytes = strtod(value, NULL) * 1024.0;
    return true;
}

bool probe_parse_net(const char *text, double *ret_received, double *ret_sent)
{
    double received = 0, sent = 0;
    bool any = false;

    for (const char *line = text; line != NULL; line = strchr(line + 1, '\n')) {
        char device[64];
        double in, out;
        if (sscanf(line, " %63[^: \n]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", device, &in, &out) !=
                3 ||
            strcmp(device, "lo") == 0)
            continue;
        received += in;
        sent += out;
        any = true;
    }
    *ret_received = received;
    *ret_sent = sent;
    return any;
}

/* Whole disks only: partitions and mapped devices would count the same bytes again. */
static bool is_whole_disk(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "/sys/block/%s/device", name);
    return strncmp(name, "loop", 4) != 0 && strncmp(name, "ram", 3) != 0 &&
           strncmp(name, "dm-", 3) != 0 && strncmp(name, "md", 2) != 0 && access(path, F_OK) == 0;
}

bool probe_parse_disks(const char *text, double *ret_read, double *ret_written)
{
    bool any = false;

    *ret_read = *ret_written = 0;
    for (const char *line = text; line != NULL; line = strchr(line + 1, '\n')) {
        char name[64];
        double in, out;
        if (sscanf(line, " %*d %*d %63s %*f %*f %lf %*f %*f %*f %lf", name, &in, &out) != 3 ||
            !is_whole_disk(name))
            continue;
        *ret_read += in * SECTOR_BYTES;
        *ret_written += out * SECTOR_BYTES;
        any = true;
    }
    return any;
}

static void read_cpu(struct probe_load *load, char *text, struct values *values)
{
    double busy, all, number;

    if (probe__read("/proc/stat", text, TEXT_BYTES) && probe_parse_cpu(text, &busy, &all)) {
        if (load->at_ns != 0 && all > load->cpu_all && busy >= load->cpu_busy)
            put(values, "cpu.percent", 100.0 * (busy - load->cpu_busy) / (all - load->cpu_all));
        load->cpu_busy = busy;
        load->cpu_all = all;
    }
    if (probe__read_number("/proc/loadavg", &number))
        put(values, "cpu.load1", number);
}

static void read_memory(const struct probe_load *load, char *text, struct values *values)
{
    double total, available, number;
    char path[64], value[64];

    if (probe__read("/proc/meminfo", text, TEXT_BYTES) &&
        probe_parse_meminfo(text, "MemTotal", &total) &&
        probe_parse_meminfo(text, "MemAvailable", &available) && total > 0) {
        put(values, "memory.used_bytes", total - available);
        put(values, "memory.percent", 100.0 * (total - available) / total);
    }
    if (probe__read_number("/sys/fs/cgroup/memory.current", &number) ||
        probe__read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", &number))
        put(values, "cgroup.memory_bytes", number);
    (void)snprintf(path, sizeof path, "/proc/%d/status", load->pid);
    if (load->pid > 0 && probe__read(path, text, TEXT_BYTES) &&
        probe__field(text, "VmRSS", value, sizeof value))
        put(values, "process.memory_bytes", strtod(value, NULL) * 1024.0);
    if (load->pid > 0 && probe__field(text, "Threads", value, sizeof value))
        put(values, "process.threads", strtod(value, NULL));
}

static void read_traffic(struct probe_load *load, char *text, struct values *values, double seconds)
{
    struct statvfs disk;
    double in, out;

    if (statvfs(load->path, &disk) == 0 && disk.f_blocks > 0) {
        double total = (double)disk.f_blocks, available = (double)disk.f_bavail;
        put(values, "disk.percent", 100.0 * (total - available) / total);
        put(values, "disk.free_bytes", available * (double)disk.f_frsize);
    }
    if (probe__read("/proc/diskstats", text, TEXT_BYTES) && probe_parse_disks(text, &in, &out)) {
        put_rate(values, "disk.read_bytes_per_s", in, &load->disk_read, seconds);
        put_rate(values, "disk.write_bytes_per_s", out, &load->disk_written, seconds);
    }
    if (probe__read("/proc/net/dev", text, TEXT_BYTES) && probe_parse_net(text, &in, &out)) {
        put_rate(values, "net.receive_bytes_per_s", in, &load->net_received, seconds);
        put_rate(values, "net.send_bytes_per_s", out, &load->net_sent, seconds);
    }
}

static void read_gpus(struct probe_load *load, struct values *values)
{
    int count = load->nvml != NULL ? nvml_gpu_count(load->nvml) : 0;

    for (int i = 0; i < count; i++) {
        struct nvml_reading r;
        nvml_gpu_read(load->nvml, i, &r);
        const struct {
            const char *name;
            double value;
        } readings[] = {{"percent", r.percent},
                        {"memory_bytes", r.memory_bytes},
                        {"memory_percent", r.memory_percent},
                        {"celsius", r.celsius},
                        {"watts", r.watts}};
        for (size_t k = 0; k < ARRAY_LEN(readings); k++) {
            char name[PROBE_NAME_BYTES];
            (void)snprintf(name, sizeof name, "gpu.%d.%s", i, readings[k].name);
            if (readings[k].value >= 0)
                put(values, name, readings[k].value);
        }
    }
}

size_t probe_load_read(struct probe_load *load, struct probe_value ret_values[PROBE_VALUES_MAX])
{
    struct values values = {.out = ret_values};
    struct timespec now;
    char *text = malloc(TEXT_BYTES);

    if (text == NULL)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    double seconds = load->at_ns != 0 ? (double)(now_ns - load->at_ns) / 1e9 : 0;
    read_cpu(load, text, &values);
    read_memory(load, text, &values);
    read_traffic(load, text, &values, seconds);
    read_gpus(load, &values);
    load->at_ns = now_ns;
    free(text);
    return values.count;
}
