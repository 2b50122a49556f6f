/* Shared between the files of zones. thread: any */
#pragma once

#include "sys/zone.h"

/* Days since 1970-01-01 of the Gregorian calendar, and the year that a second lies in. */
int64_t zone__days(int64_t year, int month, int day);
int64_t zone__year(int64_t seconds);

bool zone__rule_parse(struct str text, struct zone_rule *ret_rule);
/* The offset that holds at a moment (UTC seconds) and the end of its span, exclusive; INT64_MAX:
 * none. */
void zone__rule_span(const struct zone_rule *rule, int64_t at, int64_t *ret_offset,
                     int64_t *ret_end);
