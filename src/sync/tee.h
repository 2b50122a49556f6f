/* `euvyra sync --tee DIR`: passes on what a training process prints and records it. The process
 * that prints may be killed at any moment: what it wrote until then is read and kept here.
 *
 * Descriptors: 3 and 4 are read (its stdout and stderr), 1 and 2 are where the text goes on to.
 * may block; thread: main, before any other thread exists */
#pragma once

#include "base/err.h"

/* Returns when both streams are at their end. Recording ends a moment after the process that
 * started us is gone, even when children of it go on printing. */
MUST_CHECK enum err_code sync_tee(const char *dir, struct err *err);
