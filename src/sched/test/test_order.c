/* Whose turn it is among the jobs of queues and projects, one fact a test. */
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

static void a_queue_of_higher_priority_goes_first(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);
    uint32_t high = world_queue(&w, 5), old, late;

    (void)state;
    world_node(&w, 0, 1);
    old = world_job(&w, p, shape);
    late = world_job(&w, p, shape);
    w.jobs[old].priority = 9;
    w.jobs[late].queue = high;
    world_cycle(&w);
    assert_non_null(world_start(&w, late));
}

static void queues_of_the_same_priority_compete_together(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);
    uint32_t other = world_queue(&w, 0), jobs[3];

    (void)state;
    world_node(&w, 0, 3);
    for (int i = 0; i < 3; i++)
        jobs[i] = world_job(&w, p, shape);
    w.jobs[jobs[1]].queue = other;
    world_cycle(&w);
    for (int i = 0; i < 3; i++)
        assert_int_equal(w.result.starts[i].job, jobs[i]);
}

static void waiting_adds_to_priority(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1), old, high;

    (void)state;
    world_node(&w, 0, 1);
    old = world_job(&w, p, shape);
    high = world_job(&w, p, shape);
    w.jobs[high].priority = 1;
    w.queues[0].aging_ms = 1000;
    w.jobs[old].queued = w.jobs[high].queued - 999;
    world_cycle(&w);
    assert_non_null(world_start(&w, high));
    w.jobs[old].queued -= 2;
    world_cycle(&w);
    assert_non_null(world_start(&w, old));
    w.queues[0].aging_ms = 0; /* never */
    w.jobs[old].queued = INT64_MIN / 2;
    world_cycle(&w);
    assert_non_null(world_start(&w, high));
}

static void the_id_decides_between_equals(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1), a, b;

    (void)state;
    world_node(&w, 0, 1);
    a = world_job(&w, p, shape);
    b = world_job(&w, p, shape);
    w.jobs[a].queued = w.jobs[b].queued;
    w.jobs[a].id.v = 900;
    w.jobs[b].id.v = 899;
    world_cycle(&w);
    assert_non_null(world_start(&w, b));
}

static void held_queues_and_projects_start_nothing(void **state)
{
    uint32_t team = world_share(&w, 0, 0), p = world_share(&w, team, 0), shape;
    uint32_t other = world_share(&w, 0, 0), queue = world_queue(&w, 1), a, b;

    (void)state;
    world_node(&w, 0, 8);
    shape = world_shape(&w, 1, 1);
    w.shares[team].held = true;
    w.queues[queue].held = true;
    a = world_job(&w, p, shape);
    b = world_job(&w, other, shape);
    w.jobs[b].queue = queue;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, a)->code, WAIT_PROJECT_HELD);
    assert_int_equal(world_wait(&w, b)->code, WAIT_QUEUE_HELD);
    assert_int_equal(world_wait(&w, b)->queue.v, w.queues[queue].id.v);
}

static void without_backfill_a_queue_waits_for_its_first(void **state)
{
    uint32_t p = world_share(&w, 0, 0), big = world_shape(&w, 1, 8), small = world_shape(&w, 1, 1);
    uint32_t second;

    (void)state;
    world_node(&w, 0, 8);
    world_attempt(&w, p, small, 0);
    world_job(&w, p, big);
    second = world_job(&w, p, small);
    w.s.policy.parts &= ~(unsigned)SCHED_BACKFILL;
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 0);
    assert_int_equal(world_wait(&w, second)->code, WAIT_TURN);
    assert_int_equal(world_wait(&w, second)->asked, 1);
    w.s.policy.parts = SCHED_ALL;
    world_cycle(&w);
    assert_non_null(world_start(&w, second));
}

static void what_can_never_start_holds_up_nobody_in_a_strict_queue(void **state)
{
    uint32_t p = world_share(&w, 0, 0), second;

    (void)state;
    world_node(&w, 0, 8);
    world_job(&w, p, world_shape(&w, 1, 9));
    second = world_job(&w, p, world_shape(&w, 1, 1));
    w.s.policy.parts &= ~(unsigned)SCHED_BACKFILL;
    world_cycle(&w);
    assert_non_null(world_start(&w, second));
}

static void ranks_take_turns_between_projects_as_starts_would(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), shape = world_shape(&w, 1, 8);
    uint32_t first, second, other;

    (void)state;
    world_node(&w, 0, 8);
    world_attempt(&w, 0, shape, 0);
    first = world_job(&w, a, shape);
    second = world_job(&w, a, shape);
    other = world_job(&w, b, shape);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, first)->rank, 1);
    assert_int_equal(world_wait(&w, other)->rank, 2);
    assert_int_equal(world_wait(&w, second)->rank, 3);
}

static void without_shares_all_jobs_of_a_queue_go_by_age(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);

    (void)state;
    world_node(&w, 0, 2);
    for (int i = 0; i < 2; i++)
        world_job(&w, a, shape);
    world_job(&w, b, shape);
    w.s.policy.parts &= ~(unsigned)SCHED_FAIR;
    world_cycle(&w);
    assert_non_null(world_start(&w, 0));
    assert_non_null(world_start(&w, 1));
}

static void the_same_snapshot_gives_the_same_answer(void **state)
{
    uint32_t a = world_share(&w, 0, 0), b = world_share(&w, 0, 0), shape = world_shape(&w, 1, 3);
    struct sched_result first;

    (void)state;
    for (int i = 0; i < 4; i++) {
        world_node(&w, 0, 8);
        world_job(&w, i % 2 ? a : b, shape);
    }
    world_cycle(&w);
    first = w.result;
    world_cycle(&w);
    assert_int_equal(first.start_count, w.result.start_count);
    for (uint32_t i = 0; i < first.start_count; i++) {
        assert_int_equal(first.starts[i].job, w.result.starts[i].job);
        assert_int_equal(first.starts[i].nodes[0], w.result.starts[i].nodes[0]);
    }
}

/* An array of limit 2 of which one runs: one place is left. */
static void an_element_that_cannot_start_leaves_the_places_of_its_array_to_others(void **state)
{
    uint32_t p = world_share(&w, 0, 0);
    uint32_t small = world_shape(&w, 1, 1), large = world_shape(&w, 1, 8);
    const int64_t places[] = {1};
    uint32_t jobs[3];

    (void)state;
    world_node(&w, 0, 4);
    w.s.array_places = places;
    w.s.array_count = 1;
    for (size_t i = 0; i < 3; i++) {
        jobs[i] = world_job(&w, p, i == 0 ? large : small);
        w.jobs[jobs[i]].array = 1;
    }
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1);
    assert_non_null(world_start(&w, jobs[1]));
    assert_int_equal(world_wait(&w, jobs[0])->code, WAIT_TOO_BIG);
    assert_int_equal(world_wait(&w, jobs[2])->code, WAIT_ARRAY);
}

static void nothing_at_all_is_a_snapshot_too(void **state)
{
    const struct sched_snapshot nothing = {.policy = sched_policy_default()};

    (void)state;
    sched_check_snapshot(&nothing);
    sched_cycle(&nothing, &w.arena, &w.result);
    sched_check_result(&nothing, &w.result);
    assert_int_equal(w.result.start_count + w.result.wait_count, 0);
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(a_queue_of_higher_priority_goes_first),
        FACT(queues_of_the_same_priority_compete_together),
        FACT(waiting_adds_to_priority),
        FACT(the_id_decides_between_equals),
        FACT(held_queues_and_projects_start_nothing),
        FACT(without_backfill_a_queue_waits_for_its_first),
        FACT(what_can_never_start_holds_up_nobody_in_a_strict_queue),
        FACT(ranks_take_turns_between_projects_as_starts_would),
        FACT(without_shares_all_jobs_of_a_queue_go_by_age),
        FACT(the_same_snapshot_gives_the_same_answer),
        FACT(an_element_that_cannot_start_leaves_the_places_of_its_array_to_others),
        FACT(nothing_at_all_is_a_snapshot_too),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched_order", tests, NULL, NULL);
}
