/* Facts about the store: opening, migrating, transactions, chunks and values. */
#include "store/store_identity.h"
#include "store/store_metric.h"

#include "store/test/store_rig.h"

#include <math.h>
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct user user(const char *id, const char *login)
{
    struct user u = {.login = str_from(login), .password_hash = STR("x"), .created = 1};

    snprintf(u.public_id.text, ID_BYTES, "%s", id);
    return u;
}

static void what_was_committed_is_there_after_opening_again(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct user ada = user("uaaaaaaaaaaaa", "ada"), found;
    struct store store = {0};

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_user_insert(&store, &ada, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    store_close(&store);
    assert_int_equal(store_open(&store, store_rig_where(), false, NULL), OK);
    assert_int_equal(store_user_by_login(&store, STR("ada"), &arena, &found, NULL), OK);
    assert_int_equal(found.id.v, ada.id.v);
    assert_int_equal(store_user_by_login(&store, STR("eve"), &arena, &found, NULL), ERR_NOT_FOUND);
    store_close(&store);
}

static void a_refused_command_leaves_nothing_and_the_batch_goes_on(void **state)
{
    struct user one = user("ubbbbbbbbbbbb", "one"), twin = user("ucccccccccccc", "one");
    struct user two = user("udddddddddddd", "two");
    struct store store = {0};
    struct err err;
    int64_t before = 0, count = 0;

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_user_count(&store, &before, NULL), OK);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(store_user_insert(&store, &one, NULL), OK);
    assert_int_equal(store_savepoint_keep(&store, NULL), OK);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(store_user_insert(&store, &twin, &err), ERR_CONFLICT);
    store_savepoint_undo(&store);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(store_user_insert(&store, &two, NULL), OK);
    assert_int_equal(store_savepoint_keep(&store, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    assert_int_equal(store_user_count(&store, &count, NULL), OK);
    assert_int_equal(count, before + 2);
    store_close(&store);
}

static void a_reader_cannot_write(void **state)
{
    struct user eve = user("ueeeeeeeeeeee", "eve");
    struct store store = {0};

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), false, NULL), OK);
    assert_true(store_user_insert(&store, &eve, NULL) != OK);
    store_close(&store);
}

static void data_from_a_newer_version_is_refused(void **state)
{
    struct store store = {0};
    struct err err;

    (void)state;
    assert_true(store_rig_sql(store_rig_is_postgres() ? "UPDATE schema_number SET number = 9999"
                                                      : "PRAGMA user_version=9999",
                              NULL, 0));
    assert_int_equal(store_open(&store, store_rig_where(), true, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "newer version"));
    assert_true(err.hint[0] != '\0');
    assert_int_equal(store_open(&store, store_rig_where(), false, &err), ERR_CONFLICT);
}

static void a_leader_that_was_replaced_is_refused(void **state)
{
    struct store store = {0};
    int64_t first = 0, second = 0;
    struct err err;
    bool took = false;

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_lead(&store, &first, &took, NULL), OK);
    assert_true(took && first > 0);
    assert_int_equal(store_lead(&store, &first, &took, NULL), OK);
    assert_false(took);
    assert_int_equal(store_lead_check(&store, first, NULL), OK);
    assert_int_equal(store_lead(&store, &second, &took, NULL), OK); /* a later start */
    assert_true(took && second > first);
    assert_int_equal(store_lead_check(&store, first, &err), ERR_FENCED);
    assert_int_equal(store_lead_check(&store, 0, &err), ERR_FENCED);
    assert_int_equal(store_lead_check(&store, second, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    store_close(&store);
}

static void floats_keep_their_order_and_every_bit(void **state)
{
    static const double values[] = {-INFINITY, -1e308, -1.0, -5e-324, -0.0,
                                    0.0,       5e-324, 1.0,  1e308,   INFINITY};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        double back = float_from_bits(float_to_bits(values[i]));
        assert_memory_equal(&back, &values[i], sizeof back);
        if (i)
            assert_true(float_to_bits(values[i - 1]) < float_to_bits(values[i]));
    }
    assert_true(isnan(float_from_bits(float_to_bits(NAN))));
}

static int teardown(void **state)
{
    (void)state;
    store_rig_close();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed_is_there_after_opening_again),
        cmocka_unit_test(a_refused_command_leaves_nothing_and_the_batch_goes_on),
        cmocka_unit_test(a_reader_cannot_write),
        cmocka_unit_test(a_leader_that_was_replaced_is_refused),
        cmocka_unit_test(floats_keep_their_order_and_every_bit),
        cmocka_unit_test(data_from_a_newer_version_is_refused),
    };

    (void)argv;
    if (!store_rig_open(argc > 1))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store", tests, NULL, teardown);
}
