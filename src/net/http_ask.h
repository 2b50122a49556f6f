/* One question to a program that runs here, for its health: GET on an address and port, over a
 * connection of its own, with no proxy, no redirect, no key, and a few KiB read of the answer. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define HTTP_ASK_ADDRESS_BYTES 46 /* of an IPv4 or IPv6 address as text */

struct http_ask {
    const char *address; /* "127.0.0.1"; IPv6 without brackets */
    int64_t port;
    struct str path;               /* begins with '/', already encoded */
    int64_t timeout_ms;            /* for all of it */
    bool (*keep_going)(void *ctx); /* asked at least every second; false ends with ERR_TIMEOUT */
    void *ctx;
};

/* OK for every answer, whatever its status. ERR_UNAVAILABLE: none, and err says why in words for
 * people: "connection refused", "no answer within 5 s". may block */
MUST_CHECK enum err_code http_ask(const struct http_ask *ask, int *ret_status, struct err *err);
