/* Queues. */
#include "domain/queues/queues.h"

#include "domain/audit/audit.h"
#include "domain/targets/allowed.h"
#include "store/store_queue.h"

#include <inttypes.h>

enum err_code queues_get(struct cmd *cmd, struct str name, struct job_queue *ret_queue,
                         struct err *err)
{
    TRY(store_queue_get(cmd->store, name, cmd->arena, ret_queue, err));
    return store_queue_open_jobs(cmd->store, ret_queue, 1, err);
}

enum err_code queues_list(struct cmd *cmd, struct str after, int limit,
                          struct job_queue **ret_queues, size_t *ret_count, struct err *err)
{
    TRY(store_queue_list(cmd->store, after, limit, cmd->arena, ret_queues, ret_count, err));
    return store_queue_open_jobs(cmd->store, *ret_queues, *ret_count, err);
}

static enum err_code say(struct cmd *cmd, const struct job_queue *queue, struct err *err)
{
    const char *detail = arena_printf(
        cmd->arena,
        "queue: priority %" PRIi64 ", aging %" PRIi64 " s, time limit %" PRIi64 " s, %s%s%s",
        queue->priority, queue->aging_ms / 1000, queue->timeout_s,
        queue->spread ? "spread" : "pack", queue->held ? ", held" : "",
        queue->draining ? ", draining" : "");

    cmd->wake_scheduler = true;
    return audit_add(cmd, queue->name, str_from(detail), err);
}

static enum err_code check_room(struct cmd *cmd, struct err *err)
{
    struct job_queue *queues;
    size_t count = 0;

    TRY(store_queue_list(cmd->store, STR(""), QUEUES_MAX, cmd->arena, &queues, &count, err));
    if (count >= QUEUES_MAX)
        return err_set(err, ERR_LIMIT, "there are %d queues already, the most that are allowed",
                       QUEUES_MAX);
    return OK;
}

enum err_code queues_set(struct cmd *cmd, struct str name, const struct queue_spec *spec,
                         struct job_queue *ret_queue, bool *ret_created, struct err *err)
{
    struct job_queue queue = {.name = name, .created = cmd->now};
    enum err_code code = store_queue_get(cmd->store, name, cmd->arena, &queue, NULL);

    queue.priority = spec->priority;
    queue.aging_ms = spec->aging_ms;
    queue.timeout_s = spec->timeout_s;
    queue.spread = spec->spread;
    TRY(allowed_targets_of(cmd, spec->targets, spec->target_count, &queue.targets, err));
    if (code == OK) {
        TRY(store_queue_update(cmd->store, &queue, err));
    } else {
        TRY(check_room(cmd, err));
        TRY(store_queue_insert(cmd->store, &queue, err));
    }
    *ret_created = code != OK;
    *ret_queue = queue;
    return say(cmd, &queue, err);
}

enum err_code queues_delete(struct cmd *cmd, struct str name, struct err *err)
{
    struct job_queue queue;

    TRY(queues_get(cmd, name, &queue, err));
    if (str_eq_c(name, QUEUE_DEFAULT))
        return err_set(err, ERR_CONFLICT,
                       "queue \"" QUEUE_DEFAULT "\" takes the jobs that name none: it stays");
    if (queue.open_jobs > 0) {
        (void)err_set(err, ERR_CONFLICT,
                      "queue \"%.*s\" still has %" PRIi64 " %s that %s not ended", STR_ARG(name),
                      queue.open_jobs, queue.open_jobs == 1 ? "job" : "jobs",
                      queue.open_jobs == 1 ? "has" : "have");
        err_hint(err, "drain it and wait, or cancel them");
        return ERR_CONFLICT;
    }
    TRY(store_queue_remove(cmd->store, queue.id, cmd->now, err));
    return audit_add(cmd, name, STR("queue deleted"), err);
}

enum err_code queues_order(struct cmd *cmd, struct str name, enum queue_order order,
                           struct job_queue *ret_queue, struct err *err)
{
    struct job_queue queue;

    TRY(queues_get(cmd, name, &queue, err));
    queue.held = order == QUEUE_HOLD || (order == QUEUE_DRAIN && queue.held);
    queue.draining = order == QUEUE_DRAIN || (order == QUEUE_HOLD && queue.draining);
    TRY(store_queue_update(cmd->store, &queue, err));
    *ret_queue = queue;
    return say(cmd, &queue, err);
}
