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

/* A small world with all kinds of limits, and what goes wrong in it; `ret_faults` has room for
 * SIM_CHAOS_FAULTS_MAX. Options are set up for it with the checks on. */
#define SIM_CHAOS_FAULTS_MAX 16
void sim_chaos(struct sim_world *world, uint64_t seed, struct sim_fault *ret_faults,
               struct sim_options *ret_options);
