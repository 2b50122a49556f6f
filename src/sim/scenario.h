/* Faults that users of other schedulers have reported, each as a small story that must end well.
 * docs/internals/scheduler-reports.md has the list of reports by number. One thread at a time. */
#pragma once

#include "sim/state.h"

#define SCENARIO_FAULTS_MAX 32
#define SCENARIO_LINES_MAX  32

struct scenario {
    struct sim_world world;
    struct sim_options options;
    struct sim_fault faults[SCENARIO_FAULTS_MAX];
    struct sim_script_line lines[SCENARIO_LINES_MAX];
    struct sim *sim;
    char failure[SIM_TEXT_BYTES]; /* "": it held */
    uint64_t seed;
    bool log;
};

struct scenario_entry {
    int report;        /* number in the list of reports */
    const char *name;  /* NULL: a simulator cannot show it */
    const char *holds; /* what must hold, or why it cannot be shown */
    void (*play)(struct scenario *s);
};

/* The tables, one a file; together every report once or more. */
extern const struct scenario_entry scenarios_quota[], scenarios_order[], scenarios_victims[],
    scenarios_faults[];
extern const size_t scenario_quota_count, scenario_order_count, scenario_victim_count,
    scenario_fault_count;

/* ---- To write one. Times in seconds; jobs and scripts in the order in which they come. */

/* An organisation, a queue and a target without anything on it; checks on. */
void scenario_stage(struct scenario *s);
uint32_t scenario_project(struct scenario *s, int64_t weight, int64_t quota_gpus);
uint32_t scenario_nodes(struct scenario *s, uint32_t count, int64_t gpus);
struct scenario_ask {
    uint32_t nodes;
    int64_t gpus; /* on each */
};
#define ASK(nodes, gpus) ((struct scenario_ask){(nodes), (gpus)})
/* Its time limit is its run time and a second. */
uint32_t scenario_job(struct scenario *s, uint32_t share, struct scenario_ask ask, int64_t at,
                      int64_t run);
void scenario_fault(struct scenario *s, enum sim_fault_kind kind, uint32_t node, int64_t at,
                    int64_t lasts);
void scenario_script(struct scenario *s, int64_t at, void (*act)(struct sim *sim, int64_t value),
                     int64_t value);
void scenario_play(struct scenario *s);
void scenario_expect(struct scenario *s, bool holds, const char *format, ...) PRINTF_LIKE(3, 4);

/* ---- After it was played */

/* Seconds of its first start, rounded down; -1: never. */
int64_t scenario_started(const struct scenario *s, uint32_t job);
int64_t scenario_ended(const struct scenario *s, uint32_t job); /* -1: not yet */
enum job_state scenario_state(const struct scenario *s, uint32_t job);
/* All jobs are in this state. */
void scenario_expect_all(struct scenario *s, enum job_state state);
/* Of the jobs of a share: how many had started by then. */
uint32_t scenario_starts_by(const struct scenario *s, uint32_t share, int64_t second);
