/* Targets in the store. thread: owner of the store; may block */
#pragma once

#include "model/target.h"
#include "store/store.h"

#define TARGETS_MAX 10000

/* Sets the target's id. Prices of the row are those that hold now. */
MUST_CHECK enum err_code store_target_insert(struct store *store, struct target *target,
                                             time_ms now, struct err *err);
/* All but its maintenance. */
MUST_CHECK enum err_code store_target_update(struct store *store, const struct target *target,
                                             struct err *err);
/* `maintenance`, its reason and end. */
MUST_CHECK enum err_code store_target_maintain(struct store *store, const struct target *target,
                                               struct err *err);
MUST_CHECK enum err_code store_target_get(struct store *store, struct str name, struct arena *arena,
                                          struct target *ret_target, struct err *err);
/* Also of one that was removed. */
MUST_CHECK enum err_code store_target_by_id(struct store *store, target_id id, struct arena *arena,
                                            struct target *ret_target, struct err *err);
/* By name, after `after`; limit TARGETS_MAX: all of them. */
MUST_CHECK enum err_code store_target_list(struct store *store, struct str after, int limit,
                                           struct arena *arena, struct target **ret_targets,
                                           size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_target_uses(struct store *store, target_id id, struct arena *arena,
                                           struct target_uses *ret_uses, struct err *err);
/* Out of every list; its name becomes free, attempts that ran there keep it. */
MUST_CHECK enum err_code store_target_remove(struct store *store, const struct target *target,
                                             time_ms now, struct err *err);

MUST_CHECK enum err_code store_target_price_add(struct store *store, target_id target,
                                                const struct target_price *price, struct err *err);
/* Those that hold from before `before` on, newest first. */
MUST_CHECK enum err_code store_target_price_list(struct store *store, target_id target,
                                                 time_ms before, int limit, struct arena *arena,
                                                 struct target_price **ret_prices,
                                                 size_t *ret_count, struct err *err);
/* Forgets those that hold from after `now` on. */
MUST_CHECK enum err_code store_target_price_forget(struct store *store, target_id target,
                                                   time_ms now, struct err *err);
/* Puts prices that have come to hold into the rows of their targets; *ret_changed: some had. */
MUST_CHECK enum err_code store_target_prices_apply(struct store *store, time_ms now,
                                                   struct arena *arena, bool *ret_changed,
                                                   struct err *err);

/* What a project sets at a target; "{}" where it sets nothing. */
MUST_CHECK enum err_code store_target_settings_get(struct store *store, target_id target,
                                                   project_id project, struct arena *arena,
                                                   struct str *ret_settings, struct err *err);
MUST_CHECK enum err_code store_target_settings_set(struct store *store, target_id target,
                                                   project_id project, struct str settings,
                                                   struct err *err);
MUST_CHECK enum err_code store_target_settings_delete(struct store *store, target_id target,
                                                      project_id project, struct err *err);
