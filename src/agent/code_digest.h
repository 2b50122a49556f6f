/* Whether the packed code of a job arrived whole. thread: any; may block */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Reads the file from its start. ERR_UNAVAILABLE: it has not this SHA-256 (in hexadecimal): what
 * arrived is damaged, and is fetched again. */
MUST_CHECK enum err_code code_digest_check(int fd, struct str wanted, struct err *err);
