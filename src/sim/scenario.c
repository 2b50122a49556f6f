/* What the stories are told with. */
#include "sim/scenario.h"

#include <stdio.h>

#define SECOND 1000

void scenario_stage(struct scenario *s)
{
    sim_world_init(&s->world);
    (void)sim_world_share(&s->world, "organisation", SCHED_NONE, 1);
    (void)sim_world_queue(&s->world, 0);
    (void)sim_world_target(&s->world);
    s->world.min_run_ms = 60 * SECOND;
    s->options = sim_options_default();
    s->options.check = true;
    s->options.seed = s->seed;
    s->options.log = s->log;
    s->options.policy.reserve_after_ms = 60 * SECOND;
    s->options.policy.reservation_ms_max = 600 * SECOND;
    s->options.policy.evict_pause_ms = 600 * SECOND;
}

uint32_t scenario_project(struct scenario *s, int64_t weight, int64_t quota_gpus)
{
    uint32_t share = sim_world_share(&s->world, "project", 0, weight);

    s->world.shares[share].quota.v[RESOURCE_GPU] = quota_gpus;
    return share;
}

uint32_t scenario_nodes(struct scenario *s, uint32_t count, int64_t gpus)
{
    return sim_world_nodes(&s->world, 0, count, gpus);
}

uint32_t scenario_job(struct scenario *s, uint32_t share, struct scenario_ask ask, int64_t at,
                      int64_t run)
{
    uint32_t shape = sim_world_shape(&s->world, ask.nodes, ask.gpus);
    uint32_t job = sim_world_job(&s->world, share, shape, at * SECOND, run * SECOND);

    ENSURE(job == 0 || s->world.jobs[job - 1].at <= at * SECOND);
    s->world.jobs[job].limit_ms = (run + 1) * SECOND;
    return job;
}

void scenario_fault(struct scenario *s, enum sim_fault_kind kind, uint32_t node, int64_t at,
                    int64_t lasts)
{
    ENSURE(s->options.fault_count < SCENARIO_FAULTS_MAX);
    s->faults[s->options.fault_count++] =
        (struct sim_fault){.kind = kind, .node = node, .at = at * SECOND, .for_ms = lasts * SECOND};
}

void scenario_script(struct scenario *s, int64_t at, void (*act)(struct sim *sim, int64_t value),
                     int64_t value)
{
    ENSURE(s->options.script_count < SCENARIO_LINES_MAX);
    s->lines[s->options.script_count++] =
        (struct sim_script_line){.at = at * SECOND, .act = act, .value = value};
}

void scenario_play(struct scenario *s)
{
    s->options.faults = s->faults;
    s->options.script = s->lines;
    s->sim = sim_new(&s->world, &s->options);
    sim_run(s->sim);
    if (sim_violation(s->sim))
        scenario_expect(s, false, "%.400s", sim_violation(s->sim));
}

void scenario_expect(struct scenario *s, bool holds, const char *format, ...)
{
    va_list args;

    if (holds || s->failure[0])
        return;
    va_start(args, format);
    (void)vsnprintf(s->failure, sizeof s->failure, format, args);
    va_end(args);
}

int64_t scenario_started(const struct scenario *s, uint32_t job)
{
    time_ms at = s->sim->jobs[job].first_start;

    return at == TIME_NONE ? -1 : at / SECOND;
}

int64_t scenario_ended(const struct scenario *s, uint32_t job)
{
    const struct job *model = &s->sim->jobs[job].model;

    return job < s->sim->arrived && job_state_ended(model->state) ? model->ended / SECOND : -1;
}

enum job_state scenario_state(const struct scenario *s, uint32_t job)
{
    return s->sim->jobs[job].model.state;
}

void scenario_expect_all(struct scenario *s, enum job_state state)
{
    scenario_expect(s, s->sim->arrived == s->world.job_count, "not all jobs were submitted");
    for (uint32_t i = 0; i < s->sim->arrived; i++)
        scenario_expect(s, scenario_state(s, i) == state, "job %u is %s and not %s", i,
                        job_state_name(scenario_state(s, i)), job_state_name(state));
}

uint32_t scenario_starts_by(const struct scenario *s, uint32_t share, int64_t second)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->world.job_count; i++) {
        int64_t at = scenario_started(s, i);

        count += s->world.jobs[i].share == share && at >= 0 && at <= second;
    }
    return count;
}
