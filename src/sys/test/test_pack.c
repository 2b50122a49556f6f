/* Facts about packed folders. */
#include "sys/pack.h"

#include "base/buf.h"
#include "sys/file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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
    snprintf(dir, sizeof(dir), "/tmp/euvyra-pack-XXXXXX");
    if (!mkdtemp(dir) || mkdir(in_dir("from"), 0700) || mkdir(in_dir("from/a"), 0700) ||
        mkdir(in_dir("to"), 0700))
        return -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return file_remove_tree(dir, NULL) == OK ? 0 : -1;
}

static void put(const char *path, const char *text, unsigned mode)
{
    assert_int_equal(file_write_atomic(path, str_from(text), mode, NULL), OK);
}

static int64_t pack_two(const char *name)
{
    struct pack_writer *w = NULL;
    int64_t bytes = 0;
    int fd = open(in_dir(name), O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pack_writer_new(fd, &w, NULL), OK);
    assert_int_equal(pack_writer_add(w, in_dir("from"), "a/train.py", NULL), OK);
    assert_int_equal(pack_writer_add(w, in_dir("from"), "run.sh", NULL), OK);
    assert_int_equal(pack_writer_add(w, in_dir("from"), "gone", NULL), OK);
    assert_int_equal(pack_writer_finish(w, &bytes, NULL), OK);
    pack_writer_free(w);
    close(fd);
    return bytes;
}

static void what_is_packed_comes_out_the_same(void **state)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct stat st;
    int fd;

    (void)state;
    put(in_dir("from/a/train.py"), "print(1)\n", 0600);
    put(in_dir("from/run.sh"), "#!/bin/sh\n", 0700);
    assert_true(pack_two("one.tgz") > 0);
    fd = open(in_dir("one.tgz"), O_RDONLY);
    assert_int_equal(pack_unpack(fd, in_dir("to"), NULL), OK);
    close(fd);
    assert_int_equal(file_read(in_dir("to/a/train.py"), 100, &text, NULL), OK);
    assert_string_equal(text.data, "print(1)\n");
    assert_int_equal(stat(in_dir("to/run.sh"), &st), 0);
    assert_true(st.st_mode & 0100);
}

static void packing_twice_gives_the_same_bytes(void **state)
{
    CLEANUP(buf_release) struct buf one = {0};
    CLEANUP(buf_release) struct buf two = {0};

    (void)state;
    (void)pack_two("one.tgz");
    put(in_dir("from/run.sh"), "#!/bin/sh\n", 0700); /* a newer file of the same content */
    (void)pack_two("two.tgz");
    assert_int_equal(file_read(in_dir("one.tgz"), 100000, &one, NULL), OK);
    assert_int_equal(file_read(in_dir("two.tgz"), 100000, &two, NULL), OK);
    assert_true(str_eq(buf_str(&one), buf_str(&two)));
}

/* An archive as only an attacker makes it. */
static int hostile(const char *path, const char *link)
{
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    int fd = open(in_dir("bad.tgz"), O_RDWR | O_CREAT | O_TRUNC, 0600);

    archive_write_add_filter_gzip(a);
    archive_write_set_format_pax_restricted(a);
    archive_write_open_fd(a, fd);
    if (link) {
        archive_entry_set_pathname(e, "l");
        archive_entry_set_filetype(e, AE_IFLNK);
        archive_entry_set_symlink(e, link);
        archive_write_header(a, e);
        archive_entry_clear(e);
    }
    archive_entry_set_pathname(e, path);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, 4);
    archive_write_header(a, e);
    archive_write_data(a, "evil", 4);
    archive_write_close(a);
    archive_entry_free(e);
    archive_write_free(a);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void paths_that_lead_out_are_refused(void **state)
{
    static const char *const paths[] = {"../evil", "/tmp/euvyra-evil", "a/../../evil", "./evil",
                                        "a//evil"};
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        int fd = hostile(paths[i], NULL);
        assert_int_equal(pack_unpack(fd, in_dir("to"), &err), ERR_INVALID);
        close(fd);
    }
    assert_false(file_exists(in_dir("evil")));
    assert_false(file_exists("/tmp/euvyra-evil"));
}

static void nothing_is_written_through_a_link(void **state)
{
    int fd;

    (void)state;
    fd = hostile("l/evil", in_dir("from"));
    if (pack_unpack(fd, in_dir("to"), NULL) != OK)
        assert_false(file_exists(in_dir("to/l/evil"))); /* refused; else the link was replaced */
    close(fd);
    assert_false(file_exists(in_dir("from/evil")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_out_the_same),
        cmocka_unit_test(packing_twice_gives_the_same_bytes),
        cmocka_unit_test(paths_that_lead_out_are_refused),
        cmocka_unit_test(nothing_is_written_through_a_link),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pack", tests, setup, teardown);
}
