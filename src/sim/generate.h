/* Worlds made from a seed. One thread at a time. */
#pragma once

#include "sim/engine.h"
#include "sim/rand.h"

#include "base/err.h"

/* Name, what it is. */
struct sim_generator {
    const char *name, *about;
    void (*make)(struct sim_world *world, struct sim_rand *rand, int64_t scale);
};

/* All there are; NULL when the name is unknown. */
const struct sim_generator *sim_generators(size_t *ret_count);
const struct sim_generator *sim_generator_find(const char *name);

#define SIM_CHAOS_FAULTS_MAX 16
#define SIM_CHAOS_LINES_MAX  16

/* A small world with all kinds of limits, what goes wrong in it and what people change meanwhile.
 * Its options point into it, and the checks are on. */
struct sim_chaos {
    struct sim_world world;
    struct sim_options options;
    struct sim_fault faults[SIM_CHAOS_FAULTS_MAX];
    struct sim_script_line lines[SIM_CHAOS_LINES_MAX];
};
void sim_chaos_init(struct sim_chaos *chaos, uint64_t seed);
void sim_chaos_release(struct sim_chaos *chaos);
