/* YAML files of the command line: what is read can be written, and is the same when it is read
 * again. */
#include "cli/yaml_read.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(json_release) json_t *value = NULL;
    CLEANUP(json_release) json_t *again = NULL;
    CLEANUP(buf_release) struct buf text = {0};
    struct err err;

    if (yaml_read("it", str_n((const char *)data, size), &value, &err) != OK)
        return 0;
    buf_init(&text, 64u * 1024 * 1024);
    if (yaml_write(value, &text, &err) != OK || text.len > YAML_BYTES_MAX)
        return 0;
    ENSURE(yaml_read("again", buf_str(&text), &again, &err) == OK);
    ENSURE(json_equal(value, again));
    return 0;
}
