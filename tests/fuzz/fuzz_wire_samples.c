/* Fuzz target: readings that a server takes from an agent. Beyond "no fault": what was read and
 * written, read and written again is the same. */
#include "wire/node_messages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX (4u * 1024 * 1024)

static void write_samples(struct str text, struct buf *out)
{
    struct arena arena = {0};
    json_t *body = NULL;
    struct wire_samples samples;
    struct json_writer w;

    buf_init(out, BYTES_MAX);
    json_writer_init(&w, out);
    if (json_parse(text, BYTES_MAX, &body, NULL) == OK &&
        wire_samples_decode(&arena, body, &samples, NULL) == OK)
        wire_samples_encode(&samples, &w);
    json_release(&body);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;

    write_samples(str_n((const char *)data, size), &once);
    if (once.len > 0) {
        write_samples(buf_str(&once), &twice);
        if (!str_eq(buf_str(&once), buf_str(&twice)))
            abort();
        buf_release(&twice);
    }
    buf_release(&once);
    return 0;
}
