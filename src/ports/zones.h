/* The port for calendars: where months begin in a time zone. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"

#include <stdbool.h>

#define ZONE_NAME_BYTES_MAX 64

/* Names are those of the IANA database: "Europe/Berlin". */
struct zones_port {
    bool (*known)(void *ctx, struct str name);
    /* The calendar month that contains `at`, as the half open interval [start, end) of UTC times;
     * the next one begins where it ends. False, with nothing written: the zone is not known. */
    bool (*month)(void *ctx, struct str name, time_ms at, time_ms *ret_start, time_ms *ret_end);
    void *ctx;
};
