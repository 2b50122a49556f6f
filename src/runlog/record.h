/* Reading records from memory: the body of a post, or what was read from a segment.
 *
 * A reader never trusts a length: everything is checked against the bytes at hand and against the
 * checksum, and all results point into the caller's memory. thread: any */
#pragma once

#include "runlog/format.h"

struct runlog_record {
    uint16_t type; /* enum runlog_type, or a number of a later version */
    uint16_t flags;
    uint32_t len;           /* of the payload, 1 to RUNLOG_PAYLOAD_BYTES_MAX */
    const uint8_t *payload; /* borrowed from the input */
};

enum runlog_state {
    RUNLOG_RECORD, /* *ret is a record, *offset is behind it */
    RUNLOG_END,    /* *offset == len: everything was read */
    RUNLOG_TORN,   /* what follows is not a whole record (yet): zeros, or cut short */
    RUNLOG_BAD,    /* what follows is damaged: impossible length or wrong checksum */
};

/* Reads the record at *offset. On everything but RUNLOG_RECORD *offset stays where it was. */
enum runlog_state runlog_next(const uint8_t *data, size_t len, size_t *offset,
                              struct runlog_record *ret_record);

/* One payload with all of its parts: most often one record. */
struct runlog_group {
    uint16_t type;
    uint32_t part_count;
    size_t payload_bytes;       /* over all parts, at most RUNLOG_GROUP_BYTES_MAX */
    struct runlog_record first; /* the whole payload when part_count is 1 */
    const uint8_t *data;        /* the input, for runlog_group_copy */
    size_t begin, end;          /* record bytes: [begin, end) of the input */
};

/* As runlog_next, for whole groups: RUNLOG_TORN too when the last part is missing, RUNLOG_BAD when
 * the parts differ in type or pass the limit. */
enum runlog_state runlog_next_group(const uint8_t *data, size_t len, size_t *offset,
                                    struct runlog_group *ret_group);
/* Joins the parts; `ret_payload` has room for group->payload_bytes. */
void runlog_group_copy(const struct runlog_group *group, uint8_t *ret_payload);

/* Checks a post: whole groups only, from the first byte to the last. *ret_whole: bytes of whole
 * groups before the first fault. The state is RUNLOG_END when all is well. */
enum runlog_state runlog_check(const uint8_t *data, size_t len, size_t *ret_whole);

/* Typed views. Each returns false when the payload does not have that shape. */
struct runlog_row {
    int64_t step; /* 0 in a system row */
    int64_t time_ms;
    uint32_t count;
    const uint8_t *pairs;
};
bool runlog_row_decode(const struct runlog_record *record, struct runlog_row *ret_row);
bool runlog_system_decode(const struct runlog_record *record, struct runlog_row *ret_row);
/* Pair `index`, which must be below row->count. */
void runlog_row_at(const struct runlog_row *row, uint32_t index, uint32_t *ret_name_id,
                   double *ret_value);

struct runlog_names {
    uint32_t first_id;
    uint32_t count;
    const uint8_t *at; /* where the next name is */
    uint32_t next;     /* its index */
};
struct runlog_name {
    uint32_t id;
    uint16_t flags;
    uint16_t len;     /* 1 to RUNLOG_NAME_BYTES_MAX */
    const char *text; /* not NUL-terminated; claimed to be UTF-8, not checked here */
};
/* Checks every length; then runlog_names_next gives them one by one and false at the end. */
bool runlog_names_decode(const struct runlog_record *record, struct runlog_names *ret_names);
bool runlog_names_next(struct runlog_names *names, struct runlog_name *ret_name);

struct runlog_console {
    uint8_t stream; /* RUNLOG_STDOUT or RUNLOG_STDERR */
    int64_t time_ms;
    const uint8_t *bytes;
    uint32_t len;
};
bool runlog_console_decode(const struct runlog_record *record, struct runlog_console *ret_console);

bool runlog_heartbeat_decode(const struct runlog_record *record, int64_t *ret_time_ms);

struct runlog_gap {
    uint64_t records; /* that were lost before this place, because the disk was full */
    uint64_t bytes;
    int64_t time_ms; /* of the first one lost */
};
bool runlog_gap_decode(const struct runlog_record *record, struct runlog_gap *ret_gap);
