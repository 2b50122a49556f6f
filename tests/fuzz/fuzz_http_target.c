/* Fuzz target: request targets. What is accepted holds nothing that a second reader could read
 * differently. */
#include "net/http_target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(struct str path)
{
    struct str segment, rest = path;
    bool more = true;

    if (path.len == 0 || path.data[0] != '/' || str_has_control(path) || !str_is_utf8(path, NULL))
        abort();
    while (more) {
        more = str_cut(&rest, '/', &segment);
        if (str_eq_c(segment, "..") || str_eq_c(segment, "."))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct http_target target;

    if (http_target_parse(&arena, str_n((const char *)data, size), &target, NULL) == OK) {
        check_path(target.path);
        for (size_t i = 0; i < target.param_count; i++) {
            struct str value = target.params[i].value;

            if (!str_is_utf8(value, NULL) || (value.len && memchr(value.data, '\0', value.len)))
                abort();
        }
    }
    arena_release(&arena);
    return 0;
}
