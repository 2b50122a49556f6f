/* The address of this machine as others see it, and a port that is free on it. thread: any; may
 * block (looks a name up) */
#pragma once

#include "base/err.h"

/* The address that packets to the host of this URL are sent from; nothing is sent. IPv6 without
 * brackets. ERR_UNAVAILABLE: there is no way there now. */
MUST_CHECK enum err_code net_local_address(const char *url, char *ret_address, size_t size,
                                           struct err *err);
/* A TCP port that nothing listens on now, of those that the kernel gives away. */
MUST_CHECK enum err_code net_free_port(int *ret_port, struct err *err);
