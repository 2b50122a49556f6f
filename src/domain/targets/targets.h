/* Targets with their prices, and the agents that offer hardware at them.
 * thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "wire/agent_messages.h"

/* What somebody sets of a target; what is not given stays, or has its default in a new one. */
struct target_spec {
    int64_t price_hour_micro, price_gpu_hour_micro; /* from now on; -1: not given */
    int spot;                                       /* -1: not given */
    /* JSON in the form of the API, checked; data NULL: not given */
    struct str labels, excluded, tolerations, settings, volumes, buckets;
};
MUST_CHECK enum err_code targets_set(struct cmd *cmd, struct str name,
                                     const struct target_spec *spec, struct target *ret_target,
                                     bool *ret_created, struct err *err);
/* With the sums over its agents, as targets_list. */
MUST_CHECK enum err_code targets_get(struct cmd *cmd, struct str name, struct target *ret_target,
                                     struct err *err);
MUST_CHECK enum err_code targets_list(struct cmd *cmd, struct str after, int limit,
                                      struct target **ret_targets, size_t *ret_count,
                                      struct err *err);
/* ERR_CONFLICT, with what uses it: agents, jobs that have not ended, queues and shares that allow
 * it. */
MUST_CHECK enum err_code targets_delete(struct cmd *cmd, struct str name, struct err *err);
/* It starts nothing until `until`; TIME_NONE: until targets_maintenance_end. */
MUST_CHECK enum err_code targets_maintenance(struct cmd *cmd, struct str name, struct str reason,
                                             time_ms until, struct target *ret_target,
                                             struct err *err);
MUST_CHECK enum err_code targets_maintenance_end(struct cmd *cmd, struct str name,
                                                 struct target *ret_target, struct err *err);

/* Prices that hold, held and are to hold: those from before `before` on, newest first. */
MUST_CHECK enum err_code targets_prices(struct cmd *cmd, struct str name, time_ms before, int limit,
                                        struct target_price **ret_prices, size_t *ret_count,
                                        struct err *err);
/* Replaces the prices that are to come. ERR_UNPROCESSABLE: one is in the past, or two are from the
 * same moment on. */
MUST_CHECK enum err_code targets_prices_plan(struct cmd *cmd, struct str name,
                                             const struct target_price *prices, size_t count,
                                             struct err *err);
/* Prices that have come to hold hold. thread: command */
MUST_CHECK enum err_code targets_sweep(struct cmd *cmd, struct err *err);

/* What a project sets at a target, and what its jobs there get: JSON with `env` and `volumes`. Of
 * the same variable, or volume at the same path, the project's counts. */
MUST_CHECK enum err_code targets_settings(struct cmd *cmd, target_id target, project_id project,
                                          struct str *ret_settings, struct err *err);
/* Where the volumes of a spec (JSON as there; len 0: none) and of these settings lie; of two at the
 * same path the spec's counts. ERR_CONFLICT: the target has one of them no more. */
MUST_CHECK enum err_code targets_mounts(struct cmd *cmd, target_id target, project_id project,
                                        struct str volumes, struct wire_mount **ret_mounts,
                                        size_t *ret_count, struct err *err);
MUST_CHECK enum err_code targets_project_get(struct cmd *cmd, struct str name, project_id project,
                                             struct str *ret_settings, struct err *err);
MUST_CHECK enum err_code targets_project_set(struct cmd *cmd, struct str name, struct str project,
                                             struct str settings, struct err *err);
MUST_CHECK enum err_code targets_project_delete(struct cmd *cmd, struct str name,
                                                struct str project, struct err *err);

MUST_CHECK enum err_code agents_create(struct cmd *cmd, const struct id *id, struct str name,
                                       struct str target, struct agent *ret_agent,
                                       bool *ret_created, struct err *err);
MUST_CHECK enum err_code agents_get(struct cmd *cmd, const struct id *id, struct agent *ret_agent,
                                    struct err *err);
/* Those after `after`, by id, with what they use. */
MUST_CHECK enum err_code agents_of_target(struct cmd *cmd, target_id target, int64_t after,
                                          struct agent **ret_agents, size_t *ret_count,
                                          struct err *err);
/* It starts nothing until `until`; TIME_NONE: until agents_maintenance_end. What runs there goes
 * on.
 */
MUST_CHECK enum err_code agents_maintenance(struct cmd *cmd, const struct id *id, struct str reason,
                                            time_ms until, struct err *err);
MUST_CHECK enum err_code agents_maintenance_end(struct cmd *cmd, const struct id *id,
                                                struct err *err);
MUST_CHECK enum err_code agents_list(struct cmd *cmd, int64_t after, int limit,
                                     struct agent **ret_agents, size_t *ret_count, struct err *err);
/* "new", "online", "unreachable" or "conflict". */
const char *agents_state(const struct cmd *cmd, const struct agent *agent);
/* Revokes its keys. ERR_CONFLICT while it holds attempts. */
MUST_CHECK enum err_code agents_delete(struct cmd *cmd, const struct id *id, struct err *err);
/* The caller is this agent; ERR_FORBIDDEN. */
MUST_CHECK enum err_code agents_require_own(struct cmd *cmd, const struct id *id, struct err *err);
enum agent_call {
    AGENT_CALL_TAKEN,
    /* Two machines take turns with its key, so nothing new may start on either until an
     * administrator has cleared it; what they run goes on. */
    AGENT_CALL_CONFLICT,
    AGENT_CALL_PAST, /* it waited here, and another process has called since: it says nothing now */
};
/* The agent called: renews its lease and keeps what it said. thread: command */
MUST_CHECK enum err_code agents_called(struct cmd *cmd, struct agent *agent,
                                       enum agent_call *ret_call, struct err *err);
/* Only one process has called for long enough: what it does not hold, nobody does. */
bool agents_settled(struct cmd *cmd, const struct id *agent);
/* An administrator says that only one machine has the key now. */
MUST_CHECK enum err_code agents_clear(struct cmd *cmd, const struct id *id, struct agent *ret_agent,
                                      struct err *err);

/* Leases, on the monotonic clock. thread: command */
int64_t lease_silent_ms(struct cmd *cmd, const struct id *agent);
void lease_renew(struct cmd *cmd, const struct id *agent);
/* Before silence is judged: what other servers heard of the agent counts too. */
void lease_observe(struct cmd *cmd, const struct agent *agent);
void lease_table_init(struct lease_table *table, int64_t mono_ms);
void lease_table_release(struct lease_table *table);
