/* YAML as JSON: what people write by hand for the command line. Of YAML 1.1 the part that has one
 * meaning: one document of maps, lists and scalars of the core schema. Anchors, aliases, merge keys
 * and tags beyond the core are refused, so is a key that is there twice; errors name line and
 * column. thread: any */
#pragma once

#include "base/err.h"
#include "base/json.h"

#define YAML_BYTES_MAX (1024u * 1024)
#define YAML_DEPTH_MAX 64
#define YAML_NODES_MAX 100000

/* The caller owns *ret_value. ERR_INVALID, ERR_BAD_UTF8, ERR_TOO_LARGE; `name` is said in them. */
MUST_CHECK enum err_code yaml_read(const char *name, struct str text, json_t **ret_value,
                                   struct err *err);
/* Text that yaml_read reads as the same value. */
MUST_CHECK enum err_code yaml_write(const json_t *value, struct buf *out, struct err *err);
