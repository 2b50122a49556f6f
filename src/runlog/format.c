/* Segment header, 64 bytes:
 *   0 magic  8 version  10 header bytes  12 segment number  16 writer id (13) and 3 zeros
 *  32 base offset  40 created ms  48 CRC-32C of bytes 0 to 47  52 zero  56 published length hint
 * The hint is outside the checksum because it changes with every record. */
#include "runlog/format.h"

#include "runlog/bytes.h"
#include "runlog/crc.h"

#include <string.h>

enum {
    AT_VERSION = 8,
    AT_HEADER_BYTES = 10,
    AT_NUMBER = 12,
    AT_WRITER = 16,
    AT_BASE = 32,
    AT_CREATED = 40,
    AT_CRC = 48,
    AT_HINT = 56,
};

const char *runlog_type_name(uint16_t type)
{
    switch (type) {
#define X(symbol, number, name)                                                                    \
    case number: return name;
        RUNLOG_TYPES(X)
#undef X
    default: return NULL;
    }
}

bool runlog_type_is_json(uint16_t type)
{
    switch (type) {
    case RUNLOG_START:
    case RUNLOG_CODE:
    case RUNLOG_MACHINE:
    case RUNLOG_SUMMARY:
    case RUNLOG_CONFIG:
    case RUNLOG_FILE:
    case RUNLOG_TAGS:
    case RUNLOG_NOTES:
    case RUNLOG_DEFINE:
    case RUNLOG_ALERT:
    case RUNLOG_MARK:
    case RUNLOG_GONE:
    case RUNLOG_DIFF:
    case RUNLOG_END_OF_RUN: return true;
    default: return false;
    }
}

void runlog_segment_encode(const struct runlog_segment *segment,
                           uint8_t ret_header[RUNLOG_HEADER_BYTES])
{
    memset(ret_header, 0, RUNLOG_HEADER_BYTES);
    memcpy(ret_header, RUNLOG_MAGIC, 8);
    runlog_put_u16(ret_header + AT_VERSION, RUNLOG_VERSION);
    runlog_put_u16(ret_header + AT_HEADER_BYTES, RUNLOG_HEADER_BYTES);
    runlog_put_u32(ret_header + AT_NUMBER, segment->number);
    memcpy(ret_header + AT_WRITER, segment->writer, RUNLOG_ID_LEN);
    runlog_put_u64(ret_header + AT_BASE, segment->base);
    runlog_put_i64(ret_header + AT_CREATED, segment->created_ms);
    runlog_put_u32(ret_header + AT_CRC, runlog_crc(0, ret_header, AT_CRC));
    runlog_put_u64(ret_header + AT_HINT, segment->hint_bytes);
}

bool runlog_segment_decode(const uint8_t *header, size_t len, struct runlog_segment *ret_segment)
{
    struct runlog_segment segment = {0};

    if (len < RUNLOG_HEADER_BYTES || memcmp(header, RUNLOG_MAGIC, 8) != 0)
        return false;
    if (runlog_get_u32(header + AT_CRC) != runlog_crc(0, header, AT_CRC))
        return false;
    segment.version = runlog_get_u16(header + AT_VERSION);
    segment.header_bytes = runlog_get_u16(header + AT_HEADER_BYTES);
    segment.number = runlog_get_u32(header + AT_NUMBER);
    memcpy(segment.writer, header + AT_WRITER, RUNLOG_ID_LEN);
    segment.base = runlog_get_u64(header + AT_BASE);
    segment.created_ms = runlog_get_i64(header + AT_CREATED);
    segment.hint_bytes = runlog_get_u64(header + AT_HINT);
    if (segment.version != RUNLOG_VERSION || segment.header_bytes < RUNLOG_HEADER_BYTES)
        return false;
    if (!runlog_id_is_valid(segment.writer, 'w'))
        return false;
    *ret_segment = segment;
    return true;
}

bool runlog_id_is_valid(const char *text, char kind)
{
    if (text[0] != kind || kind == '\0')
        return false;
    for (int i = 1; i < RUNLOG_ID_LEN; i++) {
        bool letter = text[i] >= 'a' && text[i] <= 'z';
        bool digit = text[i] >= '2' && text[i] <= '7';
        if (!letter && !digit)
            return false;
    }
    return text[RUNLOG_ID_LEN] == '\0';
}

void runlog_id_make(char kind, uint64_t random_bits, char ret_text[RUNLOG_ID_LEN + 1])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

    ret_text[0] = kind;
    for (int i = 1; i < RUNLOG_ID_LEN; i++) {
        ret_text[i] = alphabet[random_bits & 31];
        random_bits >>= 5;
    }
    ret_text[RUNLOG_ID_LEN] = '\0';
}

void runlog_file_name(const char *writer, uint32_t number, char ret_name[RUNLOG_FILE_NAME_BYTES])
{
    memcpy(ret_name, writer, RUNLOG_ID_LEN);
    ret_name[RUNLOG_ID_LEN] = '.';
    for (int i = 6; i > 0; i--) {
        ret_name[RUNLOG_ID_LEN + i] = (char)('0' + number % 10);
        number /= 10;
    }
    memcpy(ret_name + RUNLOG_ID_LEN + 7, ".log", 5);
}

bool runlog_file_name_parse(const char *name, char ret_writer[RUNLOG_ID_LEN + 1],
                            uint32_t *ret_number)
{
    char writer[RUNLOG_ID_LEN + 1] = {0};
    uint32_t number = 0;

    if (strlen(name) != RUNLOG_FILE_NAME_BYTES - 1)
        return false;
    memcpy(writer, name, RUNLOG_ID_LEN);
    if (!runlog_id_is_valid(writer, 'w') || name[RUNLOG_ID_LEN] != '.')
        return false;
    for (int i = 1; i <= 6; i++) {
        char c = name[RUNLOG_ID_LEN + i];
        if (c < '0' || c > '9')
            return false;
        number = number * 10 + (uint32_t)(c - '0');
    }
    if (memcmp(name + RUNLOG_ID_LEN + 7, ".log", 5) != 0)
        return false;
    memcpy(ret_writer, writer, sizeof writer);
    *ret_number = number;
    return true;
}
