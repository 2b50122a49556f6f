/* The writer of one run log: appends records to segment files.
 *
 * Where the file system is known to keep its word (ext4, xfs, btrfs, tmpfs, overlay) a segment is
 * mapped into memory and its blocks are allocated ahead, so that an append is a copy and a full
 * disk is an error of the allocation, never a SIGBUS. Elsewhere each record is one pwrite. Either
 * way a record that was appended survives the death of the process.
 *
 * When the disk is full, appends fail with -ENOSPC and nothing else happens to the caller; the
 * losses are counted and written as a gap record before the next record that fits.
 *
 * The object is the caller's memory. It keeps no lock: one thread at a time. Results are 0 or a
 * negative errno. After fork() the child must not use it: runlog_writer_abandon. */
#pragma once

#include "runlog/format.h"

struct runlog_writer_options {
    int dir_fd;                 /* of the run's folder; borrowed until runlog_writer_close */
    const char *writer;         /* id; must not exist yet in the folder */
    uint32_t segment_bytes_max; /* 0: RUNLOG_SEGMENT_BYTES_MAX; at least 64 KiB */
    bool plain_writes;          /* use pwrite even where mmap would do */
    int64_t now_ms;             /* wall clock, for the first header */
};

struct runlog_writer {
    int dir_fd;
    int fd; /* of the open segment, -1 between segments */
    bool mapped;
    uint32_t segment_number; /* of the open or next segment */
    uint32_t segment_bytes_max;
    char writer[RUNLOG_ID_LEN + 1];
    uint8_t *map; /* the segment, or scratch for one record */
    size_t map_bytes;
    size_t position;       /* in the file, of the next record */
    size_t allocated;      /* bytes of the file that are backed by blocks */
    size_t reserved;       /* payload bytes handed out by runlog_writer_reserve */
    uint64_t base;         /* logical offset of the open segment */
    int64_t now_ms;        /* of the last reserve */
    uint64_t lost_records; /* since the last gap record */
    uint64_t lost_bytes;
    int64_t lost_since_ms;
    uint64_t lost_total; /* over the writer's life */
};

int runlog_writer_open(struct runlog_writer *writer, const struct runlog_writer_options *options);
/* Room for a payload of up to `len` bytes (1 to RUNLOG_PAYLOAD_BYTES_MAX), right where it will
 * lie. Must be followed by commit or cancel. */
int runlog_writer_reserve(struct runlog_writer *writer, size_t len, int64_t now_ms,
                          uint8_t **ret_payload);
/* Publishes the first `len` bytes (1 to what was reserved) as one record. */
int runlog_writer_commit(struct runlog_writer *writer, uint16_t type, uint16_t flags, size_t len);
void runlog_writer_cancel(struct runlog_writer *writer);
/* Reserve, copy, commit. A JSON payload above one record is split into continued parts of one
 * segment, at most RUNLOG_GROUP_BYTES_MAX in all (-EMSGSIZE above that). */
int runlog_writer_append(struct runlog_writer *writer, uint16_t type, const void *payload,
                         size_t len, int64_t now_ms);
/* Logical offset: record bytes written so far. */
uint64_t runlog_writer_offset(const struct runlog_writer *writer);
/* Cuts the preallocated tail off and closes. The writer is done: a later process is a new one. */
void runlog_writer_close(struct runlog_writer *writer);
/* In a forked child: lets go of descriptor and mapping without touching the parent's file. */
void runlog_writer_abandon(struct runlog_writer *writer);
