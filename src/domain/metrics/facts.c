/* Joining facts. Where two points claim the same place (the same step and time), the greater value
 * wins, so that the answer is the same whoever came first. */
#include "domain/metrics/facts.h"

#include <math.h>

static bool before(int64_t step_a, time_ms at_a, int64_t step_b, time_ms at_b)
{
    return step_a != step_b ? step_a < step_b : at_a < at_b;
}

static void join_last(struct metric_facts *f, const struct metric_facts *more)
{
    bool same = f->last_step == more->last_step && f->last_at == more->last_at;

    if (!(before(f->last_step, f->last_at, more->last_step, more->last_at) ||
          (same && !(f->last >= more->last))))
        return;
    f->last = more->last;
    f->last_step = more->last_step;
    f->last_at = more->last_at;
}

static void join_first(struct metric_facts *f, const struct metric_facts *more)
{
    bool same = f->first_step == more->first_step && f->first_at == more->first_at;

    if (!(before(more->first_step, more->first_at, f->first_step, f->first_at) ||
          (same && !(f->first >= more->first))))
        return;
    f->first = more->first;
    f->first_step = more->first_step;
    f->first_at = more->first_at;
}

static void join_extremes(struct metric_facts *f, const struct metric_facts *more)
{
    if (more->finite_count == 0)
        return;
    if (f->finite_count == 0 || more->min < f->min ||
        (more->min == f->min && more->min_step < f->min_step)) {
        f->min = more->min;
        f->min_step = more->min_step;
    }
    if (f->finite_count == 0 || more->max > f->max ||
        (more->max == f->max && more->max_step < f->max_step)) {
        f->max = more->max;
        f->max_step = more->max_step;
    }
    f->sum += more->sum;
}

void metric_facts_join(struct metric_facts *f, const struct metric_facts *more)
{
    if (more->count == 0)
        return;
    if (f->count == 0) {
        struct metric_facts joined = *more;
        joined.id = f->id;
        joined.name = f->name;
        joined.kind = f->kind;
        *f = joined;
        return;
    }
    join_last(f, more);
    join_first(f, more);
    join_extremes(f, more);
    f->count += more->count;
    f->finite_count += more->finite_count;
}

void metric_facts_add(struct metric_facts *f, const struct metric_point *p)
{
    bool finite = isfinite(p->value);

    if (f->count == 0 || !before(p->step, p->at, f->last_step, f->last_at)) {
        f->last = p->value;
        f->last_step = p->step;
        f->last_at = p->at;
    }
    if (f->count == 0 || before(p->step, p->at, f->first_step, f->first_at)) {
        f->first = p->value;
        f->first_step = p->step;
        f->first_at = p->at;
    }
    if (f->count == 0)
        f->min = f->max = NAN;
    if (finite && !(p->value >= f->min)) {
        f->min = p->value;
        f->min_step = p->step;
    }
    if (finite && !(p->value <= f->max)) {
        f->max = p->value;
        f->max_step = p->step;
    }
    f->sum += finite ? p->value : 0;
    f->count++;
    f->finite_count += finite;
}
