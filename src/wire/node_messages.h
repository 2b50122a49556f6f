/* What an agent says of its machine, as JSON (api/openapi.yaml: Node, AgentSamples): the one place
 * that knows how these messages look, for both sides. Decoding is strict and trusts nobody, as that
 * of agent_messages.h. A number that is not known is NaN here and null there. thread: any */
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/json.h"

#define WIRE_NODE_GPUS_MAX  64
#define WIRE_BOOT_LEN       12
#define WIRE_SAMPLES_MAX    60 /* in one call */
#define WIRE_SAMPLE_AGE_MAX (2 * 3600 * 1000)
#define WIRE_UUID_BYTES_MAX 95
#define WIRE_GPU_REASON_MAX 200
#define WIRE_NODE_TEXT_MAX  135

struct wire_gpu {
    struct str uuid, name, type, bus_id; /* all but uuid: len 0: not known */
    struct str memory_kind;              /* "dedicated", "unified" or "unknown" */
    int64_t memory_bytes;                /* 0: not known */
    bool mig;
    struct str ill;     /* why it cannot be trusted; len 0: it is well */
    struct str used_by; /* who else uses it; len 0: nobody */
};

struct wire_node {
    struct str host, os, kernel, arch, cpu_model, driver, cuda; /* len 0: not known */
    int64_t cpu_threads, memory_bytes, disk_bytes;
    int64_t host_reserve_bytes;
    const struct wire_gpu *gpus;
    size_t gpu_count;
};

enum wire_node_value { NODE_CPU, NODE_MEMORY, NODE_DISK, NODE_LOAD, NODE_VALUE_COUNT };
enum wire_gpu_value { GPU_PERCENT, GPU_MEMORY, GPU_CELSIUS, GPU_WATTS, GPU_VALUE_COUNT };

/* What an attempt took since the sample before. */
struct wire_sample_use {
    struct id attempt;
    uint64_t gpus; /* bit i: the GPU at place i of the message */
    int64_t energy_mj;
    double percent; /* of the busiest of them */
};

struct wire_sample {
    int64_t number;                  /* grows by one with each reading of a process */
    int64_t age_ms;                  /* when the call was made; clocks need not agree */
    double node[NODE_VALUE_COUNT];   /* percent, bytes used, bytes used, load */
    double (*gpus)[GPU_VALUE_COUNT]; /* percent, bytes used, degrees Celsius, watts */
    size_t gpu_count;
    const struct wire_sample_use *uses;
    size_t use_count;
};

struct wire_samples {
    struct str boot;
    const struct str *gpus; /* UUIDs */
    size_t gpu_count;
    const struct wire_sample *samples; /* by number */
    size_t sample_count;
};

void wire_node_encode(const struct wire_node *node, struct json_writer *w);
/* `path` goes before the names of fields in errors: "node.". */
MUST_CHECK enum err_code wire_node_decode(struct arena *arena, json_t *object, const char *path,
                                          struct wire_node *ret_node, struct err *err);
void wire_samples_encode(const struct wire_samples *samples, struct json_writer *w);
MUST_CHECK enum err_code wire_samples_decode(struct arena *arena, json_t *body,
                                             struct wire_samples *ret_samples, struct err *err);
