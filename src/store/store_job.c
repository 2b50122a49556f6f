/* Statements of sql/statements/job.sql about jobs and attempts as typed functions. */
#include "store/store_job.h"

#include "store/db.h"

#define ATTEMPTS_OF_A_JOB_MAX 1000

static struct str hash_str(const uint8_t *hash)
{
    return str_n((const char *)hash, HASH_BYTES);
}

enum err_code store_job_insert(struct store *store, struct job *j, struct err *err)
{
    return db__insert(
        store->db, SQL_JOB_INSERT,
        ARGS(ARG_ID("public_id", &j->public_id), ARG_I64("project_id", j->project.v),
             ARG_I64("run_id", j->run.v), ARG_I64("owner_id", j->owner.v),
             ARG_TEXT("name", j->name), ARG_TEXT("state", str_from(job_state_name(j->state))),
             ARG_I64("priority", j->priority), ARG_TEXT("spec", j->spec),
             ARG_I64("cpus", j->need.cpus), ARG_I64("gpus", j->need.gpus),
             ARG_I64("memory_bytes", j->need.memory_bytes), ARG_REF("target_id", j->target.v),
             ARG_I64("timeout_s", j->timeout_s), ARG_I64("grace_s", j->grace_s),
             ARG_I64("retries", j->retries), ARG_I64("created_ms", j->created),
             ARG_TIME("queued_ms", j->queued), ARG_BYTES("create_hash", hash_str(j->create_hash))),
        &j->id.v, err);
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
        .state = job_state_from_name(db__view(r, 9)),
        .priority = db__i64(r, 10),
        .spec = db__text(r, 11, arena),
        .need = {db__i64(r, 12), db__i64(r, 13), db__i64(r, 14)},
        .target = {db__i64(r, 15)},
        .timeout_s = db__i64(r, 16),
        .grace_s = db__i64(r, 17),
        .retries = db__i64(r, 18),
        .attempt_count = db__i64(r, 19),
        .attempt = {db__i64(r, 20)},
        .attempt_public_id = db__id(r, 21),
        .created = db__i64(r, 22),
        .queued = db__time(r, 23),
        .started = db__time(r, 24),
        .ended = db__time(r, 25),
        .run_time_ms = db__i64(r, 26),
        .cost_micro = db__i64(r, 27),
        .gpu_ms = db__i64(r, 28),
        .exit_code = db__exit(r, 29),
        .exit_signal = db__exit(r, 30),
        .oom = db__i64(r, 31) != 0,
        .cancel_asked = db__i64(r, 32) != 0,
        .final = db__i64(r, 33) != 0,
        .reason = db__text(r, 34, arena),
        .event_count = db__i64(r, 35),
    };
    db__hash(r, 36, ret_job->create_hash);
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

    TRY(db__query(store->db, SQL_JOB_LIST,
                  ARGS(ARG_I64("user_id", f->user.v), ARG_BOOL("everything", f->everything),
                       ARG_TEXT("project", f->project), ARG_TEXT("state", state),
                       ARG_BOOL("open", f->open),
                       ARG_I64("before_id", f->before_id ? f->before_id : INT64_MAX),
                       ARG_I64("limit", f->limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        job_read(&r, arena, &jobs[count++]);
    *ret_jobs = jobs;
    *ret_count = count;
    return OK;
}

enum err_code store_job_put(struct store *store, const struct job *j, const struct job_event *event,
                            struct str detail, struct err *err)
{
    TRY(db__run(store->db, SQL_JOB_UPDATE,
                ARGS(ARG_I64("id", j->id.v), ARG_TEXT("state", str_from(job_state_name(j->state))),
                     ARG_BOOL("ended", job_state_ended(j->state)),
                     ARG_I64("attempt_count", j->attempt_count),
                     ARG_REF("attempt_id", j->attempt.v),
                     ARG_ID_OPT("attempt_public_id", &j->attempt_public_id),
                     ARG_TIME("queued_ms", j->queued), ARG_TIME("started_ms", j->started),
                     ARG_TIME("ended_ms", j->ended), ARG_I64("run_time_ms", j->run_time_ms),
                     ARG_I64("cost_micro", j->cost_micro), ARG_I64("gpu_ms", j->gpu_ms),
                     ARG_EXIT("exit_code", j->exit_code), ARG_EXIT("exit_signal", j->exit_signal),
                     ARG_BOOL("oom", j->oom), ARG_BOOL("cancel_asked", j->cancel_asked),
                     ARG_BOOL("final", j->final), ARG_TEXT("reason", j->reason),
                     ARG_I64("event_count", j->event_count)),
                NULL, err));
    return db__run(store->db, SQL_JOB_EVENT_INSERT,
                   ARGS(ARG_I64("job_id", j->id.v), ARG_I64("seq", j->event_count),
                        ARG_I64("at_ms", event->at),
                        ARG_TEXT("kind", str_from(job_event_kind_name(event->kind))),
                        ARG_TEXT("state", str_from(job_state_name(j->state))),
                        ARG_ID_OPT("attempt_public_id", &event->attempt),
                        ARG_TEXT("actor", event->actor), ARG_TEXT("detail", detail)),
                   NULL, err);
}

enum err_code store_job_delete(struct store *store, job_id id, struct err *err)
{
    static const enum sql_id parts[] = {SQL_JOB_DELETE_EVENTS, SQL_JOB_DELETE_KEYS,
                                        SQL_JOB_DELETE_ATTEMPTS, SQL_JOB_DELETE};

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

enum err_code store_job_queue(struct store *store, int limit, struct arena *arena,
                              struct job **ret_jobs, size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct job *jobs = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_JOB_QUEUE, ARGS(ARG_I64("limit", limit)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        jobs = arena_more(arena, jobs, count, &room, sizeof *jobs);
        jobs[count++] = (struct job){
            .id = {db__i64(&r, 0)},
            .state = JOB_QUEUED,
            .priority = db__i64(&r, 1),
            .queued = db__time(&r, 2),
            .need = {db__i64(&r, 3), db__i64(&r, 4), db__i64(&r, 5)},
            .target = {db__i64(&r, 6)},
        };
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return OK;
}

enum err_code store_attempt_insert(struct store *store, struct attempt *a, struct err *err)
{
    return db__insert(store->db, SQL_ATTEMPT_INSERT,
                      ARGS(ARG_ID("public_id", &a->public_id), ARG_I64("job_id", a->job.v),
                           ARG_I64("run_id", a->run.v), ARG_I64("number", a->number),
                           ARG_TEXT("state", str_from(attempt_state_name(a->state))),
                           ARG_I64("agent_id", a->agent.v), ARG_I64("target_id", a->target.v),
                           ARG_BYTES("token_hash", hash_str(a->token_hash)),
                           ARG_I64("offered_ms", a->offered),
                           ARG_I64("price_hour_micro", a->price_hour_micro),
                           ARG_I64("price_gpu_hour_micro", a->price_gpu_hour_micro),
                           ARG_I64("console_start", a->console_start)),
                      &a->id.v, err);
}

static void attempt_read(const struct db_result *r, struct arena *arena, struct attempt *ret)
{
    *ret = (struct attempt){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .job = {db__i64(r, 2)},
        .job_public_id = db__id(r, 3),
        .run = {db__i64(r, 4)},
        .number = db__i64(r, 5),
        .state = attempt_state_from_name(db__view(r, 6)),
        .agent = {db__i64(r, 7)},
        .agent_name = db__text(r, 8, arena),
        .target = {db__i64(r, 9)},
        .target_name = db__text(r, 10, arena),
        .offered = db__i64(r, 12),
        .started = db__time(r, 13),
        .ended = db__time(r, 14),
        .run_time_ms = db__i64(r, 15),
        .cost_micro = db__i64(r, 16),
        .price_hour_micro = db__i64(r, 17),
        .price_gpu_hour_micro = db__i64(r, 18),
        .exit_code = db__exit(r, 19),
        .exit_signal = db__exit(r, 20),
        .oom = db__i64(r, 21) != 0,
        .final = db__i64(r, 22) != 0,
        .reason = db__text(r, 23, arena),
        .console_start = db__i64(r, 24),
        .console_bytes = db__i64(r, 25),
    };
    db__hash(r, 11, ret->token_hash);
}

static enum err_code attempt_many(struct store *store, enum sql_id sql, const struct db_arg *args,
                                  int limit, struct arena *arena, struct attempt **ret_attempts,
                                  size_t *ret_count)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attempt *attempts = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    for (TRY(db__next(&r, &row, NULL)); row && count < (size_t)limit;
         TRY(db__next(&r, &row, NULL))) {
        attempts = arena_more(arena, attempts, count, &room, sizeof *attempts);
        attempt_read(&r, arena, &attempts[count++]);
    }
    *ret_attempts = attempts;
    *ret_count = count;
    return OK;
}

static enum err_code attempt_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                                 struct arena *arena, struct attempt *ret_attempt)
{
    struct attempt *found;
    size_t count = 0;

    TRY(attempt_many(store, sql, args, 1, arena, &found, &count));
    if (count == 0)
        return ERR_NOT_FOUND;
    *ret_attempt = found[0];
    return OK;
}

enum err_code store_attempt_get(struct store *store, const struct id *id, struct arena *arena,
                                struct attempt *ret_attempt, struct err *err)
{
    enum err_code code = attempt_one(store, SQL_ATTEMPT_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)),
                                     arena, ret_attempt);
    return code == OK ? OK : err_set(err, code, "attempt %s not found", id->text);
}

enum err_code store_attempt_by_id(struct store *store, attempt_id id, struct arena *arena,
                                  struct attempt *ret_attempt, struct err *err)
{
    enum err_code code =
        attempt_one(store, SQL_ATTEMPT_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_attempt);
    return code == OK ? OK : err_set(err, code, "the attempt is gone");
}

enum err_code store_attempt_list(struct store *store, job_id job, struct arena *arena,
                                 struct attempt **ret_attempts, size_t *ret_count, struct err *err)
{
    enum err_code code =
        attempt_many(store, SQL_ATTEMPT_LIST_BY_JOB,
                     ARGS(ARG_I64("job_id", job.v), ARG_I64("limit", ATTEMPTS_OF_A_JOB_MAX)),
                     ATTEMPTS_OF_A_JOB_MAX, arena, ret_attempts, ret_count);
    return code == OK ? OK : err_set(err, code, "the attempts cannot be read");
}

enum err_code store_attempt_open(struct store *store, agent_id agent, attempt_id after, int limit,
                                 struct arena *arena, struct attempt **ret_attempts,
                                 size_t *ret_count, struct err *err)
{
    enum err_code code = attempt_many(
        store, SQL_ATTEMPT_LIST_OPEN,
        ARGS(ARG_I64("agent_id", agent.v), ARG_I64("after_id", after.v), ARG_I64("limit", limit)),
        limit, arena, ret_attempts, ret_count);
    return code == OK ? OK : err_set(err, code, "the attempts cannot be read");
}

enum err_code store_attempt_put(struct store *store, const struct attempt *a, struct err *err)
{
    return db__run(
        store->db, SQL_ATTEMPT_UPDATE,
        ARGS(ARG_I64("id", a->id.v), ARG_TEXT("state", str_from(attempt_state_name(a->state))),
             ARG_BYTES("token_hash", hash_str(a->token_hash)), ARG_TIME("started_ms", a->started),
             ARG_TIME("ended_ms", a->ended), ARG_I64("run_time_ms", a->run_time_ms),
             ARG_I64("cost_micro", a->cost_micro), ARG_EXIT("exit_code", a->exit_code),
             ARG_EXIT("exit_signal", a->exit_signal), ARG_BOOL("oom", a->oom),
             ARG_BOOL("final", a->final), ARG_TEXT("reason", a->reason),
             ARG_I64("console_bytes", a->console_bytes)),
        NULL, err);
}
