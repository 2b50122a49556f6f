/* The inside of a simulation: what the server knows and what is true at the agents, apart.
 * One thread at a time. */
#pragma once

#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/rand.h"

#include "domain/jobs/jobs_plan.h"
#include "domain/jobs/jobs_state.h"

#define SIM_HEARTBEAT_MS   10000
#define SIM_UNREACHABLE_MS 60000
#define SIM_LOST_AFTER_MS  600000
#define SIM_OFFER_MS       30000
#define SIM_TEXT_BYTES     512
#define SIM_PERIODS_MAX    256

/* ---- What is on the wire */

enum sim_message_kind {
    /* to the agent */
    SIM_OFFER,
    SIM_GO,     /* all ranks are accepted: start */
    SIM_STOP,   /* end it, and say how it ended */
    SIM_FENCED, /* not yours any more: kill it */
    SIM_ACK,    /* its end is recorded: forget it */
    /* to the server */
    SIM_REPORT, /* one piece of work changed */
    SIM_STATE,  /* all work that the agent holds: the heartbeat */
};

enum sim_work_state { SIM_WORK_ACCEPTED, SIM_WORK_RUNNING, SIM_WORK_ENDED };

/* A rank of an attempt at its node. */
struct sim_work {
    uint32_t attempt, rank;
    enum sim_work_state state;
    time_ms started;
    int64_t run_ms; /* when it has ended */
    int exit_code;
    bool stopped, timed_out; /* by STOP; by its time limit */
    uint64_t timer;          /* which SIM_WORK_END is its own */
};

struct sim_message {
    enum sim_message_kind kind;
    uint32_t node, epoch;
    uint64_t serial; /* counts what an agent sent since its epoch began */
    uint32_t attempt, rank;
    int64_t left_ms, limit_ms; /* of SIM_OFFER */
    struct sim_work *works;    /* of SIM_REPORT one, of SIM_STATE all; owned */
    uint32_t work_count;
};

/* ---- The agents */

struct sim_agent {
    bool powered, up; /* the machine; the agent's process on it */
    uint32_t cut;     /* faults that keep its messages away */
    uint32_t epoch;
    uint64_t serial;
    int64_t skew_ppm;
    struct sim_work *works;
    uint32_t work_count;
    size_t work_room;
    uint64_t *tombs; /* attempt and rank of what it has ended: never begun again */
    uint32_t tomb_count;
    size_t tomb_room;
    uint32_t poll_epoch; /* the chain of heartbeats that is alive */
};

/* ---- What the server keeps */

enum sim_place_state {
    SIM_PLACE_OFFERED,
    SIM_PLACE_ACCEPTED,
    SIM_PLACE_GO,
    SIM_PLACE_RUNNING,
    SIM_PLACE_ENDED,
};

struct sim_place {
    uint32_t node;
    enum sim_place_state state;
    bool zombie; /* given up, but its end is not proven: it holds its room */
    time_ms started;
    int64_t run_ms;
};

struct sim_attempt {
    struct attempt model;
    uint32_t job, place_count;
    struct sim_place *places;
    uint32_t *nodes;
    uint32_t accepted, running, ended, clean; /* clean: exit code 0 by itself */
    bool open, stopping, timed_out;
    enum ending why; /* of the first proven end, or why it is being ended */
    int exit_code;
    int64_t left_ms; /* what it has to do */
    uint32_t view;   /* its place in sim->attempts */
};

struct sim_job {
    struct job model;
    const struct sim_job_spec *spec;
    uint32_t attempt; /* SCHED_NONE */
    uint32_t view;    /* its place in sim->queue; SCHED_NONE: not there */
    uint32_t after_first, after_next;
    int64_t done_ms;
    time_ms first_start, last_start; /* TIME_NONE */
    int64_t waited_ms;               /* over all its attempts */
    time_ms waiting_since;
    uint32_t starts, evicted, lost;
};

struct sim_holding {
    uint32_t attempt, rank;
};

struct sim_node {
    struct sched_amounts held, zombies;
    time_ms seen;
    uint32_t epoch;
    uint64_t serial;
    struct sim_holding *holds; /* open places and zombies */
    uint32_t hold_count;
    size_t hold_room;
    struct sim_agent agent;
};

struct sim_usage {
    struct sched_amounts amounts;
    int64_t jobs;
    int64_t gpu_ms[SIM_PERIODS_MAX];   /* charged, by period */
    int64_t price_ms[SIM_PERIODS_MAX]; /* micro an hour, times milliseconds */
};

/* ---- Figures */

struct sim_sample {
    time_ms at;
    int64_t gpus_used, gpus_total;
};

struct sim_figures {
    time_ms sampled; /* up to here it is added up */
    bool begun, saturated;
    int64_t gpus_used, gpus_total, unusable; /* since then */
    __int128 used_gpu_ms, total_gpu_ms, idle_gpu_ms, used_window, total_window, unusable_gpu_ms,
        saturated_gpu_ms, saturated_used_gpu_ms;
    int64_t saturated_ms;
    int64_t *used, *asked, *due; /* by share, as sampled; GPUs in thousandths for due */
    __int128 *got_ms, *due_ms;
    int64_t evictions, losses, lost_gpu_ms, cycles, starts, withdrawn;
    int64_t cycle_ns_max, cycle_ns;
    struct sim_sample *series;
    size_t series_count, series_room;
};

struct sim {
    const struct sim_world *world;
    struct sim_options options;
    struct arena arena; /* as long as the simulation */
    struct arena tick;  /* one event */
    struct arena held;  /* reservations of the last cycle */
    struct sim_heap heap;
    struct sim_rand rand;
    time_ms now, last_at; /* last_at: what comes by itself is over then */
    time_ms changed;      /* when something happened to a job last */
    char violation[SIM_TEXT_BYTES];

    struct sched_share *shares;
    struct sched_queue *queues;
    struct sched_target *targets;
    struct sched_node *node_views;
    struct sched_job *queue;
    struct sched_attempt *attempts;
    struct sched_reservation *reservations;
    struct sched_eviction *evictions;
    uint32_t queue_count, attempt_view_count, reservation_count, eviction_count;
    size_t queue_room, view_room, eviction_room;

    struct sim_node *nodes;
    struct sim_job *jobs;
    struct sim_attempt **all; /* every attempt there was */
    uint32_t attempt_count;
    size_t attempt_room;
    struct sim_usage *usage; /* by share, with all below it */
    uint32_t arrived, ended, zombies;

    bool down, cycle_armed, tick_armed, over;
    bool dirty; /* something has changed since the last look at all of it */
    uint32_t downs, storms;
    time_ms cycled, all_due; /* all_due: a cycle looks at all that wait again */
    uint64_t timer;
    struct sim_message *spare;
    struct sim_figures figures;
    bool limits_cut; /* a scenario lowered one: what runs may be above it */
};

/* engine.c */
void sim__fail(struct sim *sim, const char *format, ...) PRINTF_LIKE(2, 3);
void sim__wake(struct sim *sim);
void sim__log(const struct sim *sim, const char *format, ...) PRINTF_LIKE(2, 3);

/* net.c */
struct sim_message *sim__message(struct sim *sim, enum sim_message_kind kind, uint32_t node);
void sim__message_free(struct sim *sim, struct sim_message *message);
void sim__send(struct sim *sim, struct sim_message *message); /* takes it */
void sim__deliver(struct sim *sim, struct sim_message *message);

/* agent.c: what the agents do */
void sim__agent_receive(struct sim *sim, const struct sim_message *message);
void sim__agent_poll(struct sim *sim, uint32_t node);
void sim__agent_start_polls(struct sim *sim, uint32_t node);
void sim__agent_work_end(struct sim *sim, uint32_t node, uint64_t timer);
void sim__agent_power(struct sim *sim, uint32_t node, bool on);
void sim__agent_process(struct sim *sim, uint32_t node, bool on);

/* server.c: commands, each one transaction */
void sim__submit(struct sim *sim, uint32_t job);
void sim__cancel(struct sim *sim, uint32_t job);
void sim__receive(struct sim *sim, const struct sim_message *message);
void sim__tick(struct sim *sim);
void sim__evict(struct sim *sim, uint32_t attempt, enum ending why);
/* The provider has taken the machine: proof that its work is gone. */
void sim__machine_gone(struct sim *sim, uint32_t node);
void sim__reprioritise(struct sim *sim, uint32_t job, int64_t priority);

/* life.c: states of jobs and what is held for them */
void sim__life(struct sim *sim, uint32_t job, const struct job_event *event);
struct job_event sim__event(enum job_event_kind kind);
void sim__start(struct sim *sim, uint32_t job, const struct sched_start *start);
void sim__close(struct sim *sim, struct sim_attempt *attempt, const struct job_event *event);
void sim__let_go(struct sim *sim, uint32_t attempt, uint32_t rank);
void sim__enqueue(struct sim *sim, uint32_t job);
void sim__dequeue(struct sim *sim, uint32_t job);
/* What one rank on the node costs, in micro an hour. */
int64_t sim__price(const struct sim *sim, uint32_t node, const struct sched_shape *shape);
int64_t sim__commit_price(const struct sim *sim, uint32_t share, time_ms from, time_ms to);
int64_t sim__commit(const struct sim *sim, uint32_t share, time_ms from, time_ms to);

/* cycle.c */
void sim__cycle(struct sim *sim);
void sim__fill_budgets(struct sim *sim);

/* pick.c */
/* Fills in the jobs that the cycle looks at; the place of each in sim->queue goes to ret_places.
 * True: there are more that wait like some of these. */
bool sim__pick(struct sim *sim, struct sched_snapshot *snapshot, uint32_t *ret_places);
/* What the cycle says of its jobs, by their places in sim->queue. */
void sim__place_back(struct sched_result *result, const uint32_t *places);

/* check.c */
void sim__check(struct sim *sim);
void sim__check_order(struct sim *sim, const struct sched_result *result);
void sim__check_evicts(struct sim *sim, const struct sched_result *result);
void sim__check_idle(struct sim *sim);
bool sim__fits_alone(const struct sim *sim, uint32_t job);

/* figures.c */
void sim__figures_init(struct sim *sim);
/* The shape of the first in line that waits for hardware, SCHED_NONE: nobody does. */
uint32_t sim__head(const struct sim *sim, const struct sched_result *result);
void sim__sample(struct sim *sim, uint32_t head);
