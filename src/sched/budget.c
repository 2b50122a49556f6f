/* Budgets at admission: what a job may use at most, per calendar month of each branch above it,
 * against what that has left. */
#include "sched/cycle.h"

#define HOUR_MS 3600000

static int64_t overlap_ms(const struct cycle *c, const struct asker *who, const struct branch *b,
                          int period)
{
    const struct sched_budget *budget = &b->share->budget;
    time_ms from = period == 0 ? c->s->now : MAX(c->s->now, budget->period_end[period - 1]);
    time_ms to = MIN(budget->period_end[period], who->ends);

    return MAX(0, sched__sub(to, from));
}

static int64_t clamp(__int128 amount)
{
    return amount > INT64_MAX ? INT64_MAX : (int64_t)amount;
}

static int64_t gpu_ms(const struct cycle *c, const struct asker *who, const struct branch *b,
                      int period)
{
    return sched__mul(who->ask.v[RESOURCE_GPU], overlap_ms(c, who, b, period));
}

static int64_t cost_micro(const struct cycle *c, const struct asker *who, uint32_t target,
                          const struct branch *b, int period)
{
    const struct sched_target *t = &c->s->targets[target];
    __int128 hour = (__int128)t->price_hour_micro * who->shape->node_count +
                    (__int128)t->price_gpu_hour_micro * who->ask.v[RESOURCE_GPU];
    int64_t part = overlap_ms(c, who, b, period);

    if (hour <= 0 || part == 0)
        return 0;
    if (hour > INT64_MAX)
        return INT64_MAX;
    return clamp((hour * part + HOUR_MS - 1) / HOUR_MS);
}

static struct wait too_much(enum wait_code code, int64_t ask, int64_t left, const struct branch *b)
{
    struct wait wait = sched__wait(code);

    wait.asked = ask;
    wait.available = left;
    wait.share = b->share->id;
    return wait;
}

bool sched__budget_hours(const struct cycle *c, const struct asker *who, struct wait *ret_wait)
{
    if (!c->tree.branches[who->leaf].hours)
        return true;
    for (uint32_t at = who->leaf; at != SCHED_NONE; at = c->tree.branches[at].parent) {
        const struct branch *b = &c->tree.branches[at];
        for (int k = 0; k < SCHED_PERIODS; k++) {
            int64_t left = b->gpu_ms_left[k],
                    ask = left == SCHED_UNLIMITED ? 0 : gpu_ms(c, who, b, k);
            if (ask <= 0 || ask <= left)
                continue;
            *ret_wait = too_much(WAIT_BUDGET_HOURS, ask, left, b);
            return false;
        }
    }
    return true;
}

bool sched__budget_money(const struct cycle *c, const struct asker *who, uint32_t target,
                         struct wait *ret_wait)
{
    for (uint32_t at = who->leaf; at != SCHED_NONE; at = c->tree.branches[at].parent) {
        const struct branch *b = &c->tree.branches[at];
        for (int k = 0; k < SCHED_PERIODS; k++) {
            int64_t left = b->micro_left[k],
                    ask = left == SCHED_UNLIMITED ? 0 : cost_micro(c, who, target, b, k);
            if (ask <= 0 || ask <= left)
                continue;
            *ret_wait = too_much(WAIT_BUDGET_MONEY, ask, left, b);
            ret_wait->target = c->s->targets[target].id;
            return false;
        }
    }
    return true;
}

void sched__budget_charge(struct cycle *c, const struct asker *who, uint32_t target)
{
    const struct branch *leaf = &c->tree.branches[who->leaf];

    if (!leaf->hours && !leaf->money)
        return;
    for (uint32_t at = who->leaf; at != SCHED_NONE; at = c->tree.branches[at].parent) {
        struct branch *b = &c->tree.branches[at];
        for (int k = 0; k < SCHED_PERIODS; k++) {
            if (b->gpu_ms_left[k] != SCHED_UNLIMITED)
                b->gpu_ms_left[k] = sched__less(b->gpu_ms_left[k], gpu_ms(c, who, b, k));
            if (b->micro_left[k] != SCHED_UNLIMITED)
                b->micro_left[k] = sched__less(b->micro_left[k], cost_micro(c, who, target, b, k));
        }
    }
}
