/* Facts about files. */
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

static char dir[64];

static const char *in_dir(const char *name)
{
    static char paths[4][300];
    static int at;

    at = (at + 1) % 4;
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", dir, name);
    return paths[at];
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/euvyra-test-file-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(dir, &err) == OK && !file_exists(dir) ? 0 : -1;
}

static void what_was_written_is_read_and_limits_hold(void **state)
{
    struct err err;
    struct stat info;

    (void)state;
    for (int i = 0; i < 2; i++) {
        CLEANUP(buf_release) struct buf buf = {0};
        const char *text = i ? "new bytes" : "old";

        assert_int_equal(file_write_atomic(in_dir("a"), str_from(text), 0600, &err), OK);
        assert_int_equal(file_read(in_dir("a"), 9, &buf, &err), OK);
        assert_string_equal(buf.data, text);
    }
    assert_int_equal(stat(in_dir("a"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);

    CLEANUP(buf_release) struct buf small = {0};
    CLEANUP(buf_release) struct buf none = {0};
    CLEANUP(buf_release) struct buf folder = {0};

    assert_int_equal(file_read(in_dir("a"), 8, &small, &err), ERR_TOO_LARGE);
    assert_int_equal(file_read(in_dir("none"), 8, &none, &err), ERR_NOT_FOUND);
    assert_int_equal(file_read(dir, 8, &folder, &err), ERR_IO);
    assert_int_equal(file_write_atomic(in_dir("no/such/x"), STR("x"), 0600, &err), ERR_IO);
}

static void folders_are_made_with_their_parents(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(file_make_dirs(in_dir("p/q/r"), 0700, &err), OK);
    assert_int_equal(file_make_dirs(in_dir("p/q/r/"), 0700, &err), OK);
    assert_true(file_exists(in_dir("p/q/r")));
    assert_int_equal(file_write_atomic(in_dir("p/f"), STR("x"), 0600, &err), OK);
    assert_int_equal(file_make_dirs(in_dir("p/f"), 0700, &err), ERR_IO);
    assert_int_equal(file_make_dirs(in_dir("p/f/g"), 0700, &err), ERR_IO);
}

static void a_lock_is_held_until_its_descriptor_closes(void **state)
{
    struct err err;
    int fd = -1, other = -1;

    (void)state;
    assert_int_equal(file_lock(in_dir("lock"), &fd, &err), OK);
    assert_int_equal(file_lock(in_dir("lock"), &other, &err), ERR_CONFLICT);
    file_close(&fd);
    file_close(&fd);
    assert_int_equal(file_lock(in_dir("lock"), &other, &err), OK);
    file_close(&other);
}

static void removing_a_tree_follows_no_link_and_goes_any_depth(void **state)
{
    struct err err;
    char back[512];

    (void)state;
    assert_non_null(getcwd(back, sizeof(back)));
    assert_int_equal(file_make_dirs(in_dir("outside/kept"), 0700, &err), OK);
    assert_int_equal(file_make_dirs(in_dir("tree"), 0700, &err), OK);
    assert_int_equal(symlink("../outside", in_dir("tree/link")), 0);
    assert_int_equal(file_make_dirs(in_dir("tree/locked/inner"), 0700, &err), OK);
    assert_int_equal(chmod(in_dir("tree/locked"), 0), 0);
    assert_int_equal(chdir(in_dir("tree")), 0);
    for (int i = 0; i < 3000; i++) { /* longer than any path, deeper than the descriptors */
        assert_int_equal(mkdir("deep-folder", 0700), 0);
        assert_int_equal(chdir("deep-folder"), 0);
        if (i % 500 == 0) {
            FILE *file = fopen("f", "w");

            assert_non_null(file);
            fclose(file);
        }
    }
    assert_int_equal(chdir(back), 0);
    assert_int_equal(file_remove_tree(in_dir("tree"), &err), OK);
    assert_false(file_exists(in_dir("tree")));
    assert_true(file_exists(in_dir("outside/kept")));
    assert_int_equal(file_remove_tree(in_dir("tree"), &err), OK);
}

static void an_unlinked_file_has_no_name(void **state)
{
    struct err err;
    struct stat info;
    int fd = -1;

    (void)state;
    assert_int_equal(file_open_unlinked(dir, &fd, &err), OK);
    assert_int_equal(file_write_all(fd, "abc", 3, &err), OK);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_nlink, 0);
    assert_int_equal(info.st_size, 3);
    file_close(&fd);
    assert_int_equal(file_sync_dir(dir, &err), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_and_limits_hold),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(a_lock_is_held_until_its_descriptor_closes),
        cmocka_unit_test(removing_a_tree_follows_no_link_and_goes_any_depth),
        cmocka_unit_test(an_unlinked_file_has_no_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
