/* Reading one writer's log from its segment files: what the sidecar does, also while the writer is
 * still writing. Gives whole groups of records in logical order, ready to be sent.
 *
 * The object is the caller's memory. thread: any, one at a time; blocks on the disk */
#pragma once

#include "runlog/record.h"

struct runlog_segments {
    int dir_fd; /* borrowed */
    int fd;     /* of the segment that `offset` lies in, -1 when none is open */
    char writer[RUNLOG_ID_LEN + 1];
    struct runlog_segment segment;
    uint64_t offset;        /* logical, of the next record */
    uint64_t skipped_bytes; /* set with RUNLOG_BAD: bytes of the file that cannot be read */
};

void runlog_segments_init(struct runlog_segments *segments, int dir_fd, const char *writer);
void runlog_segments_close(struct runlog_segments *segments);

/* Reads whole groups from the current offset into `ret_data`, as many as fit in `capacity` (at
 * least RUNLOG_GROUP_BYTES_MAX + 64 KiB, else a large group can be out of reach), and moves on
 * behind them. *ret_len may be 0. RUNLOG_RECORD  there may be more at once RUNLOG_TORN    the end
 * as of now: a live writer may still add to it. Also when `offset` lies behind the end: a server
 * that is ahead of a shortened log is normal RUNLOG_BAD     the log is damaged here (header,
 * record, or a missing segment); for a live writer worth a second look a moment later Negative:
 * -errno of the file system. */
int runlog_segments_read(struct runlog_segments *segments, uint8_t *ret_data, size_t capacity,
                         size_t *ret_len);
/* True when the segment being read is final: the writer has gone on to the next one. */
bool runlog_segments_has_next(const struct runlog_segments *segments);
/* Flushes the segment being read, and what the writer wrote into it, to the disk. 0 or -errno. */
int runlog_segments_sync(const struct runlog_segments *segments);
