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
/* The optional member `name`: a list of up to count_max labels, borrowed from the document, in an
 * array in the arena. */
void http_take_labels(struct json_reader *r, struct arena *arena, const char *name,
                      size_t count_max, const struct str **ret_labels, size_t *ret_count);
/* The optional member `name`: one label, borrowed from the document. */
void http_take_label_opt(struct json_reader *r, const char *name, struct str *ret_label);
