/* A seeded source of numbers: the same seed gives the same simulation, byte for byte. Not for
 * secrets. thread: any */
#pragma once

#include "base/macros.h"

struct sim_rand {
    uint64_t state;
};

struct sim_rand sim_rand_from(uint64_t seed);
uint64_t sim_rand_next(struct sim_rand *rand);
/* From `low` to `high`, both included. */
int64_t sim_rand_range(struct sim_rand *rand, int64_t low, int64_t high);
bool sim_rand_chance(struct sim_rand *rand, int64_t permille);
/* Long tails, as run times have them: half lie below `median`, one in a hundred above 40 times it,
 * none above `max`. */
int64_t sim_rand_tail(struct sim_rand *rand, int64_t median, int64_t max);
