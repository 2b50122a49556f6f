/* The scheduler's promises, one fact a test. */
#include "sched/first.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cmocka.h>

static struct first_job job(int64_t id, int64_t priority, time_ms queued, int64_t cpus)
{
    return (struct first_job){{id}, priority, queued, {cpus, 0, 0}, {0}};
}

static struct first_agent agent(int64_t id, int64_t cpus)
{
    return (struct first_agent){{id}, {1}, true, 4, {cpus, 0, 1000}, {cpus, 0, 1000}};
}

static struct first_result run(struct arena *arena, const struct first_job *jobs, size_t job_count,
                               const struct first_agent *agents, size_t agent_count)
{
    struct first_result result;

    first_run(&(struct first_snapshot){jobs, job_count, agents, agent_count}, arena, &result);
    assert_int_equal(result.start_count + result.wait_count, job_count);
    return result;
}

static void higher_priority_starts_first_then_the_older(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct first_job jobs[] = {job(1, 0, 10, 2), job(2, 5, 20, 2), job(3, 0, 5, 2)};
    const struct first_agent agents[] = {agent(9, 4)};
    struct first_result r = run(&arena, jobs, 3, agents, 1);

    (void)state;
    assert_int_equal(r.start_count, 2);
    assert_int_equal(r.starts[0].job.v, 2);
    assert_int_equal(r.starts[1].job.v, 3);
    assert_int_equal(r.waits[0].job.v, 1);
    assert_int_equal(r.waits[0].reason, FIRST_BUSY);
    assert_string_equal(r.waits[0].resource, "cpus");
}

static void a_core_is_never_given_twice(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct first_job jobs[] = {job(1, 0, 1, 3), job(2, 0, 2, 2), job(3, 0, 3, 1)};
    const struct first_agent agents[] = {agent(9, 4)};
    struct first_result r = run(&arena, jobs, 3, agents, 1);

    (void)state;
    assert_int_equal(r.start_count, 2);
    assert_int_equal(r.starts[0].job.v, 1);
    assert_int_equal(r.starts[1].job.v, 3); /* the one that does not fit holds nobody up */
    assert_int_equal(r.waits[0].job.v, 2);
    assert_int_equal(r.waits[0].asked, 2);
    assert_int_equal(r.waits[0].available, 1);
}

static void best_fit_keeps_the_large_agent_free(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct first_job jobs[] = {job(1, 0, 1, 2)};
    const struct first_agent agents[] = {agent(8, 16), agent(9, 2)};

    (void)state;
    assert_int_equal(run(&arena, jobs, 1, agents, 2).starts[0].agent.v, 9);
}

static void silent_agents_and_other_targets_get_nothing(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct first_job jobs[] = {job(1, 0, 1, 1)};
    struct first_agent agents[] = {agent(9, 4)};

    (void)state;
    agents[0].live = false;
    assert_int_equal(run(&arena, jobs, 1, agents, 1).waits[0].reason, FIRST_NO_AGENT);
    agents[0].live = true;
    jobs[0].target = (target_id){2};
    assert_int_equal(run(&arena, jobs, 1, agents, 1).waits[0].reason, FIRST_NO_TARGET);
}

static void a_job_that_never_fits_says_so_with_numbers(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct first_job jobs[] = {job(1, 0, 1, 1)};
    const struct first_agent agents[] = {agent(9, 4)};
    struct first_result r;

    (void)state;
    jobs[0].need.gpus = 8;
    r = run(&arena, jobs, 1, agents, 1);
    assert_int_equal(r.waits[0].reason, FIRST_TOO_BIG);
    assert_string_equal(r.waits[0].resource, "gpus");
    assert_int_equal(r.waits[0].asked, 8);
    assert_int_equal(r.waits[0].available, 0);
    assert_int_equal(r.waits[0].rank, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(higher_priority_starts_first_then_the_older),
        cmocka_unit_test(a_core_is_never_given_twice),
        cmocka_unit_test(best_fit_keeps_the_large_agent_free),
        cmocka_unit_test(silent_agents_and_other_targets_get_nothing),
        cmocka_unit_test(a_job_that_never_fits_says_so_with_numbers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
