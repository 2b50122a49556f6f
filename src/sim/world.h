/* What a simulation is about: hardware, the tree of projects, and the jobs that will come. Made by
 * a generator, a trace or a scenario; a simulation reads it and changes nothing, so that several
 * policies can be tried on the same world. Things name each other by their place, as in a snapshot
 * of the scheduler. One thread at a time. */
#pragma once

#include "sched/sched.h"

#define SIM_GIB (INT64_C(1) << 30)

struct sim_job_spec {
    time_ms at; /* submitted */
    uint32_t share, queue, shape;
    int64_t priority;
    int64_t run_ms;        /* what it has to do */
    int64_t limit_ms;      /* SCHED_UNLIMITED: none */
    int64_t checkpoint_ms; /* it resumes at a multiple of this; 0: it begins anew */
    int64_t retries;
    int exit_code;
    time_ms cancel_at;   /* TIME_NONE: never */
    uint32_t after;      /* the job that has to succeed before; SCHED_NONE */
    unsigned class;      /* of world->classes */
    uint32_t array;      /* elements of one have the same number; 0: of none */
    int64_t array_limit; /* of them at once */
};

struct sim_budget {
    int64_t gpu_ms, micro; /* a period; SCHED_UNLIMITED */
};

#define SIM_CLASSES_MAX 16

struct sim_world {
    struct arena arena;
    struct sched_share *shares;
    struct sim_budget *budgets; /* one a share */
    const char **share_names;
    struct sched_queue *queues;
    struct sched_target *targets;
    struct sched_node *nodes;
    struct sched_shape *shapes;
    struct sim_job_spec *jobs; /* by time, sim_world_sort */
    uint32_t share_count, queue_count, target_count, node_count, shape_count, job_count;
    size_t share_room, budget_room, name_room, queue_room, target_room, node_room, shape_room,
        job_room;
    const char *classes[SIM_CLASSES_MAX]; /* sizes of jobs, for figures about each */
    unsigned class_count;
    bool arrays;          /* some jobs are elements of one */
    int64_t period_ms;    /* of budgets; 0: none has one */
    int64_t min_run_ms;   /* an attempt is not ended for others before */
    int64_t grace_ms_max; /* what is told to end takes up to this */
    int64_t idle_ms;      /* what waits although nothing happened for so long will wait for ever */
};

void sim_world_init(struct sim_world *world);
void sim_world_release(struct sim_world *world);

/* Each returns the place of what it added. */
uint32_t sim_world_share(struct sim_world *world, const char *name, uint32_t parent,
                         int64_t weight);
uint32_t sim_world_queue(struct sim_world *world, int64_t priority);
uint32_t sim_world_target(struct sim_world *world);
/* `count` nodes with so many GPUs, 12 cores and 64 GiB for each of them (8 cores without GPUs);
 * the place of the first. */
uint32_t sim_world_nodes(struct sim_world *world, uint32_t target, uint32_t count, int64_t gpus);
/* The shape with this need, made if it is not there yet: that many nodes with these GPUs on each,
 * 2 cores and 4 GiB a GPU. */
uint32_t sim_world_shape(struct sim_world *world, uint32_t nodes, int64_t gpus);
/* A new shape with all it has. */
uint32_t sim_world_add_shape(struct sim_world *world, const struct sched_shape *shape);
/* In the first queue; further fields are the caller's to change. */
uint32_t sim_world_job(struct sim_world *world, uint32_t share, uint32_t shape, time_ms at,
                       int64_t run_ms);
/* Adds them up to the job's class by GPUs over all its nodes: "0", "1", "2-4", "5-8", "9+". */
void sim_world_classify(struct sim_world *world);
/* Jobs by the time at which they come, those of the same time as they were added. Their places
 * change: to be called before anything else names one, `after` is kept right. */
void sim_world_sort(struct sim_world *world);
/* GPUs that such a job holds, over all its nodes; saturated. */
int64_t sim_shape_gpus(const struct sched_shape *shape);
int64_t sim_job_gpus(const struct sim_world *world, const struct sim_job_spec *job);
