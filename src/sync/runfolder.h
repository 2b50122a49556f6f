/* A run's folder on disk, as docs/runs-on-disk.md describes it. thread: any; blocks on the disk */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"

#include <limits.h>

#define RUN_JSON_BYTES_MAX (256u * 1024u)
#define RUN_WRITERS_MAX    100000u

struct run_folder {
    int dir_fd;          /* -1 when not open */
    char path[PATH_MAX]; /* absolute */
    struct id run;
    char project[256];
    char name[1024];   /* "" when it has none */
    char created[32];  /* RFC 3339, or "" */
    char server[1024]; /* where it was recorded for, or "" */
    char job[16];      /* id of the job, or "" */
    bool is_offline;
};

/* True when there is a run.json. */
bool run_folder_is_one(const char *path);
/* Fills *ret_folder from run.json; run_folder_close when done. ERR_NOT_FOUND, ERR_INVALID (says
 * what is wrong with run.json). */
MUST_CHECK enum err_code run_folder_open(const char *path, struct run_folder *ret_folder,
                                         struct err *err);
void run_folder_close(struct run_folder *folder); /* accepts a zeroed one */

/* The writers that have a first segment here, sorted; `ret_writers` lives in the arena. */
MUST_CHECK enum err_code run_folder_writers(const struct run_folder *folder, struct arena *arena,
                                            struct id **ret_writers, size_t *ret_count,
                                            struct err *err);
