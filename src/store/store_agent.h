/* Agents in the store. thread: owner of the store; may block */
#pragma once

#include "model/job.h"
#include "store/store.h"
#include "store/store_target.h"

#define AGENTS_MAX 10000

MUST_CHECK enum err_code store_agent_insert(struct store *store, struct agent *agent,
                                            struct err *err);
MUST_CHECK enum err_code store_agent_get(struct store *store, const struct id *id,
                                         struct arena *arena, struct agent *ret_agent,
                                         struct err *err);
MUST_CHECK enum err_code store_agent_by_id(struct store *store, agent_id id, struct arena *arena,
                                           struct agent *ret_agent, struct err *err);
MUST_CHECK enum err_code store_agent_by_name(struct store *store, struct str name,
                                             struct arena *arena, struct agent *ret_agent,
                                             struct err *err);
/* The agents of a target together. */
struct target_agents {
    int64_t count, gpus_max;
    time_ms seen_min; /* 0: one has never called */
};
MUST_CHECK enum err_code store_agent_of_target(struct store *store, target_id target,
                                               struct target_agents *ret_agents, struct err *err);
/* The same agents without what they use, for those who know it. */
MUST_CHECK enum err_code store_agent_brief_list(struct store *store, struct arena *arena,
                                                struct agent **ret_agents, size_t *ret_count,
                                                struct err *err);
/* With what their open attempts use (running, cpus_used, ...). */
MUST_CHECK enum err_code store_agent_list(struct store *store, agent_id after, int limit,
                                          struct arena *arena, struct agent **ret_agents,
                                          size_t *ret_count, struct err *err);
MUST_CHECK enum err_code store_agent_list_of_target(struct store *store, target_id target,
                                                    agent_id after, struct arena *arena,
                                                    struct agent **ret_agents, size_t *ret_count,
                                                    struct err *err);
/* Those that hold attempts whose record is not complete; without what these use. */
MUST_CHECK enum err_code store_agent_holding(struct store *store, int limit, struct arena *arena,
                                             struct agent **ret_agents, size_t *ret_count,
                                             struct err *err);
/* What an agent said of itself when it called. */
MUST_CHECK enum err_code store_agent_seen(struct store *store, const struct agent *agent,
                                          struct err *err);
/* `maintenance`, its reason and end. */
MUST_CHECK enum err_code store_agent_maintain(struct store *store, const struct agent *agent,
                                              struct err *err);
/* TIME_NONE: it is over. */
MUST_CHECK enum err_code store_agent_conflict_set(struct store *store, agent_id id, time_ms since,
                                                  struct err *err);
/* Out of every list; its name becomes free. */
MUST_CHECK enum err_code store_agent_remove(struct store *store, const struct agent *agent,
                                            time_ms now, struct err *err);
