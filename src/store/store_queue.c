/* Statements of sql/statements/queue.sql as typed functions. */
#include "store/store_queue.h"

#include "store/db.h"

#define QUEUE_TARGET_ROWS_MAX (QUEUES_MAX * SHARE_TARGETS_MAX)

#define ARGS_OF_SETTINGS(q)                                                                        \
    ARG_I64("priority", (q)->priority), ARG_I64("aging_ms", (q)->aging_ms),                        \
        ARG_REF("timeout_s", (q)->timeout_s), ARG_BOOL("spread", (q)->spread),                     \
        ARG_BOOL("held", (q)->held), ARG_BOOL("draining", (q)->draining)

static enum err_code insert_targets(struct store *store, const struct job_queue *queue,
                                    struct err *err)
{
    for (size_t i = 0; i < queue->targets.count; i++)
        TRY(db__run(
            store->db, SQL_QUEUE_TARGET_INSERT,
            ARGS(ARG_I64("queue_id", queue->id.v), ARG_I64("target_id", queue->targets.ids[i].v)),
            NULL, err));
    return OK;
}

enum err_code store_queue_insert(struct store *store, struct job_queue *queue, struct err *err)
{
    TRY(db__insert(store->db, SQL_QUEUE_INSERT,
                   ARGS(ARG_TEXT("name", queue->name), ARG_I64("created_ms", queue->created),
                        ARGS_OF_SETTINGS(queue)),
                   &queue->id.v, err));
    return insert_targets(store, queue, err);
}

enum err_code store_queue_update(struct store *store, const struct job_queue *queue,
                                 struct err *err)
{
    TRY(db__run(store->db, SQL_QUEUE_UPDATE,
                ARGS(ARG_I64("id", queue->id.v), ARGS_OF_SETTINGS(queue)), NULL, err));
    TRY(db__run(store->db, SQL_QUEUE_TARGET_DELETE, ARGS(ARG_I64("queue_id", queue->id.v)), NULL,
                err));
    return insert_targets(store, queue, err);
}

static void queue_read(const struct db_result *r, struct arena *arena, struct job_queue *ret)
{
    *ret = (struct job_queue){
        .id = {db__i64(r, 0)},
        .name = db__text(r, 1, arena),
        .priority = db__i64(r, 2),
        .aging_ms = db__i64(r, 3),
        .timeout_s = db__null(r, 4) ? 0 : db__i64(r, 4),
        .spread = db__i64(r, 5) != 0,
        .held = db__i64(r, 6) != 0,
        .draining = db__i64(r, 7) != 0,
        .created = db__i64(r, 8),
    };
}

static enum err_code read_targets(struct store *store, struct arena *arena,
                                  struct job_queue *queues, size_t count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_QUEUE_TARGET_LIST, ARGS(ARG_I64("limit", QUEUE_TARGET_ROWS_MAX)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct allowed_targets *targets;
        size_t at = 0;
        while (at < count && queues[at].id.v != db__i64(&r, 0))
            at++;
        if (at == count) /* on another page */
            continue;
        targets = &queues[at].targets;
        if (!targets->ids)
            targets->ids = arena_array(arena, SHARE_TARGETS_MAX, sizeof(targets->ids[0]));
        ENSURE(targets->count < SHARE_TARGETS_MAX);
        targets->ids[targets->count++] = (target_id){db__i64(&r, 1)};
    }
    return OK;
}

enum err_code store_queue_get(struct store *store, struct str name, struct arena *arena,
                              struct job_queue *ret_queue, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_QUEUE_BY_NAME, ARGS(ARG_TEXT("name", name)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "queue \"%.*s\" not found", STR_ARG(name));
    queue_read(&r, arena, ret_queue);
    return read_targets(store, arena, ret_queue, 1, err);
}

enum err_code store_queue_list(struct store *store, struct str after, int limit,
                               struct arena *arena, struct job_queue **ret_queues,
                               size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct job_queue *queues = arena_array(arena, (size_t)limit, sizeof *queues);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_QUEUE_LIST,
                  ARGS(ARG_TEXT("after_name", after), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        queue_read(&r, arena, &queues[count++]);
    TRY(read_targets(store, arena, queues, count, err));
    *ret_queues = queues;
    *ret_count = count;
    return OK;
}

enum err_code store_queue_open_jobs(struct store *store, struct job_queue *queues, size_t count,
                                    struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_QUEUE_OPEN_JOBS, ARGS(ARG_I64("limit", QUEUES_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        for (size_t i = 0; i < count; i++)
            if (queues[i].id.v == db__i64(&r, 0))
                queues[i].open_jobs = db__i64(&r, 1);
    return OK;
}

enum err_code store_queue_remove(struct store *store, queue_id id, time_ms now, struct err *err)
{
    TRY(db__run(store->db, SQL_QUEUE_TARGET_DELETE, ARGS(ARG_I64("queue_id", id.v)), NULL, err));
    return db__run(store->db, SQL_QUEUE_REMOVE, ARGS(ARG_I64("id", id.v), ARG_I64("now_ms", now)),
                   NULL, err);
}

enum err_code store_queue_name(struct store *store, queue_id id, struct arena *arena,
                               struct str *ret_name, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_QUEUE_NAME, ARGS(ARG_I64("id", id.v)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_name = row ? db__text(&r, 0, arena) : STR("");
    return OK;
}
