/* Which code a run is made of: the state of its git repository and the Python packages that it can
 * import. Everything is optional. may block (runs git, each call at most 10 s) */
#pragma once

#include "base/buf.h"

/* Writes the JSON of a code record for the repository that holds `cwd`. The package folders come
 * from EUVYRA_PYTHON_PATH (colon-separated), the version from EUVYRA_PYTHON, the script from
 * EUVYRA_PROGRAM: the SDK sets them for the sidecar. */
void code_facts_write(const char *cwd, struct buf *out);
