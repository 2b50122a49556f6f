/* Runs in the order of a key, from anywhere in it. Private to the runs table.
 * thread: any owner of a store */
#pragma once

#include "domain/runs/table_find.h"

/* A place in the order: of the last run of a page. */
struct table_place {
    int64_t newest; /* runs with a higher id came after the first page and are left out */
    bool at_start;
    struct table_cell cell; /* kind ATTRIBUTE_KIND_END: among the runs without a value */
};

struct table_order {
    const struct table_source *source; /* NULL: newest first */
    bool descending;
    const struct run_set *set; /* NULL: every run */
    struct table_place from;   /* what comes after it */
    int64_t skip;
    size_t limit;
};

/* At most `limit` cells, texts in the arena. Runs without a value come last, newest first. Equal
 * values: older runs first, descending newer ones first. */
MUST_CHECK enum err_code table__order(struct table_search *s, const struct table_order *order,
                                      struct table_cell **ret_cells, size_t *ret_count,
                                      struct err *err);

/* The cursor that stands for a place, and back (ERR_INVALID). */
const char *table__cursor_text(const struct table_place *place, struct arena *arena);
MUST_CHECK enum err_code table__cursor_parse(struct str text, struct arena *arena,
                                             struct table_place *ret_place, struct err *err);
