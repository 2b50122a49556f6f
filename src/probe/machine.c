/* What this machine is, from /proc, /sys, uname and NVML. Limits of a container come from cgroup v2
 * where it is mounted, else from v1. */
#include "probe/machine.h"

#include "probe/nvml.h"
#include "probe/procfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NO_LIMIT 1e18 /* cgroup v1 writes a huge number where there is none */

static void read_names(struct probe_machine *machine)
{
    char text[4096];
    struct utsname name;

    if (uname(&name) == 0) {
        (void)snprintf(machine->host, sizeof machine->host, "%s", name.nodename);
        (void)snprintf(machine->kernel, sizeof machine->kernel, "%s %s", name.sysname,
                       name.release);
        (void)snprintf(machine->arch, sizeof machine->arch, "%s", name.machine);
    }
    if (probe__read("/etc/os-release", text, sizeof text))
        (void)probe__field(text, "PRETTY_NAME", machine->os, sizeof machine->os);
}

static void read_cpu(struct probe_machine *machine)
{
    char text[8192], number[16], siblings[16];
    double quota, period;

    machine->cpu_threads = get_nprocs();
    if (probe__read("/proc/cpuinfo", text, sizeof text)) {
        (void)probe__field(text, "model name", machine->cpu_model, sizeof machine->cpu_model);
        if (probe__field(text, "cpu cores", number, sizeof number) &&
            probe__field(text, "siblings", siblings, sizeof siblings)) {
            long cores = strtol(number, NULL, 10), threads = strtol(siblings, NULL, 10);
            if (cores > 0 && threads >= cores)
                machine->cpu_cores = (int)(machine->cpu_threads * cores / threads);
        }
    }
    if (probe__read("/sys/fs/cgroup/cpu.max", text, sizeof text) &&
        sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0)
        machine->cpu_limit = quota / period;
    else if (probe__read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota) && quota > 0 &&
             probe__read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period) && period > 0)
        machine->cpu_limit = quota / period;
}

static void read_memory(struct probe_machine *machine)
{
    struct sysinfo info;
    double limit;

    if (sysinfo(&info) == 0)
        machine->memory_bytes = (int64_t)info.totalram * info.mem_unit;
    if ((probe__read_number("/sys/fs/cgroup/memory.max", &limit) ||
         probe__read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", &limit)) &&
        limit < NO_LIMIT)
        machine->memory_limit_bytes = (int64_t)limit;
}

static void read_gpus(struct probe_machine *machine, struct nvml *nvml)
{
    if (nvml == NULL)
        return;
    nvml_driver_version(nvml, machine->driver, sizeof machine->driver);
    nvml_cuda_version(nvml, machine->cuda, sizeof machine->cuda);
    machine->gpu_count = MIN(nvml_gpu_count(nvml), PROBE_GPUS_MAX);
    for (int i = 0; i < machine->gpu_count; i++)
        nvml_gpu_describe(nvml, i, &machine->gpus[i]);
}

void probe_machine_read(struct probe_machine *ret_machine, struct nvml *nvml, const char *path)
{
    struct statvfs disk;

    memset(ret_machine, 0, sizeof *ret_machine);
    read_names(ret_machine);
    read_cpu(ret_machine);
    read_memory(ret_machine);
    if (statvfs(path, &disk) == 0) {
        ret_machine->disk_bytes = (int64_t)(disk.f_blocks * disk.f_frsize);
        ret_machine->disk_free_bytes = (int64_t)(disk.f_bavail * disk.f_frsize);
    }
    read_gpus(ret_machine, nvml);
}
