/* Targets and agents in the store. thread: owner of the store; may block */
#pragma once

#include "model/job.h"
#include "store/store.h"

#define AGENTS_MAX 10000

/* Creates a target or sets its prices. */
MUST_CHECK enum err_code store_target_set(struct store *store, struct str name,
                                          int64_t price_hour_micro, int64_t price_gpu_hour_micro,
                                          time_ms now, struct err *err);
MUST_CHECK enum err_code store_target_get(struct store *store, struct str name, struct arena *arena,
                                          struct target *ret_target, struct err *err);
MUST_CHECK enum err_code store_target_by_id(struct store *store, target_id id, struct arena *arena,
                                            struct target *ret_target, struct err *err);
MUST_CHECK enum err_code store_target_list(struct store *store, struct str after, int limit,
                                           struct arena *arena, struct target **ret_targets,
                                           size_t *ret_count, struct err *err);

MUST_CHECK enum err_code store_agent_insert(struct store *store, struct agent *agent,
                                            struct err *err);
MUST_CHECK enum err_code store_agent_get(struct store *store, const struct id *id,
                                         struct arena *arena, struct agent *ret_agent,
                                         struct err *err);
MUST_CHECK enum err_code store_agent_by_id(struct store *store, agent_id id, struct arena *arena,
                                           struct agent *ret_agent, struct err *err);
/* With what their open attempts use (running, cpus_used, ...). */
MUST_CHECK enum err_code store_agent_list(struct store *store, agent_id after, int limit,
                                          struct arena *arena, struct agent **ret_agents,
                                          size_t *ret_count, struct err *err);
/* What an agent said of itself when it called. */
MUST_CHECK enum err_code store_agent_seen(struct store *store, const struct agent *agent,
                                          struct err *err);
/* Out of every list; its name becomes free. */
MUST_CHECK enum err_code store_agent_remove(struct store *store, const struct agent *agent,
                                            time_ms now, struct err *err);
