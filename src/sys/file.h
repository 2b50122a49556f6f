/* Files: whole reads under a limit, atomic durable writes, folders, locks. Paths are C strings.
 * Every descriptor made here is close-on-exec. may block */
#pragma once

#include "base/buf.h"
#include "base/err.h"

/* Reads a whole regular file into `ret_buf`, which is initialised here (also on failure: release
 * it). ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_IO. thread: any */
MUST_CHECK enum err_code file_read(const char *path, size_t bytes_max, struct buf *ret_buf,
                                   struct err *err);
/* Writes beside the path, fsyncs, renames over it, fsyncs the folder: after a crash the path holds
 * the old or the new bytes, whole. thread: any */
MUST_CHECK enum err_code file_write_atomic(const char *path, struct str data, unsigned mode,
                                           struct err *err);
/* write(2) until all is written. thread: any */
MUST_CHECK enum err_code file_write_all(int fd, const void *data, size_t len, struct err *err);
/* Makes a folder and its missing parents. thread: any */
MUST_CHECK enum err_code file_make_dirs(const char *path, unsigned mode, struct err *err);
/* fsync of the folder itself, so that a rename or a new name in it is durable. thread: any */
MUST_CHECK enum err_code file_sync_dir(const char *path, struct err *err);
/* Creates and locks a file (flock, exclusive): closing the descriptor or dying releases it.
 * ERR_CONFLICT when somebody else holds it. thread: any */
MUST_CHECK enum err_code file_lock(const char *path, int *ret_fd, struct err *err);
/* Removes a folder with all in it, or a file; follows no link; a missing path is no error.
 * thread: any */
MUST_CHECK enum err_code file_remove_tree(const char *path, struct err *err);
/* An unlinked temporary file in `dir`, open for reading and writing. thread: any */
MUST_CHECK enum err_code file_open_unlinked(const char *dir, int *ret_fd, struct err *err);
bool file_exists(const char *path);
void file_close(int *fd); /* for CLEANUP: closes what is not -1 and sets it to -1 */
