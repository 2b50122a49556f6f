/* Budgets and the ledger in the store. thread: owner of the store; may block */
#pragma once

#include "model/budget.h"
#include "store/store.h"

#define BUDGETS_MAX 100000

/* One without limits where nothing was set. */
MUST_CHECK enum err_code store_budget_get(struct store *store, project_id project,
                                          struct arena *arena, struct budget *ret_budget,
                                          struct err *err);
MUST_CHECK enum err_code store_budget_set(struct store *store, const struct budget *budget,
                                          struct err *err);
/* Of all projects that have one, by project. */
MUST_CHECK enum err_code store_budget_list(struct store *store, struct arena *arena,
                                           struct budget **ret_budgets, size_t *ret_count,
                                           struct err *err);
/* With the ledger of the project, before it is deleted. */
MUST_CHECK enum err_code store_budget_delete(struct store *store, project_id project,
                                             struct err *err);

/* The newest period that begins at `at` or before it, and the oldest that begins after it. False in
 * *ret_there: none. */
MUST_CHECK enum err_code store_ledger_at(struct store *store, project_id project, time_ms at,
                                         struct arena *arena, struct budget_period *ret_period,
                                         bool *ret_there, struct err *err);
MUST_CHECK enum err_code store_ledger_after(struct store *store, project_id project, time_ms at,
                                            struct arena *arena, struct budget_period *ret_period,
                                            bool *ret_there, struct err *err);
/* Those that begin before `before`, newest first. */
MUST_CHECK enum err_code store_ledger_list(struct store *store, project_id project, time_ms before,
                                           int limit, struct arena *arena,
                                           struct budget_period **ret_periods, size_t *ret_count,
                                           struct err *err);
/* Makes the period or sets what was used in it. */
MUST_CHECK enum err_code store_ledger_set(struct store *store, project_id project,
                                          const struct budget_period *period, struct err *err);
