/* Reports 27 to 33: whose work is ended for whom, gangs, fragmentation. */
#include "sim/scenario.h"

static void victims_that_end_apart_are_ended_once(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    a = scenario_project(s, 1, 0);
    b = scenario_project(s, 1, 16);
    scenario_job(s, a, ASK(1, 8), 0, 2000);
    scenario_job(s, a, ASK(1, 8), 0, 2000);
    scenario_fault(s, SIM_FAULT_CUT, 1, 99, 40); /* one of them hears of it late */
    scenario_job(s, b, ASK(2, 8), 100, 100);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.evictions == 2, "%lld attempts were ended for it",
                    (long long)s->sim->figures.evictions);
}

static void two_projects_do_not_end_each_other_in_turn(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 11, 1);
    a = scenario_project(s, 1, 5);
    b = scenario_project(s, 1, 5);
    s->world.min_run_ms = 0;
    for (int i = 0; i < 4; i++)
        scenario_job(s, a, ASK(2, 1), 0, 900); /* gangs of two do not fit into five */
    for (int i = 0; i < 4; i++)
        scenario_job(s, b, ASK(2, 1), 1, 900);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.evictions <= 2, "%lld attempts were ended",
                    (long long)s->sim->figures.evictions);
}

static void no_more_victims_than_needed(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 4, 8);
    a = scenario_project(s, 1, 0);
    b = scenario_project(s, 1, 16);
    for (int i = 0; i < 16; i++)
        scenario_job(s, a, ASK(1, 2), 0, 2000);
    scenario_job(s, b, ASK(1, 8), 100, 100);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.evictions == 4, "%lld attempts were ended where 4 do",
                    (long long)s->sim->figures.evictions);
    scenario_expect(s, scenario_started(s, 16) < 120, "and it began at %lld s",
                    (long long)scenario_started(s, 16));
}

static void what_may_not_be_ended_does_not_stop_the_search(struct scenario *s)
{
    uint32_t a, b, c;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    a = scenario_project(s, 1, 8); /* within its quota */
    b = scenario_project(s, 1, 0);
    c = scenario_project(s, 1, 8);
    scenario_job(s, a, ASK(1, 8), 0, 1000);
    scenario_job(s, b, ASK(1, 8), 1, 1000);
    scenario_job(s, c, ASK(1, 8), 100, 100);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->jobs[0].evicted == 0, "an innocent was ended");
    scenario_expect(s, s->sim->jobs[1].evicted == 1, "the borrower was not");
}

static void two_gangs_do_not_hold_half_each(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 100, 8);
    a = scenario_project(s, 1, 0);
    b = scenario_project(s, 1, 0);
    scenario_job(s, a, ASK(100, 8), 0, 60);
    scenario_job(s, b, ASK(100, 8), 0, 60);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_ended(s, 0) < 130 && scenario_ended(s, 1) < 130,
                    "they ended at %lld and %lld s", (long long)scenario_ended(s, 0),
                    (long long)scenario_ended(s, 1));
}

static void a_gang_that_lost_a_node_goes_before_newer_jobs(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 4, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(4, 8), 0, 300);
    for (int i = 0; i < 20; i++)
        scenario_job(s, p, ASK(1, 8), 10, 100);
    scenario_fault(s, SIM_FAULT_DEAD, 3, 100, 30);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_ended(s, 0) < 900, "the gang ended at %lld s",
                    (long long)scenario_ended(s, 0));
}

static void room_in_sum_is_not_room_on_a_node(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 16);
    scenario_job(s, p, ASK(1, 5), 0, 300);
    scenario_job(s, p, ASK(1, 5), 0, 400);
    scenario_job(s, p, ASK(1, 6), 1, 50); /* six are free, three and three */
    scenario_job(s, p, ASK(1, 3), 2, 50);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, 2) >= 300, "it began where it does not fit");
    scenario_expect(s, scenario_started(s, 3) < 5, "what fits had to wait for it");
}

static void places_on_a_node_are_counted(struct scenario *s)
{
    uint32_t p, node;

    scenario_stage(s);
    node = scenario_nodes(s, 1, 8);
    s->world.nodes[node].total.v[RESOURCE_SLOT] = s->world.nodes[node].free.v[RESOURCE_SLOT] = 2;
    p = scenario_project(s, 1, 0);
    for (int i = 0; i < 4; i++)
        scenario_job(s, p, ASK(1, 1), 0, 50);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_starts_by(s, p, 45) == 2, "%u ran on a node with two places",
                    scenario_starts_by(s, p, 45));
}

const struct scenario_entry scenarios_victims[] = {
    {27, "victims_that_end_apart_are_ended_once",
     "room of the first to end is kept until the last has ended",
     victims_that_end_apart_are_ended_once},
    {28, "two_projects_do_not_end_each_other_in_turn", "gangs that overshoot a quota start no loop",
     two_projects_do_not_end_each_other_in_turn},
    {29, "no_more_victims_than_needed",
     "the victims lie on one node, and none is ended for nothing", no_more_victims_than_needed},
    {30, "what_may_not_be_ended_does_not_stop_the_search",
     "an innocent first candidate does not end the search",
     what_may_not_be_ended_does_not_stop_the_search},
    {31, "two_gangs_do_not_hold_half_each", "a gang holds all its nodes or none",
     two_gangs_do_not_hold_half_each},
    {32, "a_gang_that_lost_a_node_goes_before_newer_jobs",
     "its age brings it back before those behind it",
     a_gang_that_lost_a_node_goes_before_newer_jobs},
    {33, "room_in_sum_is_not_room_on_a_node",
     "quota fits and no node does: it waits and blocks nobody", room_in_sum_is_not_room_on_a_node},
    {33, "places_on_a_node_are_counted", "a node takes no more jobs than it has places for",
     places_on_a_node_are_counted},
};
const size_t scenario_victim_count = ARRAY_LEN(scenarios_victims);
