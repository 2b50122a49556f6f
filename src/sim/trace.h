/* Worlds read from tables: docs/simulator.md describes the columns. One thread at a time. */
#pragma once

#include "sim/world.h"

#include "base/err.h"

struct sim_trace_options {
    const char *nodes, *tasks; /* files */
    const char *shares;        /* a file, or NULL: every project hangs below the organisation */
    int64_t load_permille;     /* the times between arrivals are divided by it: 1000 leaves them */
    int64_t limit_permille;    /* a task without a limit gets so much of its run time; 0: none */
    int64_t projects;          /* of a trace that names none */
};

/* Our own columns. The world is initialised here, also on failure: release it. */
MUST_CHECK enum err_code sim_trace_read(const struct sim_trace_options *options,
                                        struct sim_world *ret_world, struct err *err);
/* Those of the public trace "cluster-trace-gpu-v2023". */
MUST_CHECK enum err_code sim_trace_read_openb(const struct sim_trace_options *options,
                                              struct sim_world *ret_world, struct err *err);
