/* Facts about claims on GPUs, in a folder of the test and with many takers at once. */
#include "agent/gpu_claims.h"

#include "sys/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const all[] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
static char root[64], claims[80];

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/euvyra-test-claims-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(claims, sizeof(claims), "%s/claims", root);
    return 0;
}

static int teardown(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(root, &err) == OK ? 0 : -1;
}

/* The folder of an attempt. */
static const char *attempt(const char *name)
{
    static char paths[4][96];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
    (void)mkdir(path, 0700);
    return path;
}

static enum err_code take(struct arena *arena, const char *folder, size_t count,
                          const char *const **ret_uuids, struct err *err)
{
    return gpu_claims_take(claims, folder, all, ARRAY_LEN(all), count, arena, ret_uuids, err);
}

static size_t has(struct arena *arena, const char *folder)
{
    const char *const *uuids;
    struct err err;
    size_t count;

    assert_int_equal(gpu_claims_of(claims, folder, arena, &uuids, &count, &err), OK);
    assert_null(uuids[count]);
    return count;
}

static void all_or_none_are_claimed(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *a, *const *b;
    struct err err = {0};

    (void)state;
    assert_int_equal(take(&arena, attempt("a"), 3, &a, &err), OK);
    assert_string_equal(a[0], "GPU-0");
    assert_null(a[3]);
    assert_int_equal(take(&arena, attempt("b"), 2, &b, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "1 of 2 GPUs are free: "));
    assert_non_null(strstr(err.text, "/a"));
    assert_int_equal(has(&arena, attempt("b")), 0);
    assert_int_equal(take(&arena, attempt("b"), 1, &b, &err), OK);
    assert_string_equal(b[0], "GPU-3");
}

static void asking_again_gives_the_same(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *first, *const *again, *const *other;
    struct err err;

    (void)state;
    assert_int_equal(take(&arena, attempt("a"), 1, &other, &err), OK);
    assert_int_equal(take(&arena, attempt("b"), 2, &first, &err), OK);
    assert_int_equal(gpu_claims_release(claims, attempt("a"), &err), OK);
    assert_int_equal(take(&arena, attempt("b"), 2, &again, &err), OK);
    assert_string_equal(first[0], again[0]);
    assert_string_equal(first[1], again[1]);
    assert_int_equal(has(&arena, attempt("b")), 2);
}

static void a_claim_ends_with_the_folder_of_its_attempt(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *uuids;
    struct err err;

    (void)state;
    assert_int_equal(take(&arena, attempt("a"), 4, &uuids, &err), OK);
    assert_int_equal(take(&arena, attempt("b"), 1, &uuids, &err), ERR_UNAVAILABLE);
    assert_int_equal(file_remove_tree(attempt("a"), &err), OK);
    (void)rmdir(attempt("a"));
    assert_int_equal(take(&arena, attempt("b"), 4, &uuids, &err), OK);
}

/* Another user's agent, whose folders cannot be looked into. */
static void a_claim_of_another_user_counts(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *uuids;
    char closed[96], held[128];
    struct err err;
    int status;

    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(closed, sizeof(closed), "%s/home", root);
    snprintf(held, sizeof(held), "%s/home/a", root);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(mkdir(closed, 0700), 0);
    assert_int_equal(mkdir(held, 0700), 0);
    assert_int_equal(take(&arena, held, 4, &uuids, &err), OK);
    if (fork() == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        _exit(take(&arena, "/tmp", 1, &uuids, &err) == ERR_UNAVAILABLE ? 0 : 1);
    }
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
}

static void a_name_that_is_no_uuid_is_never_taken(void **state)
{
    static const char *const odd[] = {"../x", ".lock", "a/b", "", "GPU-9"};
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *uuids;
    struct err err;

    (void)state;
    assert_int_equal(
        gpu_claims_take(claims, attempt("a"), odd, ARRAY_LEN(odd), 2, &arena, &uuids, &err),
        ERR_UNAVAILABLE);
    assert_int_equal(
        gpu_claims_take(claims, attempt("a"), odd, ARRAY_LEN(odd), 1, &arena, &uuids, &err), OK);
    assert_string_equal(uuids[0], "GPU-9");
}

/* Takes and gives back; while it has one, nobody else may have made its mark. */
static void take_often(int number)
{
    for (int i = 0; i < 200; i++) {
        CLEANUP(arena_release) struct arena arena = {0};
        const char *const *uuids;
        char folder[96], mark[200];
        struct err err;

        snprintf(folder, sizeof(folder), "%s/w%d", root, number);
        (void)mkdir(folder, 0700);
        if (take(&arena, folder, 2, &uuids, &err) != OK)
            continue;
        for (int k = 0; k < 2; k++) {
            snprintf(mark, sizeof(mark), "%s/mark-%s", root, uuids[k]);
            if (mkdir(mark, 0700) != 0)
                _exit(1);
        }
        for (int k = 0; k < 2; k++) {
            snprintf(mark, sizeof(mark), "%s/mark-%s", root, uuids[k]);
            (void)rmdir(mark);
        }
        if (gpu_claims_release(claims, folder, &err) != OK)
            _exit(2);
    }
    _exit(0);
}

static void no_two_takers_ever_have_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            take_often(i);
    for (int i = 0; i < 4; i++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

#define FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT(all_or_none_are_claimed),
        FACT(asking_again_gives_the_same),
        FACT(a_claim_ends_with_the_folder_of_its_attempt),
        FACT(a_claim_of_another_user_counts),
        FACT(a_name_that_is_no_uuid_is_never_taken),
        FACT(no_two_takers_ever_have_the_same),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
