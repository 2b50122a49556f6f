/* Archives. Unpacking trusts nothing: libarchive's own secure flags are set, and before them every
 * path and link target is judged here as text. */
#include "sys/tarball.h"

#include "base/str.h"
#include "sys/file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES    65536
#define PATH_BYTES_MAX 4096

/* Whether a relative path, walked from `depth` folders below the root, ever leaves the root. */
static bool path_leaves(struct str path, int64_t depth)
{
    struct str segment;
    bool more = path.len > 0;

    if (path.len == 0 || path.data[0] == '/')
        return true;
    while (more) {
        more = str_cut(&path, '/', &segment);
        if (str_eq_c(segment, ".."))
            depth--;
        else if (segment.len > 0 && !str_eq_c(segment, "."))
            depth++;
        if (depth < 0)
            return true;
    }
    return false;
}

static bool has_dot_dot(struct str path)
{
    struct str segment;
    bool more = true;

    while (more) {
        more = str_cut(&path, '/', &segment);
        if (str_eq_c(segment, ".."))
            return true;
    }
    return false;
}

/* How many folders a path's last part lies below the root. */
static int64_t folder_depth(struct str path)
{
    int64_t depth = 0;

    for (size_t i = 0; i < path.len; i++)
        depth += path.data[i] == '/' ? 1 : 0;
    return depth;
}

static bool link_leaves(const char *path, const char *target)
{
    return path_leaves(str_from(target), folder_depth(str_from(path)));
}

static enum err_code archive_fail(struct archive *archive, enum err_code code, const char *what,
                                  struct err *err)
{
    const char *reason = archive_error_string(archive);
    int number = archive_errno(archive);

    if (number == ENOSPC || number == EDQUOT)
        code = ERR_DISK_FULL;
    return err_set(err, code, "%s: %.200s", what, reason ? reason : "unknown error");
}

struct packer {
    const struct tarball_pack_options *options;
    struct archive *archive;
    struct archive_entry *entry;
    int root_fd;
    int64_t bytes;
    struct err *err;
};

static void leave_out(const struct packer *p, const char *path, const char *reason)
{
    if (p->options->left_out)
        p->options->left_out(p->options->ctx, path, reason);
}

static enum err_code write_header(struct packer *p, const char *path, unsigned type, int64_t size,
                                  unsigned mode)
{
    archive_entry_set_pathname(p->entry, path);
    archive_entry_set_filetype(p->entry, type);
    archive_entry_set_perm(p->entry, (mode_t)mode);
    archive_entry_set_size(p->entry, size);
    archive_entry_set_mtime(p->entry, 0, 0);
    if (archive_write_header(p->archive, p->entry) != ARCHIVE_OK)
        return archive_fail(p->archive, ERR_IO, "cannot pack", p->err);
    return OK;
}

static enum err_code pack_file(struct packer *p, const char *path)
{
    CLEANUP(file_close)
    int fd = openat(p->root_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    char data[BLOCK_BYTES];
    int64_t left;

    if (fd < 0 || fstat(fd, &info) != 0)
        return err_set_errno(p->err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
                             "cannot read %s", path);
    left = info.st_size;
    p->bytes += left;
    if (p->bytes > p->options->bytes_max)
        return err_set(p->err, ERR_TOO_LARGE, "the folder is larger than %lld MB (at %.200s)",
                       (long long)(p->options->bytes_max / 1000000), path);
    TRY(write_header(p, path, AE_IFREG, left, info.st_mode & 0100 ? 0755 : 0644));
    while (left > 0) {
        ssize_t got = read(fd, data, (size_t)MIN(left, (int64_t)sizeof(data)));

        if (got <= 0)
            return err_set(p->err, ERR_IO, "%s changed while it was packed", path);
        if (archive_write_data(p->archive, data, (size_t)got) != got)
            return archive_fail(p->archive, ERR_IO, "cannot pack", p->err);
        left -= got;
    }
    return OK;
}

static enum err_code pack_path(struct packer *p, const char *path)
{
    char target[PATH_BYTES_MAX];
    struct stat info;
    ssize_t len;

    archive_entry_clear(p->entry);
    if (fstatat(p->root_fd, path, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return err_set_errno(p->err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
                             "cannot read %s", path);
    if (S_ISREG(info.st_mode))
        return pack_file(p, path);
    if (!S_ISLNK(info.st_mode)) {
        leave_out(p, path, "not a file");
        return OK;
    }
    len = readlinkat(p->root_fd, path, target, sizeof(target) - 1);
    if (len < 0)
        return err_set_errno(p->err, ERR_IO, errno, "cannot read %s", path);
    target[len] = '\0';
    if (link_leaves(path, target)) {
        leave_out(p, path, "a link that leads outside");
        return OK;
    }
    archive_entry_set_symlink(p->entry, target);
    return write_header(p, path, AE_IFLNK, 0, 0777);
}

static enum err_code pack_all(struct packer *p, int fd)
{
    if (archive_write_add_filter_gzip(p->archive) != ARCHIVE_OK ||
        archive_write_set_filter_option(p->archive, "gzip", "timestamp", NULL) != ARCHIVE_OK ||
        archive_write_set_format_pax_restricted(p->archive) != ARCHIVE_OK ||
        archive_write_open_fd(p->archive, fd) != ARCHIVE_OK)
        return archive_fail(p->archive, ERR_IO, "cannot pack", p->err);
    for (size_t i = 0; i < p->options->path_count; i++) {
        const char *path = p->options->paths[i];

        if (path_leaves(str_from(path), 0) || has_dot_dot(str_from(path)))
            return err_set(p->err, ERR_INVALID, "path \"%.200s\" leads outside", path);
        TRY(pack_path(p, path));
    }
    if (archive_write_close(p->archive) != ARCHIVE_OK)
        return archive_fail(p->archive, ERR_IO, "cannot pack", p->err);
    return OK;
}

enum err_code tarball_pack(const struct tarball_pack_options *options, int fd, struct err *err)
{
    CLEANUP(file_close) int root_fd = open(options->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct packer p = {.options = options, .root_fd = root_fd, .err = err};
    enum err_code code;

    if (root_fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open folder %s", options->root);
    p.archive = archive_write_new();
    p.entry = archive_entry_new();
    ENSURE(p.archive && p.entry);
    code = pack_all(&p, fd);
    archive_entry_free(p.entry);
    (void)archive_write_free(p.archive); /* closed above, or failed */
    return code;
}

struct unpacker {
    const struct tarball_unpack_options *options;
    struct archive *in, *out;
    int64_t bytes, entries;
    struct err *err;
};

static enum err_code judge_entry(struct unpacker *u, struct archive_entry *entry)
{
    const char *path = archive_entry_pathname(entry);
    unsigned type = archive_entry_filetype(entry);

    if (++u->entries > u->options->entries_max)
        return err_set(u->err, ERR_TOO_LARGE, "the archive has more than %lld entries",
                       (long long)u->options->entries_max);
    if (!path || strlen(path) >= PATH_BYTES_MAX || path_leaves(str_from(path), 0) ||
        has_dot_dot(str_from(path)))
        return err_set(u->err, ERR_UNPROCESSABLE, "the archive's entry \"%.200s\" leads outside",
                       path ? path : "");
    if (archive_entry_hardlink(entry) || (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK))
        return err_set(u->err, ERR_UNPROCESSABLE, "the archive's entry \"%.200s\" is no file",
                       path);
    if (type == AE_IFLNK && link_leaves(path, archive_entry_symlink(entry)))
        return err_set(u->err, ERR_UNPROCESSABLE, "the archive's link \"%.200s\" leads outside",
                       path);
    return OK;
}

static enum err_code copy_data(struct unpacker *u)
{
    const void *data;
    size_t len;
    la_int64_t offset;
    int result;

    while ((result = archive_read_data_block(u->in, &data, &len, &offset)) == ARCHIVE_OK) {
        u->bytes += (int64_t)len;
        if (u->bytes > u->options->bytes_max || offset > u->options->bytes_max)
            return err_set(u->err, ERR_TOO_LARGE, "the archive holds more than %lld MB",
                           (long long)(u->options->bytes_max / 1000000));
        if (archive_write_data_block(u->out, data, len, offset) < ARCHIVE_OK)
            return archive_fail(u->out, ERR_IO, "cannot unpack", u->err);
    }
    if (result != ARCHIVE_EOF)
        return archive_fail(u->in, ERR_UNPROCESSABLE, "the archive is damaged", u->err);
    return OK;
}

/* Paths are written below options->dir by giving libarchive the whole path. */
static enum err_code unpack_entry(struct unpacker *u, struct archive_entry *entry)
{
    char path[2 * PATH_BYTES_MAX];
    unsigned mode = archive_entry_perm(entry) & 0100 ? 0755 : 0644;

    TRY(judge_entry(u, entry));
    if (archive_entry_filetype(entry) == AE_IFDIR)
        mode = 0755;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", u->options->dir,
                         archive_entry_pathname(entry)) >= sizeof(path))
        return err_set(u->err, ERR_UNPROCESSABLE, "a path in the archive is too long");
    archive_entry_set_pathname(entry, path);
    archive_entry_set_perm(entry, (mode_t)mode); /* no setuid, no surprise */
    if (u->options->set_owner) {
        archive_entry_set_uid(entry, u->options->uid);
        archive_entry_set_gid(entry, u->options->gid);
    }
    if (archive_write_header(u->out, entry) != ARCHIVE_OK)
        return archive_fail(u->out, ERR_IO, "cannot unpack", u->err);
    TRY(copy_data(u));
    if (archive_write_finish_entry(u->out) != ARCHIVE_OK)
        return archive_fail(u->out, ERR_IO, "cannot unpack", u->err);
    return OK;
}

static enum err_code unpack_all(struct unpacker *u, int fd)
{
    struct archive_entry *entry;
    int result;

    if (archive_read_support_filter_gzip(u->in) != ARCHIVE_OK ||
        archive_read_support_format_tar(u->in) != ARCHIVE_OK ||
        archive_read_open_fd(u->in, fd, BLOCK_BYTES) != ARCHIVE_OK)
        return archive_fail(u->in, ERR_UNPROCESSABLE, "the archive is damaged", u->err);
    while ((result = archive_read_next_header(u->in, &entry)) == ARCHIVE_OK)
        TRY(unpack_entry(u, entry));
    if (result != ARCHIVE_EOF)
        return archive_fail(u->in, ERR_UNPROCESSABLE, "the archive is damaged", u->err);
    if (archive_write_close(u->out) != ARCHIVE_OK)
        return archive_fail(u->out, ERR_IO, "cannot unpack", u->err);
    return OK;
}

enum err_code tarball_unpack(const struct tarball_unpack_options *options, int fd, struct err *err)
{
    struct unpacker u = {.options = options, .err = err};
    /* NOABSOLUTEPATHS is ours (judge_entry): we hand over absolute paths. */
    int flags = ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_UNLINK;
    enum err_code code;

    u.in = archive_read_new();
    u.out = archive_write_disk_new();
    ENSURE(u.in && u.out);
    if (options->set_owner)
        flags |= ARCHIVE_EXTRACT_OWNER;
    ENSURE(archive_write_disk_set_options(u.out, flags) == ARCHIVE_OK);
    code = unpack_all(&u, fd);
    (void)archive_read_free(u.in);
    (void)archive_write_free(u.out); /* closed above, or failed */
    return code;
}
