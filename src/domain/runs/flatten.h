/* From a JSON document to values: {"optim": {"lr": 0.1}} is "optim.lr" = 0.1. Pure. thread: any
 *
 * Numbers, texts, true and false are values; null is none; a list is its JSON text; an object is
 * walked, an empty one is none. The tagged numbers of run logs ({"$f": "NaN"}) are numbers. */
#pragma once

#include "base/arena.h"
#include "model/attribute.h"

#include <jansson.h>

struct attribute_list {
    struct arena *arena;
    struct attribute *items;
    size_t count, count_max; /* more are left out */
};

struct attribute_list attribute_list_begin(struct arena *arena, size_t count_max);
/* Names and texts are not copied; a name or a document that is too long is left out. */
void attribute_list_add(struct attribute_list *list, struct attribute value);
/* Cut to ATTRIBUTE_TEXT_BYTES_MAX. */
void attribute_list_add_text(struct attribute_list *list, struct str name, struct str text);
void flatten(const json_t *doc, struct attribute_list *list);
