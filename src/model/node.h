/* Nodes: the machines that agents stand on, their GPUs, and what was read of them. thread: any */
#pragma once

#include "base/id.h"
#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"

#include <stdint.h>

#define NODE_GPUS_MAX   64 /* places of an agent: those of GPUs long gone are given away again */
#define NODE_KEEP_MS    (INT64_C(7) * 24 * 3600 * 1000)
#define NODE_HOUR_MS    (INT64_C(3600) * 1000)
#define NODE_SERIES     4    /* numbers of the machine in a reading, and as many of each GPU */
#define NODE_GAP_MS_MIN 5000 /* between two readings of an agent: what comes faster is left out */

struct node {
    agent_id agent;
    struct str facts; /* JSON object, as the agent said */
    struct str boot;  /* of the process that sent the last readings */
    int64_t sample_number;
    time_ms sampled; /* of the newest reading; 0: none yet */
    time_ms packed;  /* readings before it lie in whole hours */
};

struct node_gpu {
    int place; /* stays the same as long as it is there */
    struct str uuid, name, type, bus_id, memory_kind;
    int64_t memory_bytes;
    bool mig;
    struct str ill;     /* why it is not offered; len 0: it is well */
    time_ms ill_since;  /* TIME_NONE */
    struct str used_by; /* others than jobs; len 0: nobody */
    time_ms seen;
    bool present; /* the agent names it now */
};

/* One reading: numbers of the machine (enum wire_node_value), then of each place (enum
 * wire_gpu_value). NaN: not known. */
struct node_sample {
    time_ms at;
    int places;
    double values[NODE_SERIES * (1 + NODE_GPUS_MAX)];
};

/* What an attempt had of an agent's GPUs. */
struct node_use {
    struct id attempt, job;
    struct str job_name, project_name;
    project_id project;
    struct str places; /* JSON list of numbers */
    time_ms first, last;
    time_ms ended; /* TIME_NONE: it runs */
    int64_t energy_mj;
};

/* What an agent holds now. */
struct node_job {
    struct id job, attempt;
    struct str name, project_name, state, places;
    project_id project;
    time_ms started, idle; /* TIME_NONE */
    int64_t cpus, gpus, energy_mj;
};
