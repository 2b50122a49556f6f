/* Fuzz target: the filter language. A fault lies inside the text; a program leaves one set on the
 * stack; a key that was read is written so that it reads the same. */
#include "domain/runs/filter.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_key(const struct run_key *key, struct arena *arena)
{
    struct str text = run_key_text(key, arena);
    struct run_key again;

    if (text.len > RUN_KEY_BYTES_MAX)
        return; /* quoting made it longer */
    if (run_key_parse(text, arena, &again, NULL) != OK || again.space != key->space ||
        again.field != key->field || again.stat != key->stat || !str_eq(again.name, key->name) ||
        run_key_span(text) != text.len)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct filter filter = {0};
    struct err err = {0};
    size_t depth = 0;

    if (filter_parse(str_n((const char *)data, size), 1800000000000, &arena, &filter, &err) != OK) {
        if (err.code == OK || err.column < 0 || (size_t)err.column > size + 1)
            abort();
        arena_release(&arena);
        return 0;
    }
    for (size_t i = 0; i < filter.count; i++) {
        const struct filter_step *step = &filter.steps[i];
        if (step->kind == FILTER_STEP_TERM) {
            depth++;
            check_key(&step->term->key, &arena);
        } else if (step->kind == FILTER_STEP_NOT ? depth < 1 : depth-- < 2) {
            abort();
        }
    }
    if (depth != (filter.count > 0))
        abort();
    filter_release(&filter);
    arena_release(&arena);
    return 0;
}
