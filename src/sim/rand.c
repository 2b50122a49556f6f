/* SplitMix64 by its published constants. Integers alone, so that every machine gives the same. */
#include "sim/rand.h"

struct sim_rand sim_rand_from(uint64_t seed)
{
    struct sim_rand rand = {seed};

    /* Not a place in the one sequence that all seeds would share. */
    rand.state = sim_rand_next(&rand) * UINT64_C(0xd1342543de82ef95);
    return rand;
}

uint64_t sim_rand_next(struct sim_rand *rand)
{
    uint64_t z = rand->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int64_t sim_rand_range(struct sim_rand *rand, int64_t low, int64_t high)
{
    ENSURE(low <= high);
    return low + (int64_t)(sim_rand_next(rand) % ((uint64_t)(high - low) + 1));
}

bool sim_rand_chance(struct sim_rand *rand, int64_t permille)
{
    return (int64_t)(sim_rand_next(rand) % 1000) < permille;
}

int64_t sim_rand_tail(struct sim_rand *rand, int64_t median, int64_t max)
{
    int64_t value = median * sim_rand_range(rand, 500, 1000) / 1000;

    if (sim_rand_chance(rand, 500)) {
        value = median;
        for (int i = 0; i < 20 && sim_rand_chance(rand, 480); i++)
            value = value > max / 2 ? max : value * 2;
        value += value * sim_rand_range(rand, 0, 1000) / 1000;
    }
    return value < 1 ? 1 : value > max ? max : value;
}
