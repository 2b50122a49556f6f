/* Periods. Tricky: between the end of a period in one zone and the next month line of another lie
 * up to 26 hours, in which no second full budget may open. A period that follows another therefore
 * ends at the line that is closest to a month later: 15 days on, one is in its month whatever the
 * zone, and never in the next one. */
#include "domain/budgets/period.h"

#include "base/err.h"

#define HALF_MONTH_MS (15 * INT64_C(86400000))

struct str period_zone(const struct zones_port *zones, struct str zone)
{
    return zones->known(zones->ctx, zone) ? zone : STR("UTC");
}

static void month(const struct zones_port *zones, struct str zone, time_ms at, time_ms *ret_bounds)
{
    ENSURE(zones->month(zones->ctx, zone, at, &ret_bounds[0], &ret_bounds[1]));
}

time_ms period_end_after(const struct zones_port *zones, struct str zone, time_ms start)
{
    time_ms bounds[2] = {0};

    month(zones, zone, start + HALF_MONTH_MS, bounds);
    return bounds[1];
}

void period_of(const struct zones_port *zones, struct str zone, time_ms at, time_ms before,
               time_ms after, time_ms *ret_bounds)
{
    month(zones, zone, at, ret_bounds);
    if (before != TIME_NONE && before > ret_bounds[0] - HALF_MONTH_MS) {
        ret_bounds[0] = before;
        ret_bounds[1] = period_end_after(zones, zone, before);
    }
    if (after != TIME_NONE)
        ret_bounds[1] = MIN(ret_bounds[1], after);
    ENSURE(ret_bounds[0] <= at && at < ret_bounds[1]);
}
