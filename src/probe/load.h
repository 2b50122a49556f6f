/* How loaded this machine is, as named numbers: cpu.percent, memory.used_bytes, gpu.0.percent and
 * so on. Rates need two readings: the first one leaves them out. may block; one thread at a time */
#pragma once

#include "probe/nvml.h"

#define PROBE_VALUES_MAX (24 + 5 * PROBE_GPUS_MAX)
#define PROBE_NAME_BYTES 40

struct probe_value {
    char name[PROBE_NAME_BYTES];
    double value;
};

struct probe_load {
    struct nvml *nvml; /* borrowed, or NULL */
    const char *path;  /* borrowed: which file system is watched */
    int pid;           /* whose memory is process.memory_bytes; 0: none */
    int64_t at_ns;     /* of the last reading; 0: none yet */
    double cpu_busy, cpu_all;
    double disk_read, disk_written, net_received, net_sent;
};

/* Reads everything; returns how many values there are. */
size_t probe_load_read(struct probe_load *load, struct probe_value ret_values[PROBE_VALUES_MAX]);

/* Pure parsers, for their tests. Text is NUL-terminated; false when it has not that form. */
bool probe_parse_cpu(const char *text, double *ret_busy, double *ret_all);      /* /proc/stat */
bool probe_parse_meminfo(const char *text, const char *key, double *ret_bytes); /* MemTotal */
bool probe_parse_net(const char *text, double *ret_received, double *ret_sent); /* /proc/net/dev */
bool probe_parse_disks(const char *text, double *ret_read,
                       double *ret_written); /* /proc/diskstats */
