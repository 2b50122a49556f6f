/* Which month of a project a moment lies in. A period that has begun keeps its bounds, whatever is
 * set later; the next one begins where it ends and ends at a line of the zone that is set then. So
 * periods follow each other without overlap, also where a zone was changed.
 * Pure. thread: as the port says */
#pragma once

#include "ports/zones.h"

/* The zone to count in: `zone`, or UTC where the system does not know it any more. */
struct str period_zone(const struct zones_port *zones, struct str zone);
/* The period that begins at `start`, where one has ended: to the month line of the zone that is
 * next to a month later. `zone` is known. */
time_ms period_end_after(const struct zones_port *zones, struct str zone, time_ms start);
/* The period of `at`, which lies in none that has begun. `before`: the end of the last one that
 * began before it; `after`: the start of the next one; TIME_NONE: there is none. */
void period_of(const struct zones_port *zones, struct str zone, time_ms at, time_ms before,
               time_ms after, time_ms *ret_bounds);
