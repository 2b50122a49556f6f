/* Whose attempts are ended for whom, one fact a test. */
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

static uint32_t ended(void)
{
    return w.result.evict_count;
}

static void what_is_owned_is_taken_back_from_who_borrowed_it(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t two = world_shape(&w, 1, 2), job;

    (void)state;
    world_node(&w, 0, 8);
    for (int i = 0; i < 4; i++)
        world_attempt(&w, other, two, 0);
    job = world_job(&w, owner, two);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(w.result.evicts[0].ending, ENDING_RECLAIMED);
    assert_int_equal(w.result.evicts[0].job, job);
    assert_int_equal(world_wait(&w, job)->code, WAIT_VICTIMS);
    assert_int_equal(world_wait(&w, job)->asked, 1);
    assert_int_equal(w.result.reservation_count, 1);
    assert_true(w.result.reservations[0].victims);
}

static void who_is_within_its_quota_is_safe(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 4);
    uint32_t two = world_shape(&w, 1, 2), high;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, two, 0);
    world_attempt(&w, other, two, 0);
    world_job(&w, owner, two);
    high = world_job(&w, owner, two);
    w.jobs[high].priority = 100; /* outranking does not reach into another's quota either */
    world_cycle(&w);
    assert_int_equal(ended(), 0);
}

static void only_what_lies_beyond_the_quota_is_taken(void **state)
{
    uint32_t owner = world_share(&w, 0, 8), other = world_share(&w, 0, 4);
    uint32_t two = world_shape(&w, 1, 2);

    (void)state;
    world_node(&w, 0, 8);
    for (int i = 0; i < 4; i++)
        world_attempt(&w, other, two, 0);
    for (int i = 0; i < 4; i++)
        world_job(&w, owner, two);
    world_cycle(&w);
    assert_int_equal(ended(), 2);
}

static void a_borrower_takes_nothing_back(void **state)
{
    uint32_t a = world_share(&w, 0, 2), b = world_share(&w, 0, 0), four = world_shape(&w, 1, 4);

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, b, four, 0);
    world_job(&w, a, four); /* 2 of its 4 would be borrowed */
    world_cycle(&w);
    assert_int_equal(ended(), 0);
}

static void a_team_takes_back_for_its_projects(void **state)
{
    uint32_t team = world_share(&w, 0, 8), other = world_share(&w, 0, 0);
    uint32_t p = world_share(&w, team, 4), q = world_share(&w, team, 0);
    uint32_t two = world_shape(&w, 1, 2);

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, two, 0);
    world_attempt(&w, q, two, 0);
    world_job(&w, p, two);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    world_apply(&w);
    assert_true(w.attempts[w.result.evicts[0].attempt].stopping);
}

static void a_quota_is_taken_back_within_a_team_that_is_at_its_limit(void **state)
{
    uint32_t team = world_share(&w, 0, 4), p = world_share(&w, team, 2);
    uint32_t q = world_share(&w, team, 0), two = world_shape(&w, 1, 2), job;

    (void)state;
    world_node(&w, 0, 8);
    w.shares[team].borrow.v[RESOURCE_GPU] = 0;
    world_attempt(&w, q, two, 0);
    world_attempt(&w, q, two, 0);
    job = world_job(&w, p, two);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(world_wait(&w, job)->code, WAIT_VICTIMS);
}

static void a_higher_priority_ends_a_lower_one_of_its_queue(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), four = world_shape(&w, 1, 4);
    uint32_t queue = world_queue(&w, 0), low, job;

    (void)state;
    world_node(&w, 0, 4);
    low = world_attempt(&w, a, four, 0);
    job = world_job(&w, b, four);
    w.jobs[job].priority = 1;
    w.attempts[low].queue = queue;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    w.attempts[low].queue = 0;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(w.result.evicts[0].ending, ENDING_OUTRANKED);
    w.attempts[low].priority = 1;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
}

static void the_lowest_and_then_the_newest_goes(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), one = world_shape(&w, 1, 1);
    uint32_t job;

    (void)state;
    world_node(&w, 0, 3);
    for (uint32_t i = 0; i < 3; i++) {
        world_attempt(&w, a, one, 0);
        w.attempts[i].since = i;
        w.attempts[i].priority = i == 2;
    }
    job = world_job(&w, b, one);
    w.jobs[job].priority = 5;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(w.result.evicts[0].attempt, 1);
}

static void nobody_is_ended_before_its_least_run_time(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4), victim;

    (void)state;
    world_node(&w, 0, 4);
    victim = world_attempt(&w, other, four, 0);
    world_job(&w, owner, four);
    w.attempts[victim].evictable_from = w.s.now + 1;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    w.s.now++;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
}

static void who_is_not_needed_after_all_is_spared(void **state)
{
    uint32_t owner = world_share(&w, 0, 8), other = world_share(&w, 0, 0), needed;
    uint32_t one = world_shape(&w, 1, 1), four = world_shape(&w, 1, 4);

    (void)state;
    for (int i = 0; i < 3; i++)
        world_node(&w, 0, 4);
    for (uint32_t i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            w.attempts[world_attempt(&w, other, one, i)].since = 100; /* newer: cheaper */
    needed = world_attempt(&w, other, four, 2);
    w.attempts[needed].priority = -1;
    world_job(&w, owner, four);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(w.result.evicts[0].attempt, needed);
}

static void enough_in_sum_is_not_enough_on_a_node(void **state)
{
    uint32_t owner = world_share(&w, 0, 8), other = world_share(&w, 0, 0);
    uint32_t two = world_shape(&w, 1, 2), four = world_shape(&w, 1, 4);

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        world_node(&w, 0, 4);
        world_attempt(&w, other, two, i);
        w.attempts[world_attempt(&w, other, two, i)].evictable_from = SCHED_UNLIMITED;
    }
    world_job(&w, owner, four);
    world_cycle(&w);
    assert_int_equal(ended(), 0); /* two of two on two nodes would be ended for nothing */
}

static void nobody_is_ended_for_a_job_without_a_budget(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4), job;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, four, 0);
    job = world_job(&w, owner, four);
    w.shares[owner].budget.gpu_ms_left[0] = HOUR;
    w.jobs[job].time_limit_ms = HOUR;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUDGET_HOURS);
}

static void no_more_are_ended_while_victims_leave_one_by_one(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t two = world_shape(&w, 1, 2), four = world_shape(&w, 1, 4), job;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, two, 0);
    world_attempt(&w, other, two, 0);
    job = world_job(&w, owner, four);
    world_cycle(&w);
    assert_int_equal(ended(), 2);
    world_apply(&w);
    world_end(&w, 0); /* the first is gone and waits again, with a younger job beside it */
    world_job(&w, other, two);
    world_job(&w, other, two);
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    assert_int_equal(w.result.start_count, 0);
    assert_int_equal(world_wait(&w, 1)->code, WAIT_RESERVED);
    world_apply(&w);
    world_end(&w, 0);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1);
    assert_non_null(world_start(&w, job));
    for (uint32_t i = 0; i < w.result.reservation_count; i++)
        assert_false(w.result.reservations[i].victims);
}

/* Two of the 8 that it owns are in use by a job of lower priority of its own, the others lent. */
static void what_one_owns_is_taken_back_together_with_ones_own_lower_priorities(void **state)
{
    uint32_t owner = world_share(&w, 0, 8), other = world_share(&w, 0, 0);
    uint32_t two = world_shape(&w, 1, 2), own, job;

    (void)state;
    world_node(&w, 0, 8);
    own = world_attempt(&w, owner, two, 0);
    for (int i = 0; i < 3; i++)
        w.attempts[world_attempt(&w, other, two, 0)].priority = 1;
    job = world_job(&w, owner, world_shape(&w, 1, 8));
    world_cycle(&w);
    assert_int_equal(ended(), 0); /* with its own two it would pass its quota */
    w.jobs[job].priority = 1;
    world_cycle(&w);
    assert_int_equal(ended(), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w.result.evicts[i].ending,
                         w.result.evicts[i].attempt == own ? ENDING_OUTRANKED : ENDING_RECLAIMED);
    w.shapes[w.jobs[job].shape].need.v[RESOURCE_GPU] = 6;
    world_cycle(&w);
    assert_int_equal(ended(), 3); /* its own may stay then */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_not_equal(w.result.evicts[i].attempt, own);
}

static void who_may_not_start_for_its_budget_gives_up_what_others_were_ended_for(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t two = world_shape(&w, 1, 2), job;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, two, 0);
    world_attempt(&w, other, two, 0);
    job = world_job(&w, owner, two);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    world_apply(&w);
    world_end(&w, 1);
    for (int k = 0; k < SCHED_PERIODS; k++) {
        w.shares[owner].budget.period_end[k] = w.s.now + (k + 1) * HOUR;
        w.shares[owner].budget.gpu_ms_left[k] = 0;
    }
    (void)world_job(&w, other, two);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUDGET_HOURS);
    assert_int_equal(w.result.reservation_count, 0);
    assert_int_equal(w.result.start_count, 1);
}

static void who_was_ended_ends_nothing_of_the_winner_for_a_while(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), four = world_shape(&w, 1, 4);
    uint32_t job;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, a, four, 0);
    job = world_job(&w, b, four);
    w.jobs[job].priority = 1;
    w.evictions[0] = (struct sched_eviction){w.shares[a].id, w.shares[b].id, w.s.now - 1};
    w.s.eviction_count = 1;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    w.s.now += w.s.policy.evict_pause_ms;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
}

static void no_circle_of_projects_takes_turns(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), c = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4), job;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, a, four, 0);
    job = world_job(&w, c, four);
    w.jobs[job].priority = 1;
    w.evictions[0] = (struct sched_eviction){w.shares[a].id, w.shares[b].id, w.s.now - 1};
    w.evictions[1] = (struct sched_eviction){w.shares[b].id, w.shares[c].id, w.s.now - 1};
    w.s.eviction_count = 2;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    w.s.eviction_count = 1; /* nobody ended one of its own */
    world_cycle(&w);
    assert_int_equal(ended(), 1);
}

static void who_would_go_first_again_is_not_ended_for_a_priority(void **state)
{
    uint32_t p = world_share(&w, 0, 0), four = world_shape(&w, 1, 4), job;

    (void)state;
    world_node(&w, 0, 4);
    w.queues[0].aging_ms = 1000;
    w.attempts[world_attempt(&w, p, four, 0)].queued = w.s.now - 10000;
    job = world_job(&w, p, four);
    w.jobs[job].priority = 5;
    w.jobs[job].queued = w.s.now - 4000; /* 9 s ahead of one without a priority */
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    w.jobs[job].priority = 7;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
}

static void what_others_are_ended_for_is_not_taken_over_in_the_same_cycle(void **state)
{
    uint32_t small = world_share(&w, 0, 0), large = world_share(&w, 0, 0);
    uint32_t other = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4), low, high;

    (void)state;
    world_node(&w, 0, 4);
    world_node(&w, 0, 4);
    world_attempt(&w, other, four, 0);
    w.attempts[world_attempt(&w, large, four, 1)].priority = 9;
    low = world_job(&w, small, four);
    high = world_job(&w, large, four); /* of the greater share: after the low one */
    w.jobs[low].priority = 1;
    w.jobs[high].priority = 2;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(w.result.evicts[0].job, low);
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_equal(w.result.reservations[0].job.v, w.jobs[low].id.v);
}

static void a_silent_node_keeps_what_victims_left_elsewhere(void **state)
{
    uint32_t p = world_share(&w, 0, 0), four = world_shape(&w, 1, 4), job, first;

    (void)state;
    world_node(&w, 0, 4);
    world_node(&w, 0, 4);
    world_attempt(&w, p, four, 0);
    world_attempt(&w, p, four, 1);
    job = world_job(&w, p, world_shape(&w, 2, 4));
    w.jobs[job].priority = 1;
    world_cycle(&w);
    assert_int_equal(ended(), 2);
    world_apply(&w);
    world_end(&w, 0);
    first = world_job(&w, p, four);
    w.nodes[1].state = SCHED_NODE_OFFLINE;
    world_cycle(&w);
    assert_null(world_start(&w, first));
    assert_int_equal(w.result.reservation_count, 1);
    w.nodes[1].state = SCHED_NODE_LIVE;
    world_apply(&w);
    world_end(&w, 0);
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
}

static void a_higher_priority_takes_over_room_that_is_being_freed(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), four = world_shape(&w, 1, 4);
    uint32_t job, higher;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, a, four, 0);
    job = world_job(&w, b, four);
    w.jobs[job].priority = 1;
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    world_apply(&w);
    higher = world_job(&w, a, four);
    w.jobs[higher].priority = 2;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1); /* its project has just lost one to it */
    assert_int_equal(w.result.reservations[0].job.v, w.jobs[0].id.v);
    w.jobs[higher].share = world_share(&w, 0, 0);
    world_cycle(&w);
    assert_int_equal(ended(), 0);
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_equal(w.result.reservations[0].job.v, w.jobs[higher].id.v);
}

static void a_higher_priority_takes_no_room_that_another_owns(void **state)
{
    uint32_t a = world_share(&w, 0, 0), owner = world_share(&w, 0, 4);
    uint32_t four = world_shape(&w, 1, 4), job, higher;

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, a, four, 0);
    job = world_job(&w, owner, four);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    world_apply(&w);
    higher = world_job(&w, a, four);
    w.jobs[higher].priority = 2;
    world_end(&w, 0);
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
    assert_non_null(world_wait(&w, higher));
}

static void room_whose_victims_do_not_go_is_given_up(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4);

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, four, 0);
    world_job(&w, owner, four);
    world_cycle(&w);
    world_apply(&w);
    w.s.now += w.s.policy.reservation_ms_max;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1);
    w.s.policy.parts &= ~(unsigned)SCHED_RESERVE;
    w.s.now++;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 0);
}

static void quota_is_kept_for_who_waits_for_victims(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4), one = world_shape(&w, 1, 1), big, small, high;

    (void)state;
    world_node(&w, 0, 4);
    world_node(&w, 0, 1);
    w.shares[owner].borrow.v[RESOURCE_GPU] = 0;
    world_attempt(&w, other, four, 0);
    big = world_job(&w, owner, four);
    small = world_job(&w, owner, one); /* would fit on the other node */
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(world_wait(&w, small)->code, WAIT_QUOTA);
    world_apply(&w);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, small)->code, WAIT_QUOTA);
    high = world_job(&w, owner, one); /* but not against a higher priority */
    w.jobs[high].priority = 1;
    world_cycle(&w);
    assert_non_null(world_start(&w, high));
    w.s.job_count--;
    world_end(&w, 0);
    world_cycle(&w);
    assert_non_null(world_start(&w, big));
}

static void a_gang_is_ended_as_one(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t gang = world_shape(&w, 2, 4), four = world_shape(&w, 1, 4), job;

    (void)state;
    world_node(&w, 0, 4);
    world_node(&w, 0, 4);
    world_job(&w, other, gang);
    world_cycle(&w);
    world_apply(&w);
    assert_int_equal(w.s.attempt_count, 1);
    job = world_job(&w, owner, four);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(world_wait(&w, job)->asked, 1);
}

static void one_who_borrows_the_most_gives_first(void **state)
{
    uint32_t owner = world_share(&w, 0, 2), small = world_share(&w, 0, 0);
    uint32_t big = world_share(&w, 0, 0), two = world_shape(&w, 1, 2), job;

    (void)state;
    world_node(&w, 0, 6);
    w.attempts[world_attempt(&w, small, two, 0)].since = 50; /* the newest */
    world_attempt(&w, big, two, 0);
    world_attempt(&w, big, two, 0);
    job = world_job(&w, owner, two);
    world_cycle(&w);
    assert_int_equal(ended(), 1);
    assert_int_equal(w.attempts[w.result.evicts[0].attempt].share, big);
    assert_int_equal(w.result.evicts[0].job, job);
}

static void looks_are_bounded(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0);
    uint32_t four = world_shape(&w, 1, 4);

    (void)state;
    world_node(&w, 0, 4);
    world_attempt(&w, other, four, 0);
    world_job(&w, owner, four);
    w.s.policy.preempt_looks_max = 0;
    world_cycle(&w);
    assert_int_equal(ended(), 0);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(what_is_owned_is_taken_back_from_who_borrowed_it),
        FACT(who_is_within_its_quota_is_safe),
        FACT(only_what_lies_beyond_the_quota_is_taken),
        FACT(a_borrower_takes_nothing_back),
        FACT(a_team_takes_back_for_its_projects),
        FACT(a_quota_is_taken_back_within_a_team_that_is_at_its_limit),
        FACT(a_higher_priority_ends_a_lower_one_of_its_queue),
        FACT(the_lowest_and_then_the_newest_goes),
        FACT(nobody_is_ended_before_its_least_run_time),
        FACT(who_is_not_needed_after_all_is_spared),
        FACT(enough_in_sum_is_not_enough_on_a_node),
        FACT(nobody_is_ended_for_a_job_without_a_budget),
        FACT(no_more_are_ended_while_victims_leave_one_by_one),
        FACT(what_one_owns_is_taken_back_together_with_ones_own_lower_priorities),
        FACT(who_may_not_start_for_its_budget_gives_up_what_others_were_ended_for),
        FACT(who_was_ended_ends_nothing_of_the_winner_for_a_while),
        FACT(no_circle_of_projects_takes_turns),
        FACT(who_would_go_first_again_is_not_ended_for_a_priority),
        FACT(what_others_are_ended_for_is_not_taken_over_in_the_same_cycle),
        FACT(a_silent_node_keeps_what_victims_left_elsewhere),
        FACT(a_higher_priority_takes_over_room_that_is_being_freed),
        FACT(a_higher_priority_takes_no_room_that_another_owns),
        FACT(room_whose_victims_do_not_go_is_given_up),
        FACT(quota_is_kept_for_who_waits_for_victims),
        FACT(a_gang_is_ended_as_one),
        FACT(one_who_borrows_the_most_gives_first),
        FACT(looks_are_bounded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched_preempt", tests, NULL, NULL);
}
