/* Both series are brought into the order of (step, time), which they nearly always have, and walked
 * side by side. */
#include "domain/metrics/crossed.h"

#include <math.h>
#include <stdlib.h>

struct pair {
    double x, y;
};

struct pair_list {
    struct pair *pairs;
    size_t count;
    double lo, hi;
};

static int compare_points(const void *a, const void *b)
{
    const struct metric_point *p = a, *q = b;

    if (p->step != q->step)
        return p->step < q->step ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

static void put_in_order(struct point_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (compare_points(&list->points[i - 1], &list->points[i]) > 0) {
            qsort(list->points, list->count, sizeof *list->points, compare_points);
            return;
        }
}

static void match(const struct metric_query *q, const struct point_list *xs,
                  const struct point_list *ys, struct pair_list *ret)
{
    for (size_t i = 0, j = 0; i < ys->count && j < xs->count;) {
        int order = compare_points(&ys->points[i], &xs->points[j]);
        double x = xs->points[j].value;
        if (order == 0 && isfinite(x) && x >= q->x_from && x <= q->x_to) {
            ret->pairs[ret->count++] = (struct pair){x, ys->points[i].value};
            ret->lo = MIN(ret->lo, x);
            ret->hi = MAX(ret->hi, x);
        }
        i += order <= 0;
        j += order >= 0;
    }
}

static enum err_code read_pairs(const struct crossing *c, const struct reading_part *x,
                                const struct reading_part *y, struct pair_list *ret,
                                struct err *err)
{
    struct point_list xs = {0}, ys = {0};

    TRY(reading_points(c->walker, x, c->cmd->arena, &xs, err));
    TRY(reading_points(c->walker, y, c->cmd->arena, &ys, err));
    put_in_order(&xs);
    put_in_order(&ys);
    *ret = (struct pair_list){.lo = INFINITY, .hi = -INFINITY};
    ret->pairs = arena_array(c->cmd->arena, MIN(xs.count, ys.count), sizeof *ret->pairs);
    match(c->query, &xs, &ys, ret);
    return OK;
}

static void add_pair(struct metric_bucket *b, const struct pair *p)
{
    bool begins = b->count == 0 || p->x < b->fx_first;
    bool ends = b->count == 0 || p->x >= b->fx_last;
    double last = b->last;

    bucket_add_point(b, 0, p->y); /* all but the ends, which are not whole numbers here */
    b->last = last;
    if (begins) {
        b->fx_first = p->x;
        b->first = p->y;
    }
    if (ends) {
        b->fx_last = p->x;
        b->last = p->y;
    }
}

static size_t bucket_at(double x, double lo, double hi, int64_t buckets)
{
    double part = hi > lo ? (x / 2 - lo / 2) / (hi / 2 - lo / 2) : 0; /* halves cannot overflow */

    return (size_t)MIN((int64_t)(part * (double)buckets), buckets - 1);
}

enum err_code crossed_read(const struct crossing *c, const struct reading_part *x,
                           const struct reading_part *y, size_t count,
                           struct metric_series_answer *series, struct err *err)
{
    struct pair_list *lists = arena_array(c->cmd->arena, count, sizeof *lists);
    int64_t buckets = c->query->buckets;
    double lo = INFINITY, hi = -INFINITY;

    for (size_t i = 0; i < count; i++) {
        TRY(read_pairs(c, &x[i], &y[i], &lists[i], err));
        lo = MIN(lo, lists[i].lo);
        hi = MAX(hi, lists[i].hi);
    }
    series->buckets = arena_array(c->cmd->arena, (size_t)buckets, sizeof *series->buckets);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < lists[i].count; j++)
            add_pair(&series->buckets[bucket_at(lists[i].pairs[j].x, lo, hi, buckets)],
                     &lists[i].pairs[j]);
    series->bucket_count = bucket_squeeze(series->buckets, (size_t)buckets);
    for (size_t i = 0; i < series->bucket_count; i++) {
        series->count += series->buckets[i].count;
        series->not_finite += series->buckets[i].not_finite;
    }
    return OK;
}
