/* Parts of bodies that several routes share. thread: any */
#pragma once

#include "base/arena.h"
#include "base/json.h"

/* The optional member "tags": up to 64 texts of 1 to 64 bytes, as JSON text in the arena. */
void http_take_tags(struct json_reader *r, struct arena *arena, struct str *ret_tags);
/* Checks that each item is a text of at most bytes_max bytes. Sets the reader's
 * error under the name of the field. */
void http_take_texts(struct json_reader *r, const char *name, const json_t *array,
                     size_t bytes_max);
