/* Budgets and the ledger. */
#include "domain/budgets/budgets.h"

#include "domain/audit/audit.h"
#include "domain/budgets/period.h"
#include "domain/projects/projects.h"
#include "store/store_budget.h"

#include <inttypes.h>

#define HOUR_MS 3600000

static int64_t bounded(__int128 value)
{
    return value > BUDGET_COUNT_MAX ? BUDGET_COUNT_MAX : (int64_t)value;
}

/* Counted from one fixed moment on, so that the parts of a time add up to the whole of it. */
static __int128 micro_until(time_ms at, int64_t hour_micro)
{
    return (__int128)at * hour_micro / HOUR_MS;
}

int64_t ledger_micro(time_ms from, time_ms to, int64_t hour_micro)
{
    return bounded(micro_until(MAX(to, from), hour_micro) - micro_until(from, hour_micro));
}

/* Prices of many GPUs may not fit into 64 bits; no hour costs more than this in earnest. */
static int64_t hour_price(const struct ledger_charge *c)
{
    return bounded((__int128)c->price_hour_micro * c->nodes +
                   (__int128)c->price_gpu_hour_micro * c->gpus);
}

static struct str zone_of(const struct cmd *cmd, const struct budget *budget)
{
    struct str zone = budget->zone.len ? budget->zone : str_from(cmd->domain->config.zone);

    return period_zone(&cmd->domain->zones, zone);
}

/* The period of a moment, as the ledger has it or as it would begin. */
static enum err_code period_at(struct cmd *cmd, const struct budget *budget, time_ms at,
                               struct budget_period *ret_period, struct err *err)
{
    struct budget_period before = {0}, after = {0};
    bool has_before = false, has_after = false;
    time_ms bounds[2] = {0};

    TRY(store_ledger_at(cmd->store, budget->project, at, cmd->arena, &before, &has_before, err));
    if (has_before && at < before.end) {
        *ret_period = before;
        return OK;
    }
    TRY(store_ledger_after(cmd->store, budget->project, at, cmd->arena, &after, &has_after, err));
    *ret_period = (struct budget_period){.zone = zone_of(cmd, budget)};
    period_of(&cmd->domain->zones, ret_period->zone, at, has_before ? before.end : TIME_NONE,
              has_after ? after.start : TIME_NONE, bounds);
    ret_period->start = bounds[0];
    ret_period->end = bounds[1];
    return OK;
}

static enum err_code next_period(struct cmd *cmd, const struct budget *budget,
                                 const struct budget_period *now, struct budget_period *ret_period,
                                 struct err *err)
{
    struct budget_period next = {.start = now->end, .zone = zone_of(cmd, budget)};
    bool there = false;

    next.end = period_end_after(&cmd->domain->zones, next.zone, next.start);
    TRY(store_ledger_at(cmd->store, budget->project, next.start, cmd->arena, ret_period, &there,
                        err));
    if (!there || next.start >= ret_period->end)
        *ret_period = next;
    return OK;
}

static enum err_code state_of(struct cmd *cmd, const struct budget *budget,
                              struct budget_state *ret_state, struct err *err)
{
    struct budget_state state = {.budget = *budget};

    TRY(period_at(cmd, budget, cmd->now, &state.periods[0], err));
    TRY(next_period(cmd, budget, &state.periods[0], &state.periods[1], err));
    state.budget.zone = zone_of(cmd, budget);
    *ret_state = state;
    return OK;
}

enum err_code ledger_left(struct cmd *cmd, project_id project, struct budget_state *ret_state,
                          struct err *err)
{
    struct budget budget;

    TRY(store_budget_get(cmd->store, project, cmd->arena, &budget, err));
    return state_of(cmd, &budget, ret_state, err);
}

enum err_code ledger_left_all(struct cmd *cmd, struct budget_state **ret_states, size_t *ret_count,
                              struct err *err)
{
    struct budget_state *states;
    struct budget *budgets;
    size_t count = 0, kept = 0;

    TRY(store_budget_list(cmd->store, cmd->arena, &budgets, &count, err));
    states = arena_array(cmd->arena, MAX(count, 1), sizeof *states);
    for (size_t i = 0; i < count; i++)
        if (budgets[i].gpu_ms_max != BUDGET_UNLIMITED || budgets[i].micro_max != BUDGET_UNLIMITED)
            TRY(state_of(cmd, &budgets[i], &states[kept++], err));
    *ret_states = states;
    *ret_count = kept;
    return OK;
}

static void add(struct budget_period *period, const struct ledger_charge *charge, time_ms from,
                time_ms to)
{
    int64_t gpu_ms = bounded((__int128)(to - from) * charge->gpus);

    if (charge->kind == LEDGER_LOST) {
        period->gpu_ms_lost = bounded((__int128)period->gpu_ms_lost + gpu_ms);
        return;
    }
    period->gpu_ms_used = bounded((__int128)period->gpu_ms_used + gpu_ms);
    period->micro_used =
        bounded((__int128)period->micro_used + ledger_micro(from, to, hour_price(charge)));
}

enum err_code ledger_charge(struct cmd *cmd, const struct ledger_charge *charge, struct err *err)
{
    struct budget budget;
    time_ms at = charge->from;

    ENSURE(charge->gpus >= 0 && charge->nodes >= 0 && charge->price_hour_micro >= 0 &&
           charge->price_gpu_hour_micro >= 0);
    if (at >= charge->to)
        return OK;
    TRY(store_budget_get(cmd->store, charge->project, cmd->arena, &budget, err));
    for (int i = 0; at < charge->to; i++) {
        struct budget_period period = {0};
        time_ms end;
        if (i == LEDGER_MONTHS_MAX)
            return err_set(err, ERR_INVALID, "a charge of more than %d months", LEDGER_MONTHS_MAX);
        TRY(period_at(cmd, &budget, at, &period, err));
        end = MIN(period.end, charge->to);
        add(&period, charge, at, end);
        TRY(store_ledger_set(cmd->store, charge->project, &period, err));
        at = end;
    }
    return OK;
}

/* The running period keeps its bounds: it is written down before the zone changes. */
static enum err_code keep_period(struct cmd *cmd, const struct budget *before, struct err *err)
{
    struct budget_period period = {0};

    TRY(period_at(cmd, before, cmd->now, &period, err));
    return store_ledger_set(cmd->store, before->project, &period, err);
}

static const char *limit_text(struct cmd *cmd, int64_t limit, int64_t unit)
{
    return limit == BUDGET_UNLIMITED ? "-" : arena_printf(cmd->arena, "%" PRIi64, limit / unit);
}

enum err_code budgets_set(struct cmd *cmd, struct str name, const struct budget_spec *spec,
                          struct budget_state *ret_state, struct err *err)
{
    struct project project;
    struct budget before,
        budget = {.gpu_ms_max = spec->gpu_ms_max, .micro_max = spec->micro_max, .zone = spec->zone};
    const char *detail;

    TRY(projects_require(cmd, name, ROLE_OWNER, &project, err));
    budget.project = project.id;
    if (spec->zone.len && !cmd->domain->zones.known(cmd->domain->zones.ctx, spec->zone)) {
        (void)err_set_field(err, ERR_UNPROCESSABLE, "zone", "time zone \"%.*s\" is not known",
                            STR_ARG(spec->zone));
        err_hint(err, "a name of the IANA database, such as Europe/Berlin");
        return ERR_UNPROCESSABLE;
    }
    TRY(store_budget_get(cmd->store, project.id, cmd->arena, &before, err));
    if (!str_eq(before.zone, budget.zone))
        TRY(keep_period(cmd, &before, err));
    TRY(store_budget_set(cmd->store, &budget, err));
    detail = arena_printf(cmd->arena,
                          "budget a month: GPU hours %s, money %s (micro), time zone \"%.*s\"",
                          limit_text(cmd, budget.gpu_ms_max, HOUR_MS),
                          limit_text(cmd, budget.micro_max, 1), STR_ARG(budget.zone));
    TRY(audit_add(cmd, name, str_from(detail), err));
    cmd->wake_scheduler = true;
    return state_of(cmd, &budget, ret_state, err);
}

enum err_code budgets_history(struct cmd *cmd, project_id project, time_ms before, int limit,
                              struct budget_period **ret_periods, size_t *ret_count,
                              struct err *err)
{
    return store_ledger_list(cmd->store, project, before, limit, cmd->arena, ret_periods, ret_count,
                             err);
}

int64_t budget_forecast(const struct budget_period *period, int64_t used, time_ms now)
{
    int64_t passed = now - period->start;

    if (passed < HOUR_MS)
        return BUDGET_UNLIMITED;
    return bounded((__int128)used * (period->end - period->start) /
                   MIN(passed, period->end - period->start));
}
