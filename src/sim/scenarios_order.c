/* Reports 16 to 26: starvation, order, inversion. */
#include "sim/scenario.h"

/* A stream of small jobs that alone would keep the cluster full for ever. */
static void small_stream(struct scenario *s, uint32_t share, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to; at += 10) {
        scenario_job(s, share, ASK(1, 1), at, 100);
        scenario_job(s, share, ASK(1, 1), at, 100);
    }
}

static void a_gang_is_not_starved_by_small_jobs(struct scenario *s)
{
    uint32_t p, gang;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 0);
    small_stream(s, p, 0, 200);
    gang = scenario_job(s, p, ASK(2, 8), 200, 50);
    small_stream(s, p, 200, 1200);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, gang) < 420, "the gang began at %lld s",
                    (long long)scenario_started(s, gang));
}

static void a_large_job_is_not_starved_within_its_project(struct scenario *s)
{
    uint32_t p, large;

    scenario_stage(s);
    scenario_nodes(s, 4, 8); /* the hardware is half empty: its quota is what is short */
    p = scenario_project(s, 1, 16);
    s->world.shares[p].borrow.v[RESOURCE_GPU] = 0;
    small_stream(s, p, 0, 200);
    large = scenario_job(s, p, ASK(2, 8), 200, 50);
    small_stream(s, p, 200, 1200);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, large) < 420, "the large one began at %lld s",
                    (long long)scenario_started(s, large));
}

static void waiting_raises_priority(struct scenario *s)
{
    uint32_t p, low;

    scenario_stage(s);
    scenario_nodes(s, 1, 2);
    s->world.queues[0].aging_ms = 60 * 1000;
    p = scenario_project(s, 1, 0);
    s->options.policy.parts &= ~(unsigned)SCHED_OUTRANK;
    scenario_job(s, p, ASK(1, 2), 0, 20);
    low = scenario_job(s, p, ASK(1, 2), 1, 20);
    for (int64_t at = 2; at < 800; at += 10) {
        uint32_t high = scenario_job(s, p, ASK(1, 2), at, 20);

        s->world.jobs[high].priority = 5;
    }
    scenario_play(s);
    scenario_expect(s, scenario_started(s, low) > 100, "aging came too early");
    scenario_expect(s, scenario_started(s, low) < 800, "the low job began at %lld s",
                    (long long)scenario_started(s, low));
}

static void every_release_wakes_the_waiting(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(1, 8), 0, 100);
    scenario_job(s, p, ASK(1, 8), 1, 10);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, 1) - scenario_ended(s, 0) <= 1,
                    "%lld s passed until the next began",
                    (long long)(scenario_started(s, 1) - scenario_ended(s, 0)));
}

static void many_that_all_fit_start_at_once(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 100, 8);
    p = scenario_project(s, 1, 0);
    for (int i = 0; i < 800; i++)
        scenario_job(s, p, ASK(1, 1), 10, 30);
    scenario_play(s);
    scenario_expect(s, scenario_starts_by(s, p, 11) == 800, "%u had begun a second later",
                    scenario_starts_by(s, p, 11));
}

static void held_room_does_not_block_a_higher_priority(struct scenario *s)
{
    uint32_t p, gang, high;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 0);
    s->options.policy.parts &= ~(unsigned)SCHED_OUTRANK;
    scenario_job(s, p, ASK(1, 8), 0, 200);
    scenario_job(s, p, ASK(1, 8), 0, 400);
    gang = scenario_job(s, p, ASK(2, 8), 1, 100);
    high = scenario_job(s, p, ASK(1, 8), 150, 300);
    s->world.jobs[high].priority = 9;
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, high) <= 201, "the higher one began at %lld s",
                    (long long)scenario_started(s, high));
    scenario_expect(s, scenario_started(s, gang) >= 500, "the gang passed the higher one");
}

static void raise(struct sim *sim, int64_t job)
{
    sim__reprioritise(sim, (uint32_t)job, 9);
}

static void a_priority_changed_while_waiting_counts(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 0);
    s->options.policy.parts &= ~(unsigned)SCHED_OUTRANK;
    for (int i = 0; i < 4; i++)
        scenario_job(s, p, ASK(1, 8), i, 100);
    scenario_script(s, 50, raise, 3);
    scenario_play(s);
    scenario_expect(s, scenario_started(s, 3) < scenario_started(s, 1),
                    "it went by its old priority");
}

static void whole_cluster_jobs_take_turns(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 4, 8);
    a = scenario_project(s, 1, 0);
    b = scenario_project(s, 1, 0);
    for (int i = 0; i < 4; i++)
        scenario_job(s, a, ASK(4, 8), 0, 100);
    for (int i = 0; i < 4; i++)
        scenario_job(s, b, ASK(4, 8), 1, 100);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_starts_by(s, b, 550) >= 2,
                    "after five turns the second project had %u", scenario_starts_by(s, b, 550));
}

static void a_newcomer_gets_its_share(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 4, 8);
    a = scenario_project(s, 1, 0);
    b = scenario_project(s, 1, 0);
    for (int i = 0; i < 400; i++)
        scenario_job(s, a, ASK(1, 1), i / 4, 100);
    for (int i = 0; i < 100; i++)
        scenario_job(s, b, ASK(1, 1), 200, 100);
    scenario_play(s);
    scenario_expect(s, scenario_starts_by(s, b, 320) >= 14, "two minutes later it had begun %u",
                    scenario_starts_by(s, b, 320));
}

static void full_hardware_does_not_hold_back_other(struct scenario *s)
{
    struct sched_shape shape;
    uint32_t p, high, node, full, other;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    node = scenario_nodes(s, 1, 8);
    s->world.nodes[node].gpu_type = 1;
    p = scenario_project(s, 1, 0);
    full = sim_world_shape(&s->world, 1, 4);
    shape = s->world.shapes[full];
    shape.gpu_types = 1u << 0;
    full = sim_world_add_shape(&s->world, &shape);
    shape.gpu_types = 1u << 1;
    other = sim_world_add_shape(&s->world, &shape);
    for (int i = 0; i < 1000; i++) {
        uint32_t low = scenario_job(s, p, ASK(1, 4), 0, 10);

        s->world.jobs[low].shape = full;
    }
    high = scenario_job(s, p, ASK(1, 4), 100, 10);
    s->world.jobs[high].shape = other;
    s->world.jobs[high].priority = 1;
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, high) <= 101, "it began at %lld s",
                    (long long)scenario_started(s, high));
}

static void late_low_jobs_do_not_pass_a_large_high_one(struct scenario *s)
{
    uint32_t p, large;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 0);
    s->options.policy.parts &= ~(unsigned)SCHED_OUTRANK;
    small_stream(s, p, 0, 100);
    large = scenario_job(s, p, ASK(1, 8), 100, 100);
    s->world.jobs[large].priority = 5;
    small_stream(s, p, 100, 900);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_started(s, large) < 300, "the large one began at %lld s",
                    (long long)scenario_started(s, large));
}

static void a_start_that_always_fails_blocks_nobody(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 0);
    scenario_fault(s, SIM_FAULT_CUT, 0, 9, 400); /* offers to it go nowhere */
    for (int i = 0; i < 20; i++)
        scenario_job(s, p, ASK(1, 4), 10, 20);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_starts_by(s, p, 300) == 20, "only %u had begun after five minutes",
                    scenario_starts_by(s, p, 300));
}

static void weight_0_goes_last(struct scenario *s)
{
    uint32_t zero, one;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    zero = scenario_project(s, 0, 0);
    one = scenario_project(s, 1, 0);
    scenario_job(s, one, ASK(1, 8), 0, 50);
    for (int i = 0; i < 4; i++)
        scenario_job(s, zero, ASK(1, 8), 1, 50);
    for (int i = 0; i < 4; i++)
        scenario_job(s, one, ASK(1, 8), 2, 50);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_starts_by(s, zero, 240) == 0, "weight 0 went before weight 1");
}

const struct scenario_entry scenarios_order[] = {
    {16, "a_gang_is_not_starved_by_small_jobs", "room is held for the first that does not fit",
     a_gang_is_not_starved_by_small_jobs},
    {16, "a_large_job_is_not_starved_within_its_project",
     "quota is held for the first that does not fit, as room is",
     a_large_job_is_not_starved_within_its_project},
    {17, "waiting_raises_priority", "a low priority starts in the end, and not at once",
     waiting_raises_priority},
    {18, "every_release_wakes_the_waiting", "who waits starts within a second of the release",
     every_release_wakes_the_waiting},
    {19, "many_that_all_fit_start_at_once", "800 jobs that all fit have begun after a second",
     many_that_all_fit_start_at_once},
    {20, "held_room_does_not_block_a_higher_priority",
     "room that is held for one goes to a higher priority",
     held_room_does_not_block_a_higher_priority},
    {21, "a_priority_changed_while_waiting_counts", "the order follows a change at once",
     a_priority_changed_while_waiting_counts},
    {22, "whole_cluster_jobs_take_turns", "of two projects neither has the cluster for itself",
     whole_cluster_jobs_take_turns},
    {22, "a_newcomer_gets_its_share", "a long queue of others does not keep a newcomer waiting",
     a_newcomer_gets_its_share},
    {23, "full_hardware_does_not_hold_back_other",
     "1,000 jobs for full nodes do not hide one for a free node",
     full_hardware_does_not_hold_back_other},
    {24, "late_low_jobs_do_not_pass_a_large_high_one",
     "a large job of high priority is passed by none that delays it",
     late_low_jobs_do_not_pass_a_large_high_one},
    {25, "a_start_that_always_fails_blocks_nobody",
     "a node that takes nothing costs the others little", a_start_that_always_fails_blocks_nobody},
    {26, "weight_0_goes_last", "weight 0 means last of all", weight_0_goes_last},
};
const size_t scenario_order_count = ARRAY_LEN(scenarios_order);
