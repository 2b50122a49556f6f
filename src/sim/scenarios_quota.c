/* Reports 1 to 15: quota that leaks, amounts that overflow, budgets and their periods. */
#include "sim/scenario.h"

static void ended_for_others_gives_back_once(struct scenario *s)
{
    uint32_t borrower, owner;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    borrower = scenario_project(s, 1, 0);
    owner = scenario_project(s, 1, 8);
    scenario_job(s, borrower, ASK(1, 8), 0, 1000);
    scenario_job(s, owner, ASK(1, 8), 100, 50);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->jobs[0].evicted == 1, "the borrower was ended %u times",
                    s->sim->jobs[0].evicted);
    scenario_expect(s, scenario_started(s, 1) < 120, "the owner began at %lld s",
                    (long long)scenario_started(s, 1));
    scenario_expect(s, s->sim->usage[0].amounts.v[RESOURCE_GPU] == 0, "GPUs are still counted");
}

static void refused_start_gives_all_back(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 0);
    scenario_fault(s, SIM_FAULT_CUT, 1, 9, 40); /* it cannot take the offer, and looks alive */
    scenario_job(s, p, ASK(2, 8), 10, 10);
    scenario_job(s, p, ASK(1, 8), 11, 10);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->figures.withdrawn > 0, "no offer was taken back");
    scenario_expect(s, s->sim->jobs[0].lost == 0, "a start that was refused counts as a loss");
}

static void work_that_vanishes_frees_its_room(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(1, 8), 0, 300);
    scenario_job(s, p, ASK(1, 8), 1, 10);
    scenario_fault(s, SIM_FAULT_DEAD, 0, 100, 20); /* the machine comes back without it */
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, s->sim->jobs[0].lost == 1, "the work counts as lost %u times",
                    s->sim->jobs[0].lost);
    scenario_expect(s, scenario_ended(s, 0) < 450, "it took until %lld s",
                    (long long)scenario_ended(s, 0));
}

static void a_rank_that_fails_returns_the_whole_gang(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 4, 8);
    p = scenario_project(s, 1, 0);
    scenario_job(s, p, ASK(4, 8), 0, 500);
    s->world.jobs[0].retries = 0;
    scenario_job(s, p, ASK(4, 8), 1, 10);
    scenario_fault(s, SIM_FAULT_DEAD, 2, 100, 30);
    scenario_play(s);
    scenario_expect(s, scenario_state(s, 0) == JOB_FAILED, "the gang is %s",
                    job_state_name(scenario_state(s, 0)));
    scenario_expect(s, scenario_state(s, 1) == JOB_SUCCEEDED, "the next gang never had its room");
}

static void huge_asks_overflow_nothing(struct scenario *s)
{
    struct sched_shape huge = {.node_count = 1000000};
    uint32_t p, shape;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 4);
    s->world.shares[p].borrow.v[RESOURCE_GPU] = INT64_MAX - 1;
    for (size_t r = 0; r < RESOURCE_COUNT; r++)
        huge.need.v[r] = INT64_MAX - 2;
    shape = sim_world_add_shape(&s->world, &huge);
    scenario_job(s, p, ASK(1, 8), 0, 60);
    s->world.jobs[0].shape = shape;
    s->world.jobs[0].limit_ms = SCHED_UNLIMITED;
    scenario_job(s, p, ASK(1, 8), 1, 60);
    scenario_play(s);
    scenario_expect(s, scenario_state(s, 0) == JOB_QUEUED, "the huge job is %s",
                    job_state_name(scenario_state(s, 0)));
    scenario_expect(s, scenario_state(s, 1) == JOB_SUCCEEDED, "the other job did not run");
}

static void small_shares_still_count(struct scenario *s)
{
    uint32_t a, b;

    scenario_stage(s);
    scenario_nodes(s, 1, 1);
    sim_world_nodes(&s->world, 0, 100, 8); /* a share of one GPU is 1/801 by 1/1,000,000 */
    a = scenario_project(s, 1000000, 0);
    b = scenario_project(s, 1000000, 0);
    for (int i = 0; i < 900; i++)
        scenario_job(s, a, ASK(1, 1), 0, 100);
    for (int i = 0; i < 900; i++)
        scenario_job(s, b, ASK(1, 1), 1, 100);
    scenario_play(s);
    scenario_expect(s, scenario_starts_by(s, b, 150) > 600, "the second project began only %u",
                    scenario_starts_by(s, b, 150));
}

static void cut_borrow(struct sim *sim, int64_t share)
{
    sim->shares[share].quota.v[RESOURCE_GPU] = 0;
    sim->shares[share].borrow.v[RESOURCE_GPU] = 2;
    sim->limits_cut = true;
    sim__wake(sim);
}

static void quota_cut_while_in_use(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 8);
    p = scenario_project(s, 1, 8);
    for (int i = 0; i < 6; i++)
        scenario_job(s, p, ASK(1, 2), 0, 100);
    scenario_script(s, 50, cut_borrow, p);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    scenario_expect(s, scenario_starts_by(s, p, 150) == 5, "%u had begun when one could",
                    scenario_starts_by(s, p, 150));
}

static void a_large_ask_does_not_pass_the_quota(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 4);
    s->world.shares[p].borrow.v[RESOURCE_GPU] = 0;
    scenario_job(s, p, ASK(1, 3), 0, 100);
    scenario_job(s, p, ASK(2, 2), 1, 10); /* four in all */
    scenario_job(s, p, ASK(1, 8), 2, 10); /* never */
    scenario_play(s);
    scenario_expect(s, scenario_started(s, 1) >= 100, "it passed the quota");
    scenario_expect(s, scenario_state(s, 2) == JOB_QUEUED, "8 of 4 GPUs were given");
}

static void one_place_frees_and_one_starts(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 4);
    p = scenario_project(s, 1, 0);
    for (int i = 0; i < 4; i++)
        scenario_job(s, p, ASK(1, 1), 0, 1000);
    scenario_job(s, p, ASK(1, 1), 1, 100);
    scenario_job(s, p, ASK(1, 1), 1, 100);
    s->world.jobs[2].cancel_at = 50000;
    scenario_play(s);
    scenario_expect(s, scenario_state(s, 2) == JOB_CANCELLED, "the cancelled job is %s",
                    job_state_name(scenario_state(s, 2)));
    scenario_expect(s, scenario_started(s, 4) >= 50 && scenario_started(s, 4) < 60,
                    "the first in line began at %lld s", (long long)scenario_started(s, 4));
    scenario_expect(s, scenario_started(s, 5) >= 150, "two began on one free place");
}

static void a_sweep_uses_the_same_gate(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 2, 8);
    p = scenario_project(s, 1, 0);
    s->world.shares[p].jobs_max = 3;
    for (int i = 0; i < 30; i++)
        scenario_job(s, p, ASK(1, 1), i / 10 * 60, 30);
    scenario_play(s); /* that three are never passed is a property of every step */
    scenario_expect_all(s, JOB_SUCCEEDED);
}

static void a_budget_counts_anew_each_period(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 4);
    p = scenario_project(s, 1, 0);
    s->world.period_ms = 3600 * 1000;
    s->world.idle_ms = 2 * s->world.period_ms;
    s->world.budgets[p].gpu_ms = 1300 * 1000;
    for (int i = 0; i < 6; i++)
        scenario_job(s, p, ASK(1, 1), 0, 600);
    scenario_play(s);
    scenario_expect_all(s, JOB_SUCCEEDED);
    /* Near the end of a period a job asks for the rest of it only. */
    scenario_expect(s, scenario_starts_by(s, p, 3400) == 2, "%u began in the first period",
                    scenario_starts_by(s, p, 3400));
    scenario_expect(s, scenario_starts_by(s, p, 7000) == 4, "%u began by the second",
                    scenario_starts_by(s, p, 7000));
}

static void a_spent_budget_does_not_refill(struct scenario *s)
{
    uint32_t p;

    scenario_stage(s);
    scenario_nodes(s, 1, 4);
    p = scenario_project(s, 1, 0);
    s->world.period_ms = 24 * 3600 * INT64_C(1000);
    s->world.budgets[p].gpu_ms = 1000 * 1000;
    s->world.idle_ms = 3 * 3600 * 1000;
    scenario_job(s, p, ASK(1, 1), 0, 900);
    scenario_job(s, p, ASK(1, 1), 1, 900);
    scenario_play(s);
    scenario_expect(s, scenario_state(s, 0) == JOB_SUCCEEDED, "the first did not run");
    scenario_expect(s, scenario_state(s, 1) == JOB_QUEUED, "hours later there was room again");
}

const struct scenario_entry scenarios_quota[] = {
    {1, "ended_for_others_gives_back_once",
     "what an ended borrower held is counted once and then free", ended_for_others_gives_back_once},
    {2, "refused_start_gives_all_back",
     "an offer that is not taken returns quota and room of all its ranks",
     refused_start_gives_all_back},
    {3, "work_that_vanishes_frees_its_room", "work that is gone without a word is found gone, once",
     work_that_vanishes_frees_its_room},
    {4, "a_rank_that_fails_returns_the_whole_gang", "a gang that ended in part holds nothing",
     a_rank_that_fails_returns_the_whole_gang},
    {5, "huge_asks_overflow_nothing", "asks near the end of int64 wait; limits stay in force",
     huge_asks_overflow_nothing},
    {6, "small_shares_still_count", "shares far below a thousandth still order the projects",
     small_shares_still_count},
    {7, NULL, "jobs do not change their size while they run; an attempt is one reservation", NULL},
    {8, "quota_cut_while_in_use", "what runs stays, nothing new starts above the new limit",
     quota_cut_while_in_use},
    {9, "a_large_ask_does_not_pass_the_quota", "an ask counts whole, over all its nodes",
     a_large_ask_does_not_pass_the_quota},
    {10, "one_place_frees_and_one_starts", "a cancelled job frees its place at once, for one other",
     one_place_frees_and_one_starts},
    {11, "a_sweep_uses_the_same_gate", "jobs at once are bounded whoever submits them",
     a_sweep_uses_the_same_gate},
    {12, NULL,
     "calendar months in time zones are the budgets' own tests; here a period has a length", NULL},
    {13, NULL, "as 12: days with a change of clocks are tested where the calendar is", NULL},
    {14, "a_budget_counts_anew_each_period", "each period has the whole budget, and no more",
     a_budget_counts_anew_each_period},
    {15, "a_spent_budget_does_not_refill", "what was used stays used until the period ends",
     a_spent_budget_does_not_refill},
};
const size_t scenario_quota_count = ARRAY_LEN(scenarios_quota);
