/* Facts of points, whoever came first and however they were cut into posts: of two points at the
 * same step and time the greater value wins (NaN above all), of two equal extremes the one at the
 * lower step. */
#include "domain/metrics/facts.h"

#include "store/store_metric.h"

#include <math.h>

/* Where a point is, and what it is worth there. */
struct spot {
    int64_t step;
    time_ms at;
    double value;
};

static bool is_later(struct spot a, struct spot b)
{
    if (a.step != b.step)
        return a.step > b.step;
    return a.at != b.at ? a.at > b.at : float_to_bits(a.value) > float_to_bits(b.value);
}

/* Of first points the earlier counts, but of two at one place again the greater value. */
static bool is_earlier(struct spot a, struct spot b)
{
    if (a.step != b.step)
        return a.step < b.step;
    return a.at != b.at ? a.at < b.at : float_to_bits(a.value) > float_to_bits(b.value);
}

static void take_last(struct metric_facts *f, struct spot spot)
{
    if (f->count && !is_later(spot, (struct spot){f->last_step, f->last_at, f->last}))
        return;
    f->last = spot.value;
    f->last_step = spot.step;
    f->last_at = spot.at;
}

static void take_first(struct metric_facts *f, struct spot spot)
{
    if (f->count && !is_earlier(spot, (struct spot){f->first_step, f->first_at, f->first}))
        return;
    f->first = spot.value;
    f->first_step = spot.step;
    f->first_at = spot.at;
}

/* Finite values. */
static void take_extremes(struct metric_facts *f, double min, int64_t min_step, double max,
                          int64_t max_step)
{
    if (!f->finite_count || min < f->min || (min == f->min && min_step < f->min_step)) {
        f->min = min;
        f->min_step = min_step;
    }
    if (!f->finite_count || max > f->max || (max == f->max && max_step < f->max_step)) {
        f->max = max;
        f->max_step = max_step;
    }
}

void metric_facts_join(struct metric_facts *f, const struct metric_facts *more)
{
    if (more->count == 0)
        return;
    if (f->count == 0)
        f->min = f->max = NAN;
    take_last(f, (struct spot){more->last_step, more->last_at, more->last});
    take_first(f, (struct spot){more->first_step, more->first_at, more->first});
    if (more->finite_count)
        take_extremes(f, more->min, more->min_step, more->max, more->max_step);
    f->sum += more->sum;
    f->count += more->count;
    f->finite_count += more->finite_count;
}

void metric_facts_add(struct metric_facts *f, const struct metric_point *p)
{
    struct spot spot = {p->step, p->at, p->value};
    bool finite = isfinite(p->value);

    if (f->count == 0)
        f->min = f->max = NAN;
    take_last(f, spot);
    take_first(f, spot);
    if (finite)
        take_extremes(f, p->value, p->step, p->value, p->step);
    f->sum += finite ? p->value : 0;
    f->count++;
    f->finite_count += finite;
}
