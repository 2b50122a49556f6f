/* Folders as gzip-compressed tar archives (libarchive): packing what `launch` sends, unpacking what
 * a stranger may have made. Built as a library of its own, so that only agent and command line link
 * it. may block */
#pragma once

#include "base/err.h"

struct tarball_pack_options {
    const char *root;         /* paths are relative to it */
    const char *const *paths; /* in the order wanted; files and symbolic links */
    size_t path_count;
    int64_t bytes_max; /* of all file contents together */
    /* Told about each path that is left out, with the reason; may be NULL. */
    void (*left_out)(void *ctx, const char *path, const char *reason);
    void *ctx;
};

/* Writes the archive to `fd`. The same files give the same bytes: owners, times and modes (but the
 * execute bit) are not kept. Links that lead outside and special files are left out. Fails:
 * ERR_TOO_LARGE, ERR_IO, ERR_NOT_FOUND for a file that vanished. */
MUST_CHECK enum err_code tarball_pack(const struct tarball_pack_options *options, int fd,
                                      struct err *err);

struct tarball_unpack_options {
    const char *dir;   /* exists, is empty, belongs to us alone while we unpack */
    int64_t bytes_max; /* unpacked, in all */
    int64_t entries_max;
    bool set_owner; /* give everything to uid and gid */
    unsigned uid, gid;
};

/* Unpacks from `fd`. Refuses, with ERR_UNPROCESSABLE that names the entry: absolute paths, "..",
 * links that lead outside, hard links, devices; ERR_TOO_LARGE over a limit. What was written before
 * a refusal stays. */
MUST_CHECK enum err_code tarball_unpack(const struct tarball_unpack_options *options, int fd,
                                        struct err *err);
