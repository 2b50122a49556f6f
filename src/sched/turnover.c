/* How fast room changes hands, by how long what runs has run. */
#include "sched/cycle.h"

/* A start that lies so many turnovers ahead is not believed. */
#define FAR 50

/* Millionths of the cluster: of what it holds most of. */
static int64_t part_of_all(const struct cycle *c, const struct sched_shape *shape)
{
    const struct sched_amounts held = sched__ask(shape);
    int64_t part = 0;

    for (int r = 0; r < SHARED_RESOURCES; r++)
        if (c->tree.capacity.v[r] > 0)
            part = MAX(part, (int64_t)((__int128)held.v[r] * 1000000 / c->tree.capacity.v[r]));
    return part;
}

/* Twice the mean, over the room in use, of how long what holds it has run: if attempts of one
 * length start evenly, each is half over in the mean. */
static int64_t work_out_turnover(const struct cycle *c)
{
    int64_t *parts =
        arena_array(c->arena, c->s->shape_count, sizeof *parts); /* + 1; 0: not known */
    __int128 ran = 0, sum = 0;

    for (uint32_t i = 0; i < c->s->attempt_count; i++) {
        const struct sched_attempt *a = &c->s->attempts[i];
        if (parts[a->shape] == 0)
            parts[a->shape] = part_of_all(c, &c->s->shapes[a->shape]) + 1;
        ran += (__int128)MAX(0, sched__sub(c->s->now, a->since)) * (parts[a->shape] - 1);
        sum += parts[a->shape] - 1;
    }
    return sum > 0 ? (int64_t)(2 * ran / sum) : 0;
}

int64_t sched__turnover(struct cycle *c)
{
    if (c->turnover_ms < 0)
        c->turnover_ms = work_out_turnover(c);
    return c->turnover_ms;
}

bool sched__is_far(struct cycle *c, time_ms start)
{
    int64_t near = MAX(sched__mul(sched__turnover(c), FAR), c->s->policy.reserve_after_ms);

    return sched__sub(start, c->s->now) > near;
}
