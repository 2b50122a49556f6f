/* Facts about PostgreSQL alone: every statement, lost connections, races, migrations, notices. */
#include "store/db.h"
#include "store/store_identity.h"
#include "store/store_project.h"
#include "store/test/store_rig.h"
#include "sys/thread.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define END_OTHERS                                                                                 \
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"                                 \
    " WHERE pid <> pg_backend_pid() AND datname = current_database()"

static int setup(void **state)
{
    struct store store = {0};

    (void)state;
    if (store_open(&store, store_rig_where(), true, NULL) != OK)
        return 1;
    store_close(&store);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_rig_close();
    return 0;
}

static struct user user(const char *id, const char *login)
{
    struct user u = {.login = str_from(login), .password_hash = STR("x"), .created = 1};

    snprintf(u.public_id.text, ID_BYTES, "%s", id);
    return u;
}

static bool type_is_known(Oid type)
{
    static const Oid known[] = {16, 17, 20, 21, 23, 25, 1043};

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i] == type)
            return true;
    return false;
}

/* What bind and read can handle; a sum of bigint, for one, is a numeric until it is cast. */
static void every_statement_takes_and_gives_types_we_read(void **state)
{
    PGconn *conn = PQconnectdb(store_rig_where() + strlen("postgresql:"));
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < SQL_COUNT; i++) {
        const struct sql_statement *sql = &sql_statements[i];
        PGresult *result = PQprepare(conn, sql->name, sql->postgres, 0, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK) {
            fprintf(stderr, "%s: %s", sql->name, PQerrorMessage(conn));
            wrong++;
        }
        PQclear(result);
        result = PQdescribePrepared(conn, sql->name);
        for (int c = 0; c < PQnfields(result); c++)
            if (!type_is_known(PQftype(result, c))) {
                fprintf(stderr, "%s: column %d has type %u\n", sql->name, c, PQftype(result, c));
                wrong++;
            }
        for (int p = 0; p < PQnparams(result); p++)
            if (!type_is_known(PQparamtype(result, p))) {
                fprintf(stderr, "%s: parameter %s has type %u\n", sql->name, sql->params[p],
                        PQparamtype(result, p));
                wrong++;
            }
        PQclear(result);
    }
    PQfinish(conn);
    assert_int_equal(wrong, 0);
}

static void a_connection_lost_while_idle_is_made_anew(void **state)
{
    struct user ada = user("uaaaaaaaaaaaa", "ada");
    struct store store = {0};
    char ended[32];

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_true(store_rig_sql(END_OTHERS, ended, sizeof ended));
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_user_insert(&store, &ada, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    store_close(&store);
}

static void a_connection_lost_inside_fails_all_of_the_transaction_and_nothing_after(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct user one = user("ubbbbbbbbbbbb", "one"), two = user("ucccccccccccc", "two"), found;
    struct store store = {0};
    struct err err = {0};
    int64_t count = 0;

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(store_user_insert(&store, &one, NULL), OK);
    assert_int_equal(store_savepoint_keep(&store, NULL), OK);
    assert_int_equal(store_trouble(&store, NULL), OK);
    assert_true(store_rig_sql(END_OTHERS, NULL, 0));
    assert_int_equal(store_savepoint(&store, NULL), OK); /* not waited for */
    assert_int_equal(store_user_count(&store, &count, &err), ERR_UNAVAILABLE);
    assert_int_equal(store_trouble(&store, NULL), ERR_UNAVAILABLE);
    store_savepoint_undo(&store);
    assert_int_equal(store_savepoint(&store, &err), ERR_UNAVAILABLE);
    assert_int_equal(store_user_by_login(&store, STR("one"), &arena, &found, NULL),
                     ERR_UNAVAILABLE);
    assert_int_equal(store_commit(&store, &err), ERR_UNAVAILABLE);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_user_by_login(&store, STR("one"), &arena, &found, NULL), ERR_NOT_FOUND);
    assert_int_equal(store_user_insert(&store, &two, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    store_close(&store);
}

/* The error of a statement that nobody waited for shows up before anything of it is kept. */
static void a_late_error_fails_its_own_command_alone(void **state)
{
    struct store store = {0};
    struct project good = {.name = STR("good"), .title = STR(""), .description = STR("")};
    struct err err = {0};
    char count[32];

    (void)state;
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(
        store_member_set(&store, (project_id){4711}, (user_id){4711}, ROLE_OWNER, NULL),
        OK); /* there is no such project */
    assert_int_equal(store_savepoint_keep(&store, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, "member_set"));
    store_savepoint_undo(&store);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(store_project_insert(&store, &good, NULL), OK);
    assert_int_equal(store_savepoint_keep(&store, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    store_close(&store);
    assert_true(
        store_rig_sql("SELECT count(*) FROM project WHERE name = 'good'", count, sizeof count));
    assert_string_equal(count, "1");
}

struct opening {
    enum err_code code;
    struct err err;
};

static void open_once(void *ctx)
{
    struct opening *o = ctx;
    struct store store = {0};

    o->code = store_open(&store, store_rig_where(), true, &o->err);
    store_close(&store);
}

static void servers_that_start_at_once_migrate_once(void **state)
{
    struct opening openings[6] = {0};
    struct thread *threads[6] = {0};
    char number[32];

    (void)state;
    assert_true(store_rig_sql("DROP SCHEMA public CASCADE", NULL, 0));
    assert_true(store_rig_sql("CREATE SCHEMA public", NULL, 0));
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(thread_start(&threads[i], "open", open_once, &openings[i], NULL), OK);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        thread_join(&threads[i]);
        if (openings[i].code != OK)
            fprintf(stderr, "%s\n", openings[i].err.text);
        assert_int_equal(openings[i].code, OK);
    }
    assert_true(store_rig_sql("SELECT number FROM schema_number", number, sizeof number));
    assert_int_equal(atoll(number), store_schema_newest());
}

struct locker {
    struct latch *has_first, *go_on;
    PGconn *conn;
    bool won;
};

/* Another program: takes the row of `second`, then wants that of `first`. */
static void take_second_then_first(void *ctx)
{
    struct locker *l = ctx;

    PQclear(PQexec(l->conn, "BEGIN; SELECT pg_advisory_lock(42)"));
    latch_set(l->has_first);
    (void)latch_wait(l->go_on, -1);
    PQclear(PQexec(l->conn, "SET deadlock_timeout = '60s'; LOCK TABLE session"));
    l->won = PQtransactionStatus(l->conn) == PQTRANS_INTRANS;
    PQclear(PQexec(l->conn, "COMMIT; SELECT pg_advisory_unlock_all()"));
}

static void a_deadlock_undoes_its_command_which_can_run_again(void **state)
{
    struct locker l = {.has_first = latch_new(), .go_on = latch_new()};
    struct thread *thread = NULL;
    struct store store = {0};
    char waiting[32] = "";
    int64_t count = 0;
    struct err err;

    (void)state;
    l.conn = PQconnectdb(store_rig_where() + strlen("postgresql:"));
    assert_int_equal(store_open(&store, store_rig_where(), true, NULL), OK);
    assert_int_equal(thread_start(&thread, "locker", take_second_then_first, &l, NULL), OK);
    (void)latch_wait(l.has_first, -1);
    assert_int_equal(store_begin(&store, NULL), OK);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_int_equal(store.db->driver->script(store.db, "LOCK TABLE session", NULL), OK);
    latch_set(l.go_on);
    while (strcmp(waiting, "1") != 0) /* it waits for us; and we for it: */
        assert_true(store_rig_sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation ="
                                  " 'session'::regclass",
                                  waiting, sizeof waiting));
    assert_int_equal(
        store.db->driver->script(store.db, "SET LOCAL deadlock_timeout = '100ms'", NULL), OK);
    assert_int_equal(store.db->driver->script(store.db, "SELECT pg_advisory_xact_lock(42)", &err),
                     ERR_UNAVAILABLE);
    assert_true(store_lost_a_race(&store));
    store_savepoint_undo(&store);
    assert_int_equal(store_savepoint(&store, NULL), OK);
    assert_false(store_lost_a_race(&store));
    assert_int_equal(store_user_count(&store, &count, NULL), OK);
    assert_int_equal(store_savepoint_keep(&store, NULL), OK);
    assert_int_equal(store_commit(&store, NULL), OK);
    thread_join(&thread);
    assert_true(l.won);
    PQfinish(l.conn);
    latch_free(l.has_first);
    latch_free(l.go_on);
    store_close(&store);
}

static void one_session_leads_and_the_next_takes_over_when_it_ends(void **state)
{
    struct store a = {0}, b = {0};
    int64_t fence_a = 0, fence_b = 0;
    bool took = false;

    (void)state;
    assert_int_equal(store_open(&a, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_open(&b, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_begin(&a, NULL), OK);
    assert_int_equal(store_lead(&a, &fence_a, &took, NULL), OK);
    assert_int_equal(store_commit(&a, NULL), OK);
    assert_true(took && fence_a > 0);
    assert_int_equal(store_begin(&b, NULL), OK);
    assert_int_equal(store_lead(&b, &fence_b, &took, NULL), OK);
    assert_int_equal(store_commit(&b, NULL), OK);
    assert_true(!took && fence_b == 0);
    store_close(&a);
    while (fence_b == 0) { /* PostgreSQL notices the end of a session a moment later */
        assert_int_equal(store_begin(&b, NULL), OK);
        assert_int_equal(store_lead(&b, &fence_b, &took, NULL), OK);
        assert_int_equal(store_commit(&b, NULL), OK);
    }
    assert_true(took && fence_b > fence_a);
    store_close(&b);
}

static void notices_arrive_with_the_commit_in_its_order(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct store teller = {0}, hearer = {0};
    struct str text = {0};

    (void)state;
    assert_int_equal(store_open(&teller, store_rig_where(), true, NULL), OK);
    assert_int_equal(store_open(&hearer, store_rig_where(), false, NULL), OK);
    assert_int_equal(store_listen(&hearer, NULL), OK);
    assert_int_equal(store_begin(&teller, NULL), OK);
    assert_int_equal(store_notify(&teller, STR("undone\n"), NULL), OK);
    store_rollback(&teller);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_begin(&teller, NULL), OK);
        assert_int_equal(store_notify(&teller, i ? STR("two\n") : STR("one\n"), NULL), OK);
        assert_int_equal(store_commit(&teller, NULL), OK);
    }
    while (text.len < 8) {
        struct str more = {0};
        assert_int_equal(store_hear(&hearer, 1000, &arena, &more, NULL), OK);
        text = str_from(arena_printf(&arena, "%.*s%.*s", STR_ARG(text), STR_ARG(more)));
    }
    assert_true(str_eq_c(text, "one\ntwo\n"));
    assert_true(store_rig_sql(END_OTHERS, NULL, 0));
    while (store_hear(&hearer, 1000, &arena, &text, NULL) == OK)
        continue; /* the loss is noticed */
    assert_int_equal(store_listen(&hearer, NULL), OK);
    store_close(&teller);
    store_close(&hearer);
}

static void a_password_is_taken_from_files_alone_and_never_repeated(void **state)
{
    static const char *const secret[] = {"postgresql://ada:hunter2@db.example.org/euvyra",
                                         "host=db password=hunter2",
                                         "postgresql://db.example.org/euvyra?password=hunter2"};
    char *where = NULL;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(secret); i++) {
        assert_int_equal(store_where_postgres(str_from(secret[i]), false, &where, &err),
                         ERR_INVALID);
        assert_null(strstr(err.text, "hunter2"));
        assert_int_equal(store_where_postgres(str_from(secret[i]), true, &where, &err), OK);
        assert_true(store_is_postgres(where));
        free(where);
    }
    assert_int_equal(store_where_postgres(STR("host=db hunter2 x"), true, &where, &err),
                     ERR_INVALID);
    assert_null(strstr(err.text, "hunter2"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statement_takes_and_gives_types_we_read),
        cmocka_unit_test(a_connection_lost_while_idle_is_made_anew),
        cmocka_unit_test(a_connection_lost_inside_fails_all_of_the_transaction_and_nothing_after),
        cmocka_unit_test(a_late_error_fails_its_own_command_alone),
        cmocka_unit_test(a_deadlock_undoes_its_command_which_can_run_again),
        cmocka_unit_test(one_session_leads_and_the_next_takes_over_when_it_ends),
        cmocka_unit_test(notices_arrive_with_the_commit_in_its_order),
        cmocka_unit_test(a_password_is_taken_from_files_alone_and_never_repeated),
        cmocka_unit_test(servers_that_start_at_once_migrate_once),
    };

    (void)argc;
    (void)argv;
    if (!store_rig_open(true))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("postgres", tests, setup, teardown);
}
