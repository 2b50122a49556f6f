/* Claims as files. Looking and taking go together under a lock; whoever holds it does so for a few
 * system calls. */
#include "agent/gpu_claims.h"

#include "sys/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define UUID_BYTES_MAX 95
#define LOCK_NAME      ".lock"

/* It names a file: no more than letters, digits and hyphens. */
static bool uuid_is_plain(const char *uuid)
{
    size_t len = strlen(uuid);

    return len > 0 && len <= UUID_BYTES_MAX && uuid[0] != '-' &&
           strspn(uuid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == len;
}

/* Agents of several users share it, as they share the machine. */
static enum err_code lock_claims(const char *dir, int *ret_fd, struct err *err)
{
    char path[PATH_MAX];

    TRY(file_make_dirs(dir, 0755, err));
    (void)chmod(dir, 01777); /* another user's: it was made so */
    (void)snprintf(path, sizeof(path), "%s/" LOCK_NAME, dir);

    CLEANUP(file_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    (void)fchmod(fd, 0666); /* not ours: it was made so */
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return err_set_errno(err, ERR_IO, errno, "cannot lock %s", path);
    *ret_fd = fd;
    fd = -1;
    return OK;
}

static void claim_path(const char *dir, const char *uuid, char ret_path[PATH_MAX])
{
    (void)snprintf(ret_path, PATH_MAX, "%s/%s", dir, uuid);
}

/* One that cannot be looked at, in another user's home, is there. */
static bool is_gone(const char *folder)
{
    return access(folder, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Who has it; "" when nobody has: there is no claim, or its attempt is gone. */
static void read_holder(const char *dir, const char *uuid, char ret_folder[PATH_MAX])
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[PATH_MAX];

    ret_folder[0] = '\0';
    claim_path(dir, uuid, path);
    if (file_read(path, PATH_MAX - 1, &text, NULL) != OK)
        return;
    (void)snprintf(ret_folder, PATH_MAX, "%.*s", STR_ARG(str_trim(buf_str(&text))));
    if (is_gone(ret_folder))
        ret_folder[0] = '\0';
}

static enum err_code write_claim(const char *dir, const char *uuid, const char *folder,
                                 struct err *err)
{
    char path[PATH_MAX];

    claim_path(dir, uuid, path);
    return file_write_atomic(path, str_from(folder), 0644, err);
}

/* Those it has first, then the free ones. */
static size_t choose(const char *dir, const char *folder, const char *const *usable,
                     size_t usable_count, const char **chosen, struct err *why)
{
    char holder[PATH_MAX];
    size_t count = 0;

    for (size_t i = 0; i < usable_count; i++) {
        read_holder(dir, usable[i], holder);
        if (strcmp(holder, folder) == 0)
            chosen[count++] = usable[i];
    }
    for (size_t i = 0; i < usable_count; i++) {
        read_holder(dir, usable[i], holder);
        if (holder[0] == '\0' && uuid_is_plain(usable[i]))
            chosen[count++] = usable[i];
        else if (strcmp(holder, folder) != 0)
            (void)err_set(why, ERR_UNAVAILABLE, "%s is held by %s", usable[i], holder);
    }
    return count;
}

enum err_code gpu_claims_take(const char *dir, const char *folder, const char *const *usable,
                              size_t usable_count, size_t count, struct arena *arena,
                              const char *const **ret_uuids, struct err *err)
{
    const char **chosen = arena_array(arena, usable_count + count + 1, sizeof(chosen[0]));
    struct err why = {0};
    CLEANUP(file_close) int lock_fd = -1;
    size_t found;

    TRY(lock_claims(dir, &lock_fd, err));
    found = choose(dir, folder, usable, usable_count, chosen, &why);
    if (found < count)
        return err_set(err, ERR_UNAVAILABLE, "%zu of %zu GPUs are free%s%s", found, count,
                       why.text[0] ? ": " : "", why.text);
    for (size_t i = 0; i < count; i++)
        TRY(write_claim(dir, chosen[i], folder, err)); /* a part of them goes with the folder */
    for (size_t i = 0; i < count; i++)
        chosen[i] = arena_text(arena, str_from(chosen[i]));
    chosen[count] = NULL;
    *ret_uuids = chosen;
    return OK;
}

enum err_code gpu_claims_of(const char *dir, const char *folder, struct arena *arena,
                            const char *const **ret_uuids, size_t *ret_count, struct err *err)
{
    const char **uuids = arena_array(arena, GPU_CLAIMS_MAX + 1, sizeof(uuids[0]));
    CLEANUP(file_close) int lock_fd = -1;
    const struct dirent *item;
    size_t count = 0;
    DIR *list;

    TRY(lock_claims(dir, &lock_fd, err));
    list = opendir(dir);
    while (list && count < GPU_CLAIMS_MAX && (item = readdir(list)) != NULL) {
        char holder[PATH_MAX];

        if (!uuid_is_plain(item->d_name))
            continue;
        read_holder(dir, item->d_name, holder);
        if (strcmp(holder, folder) == 0)
            uuids[count++] = arena_text(arena, str_from(item->d_name));
    }
    if (list)
        (void)closedir(list);
    *ret_uuids = uuids;
    *ret_count = count;
    return OK;
}

enum err_code gpu_claims_release(const char *dir, const char *folder, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *const *uuids;
    char path[PATH_MAX];
    size_t count;

    TRY(gpu_claims_of(dir, folder, &arena, &uuids, &count, err));
    for (size_t i = 0; i < count; i++) { /* nobody else takes what this folder holds */
        claim_path(dir, uuids[i], path);
        if (unlink(path) != 0 && errno != ENOENT)
            return err_set_errno(err, ERR_IO, errno, "cannot give back %s", path);
    }
    return OK;
}
