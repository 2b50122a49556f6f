/* Facts about secrets: who gets them, and who does not. */
#include "domain/secrets/secrets.h"
#include "store/store_project.h"
#include "store/store_secret.h"
#include "store/test/store_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct store store;
static struct arena arena;
static struct domain domain;
static struct cmd cmd;
static struct seal_key key, other;
static struct project one = {.name = STR("one"), .title = STR(""), .description = STR("")};
static struct project two = {.name = STR("two"), .title = STR(""), .description = STR("")};

static void set(const struct project *project, const char *name, const char *value)
{
    struct secret secret;
    bool created;

    assert_int_equal(
        secrets_set(&cmd, project, str_from(name), str_from(value), &secret, &created, NULL), OK);
}

static void a_job_gets_what_was_set_and_its_use_is_noted(void **state)
{
    struct secret *list;
    struct str value;
    size_t count = 0;

    (void)state;
    set(&one, "TOKEN", "first");
    set(&one, "TOKEN", "line 1\nline 2");
    assert_int_equal(secrets_open(&cmd, one.id, STR("TOKEN"), &value, NULL), OK);
    assert_true(str_eq_c(value, "line 1\nline 2"));
    assert_int_equal(secrets_list(&cmd, one.id, STR(""), 10, &list, &count, NULL), OK);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].used, 77);
    assert_int_equal(secrets_exists(&cmd, one.id, STR("TOKEN"), NULL), OK);
    assert_int_equal(secrets_exists(&cmd, two.id, STR("TOKEN"), NULL), ERR_NOT_FOUND);
    assert_int_equal(secrets_open(&cmd, two.id, STR("TOKEN"), &value, NULL), ERR_NOT_FOUND);
}

/* Somebody with the database alone moves a row: it opens nowhere else. */
static void a_sealed_text_does_not_open_in_another_place(void **state)
{
    struct secret secret;
    struct str sealed, value = STR("untouched");

    (void)state;
    set(&one, "TOKEN", "theirs");
    assert_int_equal(store_secret_get(&store, one.id, STR("TOKEN"), &arena, &secret, NULL), OK);
    assert_int_equal(store_secret_sealed(&store, secret.id, &arena, &sealed, NULL), OK);
    secret.project = two.id;
    assert_int_equal(store_secret_set(&store, &secret, sealed, NULL), OK);
    assert_int_equal(secrets_open(&cmd, two.id, STR("TOKEN"), &value, NULL), ERR_UNAVAILABLE);
    secret.project = one.id;
    secret.name = STR("OTHER");
    assert_int_equal(store_secret_set(&store, &secret, sealed, NULL), OK);
    assert_int_equal(secrets_open(&cmd, one.id, STR("OTHER"), &value, NULL), ERR_UNAVAILABLE);
    assert_true(str_eq_c(value, "untouched"));
}

static void with_another_key_nothing_opens_nothing_is_set_and_nothing_is_lost(void **state)
{
    struct secret secret;
    struct str value;
    struct err err;
    bool created;

    (void)state;
    set(&one, "TOKEN", "mine");
    domain.seal_key = &other;
    assert_int_equal(secrets_open(&cmd, one.id, STR("TOKEN"), &value, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, key.name));
    assert_int_equal(secrets_set(&cmd, &one, STR("TOKEN"), STR("x"), &secret, &created, &err),
                     ERR_UNAVAILABLE);
    domain.seal_key = NULL;
    assert_int_equal(secrets_open(&cmd, one.id, STR("TOKEN"), &value, &err), ERR_UNAVAILABLE);
    assert_int_equal(secrets_set(&cmd, &one, STR("TOKEN"), STR("x"), &secret, &created, &err),
                     ERR_UNAVAILABLE);
    domain.seal_key = &key;
    assert_int_equal(secrets_open(&cmd, one.id, STR("TOKEN"), &value, NULL), OK);
    assert_true(str_eq_c(value, "mine"));
}

static void a_lost_key_is_replaced_once_what_it_sealed_is_deleted(void **state)
{
    static const struct {
        struct project *project;
        const char *name;
    } all[] = {{&one, "TOKEN"}, {&one, "OTHER"}, {&two, "TOKEN"}};
    struct str value;

    (void)state;
    set(&one, "TOKEN", "lost");
    domain.seal_key = &other;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        enum err_code code = secrets_delete(&cmd, all[i].project, str_from(all[i].name), NULL);
        assert_true(code == OK || code == ERR_NOT_FOUND);
    }
    set(&one, "TOKEN", "new");
    assert_int_equal(secrets_open(&cmd, one.id, STR("TOKEN"), &value, NULL), OK);
    assert_true(str_eq_c(value, "new"));
    domain.seal_key = &key;
}

static void a_project_has_so_many_secrets_and_no_more(void **state)
{
    struct secret secret;
    struct err err;
    bool created;

    (void)state;
    domain.seal_key = &other;
    assert_int_equal(secrets_delete(&cmd, &one, STR("TOKEN"), NULL), OK);
    domain.seal_key = &key;
    for (int i = 0; i < SECRETS_MAX; i++)
        set(&two, arena_printf(&arena, "S%d", i), "x");
    assert_int_equal(secrets_set(&cmd, &two, STR("MORE"), STR("x"), &secret, &created, &err),
                     ERR_LIMIT);
    set(&two, "S0", "replaced");
    assert_int_equal(store_project_delete(&store, two.id, NULL), OK);
}

static int setup(void **state)
{
    (void)state;
    seal_key_make(&key);
    seal_key_make(&other);
    domain.seal_key = &key;
    if (store_open(&store, store_rig_where(), true, NULL) != OK ||
        store_begin(&store, NULL) != OK || store_project_insert(&store, &one, NULL) != OK ||
        store_project_insert(&store, &two, NULL) != OK)
        return 1;
    cmd = (struct cmd){.domain = &domain,
                       .store = &store,
                       .arena = &arena,
                       .now = 77,
                       .operation = "test",
                       .request_id = STR("")};
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
        cmocka_unit_test(a_job_gets_what_was_set_and_its_use_is_noted),
        cmocka_unit_test(a_sealed_text_does_not_open_in_another_place),
        cmocka_unit_test(with_another_key_nothing_opens_nothing_is_set_and_nothing_is_lost),
        cmocka_unit_test(a_lost_key_is_replaced_once_what_it_sealed_is_deleted),
        cmocka_unit_test(a_project_has_so_many_secrets_and_no_more),
    };

    (void)argv;
    if (!store_rig_open(argc > 1))
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("secrets", tests, setup, teardown);
}
