/* Which code a run is made of: the state of its git repository and the Python packages that it can
 * import. Everything is optional. may block (runs git, each call at most 10 s) */
#pragma once

#include "base/buf.h"

#define GIT_STATE_BYTES_MAX 65536

/* Writes {"commit", "branch", "remote", "dirty", "diff_sha256"} of the repository that holds `cwd`,
 * without credentials; what git does not know is left out. False, with nothing of use in `out`:
 * no repository, no commit yet, or no git. */
bool git_state_write(const char *cwd, struct buf *out);

/* Writes the JSON of a code record for the repository that holds `cwd`. The package folders come
 * from EUVYRA_PYTHON_PATH (colon-separated), the version from EUVYRA_PYTHON, the script from
 * EUVYRA_PROGRAM: the SDK sets them for the sidecar. Inside a job (EUVYRA_JOB) git is not asked:
 * the job says where its code came from. */
void code_facts_write(const char *cwd, struct buf *out);
