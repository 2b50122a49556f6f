/* Epochs and verdicts, whatever the order of the logs. */
#include "domain/runs/runs_writers_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct writer made(const char *kind, time_ms started)
{
    return (struct writer){
        .kind = str_from(kind),
        .host = STR("h"),
        .rank = RANK_NONE,
        .local_rank = RANK_NONE,
        .world_size = RANK_NONE,
        .started = started,
        .epoch_key = STR(""),
        .epoch_step = STEP_NONE,
        .first_step = 0,
        .heard = started + 10,
        .ended_at = TIME_NONE,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
        .gone = TIME_NONE,
    };
}

static struct writer cutting(time_ms started, enum epoch_kind kind, const char *key, int64_t step)
{
    struct writer w = made("trainer", started);

    w.epoch_kind = kind;
    w.epoch_key = str_from(key);
    if (kind == EPOCH_TRUNCATE)
        w.epoch_step = step;
    else
        w.first_step = step;
    return w;
}

static struct writer ended(struct writer w, time_ms at, int exit_code, int exit_signal)
{
    w.ended = true;
    w.ended_at = at;
    w.exit_code = exit_code;
    w.exit_signal = exit_signal;
    return w;
}

static void a_writer_that_continues_hides_nothing(void **state)
{
    struct writer writers[] = {made("trainer", 1), made("trainer", 2), made("sidecar", 3)};
    struct writer_view views[3];

    (void)state;
    assert_false(runs_epochs(writers, 3, views));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(views[i].epoch, 0);
        assert_true(views[i].visible_below == INT64_MAX);
    }
}

static void truncation_hides_the_tail_of_older_epochs_only(void **state)
{
    struct writer writers[] = {made("trainer", 1), cutting(5, EPOCH_TRUNCATE, "a", 100),
                               made("child", 6), cutting(9, EPOCH_TRUNCATE, "b", 150),
                               made("trainer", 12)};
    struct writer_view views[5];

    (void)state;
    assert_true(runs_epochs(writers, 5, views));
    assert_true(views[0].visible_below == 100);
    assert_true(views[1].visible_below == 150 && views[1].epoch == 1);
    assert_true(views[2].visible_below == 150 && views[2].epoch == 1);
    assert_true(views[3].visible_below == INT64_MAX && views[3].epoch == 2);
    assert_true(views[4].visible_below == INT64_MAX && views[4].epoch == 2);
}

static void a_later_lower_cut_counts_for_all_before_it(void **state)
{
    struct writer writers[] = {made("trainer", 1), cutting(5, EPOCH_TRUNCATE, "a", 100),
                               cutting(9, EPOCH_TRUNCATE, "b", 50)};
    struct writer_view views[3];

    (void)state;
    assert_true(runs_epochs(writers, 3, views));
    assert_true(views[0].visible_below == 50);
    assert_true(views[1].visible_below == 50);
}

static void ranks_of_one_key_are_one_epoch_whoever_starts_first(void **state)
{
    struct writer writers[] = {made("trainer", 1), cutting(5, EPOCH_TRUNCATE, "a", 100),
                               cutting(6, EPOCH_TRUNCATE, "a", 100),
                               cutting(7, EPOCH_TRUNCATE, "a", 100)};
    struct writer_view views[4];

    (void)state;
    assert_true(runs_epochs(writers, 4, views));
    assert_true(views[0].visible_below == 100);
    for (int i = 1; i < 4; i++)
        assert_true(views[i].epoch == 1 && views[i].visible_below == INT64_MAX);
}

static void an_attempt_cuts_at_the_first_step_it_logs(void **state)
{
    struct writer writers[] = {cutting(1, EPOCH_ATTEMPT, "t1", 0),
                               cutting(5, EPOCH_ATTEMPT, "t2", 40), made("sidecar", 6)};
    struct writer_view views[3];

    (void)state;
    assert_true(runs_epochs(writers, 3, views));
    assert_true(views[0].visible_below == 40);
    assert_true(views[1].visible_below == INT64_MAX);
    writers[1].first_step = STEP_NONE; /* it has not logged anything yet */
    assert_false(runs_epochs(writers, 3, views));
}

static void samples_and_fenced_writers_cut_and_lose_nothing(void **state)
{
    struct writer writers[] = {made("sidecar", 1), cutting(5, EPOCH_TRUNCATE, "a", 100),
                               cutting(9, EPOCH_TRUNCATE, "b", 10)};
    struct writer_view views[3];

    (void)state;
    writers[2].fenced = true;
    assert_false(runs_epochs(writers, 3, views));
    assert_true(views[0].visible_below == INT64_MAX);
    assert_true(views[1].visible_below == INT64_MAX);
}

static void the_last_started_process_decides(void **state)
{
    struct writer writers[] = {ended(made("trainer", 1), 20, 1, 0), made("trainer", 5),
                               ended(made("child", 6), 9, 3, 0)};
    struct run_verdict v = runs_verdict(writers, 3);

    (void)state;
    assert_int_equal(v.kind, VERDICT_OPEN);
    writers[1] = ended(writers[1], 30, 0, 0);
    v = runs_verdict(writers, 3);
    assert_int_equal(v.kind, VERDICT_ENDED);
    assert_int_equal(v.state, RUN_FINISHED);
    assert_int_equal(v.at, 30);
    assert_int_equal(v.started, 1);
}

static void rank_0_decides_among_ranks(void **state)
{
    struct writer writers[] = {made("trainer", 1), made("trainer", 2), made("trainer", 3)};

    (void)state;
    for (int i = 0; i < 3; i++)
        writers[i].rank = 2 - i; /* rank 0 starts last, then first */
    writers[0] = ended(writers[0], 8, 7, 0);
    writers[1] = ended(writers[1], 9, 7, 0);
    assert_int_equal(runs_verdict(writers, 3).kind, VERDICT_OPEN);
    writers[0].rank = 0;
    writers[2].rank = 2;
    struct run_verdict v = runs_verdict(writers, 3);
    assert_int_equal(v.kind, VERDICT_ENDED);
    assert_int_equal(v.state, RUN_FAILED);
    assert_int_equal(v.exit_code, 7);
}

static void what_became_of_a_process(void **state)
{
    struct {
        bool preempting, gone, oom;
        int exit_code, exit_signal;
        enum run_state want;
    } cases[] = {
        {false, false, false, 0, EXIT_NONE, RUN_FINISHED},
        {false, false, false, 3, EXIT_NONE, RUN_FAILED},
        {false, false, false, EXIT_NONE, 9, RUN_KILLED},
        {false, true, false, EXIT_NONE, EXIT_NONE, RUN_CRASHED},
        {false, true, true, EXIT_NONE, EXIT_NONE, RUN_KILLED},
        {true, false, false, 0, EXIT_NONE, RUN_FINISHED},
        {true, false, false, 3, EXIT_NONE, RUN_PREEMPTED},
        {true, false, false, EXIT_NONE, 15, RUN_PREEMPTED},
        {true, true, false, EXIT_NONE, EXIT_NONE, RUN_PREEMPTED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct writer w = made("trainer", 1);
        w.preempting = cases[i].preempting;
        if (cases[i].gone) {
            w.gone = 50;
            w.gone_oom = cases[i].oom;
        } else {
            w = ended(w, 50, cases[i].exit_code, cases[i].exit_signal);
        }
        struct run_verdict v = runs_verdict(&w, 1);
        assert_int_equal(v.kind, VERDICT_ENDED);
        assert_int_equal(v.state, cases[i].want);
        assert_int_equal(v.at, 50);
    }
}

static void an_end_of_an_earlier_version_is_left_alone(void **state)
{
    struct writer w = made("trainer", 1);

    (void)state;
    w.ended = true;
    assert_int_equal(runs_verdict(&w, 1).kind, VERDICT_OLD);
    assert_int_equal(runs_verdict(NULL, 0).kind, VERDICT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_that_continues_hides_nothing),
        cmocka_unit_test(truncation_hides_the_tail_of_older_epochs_only),
        cmocka_unit_test(a_later_lower_cut_counts_for_all_before_it),
        cmocka_unit_test(ranks_of_one_key_are_one_epoch_whoever_starts_first),
        cmocka_unit_test(an_attempt_cuts_at_the_first_step_it_logs),
        cmocka_unit_test(samples_and_fenced_writers_cut_and_lose_nothing),
        cmocka_unit_test(the_last_started_process_decides),
        cmocka_unit_test(rank_0_decides_among_ranks),
        cmocka_unit_test(what_became_of_a_process),
        cmocka_unit_test(an_end_of_an_earlier_version_is_left_alone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("runs_writers_state", tests, NULL, NULL);
}
