/* The key that seals secrets, in a file of its own. thread: command, at the start */
#pragma once

#include "server/server.h"

/* Reads the file that the options name, else secret.key in the data folder, which is made when it
 * is missing and nothing is sealed yet. Where secrets were sealed with a key that is not there the
 * server starts without, or with its own: it says so in the log, and nothing can be sealed.
 * ERR_INVALID: the file holds no key, or others can read it. */
MUST_CHECK enum err_code seal_key_load(struct server *server, struct cmd *cmd, struct err *err);
