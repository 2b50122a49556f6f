/* Quota that is held: as nodes are for the first that does not fit, so is what a project may use
 * for the first of its jobs that is too large for what is left of it now, or small ones would take
 * each part as it comes free. It is held at the job's project and at all above it up to the highest
 * that refuses it, for one job at each; others pass if they are over before it may start, or use
 * what is left beside it by then. */
#include "sched/cycle.h"

#include <stdlib.h>

/* Something that ends below the highest of the branches. */
struct end {
    time_ms at;
    uint32_t attempt;
};

struct plan {
    uint32_t top; /* the highest branch */
    time_ms start;
    struct sched_amounts *usage; /* at the start, by level from the leaf up */
    uint32_t level_count;
};

static int ends_by_time(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

static bool refuses(const struct branch *b, const struct sched_amounts *usage,
                    const struct sched_amounts *ask)
{
    for (int r = 0; r < SHARED_RESOURCES; r++)
        if (ask->v[r] > 0 && b->limit.v[r] != SCHED_UNLIMITED &&
            sched__add(usage->v[r], ask->v[r]) > b->limit.v[r])
            return true;
    return false;
}

static bool fits(const struct cycle *c, const struct asker *who, const struct plan *plan)
{
    uint32_t at = who->leaf;

    for (uint32_t i = 0; i < plan->level_count; i++, at = c->tree.branches[at].parent)
        if (refuses(&c->tree.branches[at], &plan->usage[i], &who->ask))
            return false;
    return true;
}

static void take(const struct cycle *c, const struct asker *who, struct plan *plan,
                 uint32_t attempt)
{
    const struct sched_attempt *a = &c->s->attempts[attempt];
    struct sched_amounts held = sched__ask(&c->s->shapes[a->shape]);
    uint32_t at = who->leaf;

    for (uint32_t i = 0; i < plan->level_count; i++, at = c->tree.branches[at].parent)
        if (sched__tree_below(&c->tree, c->tree.leaf_of[a->share], at))
            sched__take(&plan->usage[i], &held, 1);
}

/* The highest level at which it is to be held. */
static uint32_t top_level(const struct cycle *c, const struct asker *who)
{
    uint32_t top = who->j->share; /* a made leaf lies below it */

    for (uint32_t at = who->leaf; at != SCHED_NONE; at = c->tree.branches[at].parent)
        if (refuses(&c->tree.branches[at], &c->tree.branches[at].usage, &who->ask))
            top = at;
    return top;
}

bool sched__limit_open(const struct cycle *c, const struct asker *who)
{
    uint32_t top = top_level(c, who);

    for (uint32_t at = who->leaf; c->quota_hold_count > 0; at = c->tree.branches[at].parent) {
        if (c->quota_holds[at].reservation != SCHED_NONE)
            return false;
        if (at == top)
            break;
    }
    return true;
}

/* False if quota is held for another job already. */
static bool plan_levels(struct cycle *c, const struct asker *who, struct plan *plan)
{
    uint32_t at, count = 1;

    if (!sched__limit_open(c, who))
        return false;
    plan->top = top_level(c, who);
    for (at = who->leaf; at != plan->top; at = c->tree.branches[at].parent)
        count++;
    plan->level_count = count;
    plan->usage = arena_array(c->arena, count, sizeof *plan->usage);
    at = who->leaf;
    for (uint32_t i = 0; i < count; i++, at = c->tree.branches[at].parent)
        plan->usage[i] = c->tree.branches[at].usage;
    return true;
}

static struct end *list_ends(struct cycle *c, const struct plan *plan, uint32_t *ret_count)
{
    const struct branch *top = &c->tree.branches[plan->top];
    uint32_t from, to;
    struct end *ends;

    if (!c->all_by_leaf)
        sched__preempt_list_all(c);
    from = c->all_from[top->enter];
    to = c->all_from[top->leave];
    ends = arena_array(c->arena, to - from, sizeof *ends);
    for (uint32_t i = from; i < to; i++) {
        uint32_t a = c->all_by_leaf[i];
        ends[i - from] = (struct end){c->leaving[a] ? c->s->now : c->s->attempts[a].ends_by, a};
    }
    *ret_count = to - from;
    if (to > from)
        qsort(ends, to - from, sizeof *ends, ends_by_time);
    return ends;
}

/* When it may start, as far as limits go. False: never, for all that is known. What runs without a
 * time limit ends at some time, unless it is a service. */
static bool plan_make(struct cycle *c, const struct asker *who, struct plan *plan)
{
    struct sched_amounts *now;
    struct end *ends;
    uint32_t count, i;

    if (!plan_levels(c, who, plan))
        return false;
    plan->start = c->s->now;
    if (fits(c, who, plan))
        return true;
    now = arena_array(c->arena, plan->level_count, sizeof *now);
    memcpy(now, plan->usage, plan->level_count * sizeof *now);
    ends = list_ends(c, plan, &count);
    for (i = 0; i < count && ends[i].at != SCHED_UNLIMITED; i++) {
        if (sched__is_far(c, ends[i].at))
            break;
        take(c, who, plan, ends[i].attempt);
        plan->start = ends[i].at;
        if (fits(c, who, plan))
            return true;
    }
    for (; i < count; i++)
        if (!c->s->shapes[c->s->attempts[ends[i].attempt].shape].service)
            take(c, who, plan, ends[i].attempt);
    if (!fits(c, who, plan))
        return false;
    plan->start = TIME_NONE;
    plan->usage = now;
    return true;
}

static bool over_before(const struct asker *who, time_ms start)
{
    return start != TIME_NONE && who->ends != SCHED_UNLIMITED && who->ends <= start;
}

bool sched__limit_hold(struct cycle *c, uint32_t reservation)
{
    struct held *r = &c->reservations[reservation];
    struct asker who;
    struct plan plan;
    uint32_t at;

    if (!c->quota_holds) {
        c->quota_holds = arena_array(c->arena, c->tree.count, sizeof *c->quota_holds);
        for (uint32_t i = 0; i < c->tree.count; i++)
            c->quota_holds[i].reservation = SCHED_NONE;
    }
    sched__asker_init(c, r->job, &who);
    if (!plan_make(c, &who, &plan))
        return false;
    if (r->quota)
        r->start = plan.start;
    at = who.leaf;
    for (uint32_t i = 0; i < plan.level_count; i++, at = c->tree.branches[at].parent) {
        struct quota_hold *hold = &c->quota_holds[at];
        *hold = (struct quota_hold){reservation, r->start, c->tree.branches[at].limit};
        for (int k = 0; k < SHARED_RESOURCES; k++)
            if (hold->spare.v[k] != SCHED_UNLIMITED)
                hold->spare.v[k] =
                    sched__sub(sched__sub(hold->spare.v[k], plan.usage[i].v[k]), who.ask.v[k]);
    }
    r->top = plan.top;
    r->holds_quota = true;
    c->quota_hold_count++;
    return true;
}

void sched__limit_lift(struct cycle *c, uint32_t reservation)
{
    struct held *r = &c->reservations[reservation];

    if (!r->holds_quota)
        return;
    r->holds_quota = false;
    c->quota_hold_count--;
    for (uint32_t at = c->tree.leaf_of[c->s->jobs[r->job].share];;
         at = c->tree.branches[at].parent) {
        c->quota_holds[at].reservation = SCHED_NONE;
        if (at == r->top)
            return;
    }
}

bool sched__limit_passes(const struct cycle *c, const struct asker *who, struct wait *ret_wait)
{
    if (c->quota_hold_count == 0)
        return true;
    for (uint32_t at = who->leaf; at != SCHED_NONE; at = c->tree.branches[at].parent) {
        const struct quota_hold *hold = &c->quota_holds[at];
        const struct sched_amounts *wanted;
        uint32_t job;
        if (hold->reservation == SCHED_NONE || over_before(who, hold->start) ||
            sched__reserve_outranked(c, who, hold->reservation))
            continue;
        job = c->reservations[hold->reservation].job;
        wanted = &c->s->shapes[c->s->jobs[job].shape].need;
        for (int r = 0; r < SHARED_RESOURCES; r++)
            if (who->ask.v[r] > 0 && wanted->v[r] > 0 && who->ask.v[r] > hold->spare.v[r]) {
                *ret_wait = sched__wait(WAIT_RESERVED);
                ret_wait->job = c->s->jobs[job].id;
                ret_wait->until = hold->start;
                return false;
            }
    }
    return true;
}

void sched__limit_charge(struct cycle *c, const struct asker *who)
{
    if (c->quota_hold_count == 0)
        return;
    for (uint32_t at = who->leaf; at != SCHED_NONE; at = c->tree.branches[at].parent) {
        struct quota_hold *hold = &c->quota_holds[at];
        if (hold->reservation == SCHED_NONE || over_before(who, hold->start))
            continue;
        for (int r = 0; r < SHARED_RESOURCES; r++)
            hold->spare.v[r] = sched__less(hold->spare.v[r], who->ask.v[r]);
    }
}
