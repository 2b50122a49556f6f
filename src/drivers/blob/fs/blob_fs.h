/* Files by digest in a folder: DIR/ab/<digest>. A file appears by rename, after its bytes are
 * on disk and its digest was right. Implements ports/blob.h. may block: worker only */
#pragma once

#include "ports/blob.h"

struct blob_fs;
/* `dir` is made when it is missing. */
MUST_CHECK enum err_code blob_fs_new(const char *dir, struct blob_fs **ret_fs, struct err *err);
void blob_fs_free(struct blob_fs *fs);
struct blob_port blob_fs_port(struct blob_fs *fs);
