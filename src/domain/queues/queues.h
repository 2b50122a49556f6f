/* Queues: what goes before what, and where. thread: any owner of a store; changes: command */
#pragma once

#include "domain/cmd.h"
#include "model/share.h"

MUST_CHECK enum err_code queues_get(struct cmd *cmd, struct str name, struct job_queue *ret_queue,
                                    struct err *err);
MUST_CHECK enum err_code queues_list(struct cmd *cmd, struct str after, int limit,
                                     struct job_queue **ret_queues, size_t *ret_count,
                                     struct err *err);

/* What somebody sets of a queue: all of it, but whether it is held or drained. */
struct queue_spec {
    int64_t priority, aging_ms, timeout_s; /* timeout_s 0: the server's */
    bool spread;
    const struct str *targets; /* names; none: all */
    size_t target_count;
};
MUST_CHECK enum err_code queues_set(struct cmd *cmd, struct str name, const struct queue_spec *spec,
                                    struct job_queue *ret_queue, bool *ret_created,
                                    struct err *err);
/* ERR_CONFLICT while jobs in it have not ended; the default queue stays. */
MUST_CHECK enum err_code queues_delete(struct cmd *cmd, struct str name, struct err *err);

enum queue_order {
    QUEUE_HOLD,   /* starts nothing; takes jobs */
    QUEUE_RESUME, /* starts and takes jobs again */
    QUEUE_DRAIN,  /* takes nothing more; starts what is in it */
};
MUST_CHECK enum err_code queues_order(struct cmd *cmd, struct str name, enum queue_order order,
                                      struct job_queue *ret_queue, struct err *err);
