/* An attempt is charged by the second from when it began to run: every minute as far as its agents
 * were heard, and at its end for the run time that they measured. A gang costs for all its machines
 * until its last rank has ended. */
#include "domain/jobs/jobs_charge.h"

#include "domain/budgets/budgets.h"

#define CHARGE_MS   60000
#define CHARGE_MANY 200

enum err_code jobs_charge(struct cmd *cmd, bool *ret_more, struct err *err)
{
    struct attempt_charge *due;
    size_t count = 0;

    TRY(store_attempt_to_charge(cmd->store, cmd->now - CHARGE_MS, (attempt_id){0}, CHARGE_MANY,
                                cmd->arena, &due, &count, err));
    for (size_t i = 0; i < count; i++) {
        const struct attempt_charge *d = &due[i];
        struct ledger_charge charge = {
            .project = d->project,
            .from = d->charged,
            .to = MIN(d->heard, cmd->now),
            .gpus = d->gpus * d->node_count,
            .nodes = d->node_count,
            .price_hour_micro = d->price_hour_micro,
            .price_gpu_hour_micro = d->price_gpu_hour_micro,
            .kind = LEDGER_USED,
        };
        if (d->heard == TIME_NONE || charge.to <= charge.from)
            continue;
        TRY(ledger_charge(cmd, &charge, err));
        TRY(store_attempt_charged(cmd->store, d->attempt, charge.to, err));
    }
    *ret_more = count == CHARGE_MANY;
    return OK;
}

enum err_code jobs__charge_end(struct cmd *cmd, const struct job *job, struct attempt *a,
                               struct err *err)
{
    struct ledger_charge charge = {
        .project = job->project,
        .from = a->charged,
        .to = a->started + a->run_time_ms,
        .gpus = job->need.gpus * job->node_count,
        .nodes = job->node_count,
        .price_hour_micro = a->price_hour_micro,
        .price_gpu_hour_micro = a->price_gpu_hour_micro,
        .kind = LEDGER_USED,
    };

    if (a->started == TIME_NONE)
        return OK;
    if (charge.to > charge.from) {
        TRY(ledger_charge(cmd, &charge, err));
        a->charged = charge.to;
    }
    if (a->state != ATTEMPT_PREEMPTED && a->state != ATTEMPT_LOST)
        return OK;
    charge.kind = LEDGER_LOST;
    charge.from = a->started;
    charge.to = a->charged;
    return ledger_charge(cmd, &charge, err);
}

static void add(int64_t *sum, int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(*sum, product, sum))
        *sum = BUDGET_COUNT_MAX;
    *sum = MIN(*sum, BUDGET_COUNT_MAX);
}

enum err_code jobs_committed(struct cmd *cmd, project_id project, time_ms until,
                             int64_t *ret_gpu_ms, int64_t *ret_micro, struct err *err)
{
    struct attempt_commitment *list;
    size_t count = 0;

    *ret_gpu_ms = *ret_micro = 0;
    TRY(store_attempt_committed(cmd->store, project, cmd->arena, &list, &count, err));
    for (size_t i = 0; i < count; i++) {
        const struct attempt_commitment *c = &list[i];
        time_ms to = MIN(c->to, until);
        if (to <= c->from)
            continue;
        add(ret_gpu_ms, c->gpus * c->node_count, to - c->from);
        add(ret_micro, ledger_micro(c->from, to, c->price_hour_micro), c->node_count);
        add(ret_micro, ledger_micro(c->from, to, c->price_gpu_hour_micro), c->gpus * c->node_count);
    }
    return OK;
}
