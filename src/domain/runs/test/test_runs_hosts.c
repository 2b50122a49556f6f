/* Hosts of a run and their order, whatever its writers are. */
#include "domain/runs/runs_hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct writer made(const char *kind, const char *host, int rank, time_ms started)
{
    return (struct writer){.id = {started + 1000},
                           .kind = str_from(kind),
                           .host = str_from(host),
                           .rank = rank,
                           .started = started};
}

static bool is_host(const struct run_hosts *hosts, size_t at, const char *name, int64_t told_by)
{
    return str_eq_c(hosts->items[at].host, name) && hosts->items[at].told_by.v == told_by;
}

static void each_host_is_there_once_with_its_ranks(void **state)
{
    struct writer writers[] = {
        made("sidecar", "b", RANK_NONE, 1), made("trainer", "b", 3, 2),
        made("trainer", "a", 1, 3),         made("trainer", "b", 2, 4),
        made("sidecar", "a", RANK_NONE, 5), made("trainer", "a", 0, 6),
        made("console", "a", 0, 7),
    };
    bool told[] = {true, false, false, false, true, false, false};
    struct arena arena = {0};
    struct run_hosts hosts;

    (void)state;
    runs_hosts(writers, told, ARRAY_LEN(writers), &arena, &hosts);
    assert_int_equal(hosts.count, 2);
    assert_int_equal(hosts.total, 2);
    assert_true(is_host(&hosts, 0, "a", 1005));
    assert_true(is_host(&hosts, 1, "b", 1001));
    assert_int_equal(hosts.items[0].rank_count, 2);
    assert_int_equal(hosts.items[0].ranks[0], 0);
    assert_int_equal(hosts.items[0].ranks[1], 1);
    assert_int_equal(hosts.items[1].rank_count, 2);
    assert_int_equal(hosts.items[1].ranks[0], 2);
    assert_int_equal(hosts.items[1].ranks[1], 3);
    arena_release(&arena);
}

static void the_host_where_the_lowest_rank_started_last_is_first(void **state)
{
    struct writer writers[] = {
        made("trainer", "a", 0, 1), made("trainer", "b", 1, 2),          made("trainer", "b", 0, 3),
        made("trainer", "a", 1, 4), made("exec", "login", RANK_NONE, 5), made("trainer", "c", 2, 6),
    };
    bool told[ARRAY_LEN(writers)] = {false};
    struct arena arena = {0};
    struct run_hosts hosts;

    (void)state;
    runs_hosts(writers, told, ARRAY_LEN(writers), &arena, &hosts);
    assert_int_equal(hosts.count, 4);
    assert_true(is_host(&hosts, 0, "b", 0));
    assert_true(is_host(&hosts, 1, "a", 0));
    assert_true(is_host(&hosts, 2, "c", 0));
    assert_true(is_host(&hosts, 3, "login", 0)); /* a parent alone has no rank */
    arena_release(&arena);
}

static void the_last_word_about_a_machine_counts_and_fenced_writers_do_not(void **state)
{
    struct writer writers[] = {
        made("sidecar", "a", RANK_NONE, 1), made("sidecar", "a", RANK_NONE, 2),
        made("sidecar", "a", RANK_NONE, 3), made("sidecar", "gone", RANK_NONE, 4),
        made("sidecar", "", RANK_NONE, 5),  made("trainer", "", 4, 6),
    };
    bool told[] = {true, true, false, true, true, false};
    struct arena arena = {0};
    struct run_hosts hosts;

    (void)state;
    writers[3].fenced = true;
    runs_hosts(writers, told, ARRAY_LEN(writers), &arena, &hosts);
    assert_int_equal(hosts.count, 2);
    assert_true(is_host(&hosts, 0, "", 1005)); /* a host without a name is one as well */
    assert_int_equal(hosts.items[0].rank_count, 1);
    assert_true(is_host(&hosts, 1, "a", 1002));
    runs_hosts(writers, told, 0, &arena, &hosts);
    assert_int_equal(hosts.count, 0);
    arena_release(&arena);
}

static void a_thousand_hosts_are_told_and_all_are_counted(void **state)
{
    static struct writer writers[RUN_HOSTS_MAX + 5];
    static char names[RUN_HOSTS_MAX + 5][16];
    static bool told[RUN_HOSTS_MAX + 5];
    struct arena arena = {0};
    struct run_hosts hosts;

    (void)state;
    for (int i = 0; i < RUN_HOSTS_MAX + 5; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%d", i);
        writers[i] = made("trainer", names[i], RUN_HOSTS_MAX + 4 - i, i);
    }
    runs_hosts(writers, told, ARRAY_LEN(writers), &arena, &hosts);
    assert_int_equal(hosts.count, RUN_HOSTS_MAX);
    assert_int_equal(hosts.total, RUN_HOSTS_MAX + 5);
    assert_int_equal(hosts.items[0].ranks[0], 0);
    assert_int_equal(hosts.items[RUN_HOSTS_MAX - 1].ranks[0], RUN_HOSTS_MAX - 1);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_is_there_once_with_its_ranks),
        cmocka_unit_test(the_host_where_the_lowest_rank_started_last_is_first),
        cmocka_unit_test(the_last_word_about_a_machine_counts_and_fenced_writers_do_not),
        cmocka_unit_test(a_thousand_hosts_are_told_and_all_are_counted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("runs_hosts", tests, NULL, NULL);
}
