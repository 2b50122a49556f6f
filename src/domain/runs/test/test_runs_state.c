/* How a run's state follows from what happens, on all pairs. */
#include "domain/runs/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct run run_in(enum run_state state, bool of_job)
{
    struct run run = {
        .state = state,
        .started = state == RUN_PENDING ? TIME_NONE : 5,
        .ended = run_state_ended(state) ? 50 : TIME_NONE,
        .seen = TIME_NONE,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
    };

    if (of_job)
        run.job_public_id = (struct id){"jaaaaaaaaaaaa"};
    return run;
}

static enum run_state after(enum run_state from, bool of_job, enum run_event_kind kind,
                            bool from_job)
{
    struct run run = run_in(from, of_job);
    struct run_event event = {
        .kind = kind,
        .at = 100,
        .from_job = from_job,
        .end = RUN_FAILED,
        .exit_code = 3,
        .exit_signal = EXIT_NONE,
        .reason = STR("why"),
    };

    run_apply(&run, &event);
    assert_true(run.seen == (kind == RUN_EVENT_ENDED ? TIME_NONE : 100));
    assert_true(run_state_ended(run.state) == (run.ended != TIME_NONE));
    return run.state;
}

static void its_own_log_decides_about_a_run_without_a_job(void **state)
{
    (void)state;
    for (enum run_state s = 0; s < RUN_STATE_COUNT; s++) {
        bool revived = s == RUN_PENDING || s == RUN_CRASHED;
        assert_int_equal(after(s, false, RUN_EVENT_HEARD, false), revived ? RUN_RUNNING : s);
        assert_int_equal(after(s, false, RUN_EVENT_OPENED, false), RUN_RUNNING);
        assert_int_equal(after(s, false, RUN_EVENT_ENDED, false), RUN_FAILED);
        assert_int_equal(after(s, false, RUN_EVENT_SILENT, false),
                         run_state_ended(s) ? s : RUN_FAILED);
    }
}

static void a_run_of_a_job_follows_the_job_alone(void **state)
{
    (void)state;
    for (enum run_state s = 0; s < RUN_STATE_COUNT; s++) {
        assert_int_equal(after(s, true, RUN_EVENT_HEARD, false), s);
        assert_int_equal(after(s, true, RUN_EVENT_OPENED, false), s);
        assert_int_equal(after(s, true, RUN_EVENT_ENDED, false), s);
        assert_int_equal(after(s, true, RUN_EVENT_SILENT, false), s);
        assert_int_equal(after(s, true, RUN_EVENT_RUNNING, true), RUN_RUNNING);
        assert_int_equal(after(s, true, RUN_EVENT_PENDING, true), RUN_PENDING);
        assert_int_equal(after(s, true, RUN_EVENT_ENDED, true), RUN_FAILED);
        assert_int_equal(after(s, false, RUN_EVENT_RUNNING, true), s); /* a job that is not its */
    }
}

static void running_again_forgets_the_earlier_end(void **state)
{
    struct run run = run_in(RUN_CRASHED, false);
    struct run_event event = {.kind = RUN_EVENT_HEARD, .at = 100};

    (void)state;
    run.exit_signal = 9;
    run.reason = STR("silent");
    run_apply(&run, &event);
    assert_int_equal(run.exit_signal, EXIT_NONE);
    assert_int_equal(run.reason.len, 0);
    assert_int_equal(run.started, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_log_decides_about_a_run_without_a_job),
        cmocka_unit_test(a_run_of_a_job_follows_the_job_alone),
        cmocka_unit_test(running_again_forgets_the_earlier_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("runs_state", tests, NULL, NULL);
}
