/* Budgets: what a project may use in a calendar month, and the ledger of what it used.
 * thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "model/budget.h"
#include "model/project.h"

#define BUDGET_PERIODS 2 /* the running one and the next */

struct budget_state {
    struct budget budget; /* zone: never empty */
    struct budget_period periods[BUDGET_PERIODS];
};
/* What is set and used now. A charge in advance is in the next period. */
MUST_CHECK enum err_code ledger_left(struct cmd *cmd, project_id project,
                                     struct budget_state *ret_state, struct err *err);
/* The same of all projects that have a limit, by project. */
MUST_CHECK enum err_code ledger_left_all(struct cmd *cmd, struct budget_state **ret_states,
                                         size_t *ret_count, struct err *err);

enum ledger_kind {
    LEDGER_USED,
    LEDGER_LOST, /* says of what was charged that it was for nothing; no money, no more use */
};
struct ledger_charge {
    project_id project;
    time_ms from, to; /* [from, to), UTC; nothing where `to` is not later */
    int64_t gpus;     /* over all nodes */
    int64_t nodes;
    int64_t price_hour_micro, price_gpu_hour_micro; /* of a node, of a GPU */
    enum ledger_kind kind;
};
/* Charges each month its part. Exact whatever the pieces are: those of [a, b) and [b, c) add up to
 * what [a, c) is charged, also over a month line. Sums stop at BUDGET_COUNT_MAX. ERR_INVALID:
 * more than LEDGER_MONTHS_MAX months at once. thread: command */
#define LEDGER_MONTHS_MAX 1200
MUST_CHECK enum err_code ledger_charge(struct cmd *cmd, const struct ledger_charge *charge,
                                       struct err *err);
/* Millionths that the time [from, to) costs at so much an hour. */
int64_t ledger_micro(time_ms from, time_ms to, int64_t hour_micro);

struct budget_spec {
    int64_t gpu_ms_max, micro_max; /* BUDGET_UNLIMITED */
    struct str zone;               /* len 0: the installation's */
};
/* ERR_UNPROCESSABLE: an unknown zone. */
MUST_CHECK enum err_code budgets_set(struct cmd *cmd, struct str project,
                                     const struct budget_spec *spec, struct budget_state *ret_state,
                                     struct err *err);
/* Periods in which something was charged, newest first; `before`: those that began earlier. */
MUST_CHECK enum err_code budgets_history(struct cmd *cmd, project_id project, time_ms before,
                                         int limit, struct budget_period **ret_periods,
                                         size_t *ret_count, struct err *err);
/* What will have been used at the period's end if it goes on as until now; BUDGET_UNLIMITED in the
 * first hour, which tells nothing. */
int64_t budget_forecast(const struct budget_period *period, int64_t used, time_ms now);
