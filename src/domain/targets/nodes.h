/* The machines that agents stand on: what they are, a week of readings, which GPUs are ill.
 * thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "model/node.h"
#include "wire/node_messages.h"

#define NODE_BUCKETS_MAX 1000
#define NODE_RANGE_MAX   (NODE_KEEP_MS + NODE_HOUR_MS)

/* The agent said what its machine is. GPUs that it named before and does not name now stay for a
 * week, as ill. */
MUST_CHECK enum err_code nodes_told(struct cmd *cmd, agent_id agent, const struct wire_node *said,
                                    struct err *err);
/* Keeps readings. *ret_first: the first of `samples` that was not kept before; those after it are
 * new too. A reading that is of no use (too close to another, older than what is packed) counts as
 * kept.
 */
MUST_CHECK enum err_code nodes_sampled(struct cmd *cmd, agent_id agent,
                                       const struct wire_samples *samples, size_t *ret_first,
                                       struct err *err);
/* Place of each GPU of a message, in its order; -1: not known. */
MUST_CHECK enum err_code nodes_places(struct cmd *cmd, agent_id agent,
                                      const struct wire_samples *samples,
                                      int ret_places[WIRE_NODE_GPUS_MAX], struct err *err);

/* What is known of an agent's machine now. `newest.at` is TIME_NONE where nothing was read lately.
 */
struct node_view {
    struct node node; /* facts len 0: nothing was told */
    struct node_gpu *gpus;
    size_t gpu_count;
    struct node_sample newest;
    struct node_job *jobs;
    size_t job_count;
};
MUST_CHECK enum err_code nodes_view(struct cmd *cmd, agent_id agent, struct node_view *ret_view,
                                    struct err *err);
/* Of a GPU at a place, in the newest reading; NaN. `value`: enum wire_gpu_value. */
double nodes_newest_gpu(const struct node_view *view, int place, int value);

/* Readings of [from, to) in buckets of one width. */
struct node_bucket {
    int64_t count;
    double min, max, sum;
};
struct node_chart {
    time_ms from, to; /* from may be earlier than asked for, by less than a bucket of the store */
    int64_t width_ms;
    size_t bucket_count;
    int series_count;            /* NODE_SERIES of the machine, then as many of each place */
    struct node_bucket *buckets; /* of series s from s * bucket_count on */
    struct node_use *uses;
    size_t use_count;
};
/* ERR_INVALID: the range is empty or too long. */
MUST_CHECK enum err_code nodes_chart(struct cmd *cmd, agent_id agent,
                                     const struct node_chart *asked, struct node_chart *ret_chart,
                                     struct err *err);

/* Utilisation of all GPUs of an agent since `from`, the begin of an hour: readings and their sum in
 * tenths of a percent; added to what is there. */
MUST_CHECK enum err_code nodes_utilization(struct cmd *cmd, agent_id agent, time_ms from,
                                           int64_t *readings, int64_t *tenths, struct err *err);

/* Packs hours that are over and forgets what is older than a week, a little at a time.
 * thread: command */
MUST_CHECK enum err_code nodes_sweep(struct cmd *cmd, struct err *err);
