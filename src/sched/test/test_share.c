/* Quotas, borrowing, lending and the order by shares, one fact a test. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct world w;

static int setup(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_release(&w);
    return 0;
}

static void what_a_quota_and_its_borrow_leave_is_the_limit(void **state)
{
    uint32_t p = world_share(&w, 0, 2), shape = world_shape(&w, 1, 2), second;

    (void)state;
    world_node(&w, 0, 8);
    w.shares[p].borrow.v[RESOURCE_GPU] = 1;
    world_job(&w, p, shape);
    second = world_job(&w, p, shape);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1);
    assert_int_equal(world_wait(&w, second)->code, WAIT_QUOTA);
    assert_int_equal(world_wait(&w, second)->resource, RESOURCE_GPU);
    assert_int_equal(world_wait(&w, second)->asked, 2);
    assert_int_equal(world_wait(&w, second)->available, 1);
    assert_int_equal(world_wait(&w, second)->share.v, w.shares[p].id.v);
}

static void a_limit_above_binds_all_below_it_together(void **state)
{
    uint32_t team = world_share(&w, 0, 4), shape = world_shape(&w, 1, 3);
    uint32_t a = world_share(&w, team, 0), b = world_share(&w, team, 0), second;

    (void)state;
    world_node(&w, 0, 8);
    w.shares[team].borrow.v[RESOURCE_GPU] = 0;
    world_job(&w, a, shape);
    second = world_job(&w, b, shape);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, second)->code, WAIT_QUOTA);
    assert_int_equal(world_wait(&w, second)->share.v, w.shares[team].id.v);
}

static void what_is_not_lent_stays_free_for_its_owner(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0), third, own;
    uint32_t two = world_shape(&w, 1, 2), four = world_shape(&w, 1, 4);

    (void)state;
    world_node(&w, 0, 8);
    w.shares[owner].lend.v[RESOURCE_GPU] = 0;
    world_job(&w, other, two);
    world_job(&w, other, two);
    third = world_job(&w, other, two);
    own = world_job(&w, owner, four);
    w.jobs[own].queued = w.s.now; /* the last to come */
    world_cycle(&w);
    assert_non_null(world_start(&w, own));
    assert_int_equal(w.result.start_count, 3);
    assert_non_null(world_wait(&w, third));
    w.s.job_count = 3; /* the owner asks for nothing: the rest is kept all the same */
    world_cycle(&w);
    assert_int_equal(world_wait(&w, third)->code, WAIT_LENT_BACK);
    assert_int_equal(world_wait(&w, third)->available, 0);
}

static void a_part_of_a_quota_may_be_lent(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t two = world_shape(&w, 1, 2);

    (void)state;
    world_node(&w, 0, 8);
    w.shares[owner].lend.v[RESOURCE_GPU] = 2;
    for (int i = 0; i < 4; i++)
        world_job(&w, other, two);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 3);
}

static void what_is_not_asked_for_is_never_a_reason(void **state)
{
    uint32_t p = world_share(&w, 0, 1), shape = world_shape(&w, 1, 0);

    (void)state;
    world_node(&w, 0, 1);
    w.shares[p].borrow.v[RESOURCE_GPU] = 0;
    w.nodes[0].free.v[RESOURCE_GPU] = -3;
    w.nodes[0].free.v[RESOURCE_MEMORY] = -1;
    world_job(&w, p, shape);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1);
}

static void a_huge_ask_is_refused_and_does_not_wrap(void **state)
{
    uint32_t p = world_share(&w, 0, 4), shape = world_shape(&w, 4, INT64_MAX), job;

    (void)state;
    for (int i = 0; i < 4; i++)
        world_node(&w, 0, 8);
    w.shares[p].borrow.v[RESOURCE_GPU] = 4;
    job = world_job(&w, p, shape);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_QUOTA);
    w.shares[p].borrow.v[RESOURCE_GPU] = SCHED_UNLIMITED;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_BIG);
    assert_int_equal(world_wait(&w, job)->available, 8);
}

static void without_quotas_projects_take_turns(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);
    uint32_t jobs[4], late;

    (void)state;
    world_node(&w, 0, 4);
    for (int i = 0; i < 4; i++)
        jobs[i] = world_job(&w, a, shape);
    late = world_job(&w, b, shape);
    world_job(&w, b, shape);
    world_cycle(&w);
    assert_int_equal(w.result.starts[0].job, jobs[0]);
    assert_int_equal(w.result.starts[1].job, late);
    assert_non_null(world_wait(&w, jobs[2]));
}

static void a_weight_of_two_gets_twice_as_much(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);
    int started = 0;

    (void)state;
    world_node(&w, 0, 9);
    w.shares[b].weight = 2;
    for (int i = 0; i < 9; i++) {
        world_job(&w, a, shape);
        world_job(&w, b, shape);
    }
    world_cycle(&w);
    for (uint32_t i = 0; i < w.result.start_count; i++)
        started += w.jobs[w.result.starts[i].job].share == b;
    assert_int_equal(started, 6);
}

static void weight_zero_comes_last_of_all(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);

    (void)state;
    world_node(&w, 0, 4);
    w.shares[a].weight = 0;
    for (int i = 0; i < 4; i++) {
        world_job(&w, a, shape);
        world_job(&w, b, shape);
    }
    world_cycle(&w);
    for (uint32_t i = 0; i < w.result.start_count; i++)
        assert_int_equal(w.jobs[w.result.starts[i].job].share, b);
}

static void what_lies_within_a_quota_goes_before_what_is_borrowed(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 2), shape = world_shape(&w, 1, 1);
    uint32_t old, own;

    (void)state;
    world_node(&w, 0, 2);
    old = world_job(&w, a, shape);
    own = world_job(&w, b, shape);
    world_job(&w, b, shape);
    world_cycle(&w);
    assert_int_equal(w.result.starts[0].job, own);
    assert_non_null(world_wait(&w, old));
}

static void jobs_at_once_are_counted_with_all_below(void **state)
{
    uint32_t team = world_share(&w, 0, 0), a = world_share(&w, team, 0);
    uint32_t b = world_share(&w, team, 0), shape = world_shape(&w, 1, 1), job;

    (void)state;
    world_node(&w, 0, 8);
    w.shares[team].jobs_max = 2;
    world_attempt(&w, a, shape, 0);
    world_job(&w, a, shape);
    job = world_job(&w, b, shape);
    w.jobs[job].queued = w.jobs[0].queued - 1;
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
    assert_int_equal(world_wait(&w, 0)->code, WAIT_PARALLEL);
    assert_int_equal(world_wait(&w, 0)->asked, 2);
    assert_int_equal(world_wait(&w, 0)->available, 2);
}

static void jobs_may_hang_on_a_branch_with_children(void **state)
{
    uint32_t team = world_share(&w, 0, 0), below = world_share(&w, team, 0);
    uint32_t shape = world_shape(&w, 1, 1);

    (void)state;
    world_node(&w, 0, 2);
    world_job(&w, team, shape);
    world_job(&w, team, shape);
    world_job(&w, below, shape);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 2);
    assert_non_null(world_start(&w, 2));
}

static void gpu_time_of_a_month_is_asked_for_by_the_part_that_lies_in_it(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 2), first, second;
    struct sched_budget *b = &w.shares[p].budget;

    (void)state;
    world_node(&w, 0, 8);
    b->period_end[0] = w.s.now + 2 * HOUR;
    b->gpu_ms_left[0] = 7 * HOUR;
    b->gpu_ms_left[1] = 5 * HOUR;
    first = world_job(&w, p, shape);
    second = world_job(&w, p, shape);
    w.jobs[first].time_limit_ms = w.jobs[second].time_limit_ms = 3 * HOUR; /* 4 now, 2 then */
    world_cycle(&w);
    assert_non_null(world_start(&w, first));
    assert_int_equal(world_wait(&w, second)->code, WAIT_BUDGET_HOURS);
    assert_int_equal(world_wait(&w, second)->asked, 4 * HOUR);
    assert_int_equal(world_wait(&w, second)->available, 3 * HOUR);
}

static void money_is_asked_for_by_the_price_of_the_target(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1), cheap, job;

    (void)state;
    cheap = world_target(&w);
    world_node(&w, 0, 1);
    world_node(&w, cheap, 8);
    w.targets[0].price_gpu_hour_micro = 100;
    w.targets[cheap].price_hour_micro = 10;
    w.shares[p].budget.micro_left[0] = 25;
    job = world_job(&w, p, shape);
    w.jobs[job].time_limit_ms = 2 * HOUR;
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 1);
    w.targets[cheap].price_hour_micro = 13;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUDGET_MONEY);
    assert_int_equal(world_wait(&w, job)->available, 25);
}

static void a_job_without_a_limit_asks_for_the_rest_of_each_month(void **state)
{
    uint32_t p = world_share(&w, 0, 0), job = world_job(&w, p, world_shape(&w, 1, 1));

    (void)state;
    world_node(&w, 0, 1);
    w.shares[p].budget.period_end[0] = w.s.now + 5 * HOUR;
    w.shares[p].budget.gpu_ms_left[0] = 5 * HOUR - 1;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUDGET_HOURS);
    w.shares[p].budget.gpu_ms_left[0]++;
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(what_a_quota_and_its_borrow_leave_is_the_limit),
        FACT(a_limit_above_binds_all_below_it_together),
        FACT(what_is_not_lent_stays_free_for_its_owner),
        FACT(a_part_of_a_quota_may_be_lent),
        FACT(what_is_not_asked_for_is_never_a_reason),
        FACT(a_huge_ask_is_refused_and_does_not_wrap),
        FACT(without_quotas_projects_take_turns),
        FACT(a_weight_of_two_gets_twice_as_much),
        FACT(weight_zero_comes_last_of_all),
        FACT(what_lies_within_a_quota_goes_before_what_is_borrowed),
        FACT(jobs_at_once_are_counted_with_all_below),
        FACT(jobs_may_hang_on_a_branch_with_children),
        FACT(gpu_time_of_a_month_is_asked_for_by_the_part_that_lies_in_it),
        FACT(money_is_asked_for_by_the_price_of_the_target),
        FACT(a_job_without_a_limit_asks_for_the_rest_of_each_month),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched_share", tests, NULL, NULL);
}
