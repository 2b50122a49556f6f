/* Fuzz target: what a server makes of a log. The input is records without checksums: a byte of
 * type, one of flags, two of length, the payload. They are given checksums, and decoded as a post.
 * What comes out is counted as it is listed, and text that is shown is text. */
#include "base/mem.h"
#include "domain/ingest/ingest_decode.h"
#include "runlog/crc.h"
#include "runlog/record.h"

#include <stdlib.h>

#define HEADER_BYTES 12
#define INPUT_HEADER 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

/* Writes the records into `out`, which has room for thrice the input; returns how many bytes. */
static size_t make_post(const uint8_t *data, size_t size, uint8_t *out)
{
    size_t bytes = 0;

    while (size > INPUT_HEADER) {
        size_t len = MIN((size_t)(data[2] | data[3] << 8), size - INPUT_HEADER);
        uint8_t *record = out + bytes;

        if (len == 0)
            len = 1;
        put32(record, (uint32_t)len);
        record[4] = data[0];
        record[5] = 0;
        record[6] = data[1] & 1;
        record[7] = 0;
        memcpy(record + HEADER_BYTES, data + INPUT_HEADER, len);
        put32(record + 8, runlog_crc(runlog_crc(0, record + 4, 4), record + HEADER_BYTES, len));
        bytes += HEADER_BYTES + len;
        data += INPUT_HEADER + len;
        size -= INPUT_HEADER + len;
    }
    return bytes;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool is_text(struct str text)
{
    return text.len == 0 || str_is_utf8(text, NULL);
}

static void look_at(const struct ingest_batch *b, size_t bytes)
{
    size_t names = 0, facts = 0;

    require(b->to - b->from == (int64_t)bytes);
    for (const struct ingest_name *n = b->names; n; n = n->next, names++)
        require(n->local_id < METRIC_NAMES_MAX && is_text(n->name) && !str_has_control(n->name));
    require(names == b->name_count);
    for (const struct ingest_facts *f = b->facts; f; f = f->next, facts++)
        require(f->facts.count > 0 && f->facts.finite_count <= f->facts.count);
    require(facts == b->facts_count);
    for (const struct ingest_file *f = b->files; f; f = f->next)
        require(is_text(f->path) && is_text(f->detail));
    for (const struct ingest_record *r = b->records; r; r = r->next)
        require(r->offset >= b->from && r->offset < b->to);
    for (const struct ingest_alert *a = b->alerts; a; a = a->next)
        require(is_text(a->alert.title) && is_text(a->alert.text));
    require(is_text(b->notes) && is_text(b->tags) && is_text(b->end_reason));
    require(!b->start || json_is_object(b->start));
    require(!b->config || json_is_object(b->config));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct ingest_batch batch;
    uint8_t *out = mem_alloc(size * 4 + HEADER_BYTES);
    size_t bytes = make_post(data, size, out), whole = 0;
    uint8_t *post = mem_copy(out, bytes); /* exact: a byte beyond is noticed */

    mem_free(out);
    if (bytes && runlog_check(post, bytes, &whole) == RUNLOG_END) {
        ingest_decode(str_n((const char *)post, bytes), 1000, &arena, &batch);
        look_at(&batch, bytes);
        ingest_batch_release(&batch);
    }
    mem_free(post);
    return 0;
}
