/* The run log on disk and on the wire: constants, segment header, record header, file names. The
 * specification for readers of other languages is docs/internals/run-log.md; the two must agree.
 *
 * A writer (one process) owns a sequence of segment files `<writer id>.<n>.log`. Each starts with
 * a header of 64 bytes; records follow without padding. Logical offsets count record bytes only,
 * over all segments: they are what a server acknowledges. Everything is little endian.
 *
 * Nothing in this folder allocates, asserts, prints or keeps state of its own. thread: any */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNLOG_MAGIC               "EUVYRLOG" /* 8 bytes, no NUL */
#define RUNLOG_VERSION             1
#define RUNLOG_HEADER_BYTES        64
#define RUNLOG_RECORD_HEADER_BYTES 12
#define RUNLOG_PAYLOAD_BYTES_MAX   (1024u * 1024u)       /* of one record; at least 1 byte */
#define RUNLOG_GROUP_BYTES_MAX     (4u * 1024u * 1024u)  /* a payload joined from its parts */
#define RUNLOG_SEGMENT_BYTES_MAX   (64u * 1024u * 1024u) /* of a file, header included */
#define RUNLOG_POST_BYTES_MAX      (8u * 1024u * 1024u)  /* record bytes in one upload */
#define RUNLOG_NAME_BYTES_MAX      512                   /* of a metric name */
#define RUNLOG_ID_LEN              13                    /* "w" or "r" + 12 of a-z2-7 */
#define RUNLOG_FILE_NAME_BYTES     25                    /* <writer>.<6 digits>.log and NUL */
#define RUNLOG_SEGMENT_COUNT_MAX   1000000u
#define RUNLOG_NAME_ID_MAX         16777215u /* ids are dense from 0, per writer */

/*      record type       number  name         payload */
#define RUNLOG_TYPES(X)                                                                            \
    X(RUNLOG_START, 1, "start")          /* JSON */                                                \
    X(RUNLOG_CODE, 2, "code")            /* JSON */                                                \
    X(RUNLOG_MACHINE, 3, "machine")      /* JSON */                                                \
    X(RUNLOG_NAMES, 4, "names")          /* first id, count, names */                              \
    X(RUNLOG_ROW, 5, "row")              /* step, time, count, (name id, f64) */                   \
    X(RUNLOG_SUMMARY, 6, "summary")      /* JSON, merged key by key */                             \
    X(RUNLOG_CONFIG, 7, "config")        /* JSON, merged key by key */                             \
    X(RUNLOG_CONSOLE, 8, "console")      /* stream, time, bytes */                                 \
    X(RUNLOG_SYSTEM, 9, "system")        /* time, count, (name id, f64) */                         \
    X(RUNLOG_FILE, 10, "file")           /* JSON */                                                \
    X(RUNLOG_TAGS, 11, "tags")           /* JSON */                                                \
    X(RUNLOG_NOTES, 12, "notes")         /* JSON */                                                \
    X(RUNLOG_HEARTBEAT, 13, "heartbeat") /* time */                                                \
    X(RUNLOG_END_OF_RUN, 14, "end")      /* JSON */                                                \
    X(RUNLOG_GAP, 15, "gap")             /* records, bytes, time */                                \
    X(RUNLOG_DEFINE, 16, "define")       /* JSON */                                                \
    X(RUNLOG_ALERT, 17, "alert")         /* JSON */                                                \
    X(RUNLOG_MARK, 18, "mark")           /* JSON */                                                \
    X(RUNLOG_GONE, 19, "gone")           /* JSON */                                                \
    X(RUNLOG_DIFF, 20, "diff")           /* JSON */

enum runlog_type {
#define X(type, number, name) type = number,
    RUNLOG_TYPES(X)
#undef X
};

/* Flag bit 0: the payload goes on in the next record, which has the same type. Only JSON payloads
 * are split so. Readers ignore the bits that they do not know. */
#define RUNLOG_FLAG_CONTINUED 1u

/* Flags of a name in the dictionary. */
#define RUNLOG_NAME_METRIC 0u
#define RUNLOG_NAME_SYSTEM 1u

#define RUNLOG_STDOUT 1
#define RUNLOG_STDERR 2

struct runlog_segment {
    uint16_t version;
    uint16_t header_bytes;
    uint32_t number;                /* of this segment, from 0 */
    char writer[RUNLOG_ID_LEN + 1]; /* NUL-terminated */
    uint64_t base;                  /* logical offset of its first record */
    int64_t created_ms;
    uint64_t hint_bytes; /* record bytes published so far; a hint, may lag or lie */
};

/* "row"; NULL for a number that this version does not know. */
const char *runlog_type_name(uint16_t type);
/* True for types whose payload is JSON, of the ones this version knows. */
bool runlog_type_is_json(uint16_t type);

/* Writes the 64 bytes. `segment->version` and `header_bytes` are ignored. */
void runlog_segment_encode(const struct runlog_segment *segment,
                           uint8_t ret_header[RUNLOG_HEADER_BYTES]);
/* False: not a run log, damaged, or of a major version that we cannot read. */
bool runlog_segment_decode(const uint8_t *header, size_t len, struct runlog_segment *ret_segment);

/* The letter `kind` and 12 characters of a-z, 2-7. */
bool runlog_id_is_valid(const char *text, char kind);
/* 60 random bits in, an id out: the same rule as everywhere in Euvyra. */
void runlog_id_make(char kind, uint64_t random_bits, char ret_text[RUNLOG_ID_LEN + 1]);

/* "wabcdefghijkl.000000.log". */
void runlog_file_name(const char *writer, uint32_t number, char ret_name[RUNLOG_FILE_NAME_BYTES]);
bool runlog_file_name_parse(const char *name, char ret_writer[RUNLOG_ID_LEN + 1],
                            uint32_t *ret_number);
