/* Figures of a run, and the ways to show several side by side. One thread at a time. */
#pragma once

#include "sim/state.h"

#include "base/buf.h"

struct sim_waits {
    int64_t *sorted; /* ms until the first start; those that never started are not in it */
    uint32_t count;
    uint32_t waiting;  /* never started */
    __int128 last_sum; /* ms until the last start, of all in it */
};

struct sim_report {
    const char *name;
    uint32_t jobs, succeeded, failed, cancelled, waiting;
    double utilisation, utilisation_arriving;       /* of GPUs: over all, until the last arrival */
    double jain, worst, fragmentation, unallocated; /* NAN: never saturated */
    const char *worst_share;
    double lost_gpu_hours, makespan_s, saturated_s;
    int64_t preemptions, losses, cycles, cycle_ns, cycle_ns_max;
    struct sim_waits all, classes[SIM_CLASSES_MAX];
    struct sim_sample *series;
    size_t series_count;
    double seconds; /* real ones that the simulation took */
};

/* Everything in it lives in the arena, but names, which live as long as the world. */
void sim_report_make(const struct sim *sim, struct arena *arena, struct sim_report *ret_report);
int64_t sim_waits_at(const struct sim_waits *waits, int64_t permille); /* 0 when there are none */
int64_t sim_waits_mean(const struct sim_waits *waits);
int64_t sim_waits_last_mean(const struct sim_waits *waits); /* until the last start */

void sim_report_table(const struct sim_world *world, const struct sim_report *reports, size_t count,
                      bool timing, struct buf *out);
void sim_report_json(const struct sim_world *world, const struct sim_report *reports, size_t count,
                     bool timing, struct buf *out);
/* Utilisation over time and how long jobs waited, as SVG. */
void sim_plot(const struct sim_report *reports, size_t count, const char *title, struct buf *out);
