/* Which code a run is made of: the state of its git repository and the Python packages that it can
 * import. Everything is optional. may block (runs git, each call at most 10 s) */
#pragma once

#include "base/buf.h"

#define GIT_STATE_BYTES_MAX 65536

/* Writes {"commit", "branch", "remote", "dirty", "diff_sha256"} of the repository that holds `cwd`,
 * without credentials; what git does not know is left out. False, with nothing of use in `out`:
 * no repository, no commit yet, or no git. */
bool git_state_write(const char *cwd, struct buf *out);

#define DIFF_FILE_BYTES_MAX   (16u * 1024u * 1024u) /* of git.diff in the run's folder */
#define DIFF_RECORD_BYTES_MAX (512u * 1024u)        /* of it in the log */

/* What the repository that holds `cwd` has changed since its commit: whole (up to the limit of
 * `text`) and as the JSON of a diff record, both without secrets. False: nothing changed, or no
 * repository. */
bool git_diff_write(const char *cwd, struct buf *text, struct buf *doc, uint32_t *ret_redacted);

/* Writes the JSON of a code record for the repository that holds `cwd`, with the names of files
 * that git does not know (at most 1,000; "untracked_count" says how many there are). The package
 * folders come from EUVYRA_PYTHON_PATH (colon-separated), the version from EUVYRA_PYTHON, the
 * script from EUVYRA_PROGRAM: the SDK sets them for the sidecar. Inside a job (EUVYRA_JOB) git is
 * not asked: the job says where its code came from. */
void code_facts_write(const char *cwd, struct buf *out);
