/* What all executors do alike with a console that has grown beyond its limit. thread: any */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* So many bytes too much are kept: a line about them would hardly be shorter. */
#define CONSOLE_SLACK 4096

/* Cuts the file at the limit and ends it with one line about what was left out; does nothing when
 * that is not worth a line. `fd` writes at the end of the file. */
MUST_CHECK enum err_code console_text_cut(int fd, int64_t bytes_max, int64_t left_out,
                                          struct err *err);
