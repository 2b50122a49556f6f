/* Packing and unpacking through libarchive. The writer fixes everything that would make two packs
 * of the same files differ: times, owners, order is the caller's. */
#include "sys/pack.h"

#include "base/mem.h"
#include "base/str.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_BYTES 65536

struct pack_writer {
    struct archive *archive;
    int64_t files;
    int64_t unpacked_bytes;
};

static enum err_code failed(struct archive *archive, const char *what, struct err *err)
{
    const char *why = archive_error_string(archive);

    if (archive_errno(archive) == ENOSPC)
        return err_set(err, ERR_DISK_FULL, "%s: the disk is full", what);
    return err_set(err, ERR_IO, "%s: %s", what, why ? why : "unknown error");
}

enum err_code pack_writer_new(int fd, struct pack_writer **ret_writer, struct err *err)
{
    struct pack_writer *w = MEM_NEW(struct pack_writer);

    w->archive = archive_write_new();
    ENSURE(w->archive);
    if (archive_write_add_filter_gzip(w->archive) != ARCHIVE_OK ||
        archive_write_set_filter_option(w->archive, "gzip", "timestamp", NULL) != ARCHIVE_OK ||
        archive_write_set_format_pax_restricted(w->archive) != ARCHIVE_OK ||
        archive_write_open_fd(w->archive, fd) != ARCHIVE_OK) {
        enum err_code code = failed(w->archive, "archive", err);
        pack_writer_free(w);
        return code;
    }
    *ret_writer = w;
    return OK;
}

void pack_writer_free(struct pack_writer *writer)
{
    if (writer)
        (void)archive_write_free(writer->archive); /* its errors were reported by finish */
    mem_free(writer);
}

static enum err_code check_limits(struct pack_writer *w, int64_t bytes, struct err *err)
{
    w->files++;
    w->unpacked_bytes += bytes;
    if (w->files > PACK_FILES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the folder has more than %d files", PACK_FILES_MAX);
    if (w->unpacked_bytes > UNPACKED_BYTES_MAX ||
        archive_filter_bytes(w->archive, -1) > PACK_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the packed folder is larger than %lld MB",
                       PACK_BYTES_MAX / 1024 / 1024);
    return OK;
}

static enum err_code add_content(struct pack_writer *w, const char *full, int64_t bytes,
                                 struct err *err)
{
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *part = mem_alloc(PART_BYTES);
    enum err_code code = OK;

    if (fd < 0)
        code = err_set_errno(err, ERR_IO, errno, "%s", full);
    while (code == OK && bytes > 0) {
        ssize_t n = read(fd, part, (size_t)MIN(bytes, (int64_t)PART_BYTES));
        if (n <= 0)
            code = err_set(err, ERR_IO, "%s: changed while it was packed", full);
        else if (archive_write_data(w->archive, part, (size_t)n) != n)
            code = failed(w->archive, full, err);
        else
            bytes -= n;
    }
    if (fd >= 0)
        (void)close(fd);
    mem_free(part);
    return code;
}

static enum err_code add_entry(struct pack_writer *w, const char *full, const char *path,
                               const struct stat *st, struct err *err)
{
    struct archive_entry *entry = archive_entry_new();
    bool is_link = S_ISLNK(st->st_mode);
    char target[PATH_MAX + 1];
    ssize_t len = is_link ? readlink(full, target, PATH_MAX) : 0;
    enum err_code code = OK;

    archive_entry_set_pathname(entry, path);
    archive_entry_set_mtime(entry, 0, 0);
    if (is_link) {
        target[MAX(len, 0)] = '\0';
        archive_entry_set_filetype(entry, AE_IFLNK);
        archive_entry_set_perm(entry, 0777);
        archive_entry_set_symlink(entry, target);
    } else {
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, st->st_mode & 0111 ? 0755 : 0644);
        archive_entry_set_size(entry, st->st_size);
    }
    if (archive_write_header(w->archive, entry) != ARCHIVE_OK)
        code = failed(w->archive, path, err);
    archive_entry_free(entry);
    if (code == OK && !is_link)
        code = add_content(w, full, st->st_size, err);
    return code;
}

enum err_code pack_writer_add(struct pack_writer *writer, const char *root, const char *path,
                              struct err *err)
{
    char full[PATH_MAX];
    struct stat st;

    if (snprintf(full, sizeof full, "%s/%s", root, path) >= (int)sizeof full)
        return err_set(err, ERR_INVALID, "the path %s is too long", path);
    if (lstat(full, &st) != 0)
        return errno == ENOENT ? OK : err_set_errno(err, ERR_IO, errno, "%s", full);
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return OK;
    TRY(check_limits(writer, st.st_size, err));
    return add_entry(writer, full, path, &st, err);
}

enum err_code pack_writer_finish(struct pack_writer *writer, int64_t *ret_bytes, struct err *err)
{
    if (archive_write_close(writer->archive) != ARCHIVE_OK)
        return failed(writer->archive, "archive", err);
    *ret_bytes = archive_filter_bytes(writer->archive, -1);
    if (*ret_bytes > PACK_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the packed folder is larger than %lld MB",
                       PACK_BYTES_MAX / 1024 / 1024);
    return OK;
}

/* A relative path without "..", "." or empty parts. */
static bool is_inside(const char *path)
{
    struct str rest = str_from(path), part;

    if (!path || rest.len == 0 || rest.data[0] == '/')
        return false;
    do {
        (void)str_cut(&rest, '/', &part);
        if (str_eq_c(part, "..") || str_eq_c(part, "."))
            return false;
        if (part.len == 0 && rest.len)
            return false;
    } while (rest.len);
    return true;
}

static enum err_code check_entry(struct archive_entry *entry, int64_t *total, int64_t *count,
                                 struct err *err)
{
    const char *path = archive_entry_pathname(entry);
    mode_t type = archive_entry_filetype(entry);

    if (!is_inside(path))
        return err_set(err, ERR_INVALID, "the archive holds the path \"%.200s\"", path ? path : "");
    if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)
        return err_set(err, ERR_INVALID, "the archive holds \"%.200s\", which is no plain file",
                       path);
    if (archive_entry_hardlink(entry))
        return err_set(err, ERR_INVALID, "the archive holds the hard link \"%.200s\"", path);
    *total += archive_entry_size(entry);
    if (++*count > PACK_FILES_MAX || *total > UNPACKED_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the archive is too large to unpack");
    return OK;
}

static enum err_code write_content(struct archive *in, struct archive *out, const char *path,
                                   struct err *err)
{
    const void *data;
    size_t len;
    la_int64_t at;
    int code;

    while ((code = archive_read_data_block(in, &data, &len, &at)) == ARCHIVE_OK)
        if (archive_write_data_block(out, data, len, at) != ARCHIVE_OK)
            return failed(out, path, err);
    if (code != ARCHIVE_EOF)
        return failed(in, path, err);
    return archive_write_finish_entry(out) == ARCHIVE_OK ? OK : failed(out, path, err);
}

static enum err_code unpack_entry(struct archive *in, struct archive *out,
                                  struct archive_entry *entry, const char *root, struct err *err)
{
    char full[PATH_MAX];
    const char *path = archive_entry_pathname(entry);

    if (snprintf(full, sizeof full, "%s/%s", root, path) >= (int)sizeof full)
        return err_set(err, ERR_INVALID, "the path \"%.200s\" is too long", path);
    archive_entry_set_pathname(entry, full);
    if (archive_write_header(out, entry) != ARCHIVE_OK)
        return failed(out, full, err);
    return write_content(in, out, full, err);
}

static enum err_code unpack_all(struct archive *in, struct archive *out, const char *root,
                                struct err *err)
{
    struct archive_entry *entry;
    int64_t total = 0, count = 0;
    int code;

    while ((code = archive_read_next_header(in, &entry)) == ARCHIVE_OK) {
        TRY(check_entry(entry, &total, &count, err));
        TRY(unpack_entry(in, out, entry, root, err));
    }
    return code == ARCHIVE_EOF ? OK : failed(in, "the packed folder", err);
}

enum err_code pack_unpack(int fd, const char *root, struct err *err)
{
    struct archive *in = archive_read_new(), *out = archive_write_disk_new();
    char real[PATH_MAX]; /* the guard against symbolic links looks at every part of the path */
    enum err_code code;

    ENSURE(in && out);
    (void)archive_read_support_filter_gzip(in);
    (void)archive_read_support_format_tar(in);
    (void)archive_write_disk_set_options(
        out, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                 ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_UNLINK);
    if (!realpath(root, real))
        code = err_set_errno(err, ERR_IO, errno, "%s", root);
    else if (archive_read_open_fd(in, fd, PART_BYTES) != ARCHIVE_OK)
        code = err_set(err, ERR_INVALID, "the packed folder is not a tar archive with gzip");
    else
        code = unpack_all(in, out, real, err);
    (void)archive_read_free(in);
    (void)archive_write_free(out);
    return code;
}
