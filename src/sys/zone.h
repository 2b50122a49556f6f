/* Time zones: the calendar months of a zone, from the TZif files of the system (RFC 8536).
 *
 * A month begins at the first moment at which the zone's clocks show its first day or a later one,
 * whatever they do around it: half open intervals [start, end) that follow each other without a
 * hole. Files are read once. Zone UTC needs no file. thread: any */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/timeval.h"

#define ZONE_FOLDER "/usr/share/zoneinfo"

struct zones;
struct zones *zones_new(const char *folder);
void zones_free(struct zones *zones); /* accepts NULL */

/* "Europe/Berlin": at most 64 letters, digits and + - _ between single slashes; and there is a file
 * of that name, which makes sense. may block */
bool zones_known(struct zones *zones, struct str name);
/* False, with nothing written, when the zone is not known. Years 1970 to 9999. may block */
bool zones_month(struct zones *zones, struct str name, time_ms at, time_ms *ret_start,
                 time_ms *ret_end);

/* The parts, for tests and fuzzing: a zone made from the bytes of a file. The zone needs no
 * release. ERR_INVALID: they are no TZif file that can be used, with what is wrong. */
#define ZONE_CHANGES_MAX    2048
#define ZONE_FILE_BYTES_MAX (256u * 1024)

/* One of the two days of the year on which clocks change: kind M (month, week, weekday), J (day
 * 1 to 365, without 29 February) or 0 (day 0 to 365), at so many seconds of local time. */
struct zone_day {
    char kind;
    int month, week, day;
    int64_t seconds;
};
struct zone_rule {
    bool there, has_summer;
    int64_t winter, summer; /* seconds east of Greenwich */
    struct zone_day to_summer, to_winter;
};
struct zone {
    size_t change_count;
    int64_t changes[ZONE_CHANGES_MAX]; /* UTC seconds, rising */
    int32_t offsets[ZONE_CHANGES_MAX]; /* from each change on */
    int32_t first_offset;              /* before the first */
    struct zone_rule rule;             /* after the last; else its offset goes on */
};
MUST_CHECK enum err_code zone_parse(struct str file, struct zone *ret_zone, struct err *err);
/* The first second of a month, UTC. */
int64_t zone_month_line(const struct zone *zone, int64_t year, int month);
