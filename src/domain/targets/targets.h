/* Targets with their prices, and the agents that offer hardware at them.
 * thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"

MUST_CHECK enum err_code targets_set(struct cmd *cmd, struct str name, int64_t price_hour_micro,
                                     int64_t price_gpu_hour_micro, struct target *ret_target,
                                     struct err *err);
/* With the sums over their agents. */
MUST_CHECK enum err_code targets_list(struct cmd *cmd, struct str after, int limit,
                                      struct target **ret_targets, size_t *ret_count,
                                      struct err *err);

MUST_CHECK enum err_code agents_create(struct cmd *cmd, const struct id *id, struct str name,
                                       struct str target, struct agent *ret_agent,
                                       bool *ret_created, struct err *err);
MUST_CHECK enum err_code agents_list(struct cmd *cmd, int64_t after, int limit,
                                     struct agent **ret_agents, size_t *ret_count, struct err *err);
/* "new", "online" or "unreachable". */
const char *agents_state(const struct cmd *cmd, const struct agent *agent);
/* Revokes its keys. ERR_CONFLICT while it holds attempts. */
MUST_CHECK enum err_code agents_delete(struct cmd *cmd, const struct id *id, struct err *err);
/* The caller is this agent; ERR_FORBIDDEN. */
MUST_CHECK enum err_code agents_require_own(struct cmd *cmd, const struct id *id, struct err *err);
/* The agent called: renews its lease and keeps what it said. ERR_CONFLICT: two processes use one
 * key at the same time. thread: command */
MUST_CHECK enum err_code agents_called(struct cmd *cmd, struct agent *agent, struct err *err);

/* Leases, on the monotonic clock. thread: command */
int64_t lease_silent_ms(struct cmd *cmd, const struct id *agent);
void lease_renew(struct cmd *cmd, const struct id *agent);
/* Before silence is judged: what other servers heard of the agent counts too. */
void lease_observe(struct cmd *cmd, const struct agent *agent);
void lease_table_init(struct lease_table *table, int64_t mono_ms);
void lease_table_release(struct lease_table *table);
