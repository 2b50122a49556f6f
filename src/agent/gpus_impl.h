/* What the files of gpus.h share. Folder-private. All of `struct agent_gpus` below `lock` is read
 * and written with the lock held; what is above belongs to the reading thread. */
#pragma once

#include "agent/gpus.h"
#include "model/job.h"
#include "probe/load.h"
#include "probe/machine.h"
#include "sys/thread.h"

#include <stdatomic.h>

#define GPUS_KEPT         WIRE_NODE_GPUS_MAX /* GPUs that were ever seen by this process */
#define GPUS_SAMPLES_MAX  360                /* an hour */
#define GPUS_IDLE_PERCENT 5.0

/* Stays at its place once it was seen, so that readings can be told by place. */
struct gpu_entry {
    struct probe_gpu what;
    char type[GPU_TYPE_BYTES_MAX + 1];
    bool present; /* the driver names it now */
    unsigned long long xid;
    char ill[PROBE_GPU_ILL_BYTES];         /* "": it is well */
    char used_by[WIRE_GPU_REASON_MAX + 1]; /* "": nobody else */
    struct nvml_reading now, before;       /* `before` is empty (percent NaN) at first */
};

/* What one attempt has. */
struct gpu_use {
    struct id attempt;
    uint64_t gpus;              /* bit i: entry i */
    int64_t began_ms, ended_ms; /* monotonic; ended 0: it goes on */
    double joules, unsent_joules;
    bool energy_known;
    double percent;        /* of the busiest, NaN: not known, or of one that may be busier */
    int64_t idle_since_ms; /* 0: not idle */
};

struct gpu_sample {
    int64_t number, at_ms; /* monotonic */
    double node[NODE_VALUE_COUNT];
    size_t gpu_count, use_count;
    double (*gpus)[GPU_VALUE_COUNT];
    struct wire_sample_use *uses;
};

struct agent_gpus {
    struct thread *thread;
    struct queue *wake;  /* something in it: look whether to stop */
    struct queue *fresh; /* something in it: a reading was made */
    struct queue *never; /* nothing in it, ever: to wait for a moment */
    char *nvml_path, *dir;
    int64_t period_ms;
    struct nvml *nvml;
    int64_t readings; /* made; the reading thread's */
    struct probe_load load;
    _Atomic bool stops;

    struct lock *lock;
    struct probe_machine machine;
    struct gpu_entry entries[GPUS_KEPT];
    size_t entry_count;
    int64_t version, read_ms; /* monotonic; 0: never */
    struct gpu_use uses[GPUS_KEPT];
    size_t use_count;
    struct gpu_sample samples[GPUS_SAMPLES_MAX]; /* a ring */
    size_t sample_first, sample_count;
    int64_t sample_number;
};

/* gpus_use.c: adds what was taken since the reading before to each use. */
void gpus__charge(struct agent_gpus *gpus, int64_t now_ms);

/* gpus_foreign.c: an attempt that may use a GPU now. */
struct gpu_owner {
    struct id attempt;
    uint64_t gpus;
};
/* Who uses a GPU although none of these attempts has it; "" : nobody. may block */
void gpus__foreign(const struct nvml_process *processes, int count, int entry,
                   const struct gpu_owner *owners, size_t owner_count,
                   char ret_text[WIRE_GPU_REASON_MAX + 1]);
/* The attempt that a process belongs to, by its environment or its parents'; false: none is named.
 * *ret_readable: the process and its environment could be looked at. */
bool gpus__attempt_of(int pid, struct id *ret_attempt, bool *ret_readable);

/* gpus_samples.c */
void gpus__sample_add(struct agent_gpus *gpus, const struct probe_value *values, size_t count,
                      int64_t now_ms);
void gpus__samples_free(struct agent_gpus *gpus);
