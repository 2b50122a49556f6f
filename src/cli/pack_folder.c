/* Packing the current folder for a job: in a git work tree the tracked and untracked files that
 * git does not ignore, as they are now; elsewhere everything. Sorted, so that the same folder gives
 * the same digest. */
#include "cli/cli.h"

#include "sys/file.h"
#include "sys/pack.h"
#include "sys/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIST_BYTES_MAX (64u * 1024 * 1024)

struct paths {
    struct arena *arena;
    const char **items;
    size_t count, room;
};

static enum err_code paths_add(struct paths *p, const char *path, struct err *err)
{
    if (p->count == PACK_FILES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the folder has more than %d files", PACK_FILES_MAX);
    p->items = arena_more(p->arena, p->items, p->count, &p->room, sizeof *p->items);
    p->items[p->count++] = arena_text(p->arena, str_from(path));
    return OK;
}

static enum err_code read_pipe(int fd, struct buf *out, struct err *err)
{
    for (;;) {
        char *at = buf_reserve(out, 65536);
        ssize_t n;
        if (!at)
            return err_set(err, ERR_TOO_LARGE, "git lists too many files");
        n = read(fd, at, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, ERR_IO, errno, "git ls-files");
        if (n == 0)
            return OK;
        out->len += (size_t)n;
    }
}

/* False when this is no git work tree (or there is no git): then everything is packed. */
static bool list_git(const char *root, struct buf *out)
{
    static const char *const argv[] = {"git",      "ls-files",           "-z", "--cached",
                                       "--others", "--exclude-standard", NULL};
    struct process_end end = {0};
    struct process process;
    int fds[2];
    bool good;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    good = process_start(&process,
                         &(struct process_options){.argv = argv,
                                                   .cwd = root,
                                                   .stdin_fd = -1,
                                                   .stdout_fd = fds[1],
                                                   .stderr_fd = -1,
                                                   .extra_fd = -1},
                         NULL) == OK;
    (void)close(fds[1]);
    if (good) {
        good = read_pipe(fds[0], out, NULL) == OK;
        good = process_wait(&process, -1, &end) && good && !end.signaled && end.code == 0;
    }
    (void)close(fds[0]);
    return good;
}

static enum err_code take_git(struct paths *paths, const struct buf *list, struct err *err)
{
    for (size_t at = 0; at < list->len; at += strlen(list->data + at) + 1)
        TRY(paths_add(paths, list->data + at, err));
    return OK;
}

/* One folder of the walk; folders found are put on the list to be walked later. */
static enum err_code walk_one(const char *root, const char *folder, struct paths *files,
                              struct paths *folders, struct err *err)
{
    char full[PATH_MAX], path[PATH_MAX];
    struct dirent *entry;
    enum err_code code = OK;
    DIR *dir;

    snprintf(full, sizeof full, "%s/%s", root, folder);
    dir = opendir(full);
    if (!dir)
        return err_set_errno(err, ERR_IO, errno, "%s", full);
    while (code == OK && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (str_eq_c(str_from(name), ".") || str_eq_c(str_from(name), "..") ||
            str_eq_c(str_from(name), ".git") || str_eq_c(str_from(name), "euvyra-runs"))
            continue;
        if (snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name) >=
            (int)sizeof path)
            code = err_set(err, ERR_INVALID, "a path below %s is too long", full);
        else
            code = paths_add(entry->d_type == DT_DIR ? folders : files, path, err);
    }
    (void)closedir(dir);
    return code;
}

static enum err_code walk(const char *root, struct paths *files, struct err *err)
{
    struct paths folders = {.arena = files->arena};

    TRY(paths_add(&folders, "", err));
    for (size_t i = 0; i < folders.count; i++)
        TRY(walk_one(root, folders.items[i], files, &folders, err));
    return OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err_code pack_all(int fd, const char *root, const struct paths *files,
                              int64_t *ret_bytes, struct err *err)
{
    struct pack_writer *writer = NULL;
    enum err_code code = pack_writer_new(fd, &writer, err);

    for (size_t i = 0; code == OK && i < files->count; i++)
        code = pack_writer_add(writer, root, files->items[i], err);
    if (code == OK)
        code = pack_writer_finish(writer, ret_bytes, err);
    pack_writer_free(writer);
    if (code == ERR_TOO_LARGE)
        err_hint(err, "keep data out of the folder (git ignores it), or launch with --no-code");
    return code;
}

enum err_code cli_pack_folder(struct cli *cli, const char *root, int *ret_fd, int64_t *ret_bytes,
                              int64_t *ret_files, struct err *err)
{
    CLEANUP(buf_release) struct buf list = {0};
    struct paths files = {.arena = &cli->arena};
    enum err_code code;
    int fd = -1;

    buf_init(&list, LIST_BYTES_MAX);
    if (list_git(root, &list))
        TRY(take_git(&files, &list, err));
    else
        TRY(walk(root, &files, err));
    if (files.count)
        qsort(files.items, files.count, sizeof *files.items, by_name);
    TRY(file_open_unlinked("/tmp", &fd, err));
    code = pack_all(fd, root, &files, ret_bytes, err);
    if (code != OK) {
        file_close(&fd);
        return code;
    }
    *ret_fd = fd;
    *ret_files = (int64_t)files.count;
    return OK;
}
