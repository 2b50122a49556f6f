/* A record is `u32 length | u16 type | u16 flags | u32 crc | payload`; the checksum covers type,
 * flags and payload. Length 0 means "not written yet": segments are preallocated with zeros and the
 * writer stores the length last. The loops below are bounded by the input: each step moves at least
 * 13 bytes ahead. */
#include "runlog/record.h"

#include "runlog/bytes.h"
#include "runlog/crc.h"

#define ROW_FIXED_BYTES     20u
#define SYSTEM_FIXED_BYTES  12u
#define PAIR_BYTES          12u
#define NAMES_FIXED_BYTES   8u
#define NAME_FIXED_BYTES    4u
#define CONSOLE_FIXED_BYTES 9u
#define GAP_BYTES           24u

enum runlog_state runlog_next(const uint8_t *data, size_t len, size_t *offset,
                              struct runlog_record *ret_record)
{
    size_t at = *offset;

    if (at >= len)
        return RUNLOG_END;
    size_t left = len - at;
    if (left < 4)
        return RUNLOG_TORN;
    uint32_t payload_bytes = runlog_get_u32(data + at);
    if (payload_bytes == 0)
        return RUNLOG_TORN;
    if (payload_bytes > RUNLOG_PAYLOAD_BYTES_MAX)
        return RUNLOG_BAD;
    if (left < RUNLOG_RECORD_HEADER_BYTES + (size_t)payload_bytes)
        return RUNLOG_TORN;

    const uint8_t *header = data + at;
    const uint8_t *payload = header + RUNLOG_RECORD_HEADER_BYTES;
    uint32_t crc = runlog_crc(runlog_crc(0, header + 4, 4), payload, payload_bytes);
    if (crc != runlog_get_u32(header + 8))
        return RUNLOG_BAD;
    *ret_record = (struct runlog_record){
        .type = runlog_get_u16(header + 4),
        .flags = runlog_get_u16(header + 6),
        .len = payload_bytes,
        .payload = payload,
    };
    *offset = at + RUNLOG_RECORD_HEADER_BYTES + payload_bytes;
    return RUNLOG_RECORD;
}

enum runlog_state runlog_next_group(const uint8_t *data, size_t len, size_t *offset,
                                    struct runlog_group *ret_group)
{
    struct runlog_group group = {.data = data, .begin = *offset, .end = *offset};
    struct runlog_record record;

    do {
        enum runlog_state state = runlog_next(data, len, &group.end, &record);
        if (state == RUNLOG_END && group.part_count > 0)
            return RUNLOG_TORN;
        if (state != RUNLOG_RECORD)
            return state;
        if (group.part_count == 0) {
            group.first = record;
            group.type = record.type;
        }
        group.part_count++;
        group.payload_bytes += record.len;
        if (record.type != group.type || group.payload_bytes > RUNLOG_GROUP_BYTES_MAX)
            return RUNLOG_BAD;
    } while (record.flags & RUNLOG_FLAG_CONTINUED);

    *offset = group.end;
    *ret_group = group;
    return RUNLOG_RECORD;
}

void runlog_group_copy(const struct runlog_group *group, uint8_t *ret_payload)
{
    struct runlog_record record;
    size_t at = group->begin;

    while (at < group->end && runlog_next(group->data, group->end, &at, &record) == RUNLOG_RECORD) {
        memcpy(ret_payload, record.payload, record.len);
        ret_payload += record.len;
    }
}

enum runlog_state runlog_check(const uint8_t *data, size_t len, size_t *ret_whole)
{
    struct runlog_group group;
    enum runlog_state state;

    *ret_whole = 0;
    do {
        state = runlog_next_group(data, len, ret_whole, &group);
    } while (state == RUNLOG_RECORD);
    return state;
}

bool runlog_row_decode(const struct runlog_record *record, struct runlog_row *ret_row)
{
    if (record->len < ROW_FIXED_BYTES)
        return false;
    uint32_t count = runlog_get_u32(record->payload + 16);
    if (record->len - ROW_FIXED_BYTES != (uint64_t)count * PAIR_BYTES)
        return false;
    *ret_row = (struct runlog_row){
        .step = runlog_get_i64(record->payload),
        .time_ms = runlog_get_i64(record->payload + 8),
        .count = count,
        .pairs = record->payload + ROW_FIXED_BYTES,
    };
    return true;
}

bool runlog_system_decode(const struct runlog_record *record, struct runlog_row *ret_row)
{
    if (record->len < SYSTEM_FIXED_BYTES)
        return false;
    uint32_t count = runlog_get_u32(record->payload + 8);
    if (record->len - SYSTEM_FIXED_BYTES != (uint64_t)count * PAIR_BYTES)
        return false;
    *ret_row = (struct runlog_row){
        .time_ms = runlog_get_i64(record->payload),
        .count = count,
        .pairs = record->payload + SYSTEM_FIXED_BYTES,
    };
    return true;
}

void runlog_row_at(const struct runlog_row *row, uint32_t index, uint32_t *ret_name_id,
                   double *ret_value)
{
    const uint8_t *pair = row->pairs + (size_t)index * PAIR_BYTES;

    *ret_name_id = runlog_get_u32(pair);
    *ret_value = runlog_get_f64(pair + 4);
}

bool runlog_names_decode(const struct runlog_record *record, struct runlog_names *ret_names)
{
    if (record->len < NAMES_FIXED_BYTES)
        return false;
    const uint8_t *at = record->payload + NAMES_FIXED_BYTES;
    size_t left = record->len - NAMES_FIXED_BYTES;
    uint32_t first_id = runlog_get_u32(record->payload);
    uint32_t count = runlog_get_u32(record->payload + 4);
    if (count == 0 || count > left / (NAME_FIXED_BYTES + 1) || first_id > RUNLOG_NAME_ID_MAX ||
        count - 1 > RUNLOG_NAME_ID_MAX - first_id)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (left < NAME_FIXED_BYTES)
            return false;
        size_t name_bytes = runlog_get_u16(at + 2);
        left -= NAME_FIXED_BYTES;
        if (name_bytes == 0 || name_bytes > RUNLOG_NAME_BYTES_MAX || name_bytes > left)
            return false;
        left -= name_bytes;
        at += NAME_FIXED_BYTES + name_bytes;
    }
    if (left != 0)
        return false;
    *ret_names = (struct runlog_names){
        .first_id = first_id,
        .count = count,
        .at = record->payload + NAMES_FIXED_BYTES,
    };
    return true;
}

bool runlog_names_next(struct runlog_names *names, struct runlog_name *ret_name)
{
    if (names->next >= names->count)
        return false;
    *ret_name = (struct runlog_name){
        .id = names->first_id + names->next,
        .flags = runlog_get_u16(names->at),
        .len = runlog_get_u16(names->at + 2),
        .text = (const char *)names->at + NAME_FIXED_BYTES,
    };
    names->at += NAME_FIXED_BYTES + ret_name->len;
    names->next++;
    return true;
}

bool runlog_console_decode(const struct runlog_record *record, struct runlog_console *ret_console)
{
    if (record->len <= CONSOLE_FIXED_BYTES)
        return false;
    uint8_t stream = record->payload[0];
    if (stream != RUNLOG_STDOUT && stream != RUNLOG_STDERR)
        return false;
    *ret_console = (struct runlog_console){
        .stream = stream,
        .time_ms = runlog_get_i64(record->payload + 1),
        .bytes = record->payload + CONSOLE_FIXED_BYTES,
        .len = record->len - CONSOLE_FIXED_BYTES,
    };
    return true;
}

bool runlog_heartbeat_decode(const struct runlog_record *record, int64_t *ret_time_ms)
{
    if (record->len != 8)
        return false;
    *ret_time_ms = runlog_get_i64(record->payload);
    return true;
}

bool runlog_gap_decode(const struct runlog_record *record, struct runlog_gap *ret_gap)
{
    if (record->len != GAP_BYTES)
        return false;
    ret_gap->records = runlog_get_u64(record->payload);
    ret_gap->bytes = runlog_get_u64(record->payload + 8);
    ret_gap->time_ms = runlog_get_i64(record->payload + 16);
    return true;
}
