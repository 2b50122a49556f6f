/* The state table of jobs, on all pairs, and its replay from encoded events. */
#include "domain/jobs/jobs_plan.h"
#include "domain/jobs/jobs_ranks_state.h"
#include "domain/jobs/jobs_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NO (-1)

static struct job job_in(enum job_state state)
{
    return (struct job){
        .public_id = {"jaaaaaaaaaaaa"},
        .state = state,
        .queued = 10,
        .started = state >= JOB_RUNNING ? 20 : TIME_NONE,
        .ended = TIME_NONE,
        .retries = 1,
        .attempt_count = state >= JOB_OFFERED ? 1 : 0,
        .exit_code = EXIT_NONE,
        .exit_signal = EXIT_NONE,
        .reason = STR(""),
    };
}

static struct job_event event_of(enum job_event_kind kind)
{
    return (struct job_event){.kind = kind,
                              .at = 100,
                              .exit_code = kind == JOB_EVENT_ENDED ? 0 : EXIT_NONE,
                              .exit_signal = EXIT_NONE,
                              .ending = kind == JOB_EVENT_EVICT ? ENDING_RECLAIMED : ENDING_NONE,
                              .rank_state = ATTEMPT_FAILED,
                              .reason = STR("")};
}

/* What each event makes of each state, written down by hand; NO: refused. */
#define HELD      JOB_HELD
#define QUEUED    JOB_QUEUED
#define OFFERED   JOB_OFFERED
#define CLAIMED   JOB_CLAIMED
#define STARTING  JOB_STARTING
#define RUNNING   JOB_RUNNING
#define STOPPING  JOB_STOPPING
#define GOOD      JOB_SUCCEEDED
#define BAD       JOB_FAILED
#define CANCELLED JOB_CANCELLED

static const int want[JOB_EVENT_COUNT][JOB_STATE_COUNT] = {
    [JOB_EVENT_SUBMITTED] = {HELD, QUEUED, NO, NO, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_RELEASED] = {QUEUED, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_HELD] = {NO, HELD, NO, NO, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_CHANGED] = {HELD, QUEUED, OFFERED, CLAIMED, STARTING, RUNNING, STOPPING, NO, NO, NO},
    [JOB_EVENT_OFFERED] = {NO, OFFERED, NO, NO, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_WITHDRAWN] = {NO, NO, QUEUED, NO, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_ACCEPTED] = {NO, NO, CLAIMED, NO, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_STARTING] = {NO, NO, NO, STARTING, NO, NO, NO, NO, NO, NO},
    [JOB_EVENT_RUNNING] = {NO, NO, NO, RUNNING, RUNNING, NO, NO, NO, NO, NO},
    [JOB_EVENT_CANCEL] = {CANCELLED, CANCELLED, CANCELLED, STOPPING, STOPPING, STOPPING, STOPPING,
                          NO, NO, NO},
    [JOB_EVENT_EVICT] = {NO, NO, QUEUED, STOPPING, STOPPING, STOPPING, NO, NO, NO, NO},
    [JOB_EVENT_RANK] = {NO, NO, OFFERED, STOPPING, STOPPING, STOPPING, STOPPING, NO, NO, NO},
    [JOB_EVENT_HEALTH] = {NO, NO, NO, NO, NO, RUNNING, STOPPING, NO, NO, NO},
    [JOB_EVENT_ENDED] = {NO, NO, NO, GOOD, GOOD, GOOD, GOOD, NO, NO, NO},
    [JOB_EVENT_LOST] = {NO, NO, NO, QUEUED, QUEUED, QUEUED, QUEUED, NO, NO, NO},
    [JOB_EVENT_FINAL] = {HELD, QUEUED, NO, NO, NO, NO, NO, GOOD, BAD, CANCELLED},
};

static void every_event_in_every_state_is_allowed_or_refused_as_written(void **state)
{
    (void)state;
    for (int kind = 0; kind < JOB_EVENT_COUNT; kind++)
        for (int from = 0; from < JOB_STATE_COUNT; from++) {
            struct job job = job_in((enum job_state)from), before = job;
            struct job_event event = event_of((enum job_event_kind)kind);
            struct err err;
            enum err_code code = job_apply(&job, &event, &err);
            if (want[kind][from] == NO) {
                assert_int_equal(code, ERR_CONFLICT);
                assert_memory_equal(&job, &before, sizeof job);
            } else {
                assert_int_equal(code, OK);
                assert_int_equal(job.state, want[kind][from]);
                assert_int_equal(job.event_count, before.event_count + 1);
            }
        }
}

static struct job after(enum job_state from, struct job_event event)
{
    struct job job = job_in(from);

    assert_int_equal(job_apply(&job, &event, NULL), OK);
    return job;
}

static void an_offer_without_its_secret_ends_the_job(void **state)
{
    struct job_event e = event_of(JOB_EVENT_WITHDRAWN);

    (void)state;
    e.ending = ENDING_NOT_TAKEN;
    assert_int_equal(after(JOB_OFFERED, e).state, JOB_QUEUED);
    e.ending = ENDING_SECRET;
    assert_int_equal(after(JOB_OFFERED, e).state, JOB_FAILED);
    assert_int_equal(after(JOB_OFFERED, e).ending, ENDING_SECRET);
}

static void an_end_is_good_only_with_exit_code_0_and_nothing_else(void **state)
{
    struct job_event e = event_of(JOB_EVENT_ENDED);

    (void)state;
    assert_int_equal(after(JOB_RUNNING, e).state, JOB_SUCCEEDED);
    e.exit_code = 3;
    assert_int_equal(after(JOB_RUNNING, e).state, JOB_FAILED);
    e.exit_code = 0;
    e.timed_out = true;
    assert_int_equal(after(JOB_RUNNING, e).state, JOB_FAILED);
    e.timed_out = false;
    e.exit_code = EXIT_NONE;
    e.exit_signal = 9;
    assert_int_equal(after(JOB_RUNNING, e).state, JOB_FAILED);
    e = event_of(JOB_EVENT_ENDED);
    e.failed_to_start = true;
    assert_int_equal(after(JOB_CLAIMED, e).state, JOB_FAILED);
}

static void a_cancelled_job_is_cancelled_however_its_work_ended(void **state)
{
    struct job job = job_in(JOB_RUNNING);
    struct job_event cancel = event_of(JOB_EVENT_CANCEL), ended = event_of(JOB_EVENT_ENDED);

    (void)state;
    assert_int_equal(job_apply(&job, &cancel, NULL), OK);
    assert_int_equal(job_apply(&job, &ended, NULL), OK);
    assert_int_equal(job.state, JOB_CANCELLED);
}

static void retry_refuses_when_attempts_are_used_up(void **state)
{
    struct job job = job_in(JOB_RUNNING);
    struct job_event lost = event_of(JOB_EVENT_LOST);

    (void)state;
    lost.run_time_ms = 5;
    lost.cost_micro = 7;
    assert_int_equal(job_apply(&job, &lost, NULL), OK);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_int_equal(job.queued, 10); /* it keeps its age */
    job.state = JOB_RUNNING;
    assert_int_equal(job_apply(&job, &lost, NULL), OK);
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.run_time_ms, 10);
    assert_int_equal(job.cost_micro, 14); /* lost work costs too */
}

static void cost_is_rounded_and_saturates(void **state)
{
    (void)state;
    assert_int_equal(job_cost_micro(3600000, 5, 7, 2), 19);
    assert_int_equal(job_cost_micro(1800000, 1, 0, 0), 1); /* half is rounded up */
    assert_int_equal(job_cost_micro(1799999, 1, 0, 0), 0);
    assert_int_equal(job_cost_micro(INT64_MAX, INT64_MAX, INT64_MAX, 1024), INT64_MAX);
}

static void set_place(struct job_event *event, bool moved, struct arena *arena)
{
    event->priority = moved ? -7 : 3;
    event->queue = (queue_id){moved ? 9 : 1};
    event->queue_name = moved ? STR("night") : STR("default");
    event->shape = moved ? STR("{\"steps\":[{\"target\":4,\"wait_ms\":0}]}") : STR("{}");
    event->targets = moved ? STR("[{\"target\":\"rack\"}]") : STR("\"spot\"");
    event->spec = job_event_spec(event, STR("{\"command\":[\"true\"]}"), arena);
}

static void a_spec_has_the_targets_of_its_event(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct job_event event = event_of(JOB_EVENT_CHANGED);
    struct str one = STR("{\"target\":\"spot\",\"gpus\":1}"), many;

    (void)state;
    assert_true(str_eq(job_event_spec(&event, one, &arena), one)); /* it names none */
    event.targets = STR("\"spot\"");
    assert_true(str_eq(job_event_spec(&event, one, &arena), one)); /* the same */
    event.targets = STR("[{\"target\":\"rack\",\"wait_s\":5}]");
    many = job_event_spec(&event, one, &arena);
    assert_true(str_eq_c(many, "{\"gpus\":1,\"targets\":[{\"target\":\"rack\",\"wait_s\":5}]}"));
    event.targets = STR("[]");
    assert_true(str_eq_c(job_event_spec(&event, many, &arena), "{\"gpus\":1}"));
}

static void replaying_encoded_events_rebuilds_the_job(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    static const enum job_event_kind life[] = {
        JOB_EVENT_SUBMITTED, JOB_EVENT_CHANGED,  JOB_EVENT_OFFERED, JOB_EVENT_WITHDRAWN,
        JOB_EVENT_OFFERED,   JOB_EVENT_ACCEPTED, JOB_EVENT_RUNNING, JOB_EVENT_LOST,
        JOB_EVENT_OFFERED,   JOB_EVENT_ACCEPTED, JOB_EVENT_RUNNING, JOB_EVENT_CANCEL,
        JOB_EVENT_ENDED,     JOB_EVENT_FINAL,
    };
    struct job lived = job_in(JOB_QUEUED), replayed = job_in(JOB_QUEUED);

    (void)state;
    lived.spec = replayed.spec = STR("{\"command\":[\"true\"]}");
    for (size_t i = 0; i < ARRAY_LEN(life); i++) {
        struct job_event event = event_of(life[i]), again = event_of(life[i]);
        event.at = again.at = 1000 + (time_ms)i;
        event.attempt = again.attempt = (struct id){"taaaaaaaaaaaa"};
        if (life[i] == JOB_EVENT_ENDED || life[i] == JOB_EVENT_LOST) {
            event.exit_code = EXIT_NONE;
            event.exit_signal = 15;
            event.run_time_ms = 1234;
            event.gpu_ms = 99;
            event.cost_micro = 5;
            event.reason = STR("a \"reason\"\twith marks");
        }
        if (life[i] == JOB_EVENT_SUBMITTED || life[i] == JOB_EVENT_CHANGED)
            set_place(&event, life[i] == JOB_EVENT_CHANGED, &arena);
        assert_int_equal(job_apply(&lived, &event, NULL), OK);
        assert_int_equal(job_event_decode(job_event_encode(&event, &arena), &arena, &again, NULL),
                         OK);
        again.spec = job_event_spec(&again, replayed.spec, &arena);
        assert_int_equal(job_apply(&replayed, &again, NULL), OK);
        assert_true(str_eq(lived.reason, replayed.reason));
        assert_true(str_eq(lived.spec, replayed.spec));
        assert_true(str_eq(lived.shape, replayed.shape));
        assert_true(str_eq(lived.queue_name, replayed.queue_name));
        replayed.reason = lived.reason; /* the same texts elsewhere in memory */
        replayed.spec = lived.spec;
        replayed.shape = lived.shape;
        replayed.queue_name = lived.queue_name;
        assert_memory_equal(&lived, &replayed, sizeof lived);
    }
    assert_int_equal(lived.state, JOB_CANCELLED);
}

/* ---- Ends that are not the job's fault */

static void an_evicted_job_waits_again_with_its_age_and_all_its_retries(void **state)
{
    struct job_event evict = event_of(JOB_EVENT_EVICT), ended = event_of(JOB_EVENT_ENDED),
                     last = event_of(JOB_EVENT_FINAL);
    struct attempt attempt = {.state = ATTEMPT_RUNNING};
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    job.attempt = (attempt_id){7};
    attempt_apply(&attempt, &evict, &job);
    assert_int_equal(attempt.state, ATTEMPT_STOPPING);
    assert_int_equal(job_apply(&job, &evict, NULL), OK);
    assert_int_equal(job.stop_for, ENDING_RECLAIMED);
    ended.exit_code = EXIT_NONE;
    ended.exit_signal = 15;
    ended.stopped = true;
    attempt_apply(&attempt, &ended, &job);
    assert_int_equal(attempt.state, ATTEMPT_PREEMPTED);
    assert_int_equal(attempt.ending, ENDING_RECLAIMED);
    assert_int_equal(job_apply(&job, &ended, NULL), OK);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_int_equal(job.queued, 10);
    assert_int_equal(job.failures, 0);
    assert_int_equal(job.attempt.v, 7); /* until its record is complete */
    assert_int_equal(job_apply(&job, &last, NULL), OK);
    assert_int_equal(job.attempt.v, 0);
    assert_false(job.final);
}

static void work_that_ended_before_it_heard_of_its_eviction_has_ended(void **state)
{
    struct job_event evict = event_of(JOB_EVENT_EVICT), ended = event_of(JOB_EVENT_ENDED);
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    assert_int_equal(job_apply(&job, &evict, NULL), OK);
    assert_int_equal(job_apply(&job, &ended, NULL), OK);
    assert_int_equal(job.state, JOB_SUCCEEDED);
    assert_int_equal(job.ending, ENDING_DONE);
}

static void an_offer_that_nobody_takes_costs_no_retry_and_comes_more_and_more_rarely(void **state)
{
    struct job_event withdrawn = event_of(JOB_EVENT_WITHDRAWN);
    struct job job = job_in(JOB_OFFERED);
    int64_t before = 0;

    (void)state;
    assert_int_equal(job_apply(&job, &withdrawn, NULL), OK);
    assert_int_equal(job.not_before, TIME_NONE);
    for (int i = 0; i < 20; i++) {
        job.state = JOB_OFFERED;
        assert_int_equal(job_apply(&job, &withdrawn, NULL), OK);
        assert_true(job.not_before >= before);
        before = job.not_before;
    }
    assert_int_equal(before, withdrawn.at + 600000);
    assert_int_equal(job.failures, 0);
}

static void failed_work_is_tried_again_only_where_it_was_asked_for(void **state)
{
    struct job_event failed = event_of(JOB_EVENT_ENDED);
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    failed.exit_code = 3;
    job.retry_failed = true;
    assert_int_equal(job_apply(&job, &failed, NULL), OK);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_int_equal(job.not_before, failed.at + 10000);
    job.state = JOB_RUNNING;
    assert_int_equal(job_apply(&job, &failed, NULL), OK); /* one retry was all */
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.ending, ENDING_EXIT);
}

static void work_whose_gpu_failed_is_tried_again_as_after_a_lost_machine(void **state)
{
    struct job_event failed = event_of(JOB_EVENT_ENDED);
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    failed.exit_code = 3;
    failed.ending = ENDING_GPU;
    assert_false(job.retry_failed);
    assert_int_equal(job_apply(&job, &failed, NULL), OK);
    assert_int_equal(job.state, JOB_QUEUED);
    job.state = JOB_RUNNING;
    assert_int_equal(job_apply(&job, &failed, NULL), OK); /* one retry was all */
    assert_int_equal(job.state, JOB_FAILED);
    assert_int_equal(job.ending, ENDING_GPU);
}

static void a_service_starts_again_whatever_its_end(void **state)
{
    struct job_event ended = event_of(JOB_EVENT_ENDED);
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    job.kind = JOB_SERVICE;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(job_apply(&job, &ended, NULL), OK);
        assert_int_equal(job.state, JOB_QUEUED);
        job.state = JOB_RUNNING;
    }
}

static void a_service_starts_again_ever_later_until_it_has_run_well_for_a_while(void **state)
{
    struct job_event ended = event_of(JOB_EVENT_ENDED);
    struct job job = job_in(JOB_RUNNING);
    static const int64_t pauses[] = {10000, 20000, 40000, 80000, 160000, 320000, 600000, 600000};

    (void)state;
    job.kind = JOB_SERVICE;
    ended.run_time_ms = 599999;
    for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
        job.state = JOB_RUNNING;
        assert_int_equal(job_apply(&job, &ended, NULL), OK);
        assert_int_equal(job.not_before, ended.at + pauses[i]);
    }
    job.state = JOB_RUNNING;
    ended.run_time_ms = 600000;
    assert_int_equal(job_apply(&job, &ended, NULL), OK);
    assert_int_equal(job.not_before, ended.at + 10000);
}

static void what_was_ended_for_its_health_says_so_whatever_its_exit_code(void **state)
{
    struct job_event ended = event_of(JOB_EVENT_ENDED);
    struct attempt attempt = {.state = ATTEMPT_RUNNING};
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    job.kind = JOB_SERVICE;
    ended.unhealthy = ended.stopped = true;
    ended.exit_code = 0;
    attempt_apply(&attempt, &ended, &job);
    assert_int_equal(attempt.state, ATTEMPT_FAILED);
    assert_int_equal(attempt.ending, ENDING_HEALTH);
    job.cancel_asked = true; /* a person counts more */
    attempt = (struct attempt){.state = ATTEMPT_STOPPING};
    attempt_apply(&attempt, &ended, &job);
    assert_int_equal(attempt.state, ATTEMPT_CANCELLED);
}

static void the_health_of_a_service_is_its_attempts(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct job_event event = event_of(JOB_EVENT_HEALTH), again = event_of(JOB_EVENT_HEALTH);
    struct attempt attempt = {.state = ATTEMPT_RUNNING, .health_since = TIME_NONE};
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    event.health = HEALTH_BAD;
    event.reason = STR("HTTP 503");
    assert_int_equal(job_event_decode(job_event_encode(&event, &arena), &arena, &again, NULL), OK);
    attempt_apply(&attempt, &again, &job);
    assert_int_equal(attempt.state, ATTEMPT_RUNNING);
    assert_int_equal(attempt.health, HEALTH_BAD);
    assert_int_equal(attempt.health_since, 100);
    assert_true(str_eq_c(attempt.health_problem, "HTTP 503"));
}

static void a_machine_taken_back_goes_on_with_the_next_target(void **state)
{
    struct job_event lost = event_of(JOB_EVENT_LOST);
    struct job job = job_in(JOB_RUNNING);

    (void)state;
    lost.ending = ENDING_SPOT;
    lost.next_step = 1;
    assert_int_equal(job_apply(&job, &lost, NULL), OK);
    assert_int_equal(job.state, JOB_QUEUED);
    assert_int_equal(job.step_from, 1);
    assert_int_equal(job.ladder_at, lost.at);
    assert_int_equal(job.failures, 0);
}

/* ---- Several placements */

static void place(struct placement *p, size_t count, enum attempt_state state)
{
    for (size_t i = 0; i < count; i++)
        p[i] = (struct placement){.rank = (int64_t)i, .rank_count = 1, .state = state};
}

static enum ranks_outcome say(struct placement *p, size_t count, size_t which,
                              enum job_event_kind kind, struct job_event *ret)
{
    struct job_event said = event_of(kind);

    said.run_time_ms = 1000;
    return ranks_apply(p, count, which, &said, ret);
}

static void a_gang_is_so_far_as_its_slowest(void **state)
{
    static const enum job_event_kind kinds[] = {JOB_EVENT_ACCEPTED, JOB_EVENT_STARTING,
                                                JOB_EVENT_RUNNING, JOB_EVENT_ENDED,
                                                JOB_EVENT_FINAL};
    struct placement p[3];
    struct job_event e;

    (void)state;
    place(p, 3, ATTEMPT_OFFERED);
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < 3; i++) {
            enum ranks_outcome outcome = say(p, 3, i, kinds[k], &e);
            if (i < 2 && kinds[k] == JOB_EVENT_FINAL)
                assert_int_equal(outcome, RANKS_ONE);
            else
                assert_int_equal(outcome, RANKS_EVENT);
            if (i == 2)
                assert_int_equal(e.kind, kinds[k]);
            else if (kinds[k] != JOB_EVENT_FINAL)
                assert_int_equal(e.kind, JOB_EVENT_RANK);
            if (i == 2 && kinds[k] == JOB_EVENT_ENDED)
                assert_int_equal(e.node_ms, 3000);
            assert_int_equal(say(p, 3, i, kinds[k], &e), RANKS_NOTHING); /* repeated */
        }
}

static void the_first_bad_end_ends_the_gang_and_is_its_verdict(void **state)
{
    struct job_event said = event_of(JOB_EVENT_ENDED), e;
    struct placement p[3];

    (void)state;
    place(p, 3, ATTEMPT_RUNNING);
    said.exit_code = 7;
    assert_int_equal(ranks_apply(p, 3, 1, &said, &e), RANKS_ALL);
    assert_int_equal(e.kind, JOB_EVENT_RANK);
    assert_int_equal(p[0].state, ATTEMPT_STOPPING);
    assert_int_equal(p[2].state, ATTEMPT_STOPPING);
    said.exit_code = EXIT_NONE;
    said.exit_signal = 15;
    said.stopped = true;
    assert_int_equal(ranks_apply(p, 3, 0, &said, &e), RANKS_EVENT);
    assert_int_equal(ranks_apply(p, 3, 2, &said, &e), RANKS_EVENT);
    assert_int_equal(e.kind, JOB_EVENT_ENDED);
    assert_int_equal(e.exit_code, 7);
    assert_int_equal(e.exit_signal, EXIT_NONE);
    assert_int_equal(p[0].ending, ENDING_GANG);
}

static void a_lost_rank_is_a_lost_attempt_once_the_others_are_gone(void **state)
{
    struct job_event e;
    struct placement p[2];

    (void)state;
    place(p, 2, ATTEMPT_RUNNING);
    assert_int_equal(say(p, 2, 0, JOB_EVENT_LOST, &e), RANKS_ALL);
    assert_int_equal(e.kind, JOB_EVENT_RANK);
    assert_int_equal(say(p, 2, 1, JOB_EVENT_ENDED, &e), RANKS_EVENT);
    assert_int_equal(e.kind, JOB_EVENT_LOST);
}

static void before_all_have_accepted_a_stop_ends_all_at_once(void **state)
{
    struct job_event cancel = event_of(JOB_EVENT_CANCEL);
    struct placement p[2];

    (void)state;
    place(p, 2, ATTEMPT_OFFERED);
    p[0].state = ATTEMPT_CLAIMED;
    ranks_stop(p, 2, &cancel);
    assert_int_equal(p[0].state, ATTEMPT_CANCELLED);
    assert_int_equal(p[1].state, ATTEMPT_CANCELLED);
    place(p, 2, ATTEMPT_CLAIMED);
    ranks_stop(p, 2, &cancel);
    assert_int_equal(p[0].state, ATTEMPT_STOPPING);
}

static bool wants(const struct job_actions *actions, enum job_action_kind kind)
{
    for (size_t i = 0; i < actions->count; i++)
        if (actions->items[i].kind == kind)
            return true;
    return false;
}

static void the_plan_follows_from_the_state_alone(void **state)
{
    struct attempt attempt = {.state = ATTEMPT_LOST, .final = true};
    struct job job = job_in(JOB_STOPPING);
    struct job_actions actions, again;

    (void)state;
    job_plan(&job, NULL, &actions);
    job_plan(&job, NULL, &again);
    assert_memory_equal(&actions, &again, sizeof actions);
    assert_true(wants(&actions, JOB_ACTION_STOP_WORK));
    job = job_in(JOB_QUEUED);
    job_plan(&job, &attempt, &actions);
    assert_true(wants(&actions, JOB_ACTION_LIMIT_KEY));
    assert_false(wants(&actions, JOB_ACTION_REVOKE_KEY));
    job = job_in(JOB_SUCCEEDED);
    job.final = true;
    attempt = (struct attempt){.state = ATTEMPT_SUCCEEDED, .final = true};
    job_plan(&job, &attempt, &actions);
    assert_true(wants(&actions, JOB_ACTION_REVOKE_KEY));
    assert_true(wants(&actions, JOB_ACTION_CLOSE_CONSOLE));
    assert_int_equal(actions.items[0].run_state, RUN_FINISHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state_is_allowed_or_refused_as_written),
        cmocka_unit_test(an_offer_without_its_secret_ends_the_job),
        cmocka_unit_test(an_end_is_good_only_with_exit_code_0_and_nothing_else),
        cmocka_unit_test(a_cancelled_job_is_cancelled_however_its_work_ended),
        cmocka_unit_test(retry_refuses_when_attempts_are_used_up),
        cmocka_unit_test(cost_is_rounded_and_saturates),
        cmocka_unit_test(a_spec_has_the_targets_of_its_event),
        cmocka_unit_test(replaying_encoded_events_rebuilds_the_job),
        cmocka_unit_test(an_evicted_job_waits_again_with_its_age_and_all_its_retries),
        cmocka_unit_test(work_that_ended_before_it_heard_of_its_eviction_has_ended),
        cmocka_unit_test(an_offer_that_nobody_takes_costs_no_retry_and_comes_more_and_more_rarely),
        cmocka_unit_test(failed_work_is_tried_again_only_where_it_was_asked_for),
        cmocka_unit_test(work_whose_gpu_failed_is_tried_again_as_after_a_lost_machine),
        cmocka_unit_test(a_service_starts_again_whatever_its_end),
        cmocka_unit_test(a_service_starts_again_ever_later_until_it_has_run_well_for_a_while),
        cmocka_unit_test(what_was_ended_for_its_health_says_so_whatever_its_exit_code),
        cmocka_unit_test(the_health_of_a_service_is_its_attempts),
        cmocka_unit_test(a_machine_taken_back_goes_on_with_the_next_target),
        cmocka_unit_test(a_gang_is_so_far_as_its_slowest),
        cmocka_unit_test(the_first_bad_end_ends_the_gang_and_is_its_verdict),
        cmocka_unit_test(a_lost_rank_is_a_lost_attempt_once_the_others_are_gone),
        cmocka_unit_test(before_all_have_accepted_a_stop_ends_all_at_once),
        cmocka_unit_test(the_plan_follows_from_the_state_alone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("jobs_state", tests, NULL, NULL);
}
