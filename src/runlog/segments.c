/* The tricky part is the end of a segment: it is final once the next segment exists, because the
 * writer opens that one only after its last record here. So the order is: see whether the next one
 * exists, then look for records here, and move on only when there were none although it did. */
#include "runlog/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void runlog_segments_init(struct runlog_segments *segments, int dir_fd, const char *writer)
{
    *segments = (struct runlog_segments){.dir_fd = dir_fd, .fd = -1};
    memcpy(segments->writer, writer, RUNLOG_ID_LEN);
}

void runlog_segments_close(struct runlog_segments *segments)
{
    if (segments->fd >= 0)
        close(segments->fd);
    segments->fd = -1;
}

static ssize_t read_at(int fd, uint8_t *ret_data, size_t len, off_t at)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, ret_data + done, len - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Whether no record follows the header: its length would be the first thing to be there. */
static bool is_empty_behind_header(int fd)
{
    uint8_t length[4];
    ssize_t n = read_at(fd, length, sizeof length, RUNLOG_HEADER_BYTES);

    return n >= 0 &&
           (n < (ssize_t)sizeof length || (length[0] | length[1] | length[2] | length[3]) == 0);
}

/* Opens segment `number`: RUNLOG_RECORD, RUNLOG_TORN when it is not there or has no header yet,
 * RUNLOG_BAD, or -errno. */
static int segment_open(struct runlog_segments *segments, uint32_t number)
{
    char name[RUNLOG_FILE_NAME_BYTES];
    uint8_t header[RUNLOG_HEADER_BYTES];
    struct runlog_segment segment;

    if (number >= RUNLOG_SEGMENT_COUNT_MAX)
        return RUNLOG_BAD;
    runlog_file_name(segments->writer, number, name);
    int fd = openat(segments->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? RUNLOG_TORN : -errno;
    ssize_t n = read_at(fd, header, sizeof header, 0);
    int state = RUNLOG_RECORD;
    if (n < 0)
        state = (int)n;
    else if (n < (ssize_t)sizeof header || header[0] == 0)
        state = RUNLOG_TORN;
    else if (!runlog_segment_decode(header, sizeof header, &segment) || segment.number != number ||
             memcmp(segment.writer, segments->writer, RUNLOG_ID_LEN))
        state = is_empty_behind_header(fd) ? RUNLOG_TORN : RUNLOG_BAD; /* half a header */
    if (state != RUNLOG_RECORD) {
        close(fd);
        return state;
    }
    runlog_segments_close(segments);
    segments->fd = fd;
    segments->segment = segment;
    return RUNLOG_RECORD;
}

static bool segment_exists(const struct runlog_segments *segments, uint32_t number)
{
    char name[RUNLOG_FILE_NAME_BYTES];

    if (number >= RUNLOG_SEGMENT_COUNT_MAX)
        return false;
    runlog_file_name(segments->writer, number, name);
    return faccessat(segments->dir_fd, name, F_OK, 0) == 0;
}

/* Opens the segment in which the current offset lies: the last one with a base at or below it. */
static int segments_locate(struct runlog_segments *segments)
{
    int state = segment_open(segments, 0);

    while (state == RUNLOG_RECORD && segment_exists(segments, segments->segment.number + 1)) {
        struct runlog_segments next = *segments;
        next.fd = -1;
        state = segment_open(&next, segments->segment.number + 1);
        if (state != RUNLOG_RECORD)
            return state == RUNLOG_TORN ? RUNLOG_RECORD : state;
        if (next.segment.base > segments->offset) {
            runlog_segments_close(&next);
            break;
        }
        runlog_segments_close(segments);
        *segments = next;
    }
    if (state == RUNLOG_RECORD && segments->segment.base > segments->offset)
        return RUNLOG_BAD;
    return state;
}

static int read_groups(struct runlog_segments *segments, uint8_t *ret_data, size_t capacity,
                       size_t *ret_len)
{
    uint64_t inside = segments->offset - segments->segment.base;
    off_t at = (off_t)(segments->segment.header_bytes + inside);
    struct stat file;

    if (inside > RUNLOG_SEGMENT_BYTES_MAX)
        return RUNLOG_BAD; /* an offset of another log */
    ssize_t n = read_at(segments->fd, ret_data, capacity, at);
    if (n < 0)
        return (int)n;
    int state = (int)runlog_check(ret_data, (size_t)n, ret_len);
    segments->offset += *ret_len;
    if (state == RUNLOG_BAD && *ret_len == 0) {
        if (fstat(segments->fd, &file) == 0 && file.st_size > at)
            segments->skipped_bytes = (uint64_t)(file.st_size - at);
        return RUNLOG_BAD;
    }
    return *ret_len > 0 ? RUNLOG_RECORD : RUNLOG_TORN;
}

int runlog_segments_read(struct runlog_segments *segments, uint8_t *ret_data, size_t capacity,
                         size_t *ret_len)
{
    *ret_len = 0;
    if (segments->fd < 0) {
        int state = segments_locate(segments);
        if (state != RUNLOG_RECORD)
            return state;
    }
    bool next_exists = segment_exists(segments, segments->segment.number + 1);
    int state = read_groups(segments, ret_data, capacity, ret_len);
    if (state != RUNLOG_TORN || !next_exists)
        return state;
    state = segment_open(segments, segments->segment.number + 1);
    if (state == RUNLOG_RECORD && segments->segment.base != segments->offset) {
        runlog_segments_close(segments);
        return RUNLOG_BAD; /* records between the two segments are missing */
    }
    return state;
}

bool runlog_segments_has_next(const struct runlog_segments *segments)
{
    return segments->fd >= 0 && segment_exists(segments, segments->segment.number + 1);
}

int runlog_segments_sync(const struct runlog_segments *segments)
{
    if (segments->fd < 0)
        return 0;
    return fdatasync(segments->fd) == 0 ? 0 : -errno;
}
