/* Jobs with a store: a decision that is out of date starts nothing, and what is said twice is
 * charged once. The test is scheduler and agent. */
#include "base/mem.h"
#include "domain/budgets/budgets.h"
#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_charge.h"
#include "domain/projects/projects.h"
#include "domain/targets/targets.h"
#include "store/store_agent.h"
#include "store/store_identity.h"
#include "store/store_target.h"
#include "store/test/store_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000)
#define HOUR   (3600 * SECOND)
#define BEGIN  (1000 * 24 * HOUR)

static bool known(void *ctx, struct str name)
{
    (void)ctx;
    return str_eq_c(name, "UTC");
}

/* One month for all that happens here. */
static bool month(void *ctx, struct str name, time_ms at, time_ms *ret_start, time_ms *ret_end)
{
    (void)ctx;
    (void)at;
    *ret_start = BEGIN;
    *ret_end = BEGIN + 1000 * HOUR;
    return str_eq_c(name, "UTC");
}

static void fill(void *ctx, void *ret_bytes, size_t len)
{
    static uint8_t next;

    (void)ctx;
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)ret_bytes)[i] = (uint8_t)(next++ * 7 + i);
}

static struct store store;
static struct arena arena;
static struct domain domain = {
    .config = {.zone = "UTC",
               .currency = "EUR",
               .open_jobs_max = 100,
               .agent_silent_ms = HOUR,
               .lost_after_ms = HOUR},
    .zones = {known, month, NULL},
    .random = {fill, NULL},
};
static struct principal ada = {.kind = PRINCIPAL_USER, .admin = true};
static struct principal rack = {.kind = PRINCIPAL_AGENT};
static struct cmd cmd;
static struct project project;
static struct target target;
static struct agent agent;

static struct job submitted(void)
{
    struct job_spec spec = {
        .id = random_port_id(&domain.random, ID_JOB),
        .run = random_port_id(&domain.random, ID_RUN),
        .spec = STR("{\"command\":[\"true\"]}"),
        .command = STR("[\"true\"]"),
        .node_count = 1,
        .need = {.cpus = 1, .gpus = 2},
        .retries = 3,
    };
    bool created = false;
    struct job job;

    cmd.who = &ada;
    assert_int_equal(jobs_submit(&cmd, &project, &spec, &job, &created, NULL), OK);
    assert_true(created);
    return job;
}

static struct job now_is(const struct job *job)
{
    struct job found;

    assert_int_equal(store_job_by_id(&store, job->id, &arena, &found, NULL), OK);
    return found;
}

static void decide(const struct job *job, int64_t version)
{
    struct jobs_start start = {.job = job->id,
                               .version = version,
                               .target = target.id,
                               .agents = &agent.id,
                               .agent_count = 1};

    cmd.who = &ada;
    assert_int_equal(jobs_start(&cmd, &start, 1, NULL), OK);
}

static void a_decision_about_a_job_that_has_changed_since_starts_nothing(void **state)
{
    struct job_change change = {.has_priority = true, .priority = 7, .held = -1};
    struct job job = submitted();
    int64_t seen = job.event_count;

    (void)state;
    assert_int_equal(jobs_change(&cmd, &job, false, &change, NULL), OK);
    decide(&job, seen);
    assert_int_equal(now_is(&job).state, JOB_QUEUED);
    assert_int_equal(now_is(&job).attempt_count, 0);
    decide(&job, now_is(&job).event_count);
    job = now_is(&job);
    assert_int_equal(job.state, JOB_OFFERED);
    assert_int_equal(jobs_cancel(&cmd, &job, NULL), OK);
}

static void a_decision_about_a_cancelled_job_starts_nothing(void **state)
{
    struct job job = submitted();

    (void)state;
    assert_int_equal(jobs_cancel(&cmd, &job, NULL), OK);
    decide(&job, now_is(&job).event_count);
    assert_int_equal(now_is(&job).state, JOB_CANCELLED);
    assert_int_equal(now_is(&job).attempt_count, 0);
}

static struct wire_attempt offer_of(const struct job *job)
{
    struct agent_poll_answer answer;
    struct wire_attempt ref = {0};

    cmd.who = &rack;
    assert_int_equal(jobs_agent_poll(&cmd, &agent, NULL, 0, &answer, NULL), OK);
    for (size_t i = 0; i < answer.offer_count; i++)
        if (answer.offers[i].job.id.v == job->id.v) {
            ref.id = answer.offers[i].attempt.public_id;
            memcpy(ref.token, answer.offers[i].token, sizeof ref.token);
        }
    assert_true(ref.id.text[0]);
    return ref;
}

static void tell(const struct wire_attempt *ref, enum wire_attempt_state what, int64_t run_time_ms)
{
    struct wire_status status = {.state = what,
                                 .at = TIME_NONE,
                                 .exit_code = what == WIRE_ENDED ? 0 : EXIT_NONE,
                                 .exit_signal = EXIT_NONE,
                                 .run_time_ms = run_time_ms,
                                 .console_bytes = -1};
    struct attempt attempt;

    cmd.who = &rack;
    assert_int_equal(jobs_attempt_status(&cmd, ref, &status, &attempt, NULL), OK);
}

static struct budget_period used(void)
{
    struct budget_state left;

    assert_int_equal(ledger_left(&cmd, project.id, &left, NULL), OK);
    return left.periods[0];
}

static void an_hour_is_charged_once_however_often_it_is_told(void **state)
{
    struct job job = submitted();
    struct wire_attempt ref;
    struct attempt attempt;
    bool more = false;

    (void)state;
    decide(&job, job.event_count);
    ref = offer_of(&job);
    assert_int_equal(jobs_attempt_accept(&cmd, &ref, STR(""), &attempt, NULL), OK);
    tell(&ref, WIRE_RUNNING, -1);
    cmd.now += HOUR / 2;
    agent.seen = cmd.now; /* it was heard */
    assert_int_equal(store_agent_seen(&store, &agent, NULL), OK);
    assert_int_equal(jobs_charge(&cmd, &more, NULL),
                     OK); /* by the minute, as far as it was heard */
    assert_int_equal(used().gpu_ms_used, HOUR);
    assert_int_equal(jobs_charge(&cmd, &more, NULL), OK);
    assert_int_equal(used().gpu_ms_used, HOUR);
    cmd.now += HOUR / 2;
    tell(&ref, WIRE_ENDED, HOUR);
    tell(&ref, WIRE_ENDED, HOUR);
    tell(&ref, WIRE_ENDED, 2 * HOUR);
    assert_int_equal(jobs_charge(&cmd, &more, NULL), OK);
    assert_int_equal(used().gpu_ms_used, 2 * HOUR); /* of two GPUs */
    assert_int_equal(used().micro_used, 3000000);
    assert_int_equal(now_is(&job).cost_micro, 3000000);
    assert_int_equal(now_is(&job).gpu_ms, 2 * HOUR);
}

static int setup(void **state)
{
    struct user user = {.login = STR("ada"), .password_hash = STR("x"), .admin = true};
    struct target_spec prices = {
        .price_hour_micro = 1000000, .price_gpu_hour_micro = 1000000, .spot = -1};
    struct id id;
    bool created;

    (void)state;
    if (store_open(&store, store_rig_where(), true, NULL) != OK || store_begin(&store, NULL) != OK)
        return 1;
    lease_table_init(&domain.leases, 0);
    cmd = (struct cmd){.domain = &domain,
                       .store = &store,
                       .arena = &arena,
                       .now = BEGIN,
                       .who = &ada,
                       .operation = "test",
                       .request_id = STR("qaaaaaaaaaaaa")};
    user.public_id = random_port_id(&domain.random, ID_USER);
    assert_int_equal(store_user_insert(&store, &user, NULL), OK);
    ada.user = user.id;
    ada.name = STR("ada");
    rack.name = STR("rack");
    assert_int_equal(
        projects_create(&cmd, STR("demo"), &(struct project_spec){0}, &project, &created, NULL),
        OK);
    assert_int_equal(targets_set(&cmd, STR("local"), &prices, &target, &created, NULL), OK);
    id = random_port_id(&domain.random, ID_AGENT);
    assert_int_equal(agents_create(&cmd, &id, STR("rack"), STR("local"), &agent, &created, NULL),
                     OK);
    rack.agent = agent.id;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_rollback(&store);
    store_close(&store);
    lease_table_release(&domain.leases);
    arena_release(&arena);
    store_rig_close();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decision_about_a_job_that_has_changed_since_starts_nothing),
        cmocka_unit_test(a_decision_about_a_cancelled_job_starts_nothing),
        cmocka_unit_test(an_hour_is_charged_once_however_often_it_is_told),
    };

    (void)argv;
    if (!store_rig_open(argc > 1))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("jobs_act", tests, setup, teardown);
}
