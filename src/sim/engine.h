/* A simulation: a world, a policy and what goes wrong, in virtual time. The scheduler and the life
 * of a job are the product's own code; server, network and agents around them are models that keep
 * the product's rules (leases, offers, fencing). The same world, options and seed give the same run
 * byte for byte. One thread at a time. */
#pragma once

#include "sim/world.h"

#include "base/err.h"

struct sim;

enum sim_fault_kind {
    SIM_FAULT_CUT,    /* the node's network: its work goes on */
    SIM_FAULT_DEAD,   /* the machine: its work is gone; it comes back empty */
    SIM_FAULT_AGENT,  /* the agent's process: its work goes on and is taken up again */
    SIM_FAULT_SERVER, /* the server: what is committed stays */
    SIM_FAULT_STORM,  /* messages get lost, doubled and late */
    SIM_FAULT_SKEW,   /* the node's clock is off by `amount` ppm */
    SIM_FAULT_TAKEN,  /* the provider takes the machine and says so; later there is another */
    SIM_FAULT_COUNT
};
const char *sim_fault_name(enum sim_fault_kind kind);

struct sim_fault {
    enum sim_fault_kind kind;
    uint32_t node;
    time_ms at;
    int64_t for_ms, amount;
};

struct sim_script_line {
    time_ms at;
    void (*act)(struct sim *sim, int64_t value);
    int64_t value;
};

struct sim_options {
    const char *name; /* of the policy */
    struct sched_policy policy;
    uint64_t seed;
    bool check; /* the properties, after every transaction */
    bool ideal; /* no heartbeats, no losses: for long traces */
    int64_t debounce_ms, period_ms;
    uint32_t depth; /* most cycles look at so many of those that wait alike; 0: all do at all */
    int64_t delay_min_ms, delay_max_ms; /* of a message */
    int64_t drop_permille, twice_permille;
    const struct sim_fault *faults;
    uint32_t fault_count;
    const struct sim_script_line *script;
    uint32_t script_count;
    time_ms stop_at; /* TIME_NONE: when all is over */
    bool log;        /* say on stdout what happens */
    bool series;     /* keep utilisation over time, for drawing */
};

struct sim_options sim_options_default(void);

/* The world has to live as long as the simulation. */
struct sim *sim_new(const struct sim_world *world, const struct sim_options *options);
void sim_free(struct sim *sim);
/* Until all is over, until `stop_at`, or until a property does not hold. */
void sim_run(struct sim *sim);
/* What did not hold, or NULL. Lives as long as the simulation. */
const char *sim_violation(const struct sim *sim);
