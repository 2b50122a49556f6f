/* Where a run's logs go: an address and a key, from the command line or the environment.
 * thread: any */
#pragma once

#include "base/err.h"
#include "net/http_client.h"

struct sync_server {
    const char *url;      /* "https://euvyra.example"; NULL: EUVYRA_SERVER, then run.json */
    const char *key_text; /* NULL: EUVYRA_API_KEY_FILE, then EUVYRA_API_KEY */
    const char *ca_file;  /* NULL: EUVYRA_CA */
    const char *product;  /* "euvyra/0.1.0" */
};

/* A client for `server`, whose gaps the environment and `run_url` (from run.json, may be "") fill.
 * ERR_NOT_FOUND: no address anywhere. */
MUST_CHECK enum err_code sync_server_connect(const struct sync_server *server, const char *run_url,
                                             struct http_client **ret_client, struct err *err);
