/* A GPU as a fact: what it is, what was read of it, and what that means. Pure. thread: any */
#pragma once

#include "base/macros.h"

#define PROBE_GPUS_MAX      64
#define PROBE_GPU_ILL_BYTES 160

enum gpu_memory_kind {
    GPU_MEMORY_UNKNOWN,
    GPU_MEMORY_DEDICATED,
    GPU_MEMORY_UNIFIED, /* it shares the memory of the machine */
};
const char *gpu_memory_kind_name(enum gpu_memory_kind kind);

struct probe_gpu {
    char name[96]; /* "NVIDIA A100-SXM4-80GB"; "" when it does not answer */
    char uuid[96];
    char bus_id[32];      /* "00000000:07:00.0" */
    int64_t memory_bytes; /* of a unified one: the machine's, less what is kept for the host */
    enum gpu_memory_kind memory_kind;
    bool mig; /* it is cut into instances: it cannot be given away whole */
};

/* Below 0: not known, as for all numbers here. */
struct nvml_reading {
    double percent; /* busy */
    double memory_bytes;
    double memory_percent;
    double celsius;
    double watts;
    double energy_j;      /* since the driver was loaded */
    double memory_errors; /* uncorrected, since the driver was loaded */
    double rows_pending;  /* 1: memory rows wait for a reset to be replaced */
    bool lost;            /* it has fallen off the bus, or needs a reset */
    bool silent;          /* nothing of it answers */
};

/* "A100" of "NVIDIA A100-SXM4-80GB", "RTX-4090" of "NVIDIA GeForce RTX 4090": what jobs ask for.
 * "" of "". */
void probe_gpu_type(const char *name, char *ret_type, size_t type_bytes);
/* Whether work can be given to a GPU that reads so, and has said this Xid last (0: none); if not,
 * why in one sentence. */
bool probe_gpu_is_well(const struct nvml_reading *reading, unsigned long long xid,
                       char ret_reason[PROBE_GPU_ILL_BYTES]);
/* An Xid after which the GPU cannot be trusted until it was reset; others are the fault of a
 * program. */
bool probe_xid_is_grave(unsigned long long xid);
/* What of the machine's memory is kept for the host where a GPU shares it. */
int64_t probe_host_reserve(int64_t machine_bytes);
