/* Fuzz target: the small answers that an agent reads: to an accept or a status report, and to
 * console text. Beyond "no fault": what was read and written again reads the same. */
#include "wire/agent_messages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(struct str text)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct wire_accepted first, again;
    struct json_writer w;
    struct buf out;

    if (wire_accepted_decode(&arena, text, &first, NULL) != OK ||
        first.state == ATTEMPT_STATE_COUNT)
        return;
    buf_init(&out, 1000);
    json_writer_init(&w, &out);
    wire_accepted_encode(&first, &w);
    if (wire_accepted_decode(&arena, buf_str(&out), &again, NULL) != OK ||
        again.state != first.state || !str_eq(again.rendezvous, first.rendezvous))
        abort();
    buf_release(&out);
}

static void check_appended(struct str text)
{
    int64_t offset, again;
    struct json_writer w;
    struct buf out;

    if (wire_appended_decode(text, &offset, NULL) != OK)
        return;
    buf_init(&out, 1000);
    json_writer_init(&w, &out);
    wire_appended_encode(offset, &w);
    if (wire_appended_decode(buf_str(&out), &again, NULL) != OK || again != offset)
        abort();
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_accepted(str_n((const char *)data, size));
    check_appended(str_n((const char *)data, size));
    return 0;
}
