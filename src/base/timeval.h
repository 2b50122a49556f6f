/* Points in time are int64 UTC milliseconds since 1970; in JSON they are RFC 3339 with
 * milliseconds and Z: 2026-11-30T04:05:52.123Z. thread: any */
#pragma once

#include "base/str.h"

typedef int64_t time_ms;

#define TIME_TEXT_BYTES 25 /* with the NUL */
#define TIME_NONE       INT64_MIN

/* Years 1970 to 9999; outside it is clamped. */
void time_format(time_ms at, char ret_text[TIME_TEXT_BYTES]);
/* Accepts Z or a numeric offset, 0 to 9 fractional digits. */
bool time_parse(struct str text, time_ms *ret_at);
/* "4.2 s", "3 min 20 s", "2 h 05 min", "3 d 4 h": at most 16 bytes with NUL. */
#define DURATION_TEXT_BYTES 24
void duration_format(int64_t ms, char ret_text[DURATION_TEXT_BYTES]);
