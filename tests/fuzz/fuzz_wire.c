/* Fuzz target: what an agent reads from a server. Beyond "no fault": what was read and written
 * again reads the same. */
#include "wire/agent_messages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(const struct wire_offer *offer)
{
    struct arena arena = {0};
    struct wire_offer again;
    struct json_writer w;
    struct buf out;

    buf_init(&out, 2 * WIRE_MESSAGE_BYTES_MAX);
    json_writer_init(&w, &out);
    wire_offer_encode(offer, &w);
    if (wire_offer_decode(&arena, buf_str(&out), &again, NULL) != OK ||
        !str_eq(again.config, offer->config))
        abort();
    buf_release(&out);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct wire_polled polled;
    struct str text = str_n((const char *)data, size);

    if (wire_polled_decode(&arena, text, &polled, NULL) == OK) {
        for (size_t i = 0; i < polled.offer_count; i++)
            write_and_read(&polled.offers[i]);
    }
    arena_release(&arena);
    return 0;
}
