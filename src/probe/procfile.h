/* Small files of /proc and /sys as text. may block */
#pragma once

#include "base/macros.h"

/* Reads up to text_bytes - 1 bytes and ends them with NUL; false (and "") when it cannot. */
bool probe__read(const char *path, char *ret_text, size_t text_bytes);
/* The number at the start of a file; false when there is none ("max" is none). */
bool probe__read_number(const char *path, double *ret_number);
/* The value behind `key` and its colon or equals sign, up to the end of the line, quotes off. */
bool probe__field(const char *text, const char *key, char *ret_value, size_t value_bytes);
