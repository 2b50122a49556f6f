/* Building the binary payloads. Each returns the bytes written, or 0 when `capacity` is too small
 * or a limit is passed. thread: any */
#pragma once

#include "runlog/format.h"

#define RUNLOG_ROW_BYTES(count)    (20u + 12u * (size_t)(count))
#define RUNLOG_SYSTEM_BYTES(count) (12u + 12u * (size_t)(count))
#define RUNLOG_HEARTBEAT_BYTES     8u
#define RUNLOG_CONSOLE_FIXED_BYTES 9u
/* Pairs that fit in one record; a longer row is written as several rows of the same step. */
#define RUNLOG_ROW_PAIRS_MAX ((RUNLOG_PAYLOAD_BYTES_MAX - 20u) / 12u)

/* A row in place: begin, then put each pair in order. `payload` has RUNLOG_ROW_BYTES(count). */
void runlog_row_begin(uint8_t *payload, int64_t step, int64_t time_ms, uint32_t count);
void runlog_row_put(uint8_t *payload, uint32_t index, uint32_t name_id, double value);
void runlog_system_begin(uint8_t *payload, int64_t time_ms, uint32_t count);
void runlog_system_put(uint8_t *payload, uint32_t index, uint32_t name_id, double value);

/* One name; the dictionary record with a single name is what writers use in practice. */
size_t runlog_name_encode(uint32_t id, uint16_t flags, const char *text, size_t len,
                          uint8_t ret_payload[8 + 4 + RUNLOG_NAME_BYTES_MAX]);
void runlog_heartbeat_encode(int64_t time_ms, uint8_t ret_payload[RUNLOG_HEARTBEAT_BYTES]);
void runlog_console_begin(uint8_t *payload, uint8_t stream, int64_t time_ms);
void runlog_gap_encode(uint64_t records, uint64_t bytes, int64_t time_ms, uint8_t ret_payload[24]);

/* Header and payload of a whole record; `ret_record` has room for 12 + len. Returns its bytes. */
size_t runlog_record_encode(uint16_t type, uint16_t flags, const void *payload, uint32_t len,
                            uint8_t *ret_record);
