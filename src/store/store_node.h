/* Machines of agents, their GPUs and a week of readings in the store. thread: owner of the store;
 * may block */
#pragma once

#include "model/node.h"
#include "store/chunk/hour.h"
#include "store/store.h"

#define NODE_USES_MAX 2000

/* ERR_NOT_FOUND, without a text: the agent has told nothing of its machine. */
MUST_CHECK enum err_code store_node_get(struct store *store, agent_id agent, struct arena *arena,
                                        struct node *ret_node, struct err *err);
/* A new machine, or its facts anew. */
MUST_CHECK enum err_code store_node_set(struct store *store, agent_id agent, struct str facts,
                                        struct err *err);
/* By place. */
MUST_CHECK enum err_code store_node_gpus(struct store *store, agent_id agent, struct arena *arena,
                                         struct node_gpu **ret_gpus, size_t *ret_count,
                                         struct err *err);
MUST_CHECK enum err_code store_node_gpu_put(struct store *store, agent_id agent,
                                            const struct node_gpu *gpu, struct err *err);

MUST_CHECK enum err_code store_node_sample_add(struct store *store, agent_id agent,
                                               const struct node_sample *sample, struct err *err);
/* Boot, number and time of the newest reading. */
MUST_CHECK enum err_code store_node_sampled(struct store *store, const struct node *node,
                                            struct err *err);
/* Those of [from, to) that are not packed; at most HOUR_SAMPLES_MAX. */
MUST_CHECK enum err_code store_node_samples(struct store *store, agent_id agent, time_ms from,
                                            time_ms to, struct arena *arena,
                                            struct node_sample **ret_samples, size_t *ret_count,
                                            struct err *err);
/* The newest since `from` that is not packed; *ret_found. */
MUST_CHECK enum err_code store_node_newest(struct store *store, agent_id agent, time_ms from,
                                           struct node_sample *ret_sample, bool *ret_found,
                                           struct err *err);

/* An agent with readings before `before` that are not packed, and its oldest; ERR_NOT_FOUND (no
 * text): none. */
MUST_CHECK enum err_code store_node_due(struct store *store, time_ms before, agent_id *ret_agent,
                                        time_ms *ret_oldest, struct err *err);
/* Puts the readings of an hour into one row, and takes them away where they were. */
MUST_CHECK enum err_code store_node_pack(struct store *store, agent_id agent, time_ms hour,
                                         struct arena *arena, struct err *err);
/* Hours that began before `before` are deleted, at most `limit`; *ret_more. */
MUST_CHECK enum err_code store_node_forget(struct store *store, time_ms before, int limit,
                                           bool *ret_more, struct err *err);
/* All numbers of packed hours in [from, to), from the buckets of that length: 0 (single readings),
 * one minute, ten, or the hour. */
MUST_CHECK enum err_code store_node_read(struct store *store, agent_id agent, time_ms from,
                                         time_ms to, int64_t bucket_ms,
                                         const struct hour_sink *sink, struct err *err);
/* Readings of utilisation of its GPUs from `from` on, the begin of an hour, and their sum in tenths
 * of a percent. */
MUST_CHECK enum err_code store_node_utilization(struct store *store, agent_id agent, time_ms from,
                                                int64_t *ret_readings, int64_t *ret_tenths,
                                                struct err *err);

/* What an attempt used of an agent's GPUs since it was told last. `idle_since`: TIME_NONE: it is
 * not idle; else the time counts only where it was not idle before. */
struct attempt_gpus {
    attempt_id attempt;
    agent_id agent;
    struct str places;
    time_ms at, idle_since;
    int64_t energy_mj;
};
MUST_CHECK enum err_code store_attempt_gpus_add(struct store *store,
                                                const struct attempt_gpus *gpus, struct err *err);
MUST_CHECK enum err_code store_node_uses(struct store *store, agent_id agent, time_ms from,
                                         time_ms to, struct arena *arena,
                                         struct node_use **ret_uses, size_t *ret_count,
                                         struct err *err);
MUST_CHECK enum err_code store_node_jobs(struct store *store, agent_id agent, struct arena *arena,
                                         struct node_job **ret_jobs, size_t *ret_count,
                                         struct err *err);

/* Running attempts that are to be marked as idle, or to be so no more: their GPUs have all been
 * idle for as long as their project allows, as far as readings reach. */
struct idle_attempt {
    attempt_id attempt;
    job_id job;
    time_ms since; /* TIME_NONE: the mark goes */
};
MUST_CHECK enum err_code store_attempt_idle_list(struct store *store, int limit,
                                                 struct arena *arena,
                                                 struct idle_attempt **ret_list, size_t *ret_count,
                                                 struct err *err);
/* TIME_NONE: it is idle no more. */
MUST_CHECK enum err_code store_attempt_idle_set(struct store *store, attempt_id attempt,
                                                time_ms since, struct err *err);
