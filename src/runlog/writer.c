/* The tricky part is the order of stores, because a reader may look at any moment and the process
 * may die between any two of them. Bytes behind `position` are zero, except the payload area that
 * reserve handed out. commit() zeroes what was reserved but not used, stores checksum, type and
 * flags, and stores the length last, with release order: until then the record does not exist.
 *
 * A segment is mapped once at its full size; pages behind `allocated` have no blocks yet and are
 * never touched. */
#include "runlog/writer.h"

#include "runlog/bytes.h"
#include "runlog/crc.h"
#include "runlog/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ALLOCATE_BYTES_MIN (64u * 1024u)
#define ALLOCATE_BYTES_MAX (4u * 1024u * 1024u)
#define SCRATCH_BYTES      (RUNLOG_RECORD_HEADER_BYTES + RUNLOG_PAYLOAD_BYTES_MAX)

#define HINT_AT 56 /* in the segment header */

#define FS_EXT4    0xEF53
#define FS_XFS     0x58465342
#define FS_BTRFS   0x9123683E
#define FS_TMPFS   0x01021994
#define FS_OVERLAY 0x794c7630

static bool fs_maps_safely(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) != 0)
        return false;
    switch ((unsigned long)fs.f_type) {
    case FS_EXT4:
    case FS_XFS:
    case FS_BTRFS:
    case FS_TMPFS:
    case FS_OVERLAY: return true;
    default: return false;
    }
}

static int write_all(int fd, const uint8_t *data, size_t len, off_t at)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        data += n;
        len -= (size_t)n;
        at += n;
    }
    return 0;
}

/* Makes sure that the first `bytes` of the segment have blocks, growing in doubling steps. */
static int segment_allocate(struct runlog_writer *writer, size_t bytes)
{
    if (!writer->mapped || bytes <= writer->allocated)
        return 0;
    size_t step = writer->allocated;
    step = step < ALLOCATE_BYTES_MIN ? ALLOCATE_BYTES_MIN : step;
    step = step > ALLOCATE_BYTES_MAX ? ALLOCATE_BYTES_MAX : step;
    size_t want = (bytes + step - 1) / step * step;
    want = want > writer->segment_bytes_max ? writer->segment_bytes_max : want;
    int rc;
    do {
        rc = posix_fallocate(writer->fd, 0, (off_t)want);
    } while (rc == EINTR);
    if (rc != 0)
        return -rc;
    writer->allocated = want;
    return 0;
}

static int segment_map(struct runlog_writer *writer)
{
    int flags = writer->mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

    if (writer->map != NULL && !writer->mapped)
        return 0; /* the scratch stays over all segments */
    writer->map_bytes = writer->mapped ? writer->segment_bytes_max : SCRATCH_BYTES;
    void *map = mmap(NULL, writer->map_bytes, PROT_READ | PROT_WRITE, flags,
                     writer->mapped ? writer->fd : -1, 0);
    if (map == MAP_FAILED)
        return -errno;
    writer->map = map;
    return 0;
}

static void segment_undo(struct runlog_writer *writer, const char *name)
{
    if (writer->mapped && writer->map != NULL) {
        munmap(writer->map, writer->map_bytes);
        writer->map = NULL;
    }
    close(writer->fd);
    writer->fd = -1;
    writer->allocated = 0;
    unlinkat(writer->dir_fd, name, 0);
}

static int segment_open(struct runlog_writer *writer)
{
    char name[RUNLOG_FILE_NAME_BYTES];
    uint8_t header[RUNLOG_HEADER_BYTES];
    struct runlog_segment segment = {
        .number = writer->segment_number,
        .base = writer->base,
        .created_ms = writer->now_ms,
    };

    if (writer->segment_number >= RUNLOG_SEGMENT_COUNT_MAX)
        return -EFBIG;
    memcpy(segment.writer, writer->writer, sizeof segment.writer);
    runlog_segment_encode(&segment, header);
    runlog_file_name(writer->writer, writer->segment_number, name);
    int fd = openat(writer->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    writer->fd = fd;
    writer->allocated = 0;
    int rc = segment_allocate(writer, RUNLOG_HEADER_BYTES);
    if (rc == 0)
        rc = write_all(fd, header, sizeof header, 0);
    if (rc == 0)
        rc = segment_map(writer);
    if (rc != 0) {
        segment_undo(writer, name);
        return rc;
    }
    writer->position = RUNLOG_HEADER_BYTES;
    return 0;
}

static void segment_close(struct runlog_writer *writer)
{
    if (writer->fd < 0)
        return;
    if (writer->mapped) {
        munmap(writer->map, writer->map_bytes);
        writer->map = NULL;
        /* Failing to cut the zeros off only costs disk. */
        (void)!ftruncate(writer->fd, (off_t)writer->position);
    } else {
        uint8_t hint[8];
        runlog_put_u64(hint, writer->position - RUNLOG_HEADER_BYTES);
        (void)write_all(writer->fd, hint, sizeof hint, HINT_AT); /* a hint: readers do without */
    }
    close(writer->fd);
    writer->fd = -1;
    writer->base += writer->position - RUNLOG_HEADER_BYTES;
    writer->position = RUNLOG_HEADER_BYTES;
    writer->segment_number++;
}

/* A segment with room for a record of `payload_bytes`. */
static int segment_for(struct runlog_writer *writer, size_t payload_bytes)
{
    size_t end = writer->position + RUNLOG_RECORD_HEADER_BYTES + payload_bytes;

    if (writer->fd >= 0 && end > writer->segment_bytes_max)
        segment_close(writer);
    if (writer->fd < 0) {
        int rc = segment_open(writer);
        if (rc != 0)
            return rc;
        end = writer->position + RUNLOG_RECORD_HEADER_BYTES + payload_bytes;
    }
    return segment_allocate(writer, end);
}

static uint8_t *record_at(const struct runlog_writer *writer)
{
    return writer->mapped ? writer->map + writer->position : writer->map;
}

int runlog_writer_open(struct runlog_writer *writer, const struct runlog_writer_options *options)
{
    uint32_t bytes_max = options->segment_bytes_max;

    if (!runlog_id_is_valid(options->writer, 'w') ||
        (bytes_max != 0 &&
         (bytes_max < ALLOCATE_BYTES_MIN || bytes_max > RUNLOG_SEGMENT_BYTES_MAX)))
        return -EINVAL;
    *writer = (struct runlog_writer){
        .dir_fd = options->dir_fd,
        .fd = -1,
        .mapped = !options->plain_writes && fs_maps_safely(options->dir_fd),
        .segment_bytes_max = bytes_max != 0 ? bytes_max : RUNLOG_SEGMENT_BYTES_MAX,
        .position = RUNLOG_HEADER_BYTES,
        .now_ms = options->now_ms,
    };
    memcpy(writer->writer, options->writer, sizeof writer->writer);
    return segment_open(writer);
}

static int record_publish(struct runlog_writer *writer, uint16_t type, uint16_t flags, size_t len)
{
    uint8_t *header = record_at(writer);
    uint8_t *payload = header + RUNLOG_RECORD_HEADER_BYTES;

    memset(payload + len, 0, writer->reserved - len);
    writer->reserved = 0;
    runlog_put_u16(header + 4, type);
    runlog_put_u16(header + 6, flags);
    runlog_put_u32(header + 8, runlog_crc(runlog_crc(0, header + 4, 4), payload, len));
    if (!writer->mapped) {
        runlog_put_u32(header, (uint32_t)len);
        int rc = write_all(writer->fd, header, RUNLOG_RECORD_HEADER_BYTES + len,
                           (off_t)writer->position);
        if (rc == 0)
            writer->position += RUNLOG_RECORD_HEADER_BYTES + len;
        return rc;
    }
    /* Records are not aligned, so the length is published by a fence and a plain store. A reader
     * that sees it torn finds a wrong checksum and looks again. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    runlog_put_u32(header, (uint32_t)len);
    writer->position += RUNLOG_RECORD_HEADER_BYTES + len;
    __atomic_store_n((uint64_t *)(void *)(writer->map + HINT_AT),
                     writer->position - RUNLOG_HEADER_BYTES, __ATOMIC_RELEASE);
    return 0;
}

/* Counts a record that could not be written; returns `rc`. */
static int writer_lose(struct runlog_writer *writer, size_t len, int rc)
{
    if (writer->lost_records == 0)
        writer->lost_since_ms = writer->now_ms;
    writer->lost_records++;
    writer->lost_total++;
    writer->lost_bytes += len;
    return rc;
}

static int reserve_here(struct runlog_writer *writer, size_t len)
{
    int rc = segment_for(writer, len);

    if (rc == 0)
        writer->reserved = len;
    return rc;
}

/* Writes down what was lost, now that there is room again. */
static int writer_tell_gap(struct runlog_writer *writer)
{
    int rc = reserve_here(writer, 24);

    if (rc != 0)
        return rc;
    runlog_gap_encode(writer->lost_records, writer->lost_bytes, writer->lost_since_ms,
                      record_at(writer) + RUNLOG_RECORD_HEADER_BYTES);
    rc = record_publish(writer, RUNLOG_GAP, 0, 24);
    if (rc == 0)
        writer->lost_records = writer->lost_bytes = 0;
    else
        (void)!ftruncate(writer->fd, (off_t)writer->position);
    return rc;
}

int runlog_writer_reserve(struct runlog_writer *writer, size_t len, int64_t now_ms,
                          uint8_t **ret_payload)
{
    int rc = 0;

    if (len == 0 || len > RUNLOG_PAYLOAD_BYTES_MAX ||
        len + RUNLOG_RECORD_HEADER_BYTES + RUNLOG_HEADER_BYTES > writer->segment_bytes_max)
        return -EMSGSIZE;
    writer->now_ms = now_ms;
    if (writer->lost_records > 0)
        rc = writer_tell_gap(writer);
    if (rc == 0)
        rc = reserve_here(writer, len);
    if (rc != 0)
        return writer_lose(writer, len, rc);
    *ret_payload = record_at(writer) + RUNLOG_RECORD_HEADER_BYTES;
    return 0;
}

int runlog_writer_commit(struct runlog_writer *writer, uint16_t type, uint16_t flags, size_t len)
{
    if (len == 0 || len > writer->reserved)
        return -EINVAL;
    int rc = record_publish(writer, type, flags, len);
    if (rc != 0) {
        /* Half a record may lie there now; without it the next one starts clean. */
        (void)!ftruncate(writer->fd, (off_t)writer->position);
        return writer_lose(writer, len, rc);
    }
    return 0;
}

void runlog_writer_cancel(struct runlog_writer *writer)
{
    if (writer->reserved > 0)
        memset(record_at(writer) + RUNLOG_RECORD_HEADER_BYTES, 0, writer->reserved);
    writer->reserved = 0;
}

/* Takes back the parts of a group that could not be written whole. */
static int group_undo(struct runlog_writer *writer, size_t begin, size_t len, int rc)
{
    writer->position = begin;
    (void)!ftruncate(writer->fd, (off_t)begin); /* when it fails, readers see a damaged tail */
    return writer_lose(writer, len, rc);
}

int runlog_writer_append(struct runlog_writer *writer, uint16_t type, const void *payload,
                         size_t len, int64_t now_ms)
{
    const uint8_t *data = payload;
    size_t part_count = (len + RUNLOG_PAYLOAD_BYTES_MAX - 1) / RUNLOG_PAYLOAD_BYTES_MAX;
    size_t rest = len;
    int rc = 0;

    if (len == 0 || len > RUNLOG_GROUP_BYTES_MAX ||
        (part_count > 1 && !runlog_type_is_json(type)) ||
        len + part_count * RUNLOG_RECORD_HEADER_BYTES + RUNLOG_HEADER_BYTES >
            writer->segment_bytes_max)
        return -EMSGSIZE;
    writer->now_ms = now_ms;
    if (writer->lost_records > 0)
        rc = writer_tell_gap(writer);
    /* Room for all parts at once: they lie in one segment, and where the segment is mapped nothing
     * can fail from here on. */
    if (rc == 0)
        rc = segment_for(writer, len + (part_count - 1) * RUNLOG_RECORD_HEADER_BYTES);
    if (rc != 0)
        return writer_lose(writer, len, rc);
    size_t begin = writer->position;
    while (rest > 0) {
        size_t part = rest < RUNLOG_PAYLOAD_BYTES_MAX ? rest : RUNLOG_PAYLOAD_BYTES_MAX;
        writer->reserved = part;
        memcpy(record_at(writer) + RUNLOG_RECORD_HEADER_BYTES, data, part);
        data += part;
        rest -= part;
        rc = record_publish(writer, type, rest > 0 ? RUNLOG_FLAG_CONTINUED : 0, part);
        if (rc != 0)
            return group_undo(writer, begin, len, rc);
    }
    return 0;
}

uint64_t runlog_writer_offset(const struct runlog_writer *writer)
{
    return writer->base + writer->position - RUNLOG_HEADER_BYTES;
}

void runlog_writer_close(struct runlog_writer *writer)
{
    segment_close(writer);
    if (writer->map != NULL)
        munmap(writer->map, writer->map_bytes);
    writer->map = NULL;
}

void runlog_writer_abandon(struct runlog_writer *writer)
{
    if (writer->map != NULL)
        munmap(writer->map, writer->map_bytes);
    if (writer->fd >= 0)
        close(writer->fd);
    writer->map = NULL;
    writer->fd = -1;
}
