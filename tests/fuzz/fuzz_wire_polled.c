/* Fuzz target: what an agent reads from a server when it polls, and how it is to ask a service.
 * Beyond "no fault": what was read, written and read again is written the same. */
#include "wire/agent_messages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_polled(struct str text, struct buf *out)
{
    struct arena arena = {0};
    struct wire_polled polled;
    struct json_writer w;

    buf_init(out, 4 * WIRE_MESSAGE_BYTES_MAX);
    json_writer_init(&w, out);
    if (wire_polled_decode(&arena, text, &polled, NULL) == OK) {
        wire_polled_encode(&polled, &w);
        for (size_t i = 0; i < polled.offer_count; i++) {
            struct health_spec spec;
            if (wire_offer_health(&arena, &polled.offers[i], &spec, NULL) == OK && spec.port &&
                (spec.path.len == 0 || spec.path.data[0] != '/' || spec.port > 65535))
                abort();
        }
    }
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;

    write_polled(str_n((const char *)data, size), &once);
    if (once.len > 0) {
        write_polled(buf_str(&once), &twice);
        if (!str_eq(buf_str(&once), buf_str(&twice)))
            abort();
        buf_release(&twice);
    }
    buf_release(&once);
    return 0;
}
