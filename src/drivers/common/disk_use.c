/* Walking the folder while the job changes it: what goes away meanwhile is not counted. */
#include "drivers/common/disk_use.h"

#include <fts.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define BLOCK_BYTES     512
#define FULL_BYTES_FREE (256 * 1024)

int64_t disk_used(const char *dir, int64_t enough)
{
    char *const paths[] = {(char *)(uintptr_t)dir, NULL}; /* fts does not write to it */
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    int64_t bytes = 0;
    FTSENT *item;

    while (walk && bytes <= enough && (item = fts_read(walk)) != NULL) {
        const struct stat *info = item->fts_statp;

        /* A file with several names counts once for all of them. */
        if (item->fts_info == FTS_D)
            bytes += (int64_t)info->st_blocks * BLOCK_BYTES;
        else if (item->fts_info == FTS_F || item->fts_info == FTS_DEFAULT)
            bytes += (int64_t)info->st_blocks * BLOCK_BYTES / (int64_t)MAX(info->st_nlink, 1u);
    }
    if (walk)
        (void)fts_close(walk);
    return bytes;
}

bool disk_is_full(const char *dir)
{
    struct statvfs info;

    return statvfs(dir, &info) == 0 && info.f_blocks > 0 &&
           (info.f_bavail * info.f_frsize < FULL_BYTES_FREE || (info.f_files && !info.f_favail));
}
