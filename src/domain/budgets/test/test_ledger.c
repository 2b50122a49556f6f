/* Facts about the ledger: every moment belongs to one month, and parts add up to the whole.
 * The zones here are made up: months of 30 days, in zones named by their hours off UTC. */
#include "domain/budgets/budgets.h"
#include "domain/budgets/period.h"
#include "store/store_budget.h"
#include "store/store_project.h"
#include "store/test/store_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HOUR  INT64_C(3600000)
#define DAY   (24 * HOUR)
#define MONTH (30 * DAY)
#define M(n)  ((n)*MONTH)

static bool zone_hours(struct str name, int64_t *ret_hours)
{
    if (str_eq_c(name, "UTC")) {
        *ret_hours = 0;
        return true;
    }
    return name.len > 1 &&
           str_to_i64(str_starts(name, STR("+")) ? str_n(name.data + 1, name.len - 1) : name,
                      ret_hours);
}

static bool known(void *ctx, struct str name)
{
    int64_t hours;

    (void)ctx;
    return zone_hours(name, &hours);
}

static bool month(void *ctx, struct str name, time_ms at, time_ms *ret_start, time_ms *ret_end)
{
    int64_t hours;

    (void)ctx;
    if (!zone_hours(name, &hours))
        return false;
    *ret_start = (at + hours * HOUR) / MONTH * MONTH - hours * HOUR;
    *ret_end = *ret_start + MONTH;
    return true;
}

static struct store store;
static struct arena arena;
static struct domain domain = {.config = {.zone = "UTC"}, .zones = {known, month, NULL}};
static struct cmd cmd;
static uint64_t seed = 88172645463325252;

static int64_t chance(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)below);
}

static project_id project_new(void)
{
    static int number;
    struct project project = {
        .name = str_from(arena_printf(&arena, "p%d", number++)),
        .title = STR(""),
        .description = STR(""),
    };

    assert_int_equal(store_project_insert(&store, &project, NULL), OK);
    return project.id;
}

static void set_zone(project_id project, const char *zone)
{
    struct budget_state state;
    struct budget budget;

    assert_int_equal(ledger_left(&cmd, project, &state, NULL), OK);
    assert_int_equal(store_ledger_set(&store, project, &state.periods[0], NULL), OK);
    budget = (struct budget){project, BUDGET_UNLIMITED, BUDGET_UNLIMITED, str_from(zone)};
    assert_int_equal(store_budget_set(&store, &budget, NULL), OK);
}

static void charge(project_id project, time_ms from, time_ms to, int64_t gpus)
{
    struct ledger_charge c = {.project = project,
                              .from = from,
                              .to = to,
                              .gpus = gpus,
                              .nodes = 1,
                              .price_hour_micro = 1000003,
                              .price_gpu_hour_micro = 777};

    assert_int_equal(ledger_charge(&cmd, &c, NULL), OK);
}

static size_t periods_of(project_id project, struct budget_period **ret)
{
    size_t count = 0;

    assert_int_equal(budgets_history(&cmd, project, INT64_MAX, 1000, ret, &count, NULL), OK);
    return count;
}

static void a_charge_is_split_at_the_month_line(void **state)
{
    struct budget_period *p;
    project_id project = project_new();

    (void)state;
    charge(project, M(100) - 1000, M(100) + 2000, 3);
    assert_int_equal(periods_of(project, &p), 2);
    assert_int_equal(p[0].start, M(100));
    assert_int_equal(p[0].gpu_ms_used, 6000);
    assert_int_equal(p[1].end, M(100));
    assert_int_equal(p[1].gpu_ms_used, 3000);
    charge(project, M(100), M(100), 3); /* nothing */
    charge(project, M(100) + 5000, M(100), 3);
    charge(project, M(99) + 1, M(99) + 2, 1); /* the clock went back: another month's row */
    assert_int_equal(periods_of(project, &p), 2);
    assert_int_equal(p[0].gpu_ms_used, 6000);
    assert_int_equal(p[1].gpu_ms_used, 3001);
}

static void pieces_add_up_to_the_whole_to_the_last_millionth(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        project_id whole = project_new(), pieces = project_new();
        time_ms from = M(100) + chance(MONTH), to = from + chance(3 * MONTH), at = from;
        struct budget_period *a, *b;
        size_t count;

        charge(whole, from, to, 5);
        while (at < to) {
            time_ms step = 1 + chance(10 * DAY), next = MIN(to, at + step);
            charge(pieces, at, next, 5);
            at = next;
        }
        count = periods_of(whole, &a);
        assert_int_equal(periods_of(pieces, &b), count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(a[i].gpu_ms_used, b[i].gpu_ms_used);
            assert_int_equal(a[i].micro_used, b[i].micro_used);
        }
    }
    assert_int_equal(ledger_micro(0, HOUR, 1000003), 1000003);
    assert_int_equal(ledger_micro(7, 7, 1000003), 0);
}

static void lost_time_is_told_beside_what_was_used(void **state)
{
    struct ledger_charge c = {.from = M(100),
                              .to = M(100) + HOUR,
                              .gpus = 2,
                              .nodes = 1,
                              .price_hour_micro = 5,
                              .kind = LEDGER_LOST};
    struct budget_period *p;
    project_id project = project_new();

    (void)state;
    charge(project, M(100), M(100) + HOUR, 2);
    c.project = project;
    assert_int_equal(ledger_charge(&cmd, &c, NULL), OK);
    assert_int_equal(periods_of(project, &p), 1);
    assert_int_equal(p[0].gpu_ms_used, 2 * HOUR);
    assert_int_equal(p[0].gpu_ms_lost, 2 * HOUR);
    assert_int_equal(p[0].micro_used, 1000003 + 2 * 777);
}

static void enormous_prices_and_times_stop_at_the_largest_number(void **state)
{
    struct ledger_charge c = {.from = M(100),
                              .to = M(150),
                              .gpus = 1000000,
                              .nodes = 1000000,
                              .price_hour_micro = BUDGET_COUNT_MAX,
                              .price_gpu_hour_micro = BUDGET_COUNT_MAX};
    struct budget_period *p;
    size_t count;

    (void)state;
    c.project = project_new();
    assert_int_equal(ledger_charge(&cmd, &c, NULL), OK);
    assert_int_equal(ledger_charge(&cmd, &c, NULL), OK);
    count = periods_of(c.project, &p);
    assert_int_equal(count, 50);
    for (size_t i = 0; i < count; i++)
        assert_true(p[i].micro_used == BUDGET_COUNT_MAX && p[i].gpu_ms_used > 0);
    c.to = M(5000);
    assert_int_equal(ledger_charge(&cmd, &c, NULL), ERR_INVALID);
}

/* Charges every hour of the days around a change of zone: no hole, no overlap, no short month. */
static void zones_follow(const char *from, const char *to)
{
    project_id project = project_new();
    struct budget_period *p;
    size_t count;
    int64_t sum = 0;

    cmd.now = M(100) + 10 * DAY;
    set_zone(project, from);
    charge(project, M(100) + 10 * DAY, M(100) + 11 * DAY, 1);
    cmd.now = M(100) + 12 * DAY;
    set_zone(project, to);
    for (time_ms at = M(100) + 12 * DAY; at < M(104); at += HOUR)
        charge(project, at, at + HOUR, 1);
    count = periods_of(project, &p);
    for (size_t i = 0; i < count; i++) {
        sum += p[i].gpu_ms_used;
        assert_true(p[i].end - p[i].start > MONTH - 2 * DAY);
        assert_true(p[i].end - p[i].start < MONTH + 2 * DAY);
        if (i > 0)
            assert_int_equal(p[i].end, p[i - 1].start);
    }
    assert_true(str_eq_c(p[0].zone, to));
    assert_int_equal(sum, DAY + M(104) - M(100) - 12 * DAY);
}

static void the_running_month_keeps_its_bounds_when_the_zone_changes(void **state)
{
    static const char *const zones[] = {"UTC", "+9", "-8", "+14", "-12"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(zones); i++)
        for (size_t j = 0; j < ARRAY_LEN(zones); j++)
            zones_follow(zones[i], zones[j]);
}

static void an_idle_year_leaves_no_long_month(void **state)
{
    project_id project = project_new();
    struct budget_period *p;

    (void)state;
    charge(project, M(100), M(100) + HOUR, 1);
    charge(project, M(112) + 5 * DAY, M(112) + 5 * DAY + HOUR, 1);
    assert_int_equal(periods_of(project, &p), 2);
    assert_int_equal(p[0].start, M(112));
    assert_int_equal(p[0].end, M(113));
}

static void what_is_left_is_of_this_month_and_the_next(void **state)
{
    project_id project = project_new();
    struct budget budget = {project, 10 * HOUR, BUDGET_UNLIMITED, STR("")};
    struct budget_state s, *all;
    size_t count = 0;

    (void)state;
    cmd.now = M(100) + 3 * DAY;
    assert_int_equal(store_budget_set(&store, &budget, NULL), OK);
    charge(project, M(101) - HOUR, M(101) + 2 * HOUR, 1);
    assert_int_equal(ledger_left(&cmd, project, &s, NULL), OK);
    assert_int_equal(s.periods[0].start, M(100));
    assert_int_equal(s.periods[0].gpu_ms_used, HOUR);
    assert_int_equal(s.periods[1].end, M(102));
    assert_int_equal(s.periods[1].gpu_ms_used, 2 * HOUR);
    assert_true(str_eq_c(s.budget.zone, "UTC"));
    assert_int_equal(ledger_left_all(&cmd, &all, &count, NULL), OK);
    assert_int_equal(count, 1); /* the others have no limit */
    assert_int_equal(all[0].periods[1].gpu_ms_used, 2 * HOUR);
    assert_int_equal(budget_forecast(&s.periods[0], HOUR, M(100) + 3 * DAY), 10 * HOUR);
    assert_int_equal(budget_forecast(&s.periods[0], HOUR, M(100) + HOUR - 1), BUDGET_UNLIMITED);
}

/* A zone that the system has forgotten: time goes on being charged. */
static void an_unknown_zone_counts_as_utc(void **state)
{
    project_id project = project_new();
    struct budget budget = {project, HOUR, HOUR, STR("Gone/Away")};
    struct budget_period *p;

    (void)state;
    assert_int_equal(store_budget_set(&store, &budget, NULL), OK);
    charge(project, M(100), M(100) + HOUR, 1);
    assert_int_equal(periods_of(project, &p), 1);
    assert_true(str_eq_c(p[0].zone, "UTC"));
}

static int setup(void **state)
{
    (void)state;
    if (store_open(&store, store_rig_where(), true, NULL) != OK || store_begin(&store, NULL) != OK)
        return 1;
    cmd = (struct cmd){.domain = &domain, .store = &store, .arena = &arena, .now = M(100)};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_rollback(&store);
    store_close(&store);
    arena_release(&arena);
    store_rig_close();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_charge_is_split_at_the_month_line),
        cmocka_unit_test(pieces_add_up_to_the_whole_to_the_last_millionth),
        cmocka_unit_test(lost_time_is_told_beside_what_was_used),
        cmocka_unit_test(enormous_prices_and_times_stop_at_the_largest_number),
        cmocka_unit_test(the_running_month_keeps_its_bounds_when_the_zone_changes),
        cmocka_unit_test(an_idle_year_leaves_no_long_month),
        cmocka_unit_test(what_is_left_is_of_this_month_and_the_next),
        cmocka_unit_test(an_unknown_zone_counts_as_utc),
    };

    (void)argv;
    if (!store_rig_open(argc > 1))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("ledger", tests, setup, teardown);
}
