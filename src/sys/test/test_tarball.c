/* Facts about archives: honest ones come back, hostile ones write nothing outside. */
#include "sys/tarball.h"

#include "base/mem.h"
#include "base/str.h"
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
    static char paths[32][300];
    static int at;

    at = (at + 1) % 32;
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", dir, name);
    return paths[at];
}

static int setup(void **state)
{
    struct err err;

    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/euvyra-test-arch-XXXXXX");
    if (!mkdtemp(dir) || file_make_dirs(in_dir("in/sub"), 0755, &err) != OK)
        return -1;
    return 0;
}

static int teardown(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(dir, &err) == OK ? 0 : -1;
}

static void write_file(const char *path, const char *text, unsigned mode)
{
    struct err err;

    assert_int_equal(file_write_atomic(path, str_from(text), mode, &err), OK);
}

static void count_left_out(void *ctx, const char *path, const char *reason)
{
    (void)path;
    (void)reason;
    ++*(int *)ctx;
}

static int new_file(void)
{
    struct err err;
    int fd = -1;

    assert_int_equal(file_open_unlinked("/tmp", &fd, &err), OK);
    return fd;
}

static void what_is_packed_comes_back_and_the_bytes_repeat(void **state)
{
    static const char *const paths[] = {"a.txt", "sub/run.sh", "sub/link", "outside", "evil"};
    int left_out = 0, fds[2] = {new_file(), new_file()};
    struct tarball_pack_options pack = {.root = in_dir("in"),
                                        .paths = paths,
                                        .path_count = ARRAY_LEN(paths),
                                        .bytes_max = 1000,
                                        .left_out = count_left_out,
                                        .ctx = &left_out};
    struct tarball_unpack_options unpack = {
        .dir = in_dir("out"), .bytes_max = 1000, .entries_max = 10};
    char first[4096], second[4096];
    struct buf text;
    struct stat info;
    struct err err;

    (void)state;
    write_file(in_dir("in/a.txt"), "hello", 0600);
    write_file(in_dir("in/sub/run.sh"), "#!/bin/sh\n", 0750);
    assert_int_equal(symlink("../a.txt", in_dir("in/sub/link")), 0);
    assert_int_equal(symlink("/etc/passwd", in_dir("in/outside")), 0);
    assert_int_equal(symlink("../x", in_dir("in/evil")), 0);
    for (int i = 0; i < 2; i++) {
        if (tarball_pack(&pack, fds[i], &err) != OK)
            fail_msg("%s", err.text);
    }
    assert_int_equal(left_out, 4);

    ssize_t len = pread(fds[0], first, sizeof(first), 0);

    assert_true(len > 0);
    assert_int_equal(pread(fds[1], second, sizeof(second), 0), len);
    assert_memory_equal(first, second, (size_t)len);

    assert_int_equal(mkdir(in_dir("out"), 0755), 0);
    assert_int_equal(lseek(fds[0], 0, SEEK_SET), 0);
    assert_int_equal(tarball_unpack(&unpack, fds[0], &err), OK);
    assert_int_equal(file_read(in_dir("out/sub/link"), 100, &text, &err), OK);
    assert_string_equal(text.data, "hello");
    buf_release(&text);
    assert_int_equal(stat(in_dir("out/sub/run.sh"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0755);
    assert_int_not_equal(lstat(in_dir("out/outside"), &info), 0);

    pack.bytes_max = 5;
    assert_int_equal(tarball_pack(&pack, fds[1], &err), ERR_TOO_LARGE);
    close(fds[0]);
    close(fds[1]);
}

enum evil { EVIL_FILE, EVIL_LINK, EVIL_HARDLINK, EVIL_DEVICE, EVIL_THROUGH, EVIL_LARGE };

/* An archive with one bad entry, as a stranger could make it. */
static int evil_archive(enum evil kind, const char *path, const char *target)
{
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    static char zeros[100000];
    int fd = new_file();
    size_t size = kind == EVIL_LARGE ? sizeof(zeros) : 4;

    archive_write_add_filter_gzip(archive);
    archive_write_set_format_pax_restricted(archive);
    archive_write_open_fd(archive, fd);
    if (kind == EVIL_THROUGH) {
        archive_entry_set_pathname(entry, "step");
        archive_entry_set_filetype(entry, AE_IFLNK);
        archive_entry_set_symlink(entry, target);
        archive_write_header(archive, entry);
        archive_entry_clear(entry);
    }
    archive_entry_set_pathname(entry, path);
    archive_entry_set_perm(entry, 04755);
    archive_entry_set_filetype(entry, kind == EVIL_DEVICE ? AE_IFCHR
                                      : kind == EVIL_LINK ? AE_IFLNK
                                                          : AE_IFREG);
    if (kind == EVIL_LINK)
        archive_entry_set_symlink(entry, target);
    else if (kind == EVIL_HARDLINK)
        archive_entry_set_hardlink(entry, target);
    else if (kind != EVIL_DEVICE)
        archive_entry_set_size(entry, (la_int64_t)size);
    archive_write_header(archive, entry);
    if (kind != EVIL_LINK && kind != EVIL_HARDLINK && kind != EVIL_DEVICE)
        archive_write_data(archive, zeros, size);
    archive_write_close(archive);
    archive_write_free(archive);
    archive_entry_free(entry);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void hostile_archives_write_nothing_outside(void **state)
{
    static const struct {
        enum evil kind;
        const char *path, *target;
        enum err_code code;
    } cases[] = {
        {EVIL_FILE, "../evil", NULL, ERR_UNPROCESSABLE},
        {EVIL_FILE, "a/../../evil", NULL, ERR_UNPROCESSABLE},
        {EVIL_FILE, "/tmp/euvyra-evil", NULL, ERR_UNPROCESSABLE},
        {EVIL_LINK, "l", "/etc", ERR_UNPROCESSABLE},
        {EVIL_LINK, "l", "../..", ERR_UNPROCESSABLE},
        {EVIL_LINK, "a/l", "../../x", ERR_UNPROCESSABLE},
        {EVIL_HARDLINK, "h", "/etc/passwd", ERR_UNPROCESSABLE},
        {EVIL_DEVICE, "d", NULL, ERR_UNPROCESSABLE},
        {EVIL_THROUGH, "step/evil", "inner", OK}, /* the link gives way to a folder */
        {EVIL_LARGE, "large", NULL, ERR_TOO_LARGE},
    };
    struct tarball_unpack_options unpack = {
        .dir = in_dir("evil-out"), .bytes_max = 50000, .entries_max = 10};
    struct err err;

    (void)state;
    assert_int_equal(mkdir(in_dir("evil-out"), 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd = evil_archive(cases[i].kind, cases[i].path, cases[i].target);

        if (tarball_unpack(&unpack, fd, &err) != cases[i].code)
            fail_msg("case %zu: %s", i, err.text);
        close(fd);
    }
    assert_false(file_exists(in_dir("evil-out/inner")));
    assert_false(file_exists(in_dir("evil")));
    assert_false(file_exists("/tmp/euvyra-evil"));

    int fd = new_file();

    assert_int_equal(file_write_all(fd, "no archive at all", 17, &err), OK);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(tarball_unpack(&unpack, fd, &err), ERR_UNPROCESSABLE);
    close(fd);
}

static void setuid_bits_do_not_survive(void **state)
{
    struct tarball_unpack_options unpack = {
        .dir = in_dir("mode-out"), .bytes_max = 50000, .entries_max = 10};
    int fd = evil_archive(EVIL_FILE, "plain", NULL);
    struct stat info;
    struct err err;

    (void)state;
    assert_int_equal(mkdir(in_dir("mode-out"), 0755), 0);
    assert_int_equal(tarball_unpack(&unpack, fd, &err), OK);
    assert_int_equal(stat(in_dir("mode-out/plain"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0755);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back_and_the_bytes_repeat),
        cmocka_unit_test(hostile_archives_write_nothing_outside),
        cmocka_unit_test(setuid_bits_do_not_survive),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
