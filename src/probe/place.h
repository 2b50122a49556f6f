/* Where a process runs beside the machine itself: container, Slurm job, Kubernetes pod. From files
 * and the environment; every reading is optional. thread: any; may block */
#pragma once

#include "base/macros.h"

#define PROBE_PLACE_MAX 24

struct probe_fact {
    const char *key; /* "slurm_job_id": constant */
    char value[256];
};
/* Returns how many are known. */
size_t probe_place_read(struct probe_fact ret_facts[PROBE_PLACE_MAX]);
