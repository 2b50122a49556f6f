/* Room held for the first in line, what may pass it, and when a job may start. */
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

static uint32_t project, eight, one;

/* A node of 8 GPUs on which `used` are held until `ends`, and a job of 8 that waited long. */
static uint32_t busy_node(int64_t used, time_ms ends)
{
    uint32_t shape = world_shape(&w, 1, used), job;

    project = world_share(&w, 0, 0);
    eight = world_shape(&w, 1, 8);
    one = world_shape(&w, 1, 1);
    world_node(&w, 0, 8);
    w.attempts[world_attempt(&w, project, shape, 0)].ends_by = ends;
    job = world_job(&w, project, eight);
    w.jobs[job].queued -= w.s.policy.reserve_after_ms;
    return job;
}

static void the_first_that_does_not_fit_gets_room_held(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR);

    (void)state;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_equal(w.result.reservations[0].start, 3 * HOUR);
    assert_false(w.result.reservations[0].victims);
    assert_int_equal(world_wait(&w, job)->start_estimate, 3 * HOUR);
    w.jobs[job].queued = w.s.now - w.s.policy.reserve_after_ms + 1;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 0);
}

static void room_is_held_sooner_where_what_runs_is_short(void **state)
{
    uint32_t job = busy_node(4, SCHED_UNLIMITED);

    (void)state;
    w.attempts[0].since = w.s.now - 10000;
    w.jobs[job].queued = w.s.now - 19999;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 0);
    w.jobs[job].queued = w.s.now - 20000; /* as long as that takes, if it is half over */
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1);
    w.attempts[0].since = 0;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 0);
}

static void a_start_far_beyond_what_runs_runs_is_not_believed(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR), shorter;

    (void)state;
    shorter = world_job(&w, project, one);
    w.jobs[shorter].time_limit_ms = 2 * HOUR;
    w.attempts[0].since = w.s.now - 2 * HOUR / 100 - 1000;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->start_estimate, 3 * HOUR);
    assert_non_null(world_start(&w, shorter));
    w.attempts[0].since = w.s.now - 2 * HOUR / 100 + 1000;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_equal(world_wait(&w, job)->start_estimate, TIME_NONE);
    assert_int_equal(world_wait(&w, shorter)->code, WAIT_RESERVED);
}

static void others_pass_if_they_end_before(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR), shorter, longer;

    (void)state;
    longer = world_job(&w, project, one);
    shorter = world_job(&w, project, one);
    w.jobs[longer].time_limit_ms = 2 * HOUR + 1;
    w.jobs[shorter].time_limit_ms = 2 * HOUR;
    world_cycle(&w);
    assert_non_null(world_start(&w, shorter));
    assert_int_equal(world_wait(&w, longer)->code, WAIT_RESERVED);
    assert_int_equal(world_wait(&w, longer)->job.v, w.jobs[job].id.v);
    assert_int_equal(world_wait(&w, longer)->until, 3 * HOUR);
}

static void others_pass_on_what_is_left_beside_it(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR), first, second;

    (void)state;
    w.nodes[0].total.v[RESOURCE_GPU] = 9;
    w.nodes[0].free.v[RESOURCE_GPU] = 5;
    first = world_job(&w, project, one);
    second = world_job(&w, project, one);
    world_cycle(&w);
    assert_non_null(world_start(&w, first));
    assert_int_equal(world_wait(&w, second)->code, WAIT_RESERVED);
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUSY);
}

static void others_pass_on_other_nodes(void **state)
{
    uint32_t other;

    (void)state;
    busy_node(4, 3 * HOUR);
    world_node(&w, 0, 2);
    other = world_job(&w, project, one);
    world_cycle(&w);
    assert_int_equal(world_start(&w, other)->nodes[0], 1);
}

static void small_jobs_without_limits_do_not_starve_a_gang(void **state)
{
    uint32_t gang, p = world_share(&w, 0, 0), four;

    (void)state;
    four = world_shape(&w, 1, 4);
    for (uint32_t i = 0; i < 3; i++) {
        world_node(&w, 0, 8);
        world_attempt(&w, p, four, i);
    }
    gang = world_job(&w, p, world_shape(&w, 2, 8));
    w.jobs[gang].queued -= w.s.policy.reserve_after_ms;
    for (int i = 0; i < 4; i++)
        world_job(&w, p, four);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1); /* on the node that is not held */
    assert_int_equal(w.result.reservations[0].start, TIME_NONE);
    world_apply(&w);
    world_end(&w, 1);
    world_end(&w, 0);
    world_cycle(&w);
    assert_int_equal(w.result.starts[0].node_count, 2);
}

static void held_room_is_kept_until_its_job_starts(void **state)
{
    uint32_t job = busy_node(4, SCHED_UNLIMITED), late;

    (void)state;
    world_cycle(&w);
    world_apply(&w);
    late = world_job(&w, project, eight); /* older and so before it, but not of higher priority */
    w.jobs[late].queued = w.jobs[job].queued - HOUR;
    world_end(&w, 0);
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
    assert_non_null(world_wait(&w, late));
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_equal(w.result.reservations[0].job.v, w.jobs[late].id.v);
}

static void a_higher_priority_of_the_queue_does_not_wait_behind_held_room(void **state)
{
    uint32_t job = busy_node(4, SCHED_UNLIMITED), high;

    (void)state;
    world_cycle(&w);
    world_apply(&w);
    high = world_job(&w, project, one);
    w.jobs[high].priority = 1;
    world_end(&w, 0);
    world_cycle(&w);
    assert_non_null(world_start(&w, high));
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUSY);
}

static void a_queue_of_higher_priority_does_not_take_held_room(void **state)
{
    uint32_t job = busy_node(4, SCHED_UNLIMITED), other;

    (void)state;
    world_cycle(&w);
    world_apply(&w);
    other = world_job(&w, project, one);
    w.jobs[other].queue = world_queue(&w, 9);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, other)->code, WAIT_RESERVED);
    world_end(&w, 0);
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
}

static void a_higher_priority_that_waits_long_becomes_the_first_in_line(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR), high;

    (void)state;
    world_cycle(&w);
    world_apply(&w);
    high = world_job(&w, project, eight);
    w.jobs[high].queued = w.jobs[job].queued + 1;
    w.s.now += 1;
    world_cycle(&w);
    assert_int_equal(w.result.reservations[0].job.v, w.jobs[job].id.v);
    w.jobs[high].priority = 1;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_equal(w.result.reservations[0].job.v, w.jobs[high].id.v);
}

static void machines_on_their_way_count(void **state)
{
    uint32_t job = busy_node(4, 9 * HOUR), node;

    (void)state;
    node = world_node(&w, 0, 8);
    w.nodes[node].state = SCHED_NODE_COMING;
    w.nodes[node].until = 2 * HOUR;
    world_cycle(&w);
    assert_int_equal(w.result.reservations[0].start, 2 * HOUR);
    assert_int_equal(w.result.reservations[0].nodes[0].v, w.nodes[node].id.v);
    assert_int_equal(world_wait(&w, job)->start_estimate, 2 * HOUR);
}

static void a_job_that_is_gone_holds_nothing(void **state)
{
    (void)state;
    busy_node(4, 3 * HOUR);
    world_cycle(&w);
    world_apply(&w);
    w.s.job_count = 0;
    world_job(&w, project, one);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1);
    assert_int_equal(w.result.reservation_count, 0);
}

static void a_job_that_its_quota_holds_up_holds_that_and_no_room(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR);

    (void)state;
    world_cycle(&w);
    world_apply(&w);
    w.shares[project].borrow.v[RESOURCE_GPU] = 8;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_QUOTA);
    assert_int_equal(w.result.reservation_count, 1);
    assert_true(w.result.reservations[0].quota);
    assert_int_equal(w.result.reservations[0].node_count, 0);
}

/* A project that may use 8 of 16 GPUs and uses 6 of them, 2 each until so many hours have passed; a
 * job of it that asks for all 8 waits. */
static uint32_t full_quota(uint32_t share, const int64_t hours[3])
{
    uint32_t two = world_shape(&w, 1, 2), job;

    world_node(&w, 0, 16);
    w.shares[share].borrow.v[RESOURCE_GPU] = 0;
    for (int i = 0; i < 3; i++) {
        struct sched_attempt *a = &w.attempts[world_attempt(&w, share, two, 0)];
        a->ends_by = hours[i] ? w.s.now + hours[i] * HOUR : SCHED_UNLIMITED;
    }
    job = world_job(&w, share, world_shape(&w, 1, 8));
    w.jobs[job].queued = 0;
    return job;
}

static void small_jobs_do_not_take_what_a_large_one_of_their_project_waits_for(void **state)
{
    uint32_t p = world_share(&w, 0, 8), large = full_quota(p, (const int64_t[]){1, 2, 3});
    uint32_t two = world_shape(&w, 1, 2), small = world_job(&w, p, two);
    uint32_t brief = world_job(&w, p, two), other = world_job(&w, world_share(&w, 0, 0), two);

    (void)state;
    w.jobs[brief].time_limit_ms = 3 * HOUR;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, large)->code, WAIT_QUOTA);
    assert_int_equal(world_wait(&w, large)->start_estimate, w.s.now + 3 * HOUR);
    assert_int_equal(world_wait(&w, small)->code, WAIT_RESERVED);
    assert_int_equal(world_wait(&w, small)->job.v, w.jobs[large].id.v);
    assert_non_null(world_start(&w, brief)); /* it is over before */
    assert_non_null(world_start(&w, other)); /* it is not its project */
    world_apply(&w);
    w.s.now += 3 * HOUR;
    while (w.s.attempt_count > 1) /* all but the other one */
        world_end(&w, w.attempts[0].share == p ? 0 : 1);
    world_cycle(&w);
    assert_non_null(world_start(&w, 0));
    assert_int_equal(w.result.reservation_count, 0);
    assert_null(world_start(&w, 1));
}

static void quota_is_held_for_good_where_limits_say_nothing(void **state)
{
    uint32_t p = world_share(&w, 0, 8), large = full_quota(p, (const int64_t[]){2, 2, 2});
    uint32_t small = world_job(&w, p, world_shape(&w, 1, 2));

    (void)state;
    w.jobs[large].queued = w.s.now - HOUR;
    w.jobs[small].time_limit_ms = HOUR; /* over before, by its limit */
    world_cycle(&w);
    assert_non_null(world_start(&w, small));
    for (uint32_t i = 0; i < w.s.attempt_count; i++)
        w.attempts[i].since = w.s.now - HOUR / 100;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, large)->start_estimate, TIME_NONE);
    assert_int_equal(world_wait(&w, small)->code, WAIT_RESERVED);
}

static void quota_is_held_while_what_runs_has_no_limit_but_not_behind_a_service(void **state)
{
    uint32_t p = world_share(&w, 0, 8), large = full_quota(p, (const int64_t[]){0, 0, 0});
    uint32_t small = world_job(&w, p, world_shape(&w, 1, 2));

    (void)state;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, large)->start_estimate, TIME_NONE);
    assert_int_equal(world_wait(&w, small)->code, WAIT_RESERVED);
    w.shapes[w.attempts[0].shape].service = true;
    world_cycle(&w);
    assert_non_null(world_start(&w, small));
    assert_int_equal(w.result.reservation_count, 0);
}

static void a_higher_priority_uses_quota_that_is_held(void **state)
{
    uint32_t p = world_share(&w, 0, 8), large = full_quota(p, (const int64_t[]){1, 2, 3});
    uint32_t small = world_job(&w, p, world_shape(&w, 1, 2));

    (void)state;
    (void)large;
    w.jobs[small].priority = 1;
    world_cycle(&w);
    world_apply(&w);
    assert_int_equal(w.result.start_count, 1);
    small = world_job(&w, p, 0);
    world_end(&w, 0);
    w.jobs[small].priority = 1;
    world_cycle(&w);
    assert_non_null(world_start(&w, small));
}

static void who_waits_for_a_budget_holds_no_quota(void **state)
{
    uint32_t p = world_share(&w, 0, 8), large = full_quota(p, (const int64_t[]){1, 2, 3});

    (void)state;
    w.jobs[large].time_limit_ms = 10 * HOUR;
    world_cycle(&w);
    assert_true(w.result.reservations[0].quota);
    world_apply(&w);
    while (w.s.attempt_count > 0)
        world_end(&w, 0);
    w.shares[p].budget.gpu_ms_left[0] = HOUR;
    w.jobs[world_job(&w, p, 0)].time_limit_ms = 1000;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, 0)->code, WAIT_BUDGET_HOURS);
    assert_int_equal(w.result.reservation_count, 0);
    assert_non_null(world_start(&w, 1));
}

static void who_fits_on_no_node_holds_no_quota(void **state)
{
    uint32_t p = world_share(&w, 0, 8), large = full_quota(p, (const int64_t[]){1, 2, 3});
    uint32_t small = world_job(&w, p, world_shape(&w, 1, 2));

    (void)state;
    w.shapes[w.jobs[large].shape].need.v[RESOURCE_SLOT] = 33;
    world_cycle(&w);
    assert_non_null(world_start(&w, small));
    assert_int_equal(w.result.reservation_count, 0);
}

static void no_room_is_held_for_who_never_starts_for_what_others_keep(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0), big;

    (void)state;
    w.shares[owner].lend.v[RESOURCE_GPU] = 0;
    world_node(&w, 0, 8);
    big = world_job(&w, other, world_shape(&w, 1, 8));
    w.jobs[big].queued = 0;
    w.reservations[0] = (struct sched_reservation){
        .job = w.jobs[big].id, .start = TIME_NONE, .nodes = &w.nodes[0].id, .node_count = 1};
    w.s.reservation_count = 1;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, big)->code, WAIT_LENT_BACK);
    assert_int_equal(w.result.reservation_count, 0);
    world_apply(&w);
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 0);
}

static void in_strict_order_who_holds_room_does_not_wait_behind_who_waits_for_it(void **state)
{
    uint32_t p = world_share(&w, 0, 0), q = world_share(&w, 0, 0), four = world_shape(&w, 1, 4);
    uint32_t never, first, holder;

    (void)state;
    w.s.policy.parts &= ~(unsigned)SCHED_BACKFILL;
    world_node(&w, 0, 4);
    never = world_job(&w, q, world_shape(&w, 1, 9)); /* outranks, and fits nowhere */
    w.jobs[never].priority = 1;
    first = world_job(&w, p, four);
    holder = world_job(&w, p, four);
    w.reservations[0] = (struct sched_reservation){
        .job = w.jobs[holder].id, .start = TIME_NONE, .nodes = &w.nodes[0].id, .node_count = 1};
    w.s.reservation_count = 1;
    world_cycle(&w);
    assert_non_null(world_start(&w, holder));
    assert_null(world_start(&w, first));
}

static void the_start_is_estimated_by_what_ends_before(void **state)
{
    uint32_t job = busy_node(4, 3 * HOUR), next;

    (void)state;
    w.jobs[job].time_limit_ms = HOUR;
    next = world_job(&w, project, eight);
    assert_int_equal(sched_estimate(&w.s, job, 10, &w.arena), 3 * HOUR);
    assert_int_equal(sched_estimate(&w.s, next, 10, &w.arena), 4 * HOUR);
    assert_int_equal(sched_estimate(&w.s, next, 1, &w.arena), TIME_NONE);
    w.attempts[0].ends_by = SCHED_UNLIMITED;
    assert_int_equal(sched_estimate(&w.s, job, 10, &w.arena), TIME_NONE);
    world_end(&w, 0);
    assert_int_equal(sched_estimate(&w.s, job, 10, &w.arena), w.s.now);
}

static void who_is_ended_waits_again_in_an_estimate(void **state)
{
    uint32_t owner = world_share(&w, 0, 4), other = world_share(&w, 0, 0), last;
    uint32_t four = world_shape(&w, 1, 4);

    (void)state;
    world_node(&w, 0, 4);
    w.attempts[world_attempt(&w, other, four, 0)].ends_by = w.s.now + 5 * HOUR;
    w.attempts[0].since = w.s.now - HOUR; /* six hours at most: it begins anew */
    w.attempts[0].queued = 0;
    w.jobs[world_job(&w, owner, four)].time_limit_ms = HOUR;
    last = world_job(&w, other, four);
    world_cycle(&w);
    assert_int_equal(w.result.evict_count, 1);
    assert_int_equal(sched_estimate(&w.s, last, 20, &w.arena), w.s.now + 7 * HOUR);
}

static void the_start_is_estimated_by_the_next_month_and_the_next_target(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1), other = world_target(&w);
    const struct sched_step steps[] = {{other, HOUR / 2}, {0, SCHED_UNLIMITED}};
    uint32_t job = world_job(&w, p, shape);

    (void)state;
    world_node(&w, 0, 8);
    w.jobs[job].time_limit_ms = HOUR;
    w.jobs[job].ladder_at = w.s.now;
    w.shapes[shape].steps = steps;
    w.shapes[shape].step_count = 2;
    assert_int_equal(sched_estimate(&w.s, job, 10, &w.arena), w.s.now + HOUR / 2);
    w.shares[p].budget.period_end[0] = w.s.now + 5 * HOUR;
    w.shares[p].budget.gpu_ms_left[0] = 0;
    assert_int_equal(sched_estimate(&w.s, job, 10, &w.arena), w.s.now + 5 * HOUR);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(the_first_that_does_not_fit_gets_room_held),
        FACT(room_is_held_sooner_where_what_runs_is_short),
        FACT(a_start_far_beyond_what_runs_runs_is_not_believed),
        FACT(others_pass_if_they_end_before),
        FACT(others_pass_on_what_is_left_beside_it),
        FACT(others_pass_on_other_nodes),
        FACT(small_jobs_without_limits_do_not_starve_a_gang),
        FACT(held_room_is_kept_until_its_job_starts),
        FACT(a_higher_priority_of_the_queue_does_not_wait_behind_held_room),
        FACT(a_queue_of_higher_priority_does_not_take_held_room),
        FACT(a_higher_priority_that_waits_long_becomes_the_first_in_line),
        FACT(machines_on_their_way_count),
        FACT(a_job_that_is_gone_holds_nothing),
        FACT(a_job_that_its_quota_holds_up_holds_that_and_no_room),
        FACT(small_jobs_do_not_take_what_a_large_one_of_their_project_waits_for),
        FACT(quota_is_held_for_good_where_limits_say_nothing),
        FACT(quota_is_held_while_what_runs_has_no_limit_but_not_behind_a_service),
        FACT(a_higher_priority_uses_quota_that_is_held),
        FACT(who_waits_for_a_budget_holds_no_quota),
        FACT(who_fits_on_no_node_holds_no_quota),
        FACT(no_room_is_held_for_who_never_starts_for_what_others_keep),
        FACT(in_strict_order_who_holds_room_does_not_wait_behind_who_waits_for_it),
        FACT(the_start_is_estimated_by_what_ends_before),
        FACT(who_is_ended_waits_again_in_an_estimate),
        FACT(the_start_is_estimated_by_the_next_month_and_the_next_target),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched_reserve", tests, NULL, NULL);
}
