/* Fuzz target: every reader of the run log over arbitrary bytes. What must hold beyond "no fault":
 * the checker and the reader agree, and every view stays inside its payload (the sanitizer sees).
 */
#include "runlog/bytes.h"
#include "runlog/crc.h"
#include "runlog/record.h"
#include "runlog/redact.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_row(const struct runlog_row *row)
{
    uint32_t id;
    double value;

    for (uint32_t i = 0; i < row->count; i++)
        runlog_row_at(row, i, &id, &value);
}

static size_t look_at_record(const struct runlog_record *record)
{
    struct runlog_row row;
    struct runlog_names names;
    struct runlog_name name;
    struct runlog_console console;
    struct runlog_gap gap;
    int64_t time_ms;
    size_t seen = 0;

    if (runlog_row_decode(record, &row) || runlog_system_decode(record, &row))
        look_at_row(&row);
    if (runlog_names_decode(record, &names))
        while (runlog_names_next(&names, &name))
            seen += (unsigned char)name.text[name.len - 1];
    if (runlog_console_decode(record, &console))
        seen += console.bytes[console.len - 1];
    if (runlog_heartbeat_decode(record, &time_ms) || runlog_gap_decode(record, &gap))
        seen++;
    return seen;
}

static void look_at_text(const uint8_t *data, size_t size)
{
    uint32_t count = 0;
    char *out = malloc(RUNLOG_REDACTED_BYTES_MAX(size));

    if (out == NULL)
        return;
    if (runlog_redact_json((const char *)data, size, out, &count) > RUNLOG_REDACTED_BYTES_MAX(size))
        abort();
    if (runlog_redact_text((const char *)data, size, out, &count) > RUNLOG_REDACTED_BYTES_MAX(size))
        abort();
    free(out);
}

static size_t look_at_log(const uint8_t *data, size_t size)
{
    struct runlog_record record;
    struct runlog_group group;
    size_t at = 0, whole = 0, seen = 0;

    while (runlog_next(data, size, &at, &record) == RUNLOG_RECORD)
        seen += look_at_record(&record);
    if (runlog_check(data, size, &whole) == RUNLOG_END && whole != size)
        abort();
    for (at = 0; runlog_next_group(data, size, &at, &group) == RUNLOG_RECORD;) {
        uint8_t *joined = malloc(group.payload_bytes);
        if (joined != NULL)
            runlog_group_copy(&group, joined);
        free(joined);
    }
    if (at != whole)
        abort();
    return seen;
}

/* Makes the checksums right, so that the fuzzer gets past them. */
static void mend_checksums(uint8_t *data, size_t size)
{
    size_t at = 0;

    while (size - at > RUNLOG_RECORD_HEADER_BYTES) {
        uint32_t len = runlog_get_u32(data + at);
        if (len == 0 || len > size - at - RUNLOG_RECORD_HEADER_BYTES)
            return;
        uint32_t crc = runlog_crc(0, data + at + 4, 4);
        runlog_put_u32(data + at + 8, runlog_crc(crc, data + at + RUNLOG_RECORD_HEADER_BYTES, len));
        at += RUNLOG_RECORD_HEADER_BYTES + len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct runlog_segment segment;
    uint8_t *mended = malloc(size + 1);
    size_t seen;

    if (mended == NULL)
        return 0;
    memcpy(mended, data, size);
    mend_checksums(mended, size);
    (void)runlog_segment_decode(data, size, &segment);
    seen = look_at_log(data, size) + look_at_log(mended, size);
    free(mended);
    look_at_text(data, size);
    return seen == SIZE_MAX;
}
