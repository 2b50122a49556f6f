/* Where jobs are placed and what is said where they do not fit, one fact a test. */
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

static void the_tightest_node_is_taken_so_that_whole_ones_stay_free(void **state)
{
    uint32_t p = world_share(&w, 0, 0), two = world_shape(&w, 1, 2), tight, job;

    (void)state;
    world_node(&w, 0, 8);
    tight = world_node(&w, 0, 8);
    world_attempt(&w, p, two, tight);
    job = world_job(&w, p, two);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], tight);
    w.queues[0].spread = true;
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 0);
}

static void a_job_without_gpus_keeps_off_nodes_with_gpus(void **state)
{
    uint32_t p = world_share(&w, 0, 0), cpu = world_shape(&w, 1, 0), plain, job;

    (void)state;
    world_node(&w, 0, 8);
    plain = world_node(&w, 0, 0);
    w.shapes[cpu].need.v[RESOURCE_CPU] = 6000;
    job = world_job(&w, p, cpu);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], plain);
}

static void a_gang_starts_whole_or_not_at_all(void **state)
{
    uint32_t p = world_share(&w, 0, 0), gang = world_shape(&w, 3, 8), job;

    (void)state;
    world_node(&w, 0, 8);
    world_node(&w, 0, 8);
    world_node(&w, 0, 8);
    world_attempt(&w, p, world_shape(&w, 1, 1), 2);
    job = world_job(&w, p, gang);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_GANG);
    assert_int_equal(world_wait(&w, job)->asked, 3);
    assert_int_equal(world_wait(&w, job)->available, 2);
    world_end(&w, 0);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->node_count, 3);
}

static void two_gangs_never_hold_half_each(void **state)
{
    uint32_t p = world_share(&w, 0, 0), gang = world_shape(&w, 3, 8);

    (void)state;
    for (int i = 0; i < 4; i++)
        world_node(&w, 0, 8);
    world_job(&w, p, gang);
    world_job(&w, p, gang);
    world_cycle(&w);
    assert_int_equal(w.result.start_count, 1);
}

static void each_rank_has_a_node_of_its_own(void **state)
{
    uint32_t p = world_share(&w, 0, 0), gang = world_shape(&w, 3, 1), job;

    (void)state;
    world_node(&w, 0, 8);
    world_node(&w, 0, 8);
    job = world_job(&w, p, gang);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_FEW_NODES);
    assert_int_equal(world_wait(&w, job)->asked, 3);
    assert_int_equal(world_wait(&w, job)->available, 2);
    world_node(&w, 0, 8);
    world_attempt(&w, p, world_shape(&w, 1, 8), 2);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_GANG);
    assert_int_equal(world_wait(&w, job)->asked, 3);
    assert_int_equal(world_wait(&w, job)->available, 2);
    world_end(&w, 0);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0] + world_start(&w, job)->nodes[1] +
                         world_start(&w, job)->nodes[2],
                     0 + 1 + 2);
}

static void room_held_for_ranks_is_on_nodes_of_their_own(void **state)
{
    uint32_t p = world_share(&w, 0, 0), gang = world_shape(&w, 2, 1), one = world_shape(&w, 1, 8);
    uint32_t job;

    (void)state;
    world_node(&w, 0, 8);
    world_node(&w, 0, 8);
    w.attempts[world_attempt(&w, p, one, 0)].ends_by = w.s.now + HOUR;
    job = world_job(&w, p, gang);
    w.jobs[job].queued = 0;
    world_cycle(&w);
    assert_int_equal(w.result.reservation_count, 1);
    assert_int_not_equal(w.result.reservations[0].nodes[0].v, w.result.reservations[0].nodes[1].v);
    assert_int_equal(w.result.reservations[0].start, w.s.now + HOUR);
}

static void victims_make_room_for_each_rank_on_a_node_of_its_own(void **state)
{
    uint32_t p = world_share(&w, 0, 0), gang = world_shape(&w, 2, 1), one = world_shape(&w, 1, 8);
    uint32_t job;

    (void)state;
    world_node(&w, 0, 8);
    world_node(&w, 0, 8);
    world_attempt(&w, p, one, 0);
    world_attempt(&w, p, one, 1);
    job = world_job(&w, p, gang);
    w.jobs[job].priority = 1;
    world_cycle(&w);
    assert_int_equal(w.result.evict_count, 2);
}

static void ranks_share_a_node_where_several_fit(void **state)
{
    uint32_t p = world_share(&w, 0, 0), job = world_job(&w, p, world_shape(&w, 4, 4));

    (void)state;
    for (int i = 0; i < 4; i++)
        w.nodes[world_node(&w, 0, 8)].several = true;
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], world_start(&w, job)->nodes[1]);
    assert_int_equal(world_start(&w, job)->nodes[2], world_start(&w, job)->nodes[3]);
}

static void a_gang_stays_on_one_target_and_one_type_of_gpu(void **state)
{
    uint32_t p = world_share(&w, 0, 0), other = world_target(&w), job;

    (void)state;
    world_node(&w, 0, 8);
    world_node(&w, other, 8);
    job = world_job(&w, p, world_shape(&w, 2, 8));
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_FEW_NODES);
    w.nodes[world_node(&w, other, 8)].gpu_type = 1;
    world_node(&w, other, 8);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 1);
    assert_int_equal(world_start(&w, job)->nodes[1], 3);
    w.s.node_count = 3; /* better mixed than never */
    world_cycle(&w);
    assert_non_null(world_start(&w, job));
}

static void free_in_sum_but_on_no_one_node_is_said_so(void **state)
{
    uint32_t p = world_share(&w, 0, 0), four = world_shape(&w, 1, 4), job;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        world_node(&w, 0, 8);
        world_attempt(&w, p, four, i);
    }
    job = world_job(&w, p, world_shape(&w, 1, 8));
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_FRAGMENTED);
    assert_int_equal(world_wait(&w, job)->asked, 8);
    assert_int_equal(world_wait(&w, job)->available, 8);
    w.nodes[0].free.v[RESOURCE_GPU] = 1;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_BUSY);
    assert_int_equal(world_wait(&w, job)->available, 4);
}

static void what_never_fits_is_told_apart(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 8), job, other;

    (void)state;
    job = world_job(&w, p, shape);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_NO_AGENT);
    world_node(&w, 0, 4);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_BIG);
    assert_int_equal(world_wait(&w, job)->available, 4);
    w.shapes[shape].gpu_types = 1 << 1;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_GPU_TYPE);
    w.shapes[shape].gpu_types = 0;
    w.shapes[shape].needs = 6;
    w.nodes[0].features = 3;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_NO_FEATURE);
    assert_int_equal(world_wait(&w, job)->features, 4);
    w.nodes[0].features = 7; /* it can do it, but is too small still */
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_BIG);
    w.shapes[shape] = w.shapes[world_shape(&w, 2, 4)];
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_FEW_NODES);
    assert_int_equal(world_wait(&w, job)->available, 1);
    w.shapes[shape].node_count = 1;
    w.shapes[shape].excluded = &w.nodes[0].id;
    w.shapes[shape].excluded_count = 1;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_NODES_EXCLUDED);
    w.shapes[shape].excluded_count = 0;
    other = world_target(&w);
    w.queues[0].targets = &other;
    w.queues[0].target_count = 0;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_NO_TARGET);
}

static void what_is_away_for_a_while_is_told_apart(void **state)
{
    uint32_t p = world_share(&w, 0, 0), job = world_job(&w, p, world_shape(&w, 1, 8));

    (void)state;
    world_node(&w, 0, 1);
    world_node(&w, 0, 8);
    w.nodes[1].state = SCHED_NODE_OFFLINE;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_AGENT_OFFLINE);
    w.nodes[1].state = SCHED_NODE_MAINTENANCE;
    w.nodes[1].until = w.s.now + 5;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_MAINTENANCE);
    assert_int_equal(world_wait(&w, job)->until, w.s.now + 5);
    w.nodes[1].state = SCHED_NODE_COMING;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_COMING);
    assert_int_equal(world_wait(&w, job)->until, w.s.now + 5);
    w.nodes[1].state = SCHED_NODE_LIVE;
    w.targets[0].maintenance = true;
    w.targets[0].until = w.s.now + 7;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_MAINTENANCE);
    assert_int_equal(world_wait(&w, job)->until, w.s.now + 7);
}

static void targets_are_tried_in_order_as_their_steps_open(void **state)
{
    uint32_t p = world_share(&w, 0, 0), other = world_target(&w), shape = world_shape(&w, 1, 1);
    const struct sched_step steps[] = {{other, 100}, {0, SCHED_UNLIMITED}};
    uint32_t job = world_job(&w, p, shape);

    (void)state;
    w.shapes[shape].steps = steps;
    w.shapes[shape].step_count = 2;
    w.jobs[job].ladder_at = w.s.now - 99;
    world_node(&w, 0, 8);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TARGET_STEP);
    assert_int_equal(world_wait(&w, job)->until, w.s.now + 1);
    assert_int_equal(world_wait(&w, job)->target.v, w.targets[0].id.v);
    w.s.now++;
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->step, 1);
    world_node(&w, other, 8);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->step, 0);
    w.jobs[job].step_from = 1; /* a reclaimed attempt moved on */
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->step, 1);
}

static void a_shape_that_failed_is_not_told_by_another_with_other_targets(void **state)
{
    uint32_t p = world_share(&w, 0, 0), q = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);
    uint32_t other = world_target(&w), a, b;

    (void)state;
    world_node(&w, other, 1);
    w.shares[p].targets = (const uint32_t[]){0};
    w.shares[p].target_count = 1;
    a = world_job(&w, p, shape);
    b = world_job(&w, q, shape);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, a)->code, WAIT_NO_AGENT);
    assert_non_null(world_start(&w, b));
    w.shares[p].targets = NULL;
}

static void gpu_memory_is_that_of_one_gpu(void **state)
{
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1), job, big;

    (void)state;
    w.nodes[world_node(&w, 0, 1)].gpu_memory_bytes = 40 * GIB;
    big = world_node(&w, 0, 8);
    w.nodes[big].gpu_memory_bytes = 80 * GIB;
    w.shapes[shape].gpu_memory_bytes = 60 * GIB;
    job = world_job(&w, p, shape);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], big);
}

static int64_t most_memory_first(const void *context, const struct sched_node *node,
                                 const struct sched_shape *shape)
{
    return *(const int64_t *)context * node->free.v[RESOURCE_MEMORY] + shape->gpu_memory_bytes;
}

static void another_way_to_place_may_be_compared_with(void **state)
{
    const int64_t sign = -1;
    uint32_t p = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1), job, second;

    (void)state;
    for (int i = 0; i < 3; i++)
        world_node(&w, 0, 8);
    w.shapes[shape].need.v[RESOURCE_MEMORY] = 2;
    w.nodes[0].free.v[RESOURCE_MEMORY] -= 2;
    w.nodes[1].free.v[RESOURCE_MEMORY] -= 1;
    w.s.policy.node_score = most_memory_first;
    w.s.policy.node_score_context = &sign;
    job = world_job(&w, p, shape);
    second = world_job(&w, p, shape);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 2);
    assert_int_equal(world_start(&w, second)->nodes[0], 1);
}

static void a_gang_of_any_size_is_answered(void **state)
{
    uint32_t p = world_share(&w, 0, 0), job = world_job(&w, p, world_shape(&w, UINT32_MAX, 1));

    (void)state;
    world_node(&w, 0, 8);
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->code, WAIT_TOO_FEW_NODES);
    assert_int_equal(world_wait(&w, job)->available, 1);
    w.nodes[0].several = true;
    world_cycle(&w);
    assert_int_equal(world_wait(&w, job)->available, 8);
}

static void targets_are_told_apart_beyond_64(void **state)
{
    uint32_t p = world_share(&w, 0, 0), q = world_share(&w, 0, 0), shape = world_shape(&w, 1, 1);
    uint32_t last = 0, queue = world_queue(&w, 0), a, b, c;

    (void)state;
    while (w.s.target_count < 70)
        last = world_target(&w);
    world_node(&w, last, 2);
    world_node(&w, 1, 8);
    w.shares[p].targets = (const uint32_t[]){1, 69};
    w.shares[p].target_count = 2;
    w.shares[q].targets = (const uint32_t[]){1, 5};
    w.shares[q].target_count = 2;
    w.queues[queue].targets = (const uint32_t[]){69};
    w.queues[queue].target_count = 1;
    a = world_job(&w, p, shape);
    b = world_job(&w, q, shape);
    c = world_job(&w, p, shape);
    w.jobs[b].queue = w.jobs[c].queue = queue;
    world_cycle(&w);
    assert_int_equal(world_start(&w, a)->nodes[0], 0); /* the tighter of the two it may use */
    assert_int_equal(world_wait(&w, b)->code, WAIT_NO_TARGET);
    assert_int_equal(world_start(&w, c)->nodes[0], 0);
    w.shares[p].targets = w.shares[q].targets = w.queues[queue].targets = NULL;
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
/* One node with GPUs of each of two types, and a shape that may use the first alone. */
static uint32_t two_types(int64_t gpus_first, int64_t gpus_second)
{
    uint32_t bound = world_shape(&w, 1, 1);

    world_node(&w, 0, gpus_first);
    world_node(&w, 0, gpus_second);
    w.nodes[1].gpu_type = 1;
    w.shapes[bound].gpu_types = 1;
    return bound;
}

static void who_may_choose_leaves_the_type_alone_that_others_are_bound_to(void **state)
{
    uint32_t bound = two_types(1, 8), job;

    (void)state;
    job = world_job(&w, 0, world_shape(&w, 1, 1));
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 0); /* nobody is bound: the tightest */
    world_job(&w, 0, bound);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 1);
    assert_int_equal(world_start(&w, 1)->nodes[0], 0);
    w.nodes[1].free.v[RESOURCE_GPU] = w.nodes[1].total.v[RESOURCE_GPU] = 0;
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 0); /* it is left alone, not kept free */
    assert_int_equal(world_wait(&w, 1)->code, WAIT_BUSY);
}

static void what_runs_counts_among_those_bound_to_a_type(void **state)
{
    uint32_t bound = two_types(4, 4), any, job;

    (void)state;
    any = world_shape(&w, 1, 1);
    world_attempt(&w, 0, bound, 0);
    job = world_job(&w, 0, any);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 1);
}

static void a_gang_takes_the_type_that_fewest_are_bound_to(void **state)
{
    uint32_t bound = two_types(4, 4), gang = world_shape(&w, 2, 4), job;

    (void)state;
    world_node(&w, 0, 4);
    world_node(&w, 0, 4);
    w.nodes[3].gpu_type = 1;
    job = world_job(&w, 0, gang);
    world_job(&w, 0, bound);
    world_cycle(&w);
    assert_int_equal(world_start(&w, job)->nodes[0], 1);
    assert_int_equal(world_start(&w, job)->nodes[1], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(who_may_choose_leaves_the_type_alone_that_others_are_bound_to),
        FACT(what_runs_counts_among_those_bound_to_a_type),
        FACT(a_gang_takes_the_type_that_fewest_are_bound_to),
        FACT(the_tightest_node_is_taken_so_that_whole_ones_stay_free),
        FACT(a_job_without_gpus_keeps_off_nodes_with_gpus),
        FACT(a_gang_starts_whole_or_not_at_all),
        FACT(two_gangs_never_hold_half_each),
        FACT(each_rank_has_a_node_of_its_own),
        FACT(room_held_for_ranks_is_on_nodes_of_their_own),
        FACT(victims_make_room_for_each_rank_on_a_node_of_its_own),
        FACT(ranks_share_a_node_where_several_fit),
        FACT(a_gang_stays_on_one_target_and_one_type_of_gpu),
        FACT(free_in_sum_but_on_no_one_node_is_said_so),
        FACT(what_never_fits_is_told_apart),
        FACT(what_is_away_for_a_while_is_told_apart),
        FACT(targets_are_tried_in_order_as_their_steps_open),
        FACT(a_shape_that_failed_is_not_told_by_another_with_other_targets),
        FACT(gpu_memory_is_that_of_one_gpu),
        FACT(a_gang_of_any_size_is_answered),
        FACT(targets_are_told_apart_beyond_64),
        FACT(another_way_to_place_may_be_compared_with),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched_room", tests, NULL, NULL);
}
