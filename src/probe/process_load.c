/* From /proc/<pid>/stat: CPU time of all threads, resident pages. */
#include "probe/process_load.h"

#include "probe/procfile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool probe_parse_stat(const char *text, double *ret_ticks, double *ret_threads, double *ret_pages)
{
    const char *rest = strrchr(text, ')');
    double user, system, threads, pages;

    /* Behind the name: state, then numbers; utime is field 14, stime 15, threads 20, rss 24. */
    if (rest == NULL ||
        sscanf(rest + 1,
               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lf %lf %*s %*s %*s %*s %lf %*s %*s "
               "%*s %lf",
               &user, &system, &threads, &pages) != 4)
        return false;
    *ret_ticks = user + system;
    *ret_threads = threads;
    *ret_pages = pages;
    return true;
}

bool probe_process_read(struct probe_process *process, struct probe_process_reading *ret_reading)
{
    double ticks, threads, pages;
    char path[64], text[2048];
    struct timespec now;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", process->pid);
    if (!probe__read(path, text, sizeof text) || !probe_parse_stat(text, &ticks, &threads, &pages))
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    double cpu_s = ticks / (double)sysconf(_SC_CLK_TCK);
    double seconds = (double)(now_ns - process->at_ns) / 1e9;
    bool first = process->at_ns == 0 || seconds <= 0 || cpu_s < process->cpu_s;
    *ret_reading = (struct probe_process_reading){
        .cpu_percent = first ? -1 : 100.0 * (cpu_s - process->cpu_s) / seconds,
        .memory_bytes = pages * (double)sysconf(_SC_PAGESIZE),
        .threads = threads,
    };
    process->at_ns = now_ns;
    process->cpu_s = cpu_s;
    return true;
}
