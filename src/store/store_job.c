/* Statements of sql/statements/job.sql about jobs and attempts as typed functions. */
#include "store/store_job.h"

#include "store/db.h"

static struct str hash_str(const uint8_t *hash)
{
    return str_n((const char *)hash, HASH_BYTES);
}

static enum err_code add_event(struct store *store, const struct job *j,
                               const struct job_event *event, struct str detail, struct err *err)
{
    return db__run(store->db, SQL_JOB_EVENT_INSERT,
                   ARGS(ARG_I64("job_id", j->id.v), ARG_I64("seq", j->event_count),
                        ARG_I64("at_ms", event->at),
                        ARG_TEXT("kind", str_from(job_event_kind_name(event->kind))),
                        ARG_TEXT("state", str_from(job_state_name(j->state))),
                        ARG_ID_OPT("attempt_public_id", &event->attempt),
                        ARG_TEXT("actor", event->actor), ARG_TEXT("detail", detail)),
                   NULL, err);
}

static enum err_code insert(struct store *store, struct job *j, struct err *err)
{
    return db__insert(
        store->db, SQL_JOB_INSERT,
        ARGS(ARG_ID("public_id", &j->public_id), ARG_I64("project_id", j->project.v),
             ARG_I64("run_id", j->run.v), ARG_I64("owner_id", j->owner.v),
             ARG_TEXT("name", j->name), ARG_BOOL("service", j->kind == JOB_SERVICE),
             ARG_TEXT("state", str_from(job_state_name(j->state))), ARG_I64("queue_id", j->queue.v),
             ARG_I64("priority", j->priority), ARG_TEXT("spec", j->spec),
             ARG_I64("node_count", j->node_count), ARG_I64("cpus", j->need.cpus),
             ARG_I64("gpus", j->need.gpus), ARG_I64("memory_bytes", j->need.memory_bytes),
             ARG_TEXT("shape", j->shape), ARG_I64("timeout_s", j->timeout_s),
             ARG_I64("grace_s", j->grace_s), ARG_I64("retries", j->retries),
             ARG_BOOL("retry_failed", j->retry_failed), ARG_REF("array_id", j->array.v),
             ARG_ID_OPT("array_public_id", &j->array_public_id),
             ARG_I64("array_index", j->array_index), ARG_I64("array_limit", j->array_limit),
             ARG_I64("array_count", j->array_count), ARG_I64("created_ms", j->created),
             ARG_TIME("queued_ms", j->queued), ARG_I64("event_count", j->event_count),
             ARG_BYTES("create_hash", hash_str(j->create_hash))),
        &j->id.v, err);
}

enum err_code store_job_insert(struct store *store, struct job *j, const struct job_event *event,
                               struct str detail, struct err *err)
{
    TRY(insert(store, j, err));
    TRY(add_event(store, j, event, detail, err));
    if (!j->array_count || j->array.v)
        return OK;
    j->array = j->id;
    return db__run(store->db, SQL_JOB_ARRAY_LEAD, ARGS(ARG_I64("id", j->id.v)), NULL, err);
}

static void job_read(const struct db_result *r, struct arena *arena, struct job *ret_job)
{
    *ret_job = (struct job){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .project = {db__i64(r, 2)},
        .project_name = db__text(r, 3, arena),
        .run = {db__i64(r, 4)},
        .run_public_id = db__id(r, 5),
        .owner = {db__i64(r, 6)},
        .owner_login = db__text(r, 7, arena),
        .name = db__text(r, 8, arena),
        .kind = db__i64(r, 9) ? JOB_SERVICE : JOB_BATCH,
        .state = job_state_from_name(db__view(r, 10)),
        .queue = {db__i64(r, 11)},
        .queue_name = db__text(r, 12, arena),
        .priority = db__i64(r, 13),
        .spec = db__text(r, 14, arena),
        .node_count = db__i64(r, 15),
        .need = {db__i64(r, 16), db__i64(r, 17), db__i64(r, 18)},
        .shape = db__text(r, 19, arena),
        .timeout_s = db__i64(r, 20),
        .grace_s = db__i64(r, 21),
        .retries = db__i64(r, 22),
        .retry_failed = db__i64(r, 23) != 0,
        .attempt_count = db__i64(r, 24),
        .failures = db__i64(r, 25),
        .withdrawals = db__i64(r, 26),
        .attempt = {db__i64(r, 27)},
        .attempt_public_id = db__id(r, 28),
        .array = {db__i64(r, 29)},
        .array_index = db__i64(r, 30),
        .array_limit = db__i64(r, 31),
        .step_from = db__i64(r, 32),
        .ladder_at = db__time(r, 33),
        .not_before = db__time(r, 34),
        .created = db__i64(r, 35),
        .queued = db__time(r, 36),
        .started = db__time(r, 37),
        .ended = db__time(r, 38),
        .run_time_ms = db__i64(r, 39),
        .cost_micro = db__i64(r, 40),
        .gpu_ms = db__i64(r, 41),
        .exit_code = db__exit(r, 42),
        .exit_signal = db__exit(r, 43),
        .oom = db__i64(r, 44) != 0,
        .cancel_asked = db__i64(r, 45) != 0,
        .stop_for = (enum ending)db__i64(r, 46),
        .ending = (enum ending)db__i64(r, 47),
        .final = db__i64(r, 48) != 0,
        .reason = db__text(r, 49, arena),
        .event_count = db__i64(r, 50),
    };
    db__hash(r, 51, ret_job->create_hash);
    ret_job->array_public_id = db__id(r, 52);
    ret_job->array_count = db__i64(r, 53);
}

static enum err_code job_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                             struct arena *arena, struct job *ret_job)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, &row, NULL));
    if (!row)
        return ERR_NOT_FOUND;
    job_read(&r, arena, ret_job);
    return OK;
}

enum err_code store_job_get(struct store *store, const struct id *id, struct arena *arena,
                            struct job *ret_job, struct err *err)
{
    enum err_code code =
        job_one(store, SQL_JOB_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)), arena, ret_job);
    return code == OK ? OK : err_set(err, code, "job %s not found", id->text);
}

enum err_code store_job_by_id(struct store *store, job_id id, struct arena *arena,
                              struct job *ret_job, struct err *err)
{
    enum err_code code = job_one(store, SQL_JOB_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_job);
    return code == OK ? OK : err_set(err, code, "the job is gone");
}

enum err_code store_job_list(struct store *store, const struct job_filter *f, struct arena *arena,
                             struct job **ret_jobs, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct job *jobs = arena_array(arena, (size_t)f->limit, sizeof *jobs);
    struct str state = f->state == JOB_STATE_COUNT ? STR("") : str_from(job_state_name(f->state));
    size_t count = 0;
    bool row = false;

    if (f->array.len)
        TRY(db__query(store->db, SQL_JOB_LIST_ARRAY,
                      ARGS(ARG_I64("user_id", f->user.v), ARG_BOOL("everything", f->everything),
                           ARG_TEXT("array", f->array), ARG_TEXT("state", state),
                           ARG_BOOL("open", f->open), ARG_I64("after_id", f->before_id),
                           ARG_I64("limit", f->limit)),
                      &r, err));
    else
        TRY(db__query(store->db, SQL_JOB_LIST,
                      ARGS(ARG_I64("user_id", f->user.v), ARG_BOOL("everything", f->everything),
                           ARG_TEXT("project", f->project), ARG_TEXT("state", state),
                           ARG_BOOL("fold", f->fold), ARG_BOOL("open", f->open),
                           ARG_I64("before_id", f->before_id ? f->before_id : INT64_MAX),
                           ARG_I64("limit", f->limit)),
                      &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        job_read(&r, arena, &jobs[count++]);
    *ret_jobs = jobs;
    *ret_count = count;
    return OK;
}

enum err_code store_job_array_first(struct store *store, const struct id *array,
                                    struct arena *arena, struct job *ret_job, struct err *err)
{
    enum err_code code =
        job_one(store, SQL_JOB_ARRAY_FIRST, ARGS(ARG_ID("array", array)), arena, ret_job);
    return code == OK ? OK : err_set(err, code, "job %s not found", array->text);
}

enum err_code store_job_array_next(struct store *store, const struct id *array, struct arena *arena,
                                   struct job *ret_job, bool *ret_found, struct err *err)
{
    *ret_found =
        job_one(store, SQL_JOB_ARRAY_NEXT, ARGS(ARG_ID("array", array)), arena, ret_job) == OK;
    return store_trouble(store, err);
}

enum err_code store_job_array_states(struct store *store, const struct id *array,
                                     int64_t ret_counts[JOB_STATE_COUNT], struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    memset(ret_counts, 0, JOB_STATE_COUNT * sizeof ret_counts[0]);
    TRY(db__query(store->db, SQL_JOB_ARRAY_STATES,
                  ARGS(ARG_ID("array", array), ARG_I64("limit", JOB_STATE_COUNT)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        enum job_state state = job_state_from_name(db__view(&r, 0));
        ENSURE(state < JOB_STATE_COUNT);
        ret_counts[state] = db__i64(&r, 1);
    }
    return OK;
}

enum err_code store_job_array_healthy(struct store *store, const struct id *array,
                                      int64_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_JOB_ARRAY_HEALTHY,
                  ARGS(ARG_ID("array", array), ARG_I64("healthy", HEALTH_GOOD)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_count = row ? db__i64(&r, 0) : 0;
    return OK;
}

enum err_code store_job_put(struct store *store, const struct job *j, const struct job_event *event,
                            struct str detail, struct err *err)
{
    TRY(db__run(store->db, SQL_JOB_UPDATE,
                ARGS(ARG_I64("id", j->id.v), ARG_TEXT("state", str_from(job_state_name(j->state))),
                     ARG_BOOL("ended", job_state_ended(j->state)), ARG_I64("priority", j->priority),
                     ARG_I64("attempt_count", j->attempt_count), ARG_I64("failures", j->failures),
                     ARG_I64("withdrawals", j->withdrawals), ARG_REF("attempt_id", j->attempt.v),
                     ARG_ID_OPT("attempt_public_id", &j->attempt_public_id),
                     ARG_I64("step_from", j->step_from), ARG_TIME("ladder_at_ms", j->ladder_at),
                     ARG_TIME("not_before_ms", j->not_before), ARG_TIME("queued_ms", j->queued),
                     ARG_TIME("started_ms", j->started), ARG_TIME("ended_ms", j->ended),
                     ARG_I64("run_time_ms", j->run_time_ms), ARG_I64("cost_micro", j->cost_micro),
                     ARG_I64("gpu_ms", j->gpu_ms), ARG_EXIT("exit_code", j->exit_code),
                     ARG_EXIT("exit_signal", j->exit_signal), ARG_BOOL("oom", j->oom),
                     ARG_BOOL("cancel_asked", j->cancel_asked), ARG_I64("stop_for", j->stop_for),
                     ARG_I64("ending", j->ending), ARG_BOOL("final", j->final),
                     ARG_TEXT("reason", j->reason), ARG_I64("event_count", j->event_count)),
                NULL, err));
    return add_event(store, j, event, detail, err);
}

enum err_code store_job_move(struct store *store, const struct job *j, struct err *err)
{
    return db__run(store->db, SQL_JOB_MOVE,
                   ARGS(ARG_I64("id", j->id.v), ARG_I64("queue_id", j->queue.v),
                        ARG_TEXT("shape", j->shape), ARG_TEXT("spec", j->spec)),
                   NULL, err);
}

enum err_code store_job_delete(struct store *store, job_id id, struct err *err)
{
    static const enum sql_id parts[] = {SQL_JOB_DELETE_EVENTS,
                                        SQL_JOB_DELETE_KEYS,
                                        SQL_JOB_DELETE_PLACEMENTS,
                                        SQL_JOB_DELETE_ATTEMPT_GPUS,
                                        SQL_JOB_DELETE_ATTEMPTS,
                                        SQL_JOB_DELETE_AFTER,
                                        SQL_JOB_DELETE};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        TRY(db__run(store->db, parts[i], ARGS(ARG_I64("job_id", id.v)), NULL, err));
    return OK;
}

enum err_code store_job_event_list(struct store *store, job_id job, int64_t after_seq, int limit,
                                   struct arena *arena, struct job_event_row **ret_events,
                                   size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct job_event_row *events = arena_array(arena, (size_t)limit, sizeof *events);
    size_t count = 0;
    bool row = false;

    TRY(db__query(
        store->db, SQL_JOB_EVENT_LIST,
        ARGS(ARG_I64("job_id", job.v), ARG_I64("after_seq", after_seq), ARG_I64("limit", limit)),
        &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        events[count++] = (struct job_event_row){
            .seq = db__i64(&r, 0),
            .at = db__i64(&r, 1),
            .kind = job_event_kind_from_name(db__view(&r, 2)),
            .state = job_state_from_name(db__view(&r, 3)),
            .attempt = db__id(&r, 4),
            .actor = db__text(&r, 5, arena),
            .detail = db__text(&r, 6, arena),
        };
    *ret_events = events;
    *ret_count = count;
    return OK;
}

static void brief_read(const struct db_result *r, struct arena *arena, struct job *ret_job)
{
    *ret_job = (struct job){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .project = {db__i64(r, 2)},
        .kind = db__i64(r, 3) ? JOB_SERVICE : JOB_BATCH,
        .state = job_state_from_name(db__view(r, 4)),
        .priority = db__i64(r, 5),
        .node_count = db__i64(r, 6),
        .need = {db__i64(r, 7), db__i64(r, 8), db__i64(r, 9)},
        .shape = db__text(r, 10, arena),
        .timeout_s = db__i64(r, 11),
        .queue = {db__i64(r, 12)},
        .attempt = {db__i64(r, 13)},
        .array = {db__i64(r, 14)},
        .array_limit = db__i64(r, 15),
        .step_from = db__i64(r, 16),
        .ladder_at = db__time(r, 17),
        .not_before = db__time(r, 18),
        .created = db__i64(r, 19),
        .queued = db__time(r, 20),
        .event_count = db__i64(r, 21),
        .after_count = db__i64(r, 22),
    };
}

enum err_code store_job_brief_list(struct store *store, job_id after, int limit,
                                   struct arena *arena, struct job **ret_jobs, size_t *ret_count,
                                   struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct job *jobs = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_JOB_BRIEF_LIST,
                  ARGS(ARG_I64("after_id", after.v), ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        jobs = arena_more(arena, jobs, count, &room, sizeof *jobs);
        brief_read(&r, arena, &jobs[count++]);
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return OK;
}

enum err_code store_job_brief_get(struct store *store, const struct id *id, struct arena *arena,
                                  struct job *ret_job, bool *ret_found, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};

    TRY(db__query(store->db, SQL_JOB_BRIEF_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)), &r, err));
    TRY(db__next(&r, ret_found, err));
    if (*ret_found)
        brief_read(&r, arena, ret_job);
    return OK;
}

enum err_code store_job_after_add(struct store *store, job_id job, job_id before, bool any_end,
                                  struct err *err)
{
    return db__run(store->db, SQL_JOB_AFTER_INSERT,
                   ARGS(ARG_I64("job_id", job.v), ARG_I64("before_id", before.v),
                        ARG_BOOL("any_end", any_end)),
                   NULL, err);
}

enum err_code store_job_after_list(struct store *store, job_id job, struct arena *arena,
                                   struct job_after **ret_after, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct job_after *after = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_JOB_AFTER_LIST,
                  ARGS(ARG_I64("job_id", job.v), ARG_I64("limit", JOB_AFTER_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        after = arena_more(arena, after, count, &room, sizeof *after);
        after[count++] = (struct job_after){.job = job,
                                            .before = {db__i64(&r, 0)},
                                            .before_public_id = db__id(&r, 1),
                                            .before_state = job_state_from_name(db__view(&r, 2)),
                                            .any_end = db__i64(&r, 3) != 0};
    }
    *ret_after = after;
    *ret_count = count;
    return OK;
}
