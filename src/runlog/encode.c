/* Payloads and whole records, built in the caller's memory. A record's checksum runs over type,
 * flags and payload, which lie around the checksum itself: hence the two steps. */
#include "runlog/encode.h"

#include "runlog/bytes.h"
#include "runlog/crc.h"

void runlog_row_begin(uint8_t *payload, int64_t step, int64_t time_ms, uint32_t count)
{
    payload = runlog_put_i64(payload, step);
    payload = runlog_put_i64(payload, time_ms);
    runlog_put_u32(payload, count);
}

void runlog_row_put(uint8_t *payload, uint32_t index, uint32_t name_id, double value)
{
    uint8_t *pair = payload + RUNLOG_ROW_BYTES(index);

    pair = runlog_put_u32(pair, name_id);
    runlog_put_f64(pair, value);
}

void runlog_system_begin(uint8_t *payload, int64_t time_ms, uint32_t count)
{
    payload = runlog_put_i64(payload, time_ms);
    runlog_put_u32(payload, count);
}

void runlog_system_put(uint8_t *payload, uint32_t index, uint32_t name_id, double value)
{
    uint8_t *pair = payload + RUNLOG_SYSTEM_BYTES(index);

    pair = runlog_put_u32(pair, name_id);
    runlog_put_f64(pair, value);
}

size_t runlog_name_encode(uint32_t id, uint16_t flags, const char *text, size_t len,
                          uint8_t ret_payload[8 + 4 + RUNLOG_NAME_BYTES_MAX])
{
    uint8_t *at = ret_payload;

    if (len == 0 || len > RUNLOG_NAME_BYTES_MAX || id > RUNLOG_NAME_ID_MAX)
        return 0;
    at = runlog_put_u32(at, id);
    at = runlog_put_u32(at, 1);
    at = runlog_put_u16(at, flags);
    at = runlog_put_u16(at, (uint16_t)len);
    memcpy(at, text, len);
    return (size_t)(at - ret_payload) + len;
}

void runlog_heartbeat_encode(int64_t time_ms, uint8_t ret_payload[RUNLOG_HEARTBEAT_BYTES])
{
    runlog_put_i64(ret_payload, time_ms);
}

void runlog_console_begin(uint8_t *payload, uint8_t stream, int64_t time_ms)
{
    payload[0] = stream;
    runlog_put_i64(payload + 1, time_ms);
}

void runlog_gap_encode(uint64_t records, uint64_t bytes, int64_t time_ms, uint8_t ret_payload[24])
{
    uint8_t *at = runlog_put_u64(ret_payload, records);

    at = runlog_put_u64(at, bytes);
    runlog_put_i64(at, time_ms);
}

size_t runlog_record_encode(uint16_t type, uint16_t flags, const void *payload, uint32_t len,
                            uint8_t *ret_record)
{
    runlog_put_u32(ret_record, len);
    runlog_put_u16(ret_record + 4, type);
    runlog_put_u16(ret_record + 6, flags);
    memcpy(ret_record + RUNLOG_RECORD_HEADER_BYTES, payload, len);
    uint32_t crc = runlog_crc(0, ret_record + 4, 4);
    runlog_put_u32(ret_record + 8, runlog_crc(crc, payload, len));
    return RUNLOG_RECORD_HEADER_BYTES + (size_t)len;
}
