/* euvyrad backup, restore and check. thread: main */
#pragma once

#include "server/server.h"

/* Copies the database (as of one moment) and every file into the new folder `to`; a server may run
 * on the data meanwhile. The folder appears under its name when it is whole. */
MUST_CHECK enum err_code maintain_backup(const struct server_options *options, const char *to,
                                         struct err *err);
/* Makes the data folder from a backup, checking every digest. ERR_CONFLICT: there is data already,
 * or the backup is from a newer version. */
MUST_CHECK enum err_code maintain_restore(const struct server_options *options, const char *from,
                                          struct err *err);
/* Prints one line a fault to stdout. *ret_faults: how many. A server may run meanwhile. */
MUST_CHECK enum err_code maintain_check(const struct server_options *options, int64_t *ret_faults,
                                        struct err *err);
