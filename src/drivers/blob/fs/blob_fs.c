/* The folder driver. The digest has been checked to be 64 hexadecimal characters by the route, and
 * is checked again here, because it becomes part of a path. */
#include "drivers/blob/fs/blob_fs.h"

#include "base/id.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "sys/file.h"
#include "sys/random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES 262144
#define PATH_BYTES 4096

struct blob_fs {
    char *dir;
};

enum err_code blob_fs_new(const char *dir, struct blob_fs **ret_fs, struct err *err)
{
    TRY(file_make_dirs(dir, 0700, err));
    *ret_fs = MEM_NEW(struct blob_fs);
    (*ret_fs)->dir = mem_copy_text(dir);
    return OK;
}

void blob_fs_free(struct blob_fs *fs)
{
    if (fs)
        mem_free(fs->dir);
    mem_free(fs);
}

static enum err_code check_digest(const char *digest, struct err *err)
{
    uint8_t bytes[SHA256_BYTES];

    if (!hex_decode(str_from(digest), bytes, SHA256_BYTES))
        return err_set(err, ERR_INVALID, "\"%.80s\" is not a digest", digest);
    return OK;
}

static void path_of(const struct blob_fs *fs, const char *digest, char ret_path[PATH_BYTES])
{
    snprintf(ret_path, PATH_BYTES, "%s/%.2s/%s", fs->dir, digest, digest);
}

/* Copies and digests at the same time. */
static enum err_code copy(int from, int64_t bytes, int to, char ret_digest[SHA256_HEX_BYTES],
                          struct err *err)
{
    struct sha256_state *sha = sha256_new();
    char *part = mem_alloc(COPY_BYTES);
    uint8_t digest[SHA256_BYTES];
    enum err_code code = OK;
    int64_t at = 0;

    while (code == OK && at < bytes) {
        ssize_t n = pread(from, part, (size_t)MIN(bytes - at, (int64_t)COPY_BYTES), at);
        if (n <= 0) {
            code = err_set(err, ERR_IO, "the upload cannot be read back");
            break;
        }
        sha256_add(sha, part, (size_t)n);
        code = file_write_all(to, part, (size_t)n, err);
        at += n;
    }
    sha256_finish(sha, digest);
    hex_encode(digest, SHA256_BYTES, ret_digest);
    mem_free(part);
    return code;
}

static enum err_code write_temp(int fd, int64_t bytes, const char *digest, const char *temp,
                                struct err *err)
{
    CLEANUP(file_close) int to = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char found[SHA256_HEX_BYTES];

    if (to < 0)
        return err_set_errno(err, ERR_IO, errno, "%s", temp);
    TRY(copy(fd, bytes, to, found, err));
    if (!str_eq_c(str_from(found), digest))
        return err_set_field(err, ERR_UNPROCESSABLE, "digest",
                             "the bytes have the digest %s, not the one named", found);
    if (fsync(to) != 0)
        return err_set_errno(err, ERR_IO, errno, "%s", temp);
    return OK;
}

/* A folder whose name the power may take away holds nothing for sure. Flushed each time: that of
 * the one who made it may have failed. */
static enum err_code make_folder(const struct blob_fs *fs, const char *folder, struct err *err)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return err_set_errno(err, ERR_IO, errno, "cannot create folder %s", folder);
    return file_sync_dir(fs->dir, err);
}

static enum err_code blob_fs_put(void *ctx, int fd, int64_t bytes, const char *digest,
                                 struct err *err)
{
    struct blob_fs *fs = ctx;
    char path[PATH_BYTES], folder[PATH_BYTES], temp[PATH_BYTES];
    enum err_code code;

    TRY(check_digest(digest, err));
    path_of(fs, digest, path);
    snprintf(folder, sizeof folder, "%s/%.2s", fs->dir, digest);
    if (snprintf(temp, sizeof temp, "%s/.%s", folder, random_id(ID_KEY).text) >= (int)sizeof temp)
        return err_set(err, ERR_INTERNAL, "the data folder's path is too long");
    TRY(make_folder(fs, folder, err));
    code = write_temp(fd, bytes, digest, temp, err);
    if (code == OK && rename(temp, path) != 0)
        code = err_set_errno(err, ERR_IO, errno, "%s", path);
    if (code != OK) {
        (void)unlink(temp); /* best effort: a leftover is harmless */
        return code;
    }
    return file_sync_dir(folder, err);
}

static enum err_code blob_fs_open(void *ctx, const char *digest, int *ret_fd, int64_t *ret_bytes,
                                  struct err *err)
{
    struct blob_fs *fs = ctx;
    char path[PATH_BYTES];
    struct stat st;
    int fd;

    TRY(check_digest(digest, err));
    path_of(fs, digest, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0) {
        file_close(&fd);
        return err_set(err, ERR_NOT_FOUND, "the file %s is missing in the store", digest);
    }
    *ret_fd = fd;
    *ret_bytes = st.st_size;
    return OK;
}

struct blob_port blob_fs_port(struct blob_fs *fs)
{
    return (struct blob_port){fs, blob_fs_put, blob_fs_open};
}
