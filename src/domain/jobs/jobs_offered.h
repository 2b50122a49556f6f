/* What an offer holds beside the job's spec. thread: command */
#pragma once

#include "domain/jobs/jobs.h"

/* Secrets and the registry's credential, opened now; volumes, as the target has them now; the image
 * that an earlier attempt resolved its tag to. *ret_bytes: of the secrets together. ERR_NOT_FOUND:
 * a secret that it names is gone for good; other errors: not now. */
MUST_CHECK enum err_code jobs__offer_fill(struct cmd *cmd, const struct agent *agent,
                                          struct job_offer *offer, size_t *ret_bytes,
                                          struct err *err);
