/* Reports 34 to 57: double starts, agents that come and go, zombies, wrong ends, spot machines. */
#include "sim/scenario.h"

/* One job of a minute on one of two nodes, and two of ten minutes. */
static void three_jobs(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(1, 8), 0, 600);
    scenario_job(s, p, ASK(1, 8), 0, 600);
    scenario_job(s, p, ASK(1, 8), 1, 60);
}

static void messages_that_come_twice_start_once(struct scenario *s)
{
    three_jobs(s);
    s->options.twice_permille = 1000;
    s->options.delay_max_ms = 3000;
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    for (uint32_t i = 0; i < 3; i++)
        scenario_expect(s, s->sim->jobs[i].starts == 1, "job %u was started %u times", i,
                        s->sim->jobs[i].starts);
}

static void a_node_that_returns_keeps_nothing_replaced(struct scenario *s)
{
    three_jobs(s);
    scenario_fault(s, SIM_FAULT_CUT, 0, 100, 900);
    s->world.jobs[0].run_ms = s->world.jobs[1].run_ms = 3000 * 1000;
    s->world.jobs[0].limit_ms = s->world.jobs[1].limit_ms = SCHED_UNLIMITED;
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.losses == 1, "%lld attempts were given up",
                    (long long)s->sim->figures.losses);
}

static void late_heartbeats_lose_no_agent(struct scenario *s)
{
    three_jobs(s);
    s->options.delay_max_ms = 20000;
    s->options.drop_permille = 100;
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.losses == 0, "work of a living agent was given up");
}

static void what_is_given_up_is_given_up_once(struct scenario *s)
{
    three_jobs(s);
    scenario_fault(s, SIM_FAULT_DEAD, 0, 100, 3600);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.losses == 1, "the loss was counted %lld times",
                    (long long)s->sim->figures.losses);
    scenario_expect(s, scenario_started(s, 2) < 800, "the other node was not used");
}

static void a_late_end_of_fenced_work_has_no_effect(struct scenario *s)
{
    three_jobs(s);
    s->world.jobs[0].run_ms = 200 * 1000; /* it ends while nobody hears of it */
    s->world.jobs[0].exit_code = 0;
    scenario_fault(s, SIM_FAULT_CUT, 0, 100, 1000);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->jobs[0].starts == 2, "it was started %u times",
                    s->sim->jobs[0].starts);
    for (uint32_t i = 0; i < 2; i++)
        scenario_expect(s, s->sim->nodes[i].agent.work_count == 0, "node %u still holds work", i);
}

static void every_state_has_a_deadline(struct scenario *s)
{
    three_jobs(s);
    scenario_fault(s, SIM_FAULT_DEAD, 0, 0, 5000); /* offered, and nothing more is heard */
    scenario_fault(s, SIM_FAULT_STORM, 0, 0, 60);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_ended(s, 2) < 3000, "the last ended at %lld s",
                    (long long)scenario_ended(s, 2));
}

static void a_job_that_ended_never_starts_again(struct scenario *s)
{
    three_jobs(s);
    scenario_fault(s, SIM_FAULT_SERVER, 0, 605, 20);
    scenario_fault(s, SIM_FAULT_AGENT, 0, 604, 30);
    s->options.twice_permille = 500;
    s->options.delay_max_ms = 5000;
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    for (uint32_t i = 0; i < 3; i++)
        scenario_expect(s, s->sim->jobs[i].starts == 1, "job %u was started %u times", i,
                        s->sim->jobs[i].starts);
}

static void all_of_a_burst_start(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 0);
    for (int i = 0; i < 4; i++)
        scenario_job(s, p, ASK(1, 2), 10, 100);
    scenario_play(s);
    scenario_expect(s, scenario_starts_by(s, p, 11) == 4, "%u of 4 began",
                    scenario_starts_by(s, p, 11));
}

static void work_goes_on_while_its_agent_is_silent(struct scenario *s)
{
    three_jobs(s);
    scenario_fault(s, SIM_FAULT_CUT, 0, 100, 400);
    scenario_fault(s, SIM_FAULT_AGENT, 1, 100, 300);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.losses == 0, "work that went on was given up");
    scenario_expect(s, scenario_ended(s, 0) < 640, "the first ended at %lld s",
                    (long long)scenario_ended(s, 0));
}

static void work_that_went_while_its_agent_was_away_ends(struct scenario *s)
{
    three_jobs(s);
    s->world.jobs[0].run_ms = s->world.jobs[1].run_ms = 120 * 1000;
    scenario_fault(s, SIM_FAULT_AGENT, 0, 100, 60);
    scenario_fault(s, SIM_FAULT_AGENT, 1, 100, 60);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_ended(s, 0) < 180 && scenario_ended(s, 1) < 180,
                    "they ended at %lld and %lld s", (long long)scenario_ended(s, 0),
                    (long long)scenario_ended(s, 1));
}

static void a_minute_offline_costs_nothing(struct scenario *s)
{
    three_jobs(s);
    scenario_fault(s, SIM_FAULT_CUT, 0, 100, 90);
    scenario_fault(s, SIM_FAULT_CUT, 1, 300, 90);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.losses == 0, "work was given up");
    scenario_expect(s, scenario_ended(s, 2) < 670, "a node stayed away until %lld s",
                    (long long)scenario_ended(s, 2));
}

static void take_machine(struct sim *sim, int64_t node)
{
    sim__agent_power(sim, (uint32_t)node, false);
    sim__machine_gone(sim, (uint32_t)node);
}

static void a_machine_that_goes_as_it_takes_a_job(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    s->options.delay_min_ms = s->options.delay_max_ms = 1000;
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(1, 8), 9, 100);
    scenario_job(s, p, ASK(1, 8), 9, 100);
    scenario_script(s, 10, take_machine, 0); /* the offer is on its way */
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.losses == 0, "a job that had not begun counts as lost");
}

static void a_restart_of_the_server_changes_no_verdict(struct scenario *s)
{
    three_jobs(s);
    s->world.jobs[1].exit_code = 1;
    scenario_fault(s, SIM_FAULT_SERVER, 0, 300, 60);
    scenario_fault(s, SIM_FAULT_SERVER, 0, 595, 30); /* they end meanwhile */
    scenario_play(s);
    scenario_expect(s, scenario_state(s, 0) == JOB_SUCCEEDED, "exit code 0 is %s",
                    job_state_name(scenario_state(s, 0)));
    scenario_expect(s, scenario_state(s, 1) == JOB_FAILED, "exit code 1 is %s",
                    job_state_name(scenario_state(s, 1)));
}

static void work_that_died_is_no_success(struct scenario *s)
{
    three_jobs(s);
    s->world.jobs[0].retries = s->world.jobs[1].retries = 0;
    scenario_fault(s, SIM_FAULT_DEAD, 0, 100, 30);
    scenario_fault(s, SIM_FAULT_AGENT, 1, 100, 30); /* this one only restarts */
    scenario_play(s);
    scenario_expect(s, s->sim->figures.losses == 1, "%lld attempts were lost",
                    (long long)s->sim->figures.losses);
    scenario_expect(s, (scenario_state(s, 0) == JOB_FAILED) != (scenario_state(s, 1) == JOB_FAILED),
                    "the jobs are %s and %s", job_state_name(scenario_state(s, 0)),
                    job_state_name(scenario_state(s, 1)));
}

static void a_time_limit_frees_what_was_held(struct scenario *s)
{
    three_jobs(s);
    s->world.jobs[0].limit_ms = 50 * 1000;
    scenario_play(s);
    scenario_expect(s, scenario_state(s, 0) == JOB_FAILED, "it is %s past its limit",
                    job_state_name(scenario_state(s, 0)));
    scenario_expect(s, scenario_started(s, 2) < 60, "the next began at %lld s",
                    (long long)scenario_started(s, 2));
}

static void a_rebooted_node_gives_nothing_twice(struct scenario *s)
{
    three_jobs(s);
    for (int i = 0; i < 5; i++)
        scenario_fault(s, SIM_FAULT_DEAD, 0, 50 + i * 100, 5);
    s->world.jobs[0].retries = s->world.jobs[1].retries = 20;
    s->world.jobs[2].retries = 20;
    scenario_play(s); /* that no GPU is used twice is a property of every step */
    scenario_expect_all(s, JOB_SUCCEEDED);
}

static void a_taken_machine_moves_on_to_the_next_step(struct scenario *s)
{
    struct sched_step *steps;
    struct sched_shape shape;
    uint32_t p, reserved;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    s->world.targets[0].spot = true;
    reserved = sim_world_target(&s->world);
    (void)sim_world_nodes(&s->world, reserved, 1, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(1, 8), 0, 600);
    shape = s->world.shapes[s->world.jobs[0].shape];
    steps = arena_array(&s->world.arena, 2, sizeof *steps);
    steps[0] = (struct sched_step){0, 7200 * 1000};
    steps[1] = (struct sched_step){reserved, SCHED_UNLIMITED};
    shape.steps = steps;
    shape.step_count = 2;
    s->world.jobs[0].shape = sim_world_add_shape(&s->world, &shape);
    scenario_script(s, 300, take_machine, 0);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_ended(s, 0) < 920, "it ended at %lld s",
                    (long long)scenario_ended(s, 0));
}

static void a_lost_rank_ends_its_gang_alone(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 4, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(3, 8), 0, 300);
    scenario_job(s, p, ASK(1, 8), 0, 2000);
    scenario_fault(s, SIM_FAULT_DEAD, 1, 100, 30);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->jobs[0].starts == 2, "the gang was started %u times",
                    s->sim->jobs[0].starts);
    scenario_expect(s, s->sim->jobs[1].starts == 1, "another job was ended with it");
}

#define CLOUDS "orders of machines are the clouds' own model and tests"

const struct scenario_entry scenarios_faults[] = {
    {34, "messages_that_come_twice_start_once",
     "one part owns the state: doubled messages start nothing twice",
     messages_that_come_twice_start_once},
    {35, "a_node_that_returns_keeps_nothing_replaced",
     "work that was replaced is fenced when its node returns",
     a_node_that_returns_keeps_nothing_replaced},
    {36, "late_heartbeats_lose_no_agent",
     "heartbeats that are late or lost now and then lose no work", late_heartbeats_lose_no_agent},
    {37, "what_is_given_up_is_given_up_once", "an expired lease is handled once, not at every look",
     what_is_given_up_is_given_up_once},
    {38, "a_late_end_of_fenced_work_has_no_effect",
     "a report nobody waits for is answered and forgotten",
     a_late_end_of_fenced_work_has_no_effect},
    {39, "every_state_has_a_deadline",
     "an offer or a start nobody hears of again is tried elsewhere", every_state_has_a_deadline},
    {40, "a_job_that_ended_never_starts_again", "whatever is repeated or restarted after its end",
     a_job_that_ended_never_starts_again},
    {41, "all_of_a_burst_start", "four jobs at once are four starts", all_of_a_burst_start},
    {42, "work_goes_on_while_its_agent_is_silent", "silence shorter than the lease costs nothing",
     work_goes_on_while_its_agent_is_silent},
    {42, "work_that_went_while_its_agent_was_away_ends",
     "what ended meanwhile is told when the agent is back",
     work_that_went_while_its_agent_was_away_ends},
    {43, NULL,
     "which thread of a busy machine gets the CPU is not modelled; late renewals are 36 and 42",
     NULL},
    {44, "a_minute_offline_costs_nothing", "a host that was away for a minute is used again",
     a_minute_offline_costs_nothing},
    {45, NULL, CLOUDS, NULL},
    {46, NULL, CLOUDS, NULL},
    {47, "a_machine_that_goes_as_it_takes_a_job", "the job goes elsewhere and has lost nothing",
     a_machine_that_goes_as_it_takes_a_job},
    {48, NULL, CLOUDS, NULL},
    {49, "a_restart_of_the_server_changes_no_verdict", "how it ended is what its exit code says",
     a_restart_of_the_server_changes_no_verdict},
    {50, NULL,
     "text of jobs is not modelled; the agent's tests hold the end back until it is stored", NULL},
    {51, NULL, "as 50: the text has its own path, the state does not depend on it", NULL},
    {52, "work_that_died_is_no_success", "an agent that goes makes nothing succeed",
     work_that_died_is_no_success},
    {53, "a_time_limit_frees_what_was_held", "past its limit it holds nothing",
     a_time_limit_frees_what_was_held},
    {54, "a_rebooted_node_gives_nothing_twice", "a node that restarts again and again",
     a_rebooted_node_gives_nothing_twice},
    {55, NULL,
     "what a container sees is the executor's; that no GPU is given twice is looked at in every "
     "step",
     NULL},
    {56, "a_taken_machine_moves_on_to_the_next_step",
     "a reclaimed spot machine is proof, and the next target's turn",
     a_taken_machine_moves_on_to_the_next_step},
    {56, "a_lost_rank_ends_its_gang_alone", "the gang starts anew whole, others go on",
     a_lost_rank_ends_its_gang_alone},
    {57, NULL, "names and connections between ranks are not modelled; a gang is replaced whole",
     NULL},
};
const size_t scenario_fault_count = ARRAY_LEN(scenarios_faults);
