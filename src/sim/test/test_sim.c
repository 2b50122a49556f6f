/* The simulator's own parts: order of events, tables, and that its checks see what they are for. */
#include "sim/csv.h"
#include "sim/generate.h"
#include "sim/report.h"
#include "sim/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void events_come_by_time_then_by_entry(void **state)
{
    struct sim_heap heap = {0};
    struct sim_rand rand = sim_rand_from(7);
    struct sim_event event, last = {.at = -1};

    (void)state;
    for (uint32_t i = 0; i < 5000; i++)
        sim_heap_put(&heap, (struct sim_event){.at = sim_rand_range(&rand, 0, 99), .a = i});
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(sim_heap_take(&heap, &event));
        assert_true(event.at > last.at || (event.at == last.at && event.a > last.a));
        last = event;
    }
    assert_false(sim_heap_take(&heap, &event));
    sim_heap_release(&heap);
}

static void neighbouring_seeds_give_other_numbers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct sim_rand a = sim_rand_from(seed), b = sim_rand_from(seed + 1), c = a;
        uint64_t first = sim_rand_next(&a);

        (void)sim_rand_next(&a);
        assert_int_equal(first, sim_rand_next(&c));
        assert_int_not_equal(first, sim_rand_next(&b));
        assert_int_not_equal(sim_rand_next(&a), sim_rand_next(&b));
    }
}

static void a_job_keeps_whom_it_comes_after_when_sorted(void **state)
{
    struct sim_world world;

    (void)state;
    sim_world_init(&world);
    for (uint32_t i = 0; i < 10; i++)
        (void)sim_world_job(&world, 0, 0, 100 - i, i);
    world.jobs[3].after = 7;
    sim_world_sort(&world);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(world.jobs[i].run_ms, 9 - i);
        if (world.jobs[i].run_ms == 3)
            assert_int_equal(world.jobs[world.jobs[i].after].run_ms, 7);
    }
    sim_world_release(&world);
}

/* One GPU, and a job on it. */
static struct sim *running(struct sim_world *world)
{
    struct sim_options options = sim_options_default();
    struct sim *sim;

    sim_world_init(world);
    (void)sim_world_share(world, "organisation", SCHED_NONE, 1);
    (void)sim_world_share(world, "project", 0, 1);
    (void)sim_world_queue(world, 0);
    (void)sim_world_nodes(world, sim_world_target(world), 2, 1);
    (void)sim_world_job(world, 1, sim_world_shape(world, 1, 1), 0, 3600000);
    (void)sim_world_job(world, 1, sim_world_shape(world, 2, 1), 1, 1000);
    options.check = true;
    options.stop_at = 60000;
    sim = sim_new(world, &options);
    sim_run(sim);
    assert_null(sim_violation(sim));
    assert_int_equal(sim->jobs[0].model.state, JOB_RUNNING);
    return sim;
}

static void expect_seen(struct sim *sim, struct sim_world *world, const char *what)
{
    sim__check(sim);
    assert_non_null(sim_violation(sim));
    assert_non_null(strstr(sim_violation(sim), what));
    sim_free(sim);
    sim_world_release(world);
}

static void the_checks_see_room_that_leaked(void **state)
{
    struct sim_world world;
    struct sim *sim = running(&world);

    (void)state;
    sim->node_views[1].free.v[RESOURCE_GPU]--;
    expect_seen(sim, &world, "node 1: gpus do not add up");
}

static void the_checks_see_a_gpu_used_twice(void **state)
{
    struct sim_world world;
    struct sim *sim = running(&world);
    uint32_t node = sim->all[0]->places[0].node;
    struct sim_agent *agent = &sim->nodes[node].agent;

    (void)state;
    assert_int_equal(agent->work_count, 1);
    agent->works =
        arena_more(&sim->arena, agent->works, 1, &agent->work_room, sizeof *agent->works);
    agent->works[1] = agent->works[0];
    agent->work_count = 2;
    expect_seen(sim, &world, "are in use than it has");
}

static void the_checks_see_work_that_holds_nothing(void **state)
{
    struct sim_world world;
    struct sim *sim = running(&world);

    (void)state;
    sim->nodes[sim->all[0]->places[0].node].agent.works[0].rank = 9;
    expect_seen(sim, &world, "runs and holds nothing");
}

static void the_checks_see_a_lost_job(void **state)
{
    struct sim_world world;
    struct sim *sim = running(&world);

    (void)state;
    sim__dequeue(sim, 1);
    sim->queue_count++;
    expect_seen(sim, &world, "jobs got lost");
}

static void the_checks_see_a_limit_that_is_passed(void **state)
{
    struct sim_world world;
    struct sim *sim = running(&world);

    (void)state;
    sim->shares[1].borrow.v[RESOURCE_GPU] = 0;
    expect_seen(sim, &world, "share 1 uses 1 gpus of at most 0");
}

static void the_checks_see_an_innocent_that_is_ended(void **state)
{
    struct sim_world world;
    struct sim *sim = running(&world);
    struct sched_evict evict = {.attempt = 0, .job = 0, .ending = ENDING_RECLAIMED};
    struct sched_result result = {.evicts = &evict, .evict_count = 1};

    (void)state;
    sim->attempts[0].evictable_from = 0;
    sim__check_evicts(sim, &result);
    expect_seen(sim, &world, "takes back from itself");
}

/* ---- Tables */

static enum err_code read_all(const char *text, struct err *err)
{
    static const char *const known[] = {"a", "b", "c", NULL};
    CLEANUP(csv_release) struct csv csv = {0};
    bool row = true;
    enum err_code code = csv_open_text(&csv, str_from(text), known, 2, err);

    while (code == OK && row) {
        int64_t value;

        code = csv_next(&csv, &row, err);
        if (code == OK && row)
            code = csv_i64(&csv, 1, 0, 100, 5, &value, err);
        if (code == OK && row)
            code = csv_amount(&csv, 2, 1000, 0, &value, err);
    }
    return code;
}

static void a_table_is_read_or_refused_by_name_and_line(void **state)
{
    static const struct {
        const char *text, *said; /* NULL: read */
    } cases[] = {
        {"a,b\nx,1\n\ny,\n", NULL},
        {"b,a,c\n1,\"x, \"\"y\"\"\",2.5\r\n", NULL},
        {"a,b", NULL},
        {"", "is empty"},
        {"a,b,d\n", "column \"d\" is not known"},
        {"a,a,b\n", "column \"a\" is there twice"},
        {"a,c\n", "column \"b\" is missing"},
        {"a,b\nx\n", "line 2: 1 fields where the header has 2"},
        {"a,b\nx,y\n", "line 2: b \"y\" is not a whole number"},
        {"a,b\nx,-1\n", "line 2: b \"-1\" is not between 0 and 100"},
        {"a,b\nx,99999999999999999999\n", "is not a whole number"},
        {"a,b,c\nx,1,1e300\n", "c \"1e300\" is negative or too large"},
        {"a,b,c\nx,1,-0.5\n", "c \"-0.5\" is negative"},
        {"a,b,c\nx,1,nan\n", "is not a number"},
        {"a,b\n\"x,1\n", "line 2: a quoted field does not end"},
        {"a,b\n\"x\"y,1\n", "a quoted field does not end"},
        {"a,b\n\xff,1\n", "is not UTF-8"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        enum err_code code = read_all(cases[i].text, &err);

        if ((code == OK) != (cases[i].said == NULL) ||
            (cases[i].said && !strstr(err.text, cases[i].said)))
            fail_msg("case %zu: %s", i, err.text);
    }
}

static void waits_are_read_at_the_rank_above(void **state)
{
    int64_t sorted[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    struct sim_waits waits = {.sorted = sorted, .count = 10}, none = {0};

    (void)state;
    assert_int_equal(sim_waits_at(&waits, 500), 5);
    assert_int_equal(sim_waits_at(&waits, 900), 9);
    assert_int_equal(sim_waits_at(&waits, 990), 10);
    assert_int_equal(sim_waits_mean(&waits), 5);
    assert_int_equal(sim_waits_at(&none, 500), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_by_time_then_by_entry),
        cmocka_unit_test(neighbouring_seeds_give_other_numbers),
        cmocka_unit_test(a_job_keeps_whom_it_comes_after_when_sorted),
        cmocka_unit_test(the_checks_see_room_that_leaked),
        cmocka_unit_test(the_checks_see_a_gpu_used_twice),
        cmocka_unit_test(the_checks_see_work_that_holds_nothing),
        cmocka_unit_test(the_checks_see_a_lost_job),
        cmocka_unit_test(the_checks_see_a_limit_that_is_passed),
        cmocka_unit_test(the_checks_see_an_innocent_that_is_ended),
        cmocka_unit_test(a_table_is_read_or_refused_by_name_and_line),
        cmocka_unit_test(waits_are_read_at_the_rank_above),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
