/* The verbs with which euvyra-agent works inside a pod: beside the job, with the job's key, for an
 * executor that is remote. Where the server is stands in EUVYRA_SERVER, EUVYRA_API_KEY_FILE,
 * EUVYRA_CA and EUVYRA_PROJECT. thread: main; may block */
#pragma once

#include "base/err.h"

/* Brings the packed folder with this SHA-256 in and unpacks it under `dir`. Waits for a server that
 * is away, for at most ten minutes. */
MUST_CHECK enum err_code pod_fetch(const char *digest, const char *dir, const char *product,
                                   struct err *err);
/* Brings the logs of the runs under `dir` to the server until SIGTERM, and then their rest. */
MUST_CHECK enum err_code pod_follow(const char *dir, const char *product, struct err *err);
