/* Fuzz target: what a server reads about an attempt. Beyond "no fault": what was read,
 * written and read again is written the same. */
#include "wire/agent_messages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_status(struct str text, struct buf *out)
{
    json_t *body = NULL;
    struct wire_status status;
    struct json_writer w;

    buf_init(out, 2 * WIRE_MESSAGE_BYTES_MAX);
    json_writer_init(&w, out);
    if (json_parse(text, WIRE_MESSAGE_BYTES_MAX, &body, NULL) == OK &&
        wire_status_decode(body, &status, NULL) == OK)
        wire_status_encode(&status, &w);
    json_release(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;

    write_status(str_n((const char *)data, size), &once);
    if (once.len > 0) {
        write_status(buf_str(&once), &twice);
        if (!str_eq(buf_str(&once), buf_str(&twice)))
            abort();
        buf_release(&twice);
    }
    buf_release(&once);
    return 0;
}
