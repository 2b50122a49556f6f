/* Packed folders: tar archives, compressed with gzip. Packing is reproducible: the same files give
 * the same bytes, whoever packs them and when. Unpacking trusts nothing: no absolute path, no "..",
 * no writing through a link, no device, limits on size and count. may block */
#pragma once

#include "base/err.h"

#define PACK_BYTES_MAX     (100ll * 1024 * 1024) /* packed */
#define UNPACKED_BYTES_MAX (2ll * 1024 * 1024 * 1024)
#define PACK_FILES_MAX     100000

struct pack_writer;
/* Writes into `fd` from its offset. thread: any, one at a time */
MUST_CHECK enum err_code pack_writer_new(int fd, struct pack_writer **ret_writer, struct err *err);
/* Adds a regular file or symbolic link: `path` relative to `root`, '/' between parts. Others are
 * skipped. ERR_TOO_LARGE beyond PACK_BYTES_MAX or PACK_FILES_MAX. */
MUST_CHECK enum err_code pack_writer_add(struct pack_writer *writer, const char *root,
                                         const char *path, struct err *err);
/* Ends the archive. */
MUST_CHECK enum err_code pack_writer_finish(struct pack_writer *writer, int64_t *ret_bytes,
                                            struct err *err);
void pack_writer_free(struct pack_writer *writer);

/* Unpacks all of `fd` (from its offset) under the folder `root`, which exists. ERR_INVALID names
 * the entry that is not allowed; what was unpacked before it stays. thread: any */
MUST_CHECK enum err_code pack_unpack(int fd, const char *root, struct err *err);
