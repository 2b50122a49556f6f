/* Policies by name, to be tried side by side. One thread at a time. */
#pragma once

#include "sim/engine.h"

struct sim_policy {
    const char *name, *about;
    unsigned parts; /* of enum sched_part */
    bool fgd;       /* nodes by fragmentation gradient descent */
};

const struct sim_policy *sim_policies(size_t *ret_count);
const struct sim_policy *sim_policy_find(struct str name); /* NULL: unknown */
/* Sets the options' policy. What it needs lives in `arena`; the world must live as long. */
void sim_policy_use(const struct sim_policy *policy, const struct sim_world *world,
                    struct sim_options *options, struct arena *arena);
