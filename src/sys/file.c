/* Files. The tricky part is removing a tree that a job has made: it may be deeper than we have
 * descriptors for, and hold links that point anywhere. Descent goes folder by folder with
 * O_NOFOLLOW, and a folder below REMOVE_DEPTH_MAX is first moved up to the top of the tree. */
#include "sys/file.h"

#include "base/mem.h"
#include "sys/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES_MAX     4096
#define READ_BYTES         65536
#define REMOVE_DEPTH_MAX   32
#define REMOVE_ENTRIES_MAX 100000000

void file_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* what had to be durable was synced before */
    *fd = -1;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

enum err_code file_read(const char *path, size_t bytes_max, struct buf *ret_buf, struct err *err)
{
    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat stat;

    buf_init(ret_buf, bytes_max + 1);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "%s", path);
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return err_set(err, ERR_IO, "%s: not a regular file", path);
    for (;;) {
        size_t room = MIN((size_t)READ_BYTES, bytes_max + 1 - ret_buf->len);

        if (room == 0)
            return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, bytes_max);

        char *at = buf_reserve(ret_buf, room);
        ssize_t got = read(fd, at, room);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_IO, errno, "cannot read %s", path);
        if (got == 0)
            return OK;
        ret_buf->len += (size_t)got;
        ret_buf->data[ret_buf->len] = '\0';
    }
}

enum err_code file_write_all(int fd, const void *data, size_t len, struct err *err)
{
    const char *at = data;

    while (len > 0) {
        ssize_t written = write(fd, at, len);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_set_errno(err, ERR_IO, errno, "cannot write");
        at += written;
        len -= (size_t)written;
    }
    return OK;
}

enum err_code file_sync_dir(const char *path, struct err *err)
{
    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot sync folder %s", path);
    return OK;
}

/* The folder of `path`; "." when it names none. */
static void parent_of(const char *path, char ret_dir[PATH_BYTES_MAX])
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        (void)snprintf(ret_dir, PATH_BYTES_MAX, ".");
    else if (slash == path)
        (void)snprintf(ret_dir, PATH_BYTES_MAX, "/");
    else
        (void)snprintf(ret_dir, PATH_BYTES_MAX, "%.*s", (int)(slash - path), path);
}

static enum err_code write_and_rename(int fd, const char *temp, const char *path, struct str data,
                                      struct err *err)
{
    TRY(file_write_all(fd, data.data, data.len, err));
    if (fsync(fd) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot sync");
    if (rename(temp, path) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot rename");
    return OK;
}

enum err_code file_write_atomic(const char *path, struct str data, unsigned mode, struct err *err)
{
    char temp[PATH_BYTES_MAX], dir[PATH_BYTES_MAX];

    if ((size_t)snprintf(temp, sizeof(temp), "%s.%016" PRIx64, path, random_u64()) >= sizeof(temp))
        return err_set(err, ERR_INVALID, "path is longer than %d bytes", PATH_BYTES_MAX - 18);

    CLEANUP(file_close)
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);

    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot create %s", path);

    enum err_code code = write_and_rename(fd, temp, path, data, err);

    if (code != OK) {
        (void)unlink(temp); /* the first error is the one to tell */
        err_prefix(err, "%s", path);
        return code;
    }
    parent_of(path, dir);
    return file_sync_dir(dir, err);
}

enum err_code file_make_dirs(const char *path, unsigned mode, struct err *err)
{
    char part[PATH_BYTES_MAX];
    size_t len = strlen(path);

    if (len == 0 || len >= sizeof(part))
        return err_set(err, ERR_INVALID, "folder path of %zu bytes", len);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;

        char kept = part[i];

        part[i] = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            return err_set_errno(err, ERR_IO, errno, "cannot create folder %s", part);
        part[i] = kept;
    }

    struct stat stat_of_path;

    if (stat(path, &stat_of_path) != 0 || !S_ISDIR(stat_of_path.st_mode))
        return err_set(err, ERR_IO, "%s is not a folder", path);
    return OK;
}

enum err_code file_lock(const char *path, int *ret_fd, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int code = errno;

        (void)close(fd);
        if (code == EWOULDBLOCK)
            return err_set(err, ERR_CONFLICT, "%s is locked by another process", path);
        return err_set_errno(err, ERR_IO, code, "cannot lock %s", path);
    }
    *ret_fd = fd;
    return OK;
}

enum err_code file_open_unlinked(const char *dir, int *ret_fd, struct err *err)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char path[PATH_BYTES_MAX]; /* a file system without O_TMPFILE */

        (void)snprintf(path, sizeof(path), "%s/.tmp.%016" PRIx64, dir, random_u64());
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0)
            (void)unlink(path); /* a name that stays costs only a name */
    }
    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot create a temporary file in %s", dir);
    *ret_fd = fd;
    return OK;
}

/* Removing a tree: a stack of open folders; names[i] is the name of dirs[i] in dirs[i - 1]. */
struct remove {
    DIR *dirs[REMOVE_DEPTH_MAX];
    char names[REMOVE_DEPTH_MAX][NAME_MAX + 1];
    int depth;      /* open folders; dirs[0] is the tree's top */
    uint64_t moved; /* names are never used twice */
    bool read_again;
    struct err *err;
};

static enum err_code remove_enter(struct remove *r, int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == EACCES && fchmodat(parent_fd, name, 0700, 0) == 0)
        fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(r->err, ERR_IO, errno, "cannot open folder %s", name);

    DIR *dir = fdopendir(fd);

    ENSURE(dir != NULL);
    (void)fchmod(fd, 0700); /* if that fails the unlink below says why */
    r->dirs[r->depth] = dir;
    (void)snprintf(r->names[r->depth], NAME_MAX + 1, "%s", name);
    r->depth++;
    return OK;
}

static enum err_code remove_entry(struct remove *r, const char *name)
{
    int fd = dirfd(r->dirs[r->depth - 1]);
    char moved[32];

    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
        return OK;
    if (errno != EISDIR && errno != EPERM)
        return err_set_errno(r->err, ERR_IO, errno, "cannot remove %s", name);
    if (unlinkat(fd, name, AT_REMOVEDIR) == 0)
        return OK;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES)
        return err_set_errno(r->err, ERR_IO, errno, "cannot remove %s", name);
    if (r->depth < REMOVE_DEPTH_MAX)
        return remove_enter(r, fd, name);
    (void)snprintf(moved, sizeof(moved), ".moved-%" PRIu64, r->moved++);
    if (renameat(fd, name, dirfd(r->dirs[0]), moved) != 0)
        return err_set_errno(r->err, ERR_IO, errno, "cannot move folder %s", name);
    r->read_again = true;
    return OK;
}

/* Removes the next entry of the deepest folder, or leaves that folder and removes it. */
static enum err_code remove_step(struct remove *r)
{
    DIR *dir = r->dirs[r->depth - 1];
    struct dirent *entry = readdir(dir);

    if (entry) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            return OK;
        return remove_entry(r, entry->d_name);
    }
    if (r->depth == 1 && r->read_again) { /* folders were moved up meanwhile */
        r->read_again = false;
        rewinddir(dir);
        return OK;
    }
    (void)closedir(dir);
    r->depth--;
    if (r->depth == 0)
        return OK;
    /* The parent's reading may skip or repeat entries after this; both are harmless. */
    if (unlinkat(dirfd(r->dirs[r->depth - 1]), r->names[r->depth], AT_REMOVEDIR) != 0 &&
        errno != ENOENT)
        return err_set_errno(r->err, ERR_IO, errno, "cannot remove folder %s", r->names[r->depth]);
    return OK;
}

enum err_code file_remove_tree(const char *path, struct err *err)
{
    struct remove *r;
    enum err_code code;

    if (unlink(path) == 0 || errno == ENOENT)
        return OK;
    if (rmdir(path) == 0)
        return OK;
    r = MEM_NEW(struct remove);
    r->err = err;
    code = remove_enter(r, AT_FDCWD, path);
    for (int64_t i = 0; code == OK && r->depth > 0 && i < REMOVE_ENTRIES_MAX; i++)
        code = remove_step(r);
    while (r->depth > 0)
        (void)closedir(r->dirs[--r->depth]);
    mem_free(r);
    if (code == OK && rmdir(path) != 0 && errno != ENOENT)
        code = err_set_errno(err, ERR_IO, errno, "cannot remove %s", path);
    return code;
}
