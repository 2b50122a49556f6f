/* Fuzz target: JSON. What was read and written again reads the same, and is written the same. */
#include "base/json.h"

#include <stdlib.h>

#define BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(const json_t *value, struct buf *out)
{
    struct json_writer w;

    buf_init(out, 64 * (size_t)BYTES_MAX);
    json_writer_init(&w, out);
    json_put_value(&w, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = NULL, *again = NULL;
    struct buf first, second;
    time_ms at;

    (void)time_parse(str_n((const char *)data, size), &at); /* whatever it says */
    if (json_parse(str_n((const char *)data, size), BYTES_MAX, &value, NULL) != OK)
        return 0;
    write_value(value, &first);
    if (json_parse(buf_str(&first), first.bytes_max, &again, NULL) != OK ||
        !json_equal(value, again))
        abort();
    write_value(again, &second);
    if (!str_eq(buf_str(&first), buf_str(&second)))
        abort();
    buf_release(&first);
    buf_release(&second);
    json_decref(value);
    json_decref(again);
    return 0;
}
