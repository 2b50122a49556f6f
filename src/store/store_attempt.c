/* Statements of sql/statements/job.sql about attempts and placements as typed functions. */
#include "store/store_attempt.h"

#include "store/db.h"

#define ATTEMPTS_SHOWN_MAX   100
#define COMMITTED_MAX        100000 /* open attempts of a project */
#define ATTEMPTS_OVERDUE_MAX 1000   /* at once; the rest a moment later */

enum err_code store_attempt_insert(struct store *store, struct attempt *a, struct err *err)
{
    return db__insert(store->db, SQL_ATTEMPT_INSERT,
                      ARGS(ARG_ID("public_id", &a->public_id), ARG_I64("job_id", a->job.v),
                           ARG_I64("run_id", a->run.v), ARG_I64("number", a->number),
                           ARG_TEXT("state", str_from(attempt_state_name(a->state))),
                           ARG_I64("target_id", a->target.v), ARG_I64("step", a->step),
                           ARG_I64("offered_ms", a->offered),
                           ARG_I64("price_hour_micro", a->price_hour_micro),
                           ARG_I64("price_gpu_hour_micro", a->price_gpu_hour_micro)),
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
        .target = {db__i64(r, 7)},
        .target_name = db__text(r, 8, arena),
        .step = db__i64(r, 9),
        .offered = db__i64(r, 10),
        .started = db__time(r, 11),
        .ended = db__time(r, 12),
        .charged = db__time(r, 13),
        .run_time_ms = db__i64(r, 14),
        .gpu_ms = db__i64(r, 15),
        .cost_micro = db__i64(r, 16),
        .price_hour_micro = db__i64(r, 17),
        .price_gpu_hour_micro = db__i64(r, 18),
        .exit_code = db__exit(r, 19),
        .exit_signal = db__exit(r, 20),
        .oom = db__i64(r, 21) != 0,
        .final = db__i64(r, 22) != 0,
        .ending = (enum ending)db__i64(r, 23),
        .reason = db__text(r, 24, arena),
        .health = (enum health_state)db__i64(r, 25),
        .health_since = db__time(r, 26),
        .health_problem = db__text(r, 27, arena),
        .image = db__text(r, 28, arena),
        .progress = db__text(r, 29, arena),
        .energy_mj = db__i64(r, 30),
        .idle = db__time(r, 31),
        .rendezvous = db__text(r, 32, arena),
    };
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
                     ARGS(ARG_I64("job_id", job.v), ARG_I64("limit", ATTEMPTS_SHOWN_MAX)),
                     ATTEMPTS_SHOWN_MAX, arena, ret_attempts, ret_count);

    if (code != OK)
        return err_set(err, code, "the attempts cannot be read");
    for (size_t i = 0; i < *ret_count / 2; i++) { /* they came newest first */
        struct attempt *first = &(*ret_attempts)[i], *last = &(*ret_attempts)[*ret_count - 1 - i];
        struct attempt swap = *first;
        *first = *last;
        *last = swap;
    }
    return OK;
}

enum err_code store_attempt_overdue(struct store *store, time_ms ended_before,
                                    time_ms offered_before, struct arena *arena,
                                    struct attempt **ret_attempts, size_t *ret_count,
                                    struct err *err)
{
    enum err_code code = attempt_many(
        store, SQL_ATTEMPT_LIST_OVERDUE,
        ARGS(ARG_I64("after_id", 0), ARG_I64("ended_before_ms", ended_before),
             ARG_I64("offered_before_ms", offered_before), ARG_I64("limit", ATTEMPTS_OVERDUE_MAX)),
        ATTEMPTS_OVERDUE_MAX, arena, ret_attempts, ret_count);
    return code == OK ? OK : err_set(err, code, "the attempts cannot be read");
}

enum err_code store_attempt_put(struct store *store, const struct attempt *a, struct err *err)
{
    return db__run(
        store->db, SQL_ATTEMPT_UPDATE,
        ARGS(ARG_I64("id", a->id.v), ARG_TEXT("state", str_from(attempt_state_name(a->state))),
             ARG_TIME("started_ms", a->started), ARG_TIME("ended_ms", a->ended),
             ARG_TIME("charged_ms", a->charged), ARG_I64("run_time_ms", a->run_time_ms),
             ARG_I64("gpu_ms", a->gpu_ms), ARG_I64("cost_micro", a->cost_micro),
             ARG_EXIT("exit_code", a->exit_code), ARG_EXIT("exit_signal", a->exit_signal),
             ARG_BOOL("oom", a->oom), ARG_BOOL("final", a->final), ARG_I64("ending", a->ending),
             ARG_TEXT("reason", a->reason), ARG_I64("health", a->health),
             ARG_TIME("health_since_ms", a->health_since),
             ARG_TEXT("health_problem", a->health_problem), ARG_TEXT("image", a->image),
             ARG_TEXT("progress", a->progress), ARG_TEXT("rendezvous", a->rendezvous)),
        NULL, err);
}

enum err_code store_attempt_image(struct store *store, job_id job, struct arena *arena,
                                  struct str *ret_image, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    *ret_image = STR("");
    TRY(db__query(store->db, SQL_ATTEMPT_IMAGE, ARGS(ARG_I64("job_id", job.v)), &r, err));
    TRY(db__next(&r, &row, err));
    if (row)
        *ret_image = db__text(&r, 0, arena);
    return OK;
}

enum err_code store_attempt_to_charge(struct store *store, time_ms before, attempt_id after,
                                      int limit, struct arena *arena,
                                      struct attempt_charge **ret_charges, size_t *ret_count,
                                      struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attempt_charge *charges = arena_array(arena, (size_t)limit, sizeof *charges);
    size_t count = 0;
    bool row = false;

    TRY(db__query(
        store->db, SQL_ATTEMPT_LIST_TO_CHARGE,
        ARGS(ARG_I64("before_ms", before), ARG_I64("after_id", after.v), ARG_I64("limit", limit)),
        &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        charges[count++] = (struct attempt_charge){
            .attempt = {db__i64(&r, 0)},
            .project = {db__i64(&r, 1)},
            .node_count = db__i64(&r, 2),
            .gpus = db__i64(&r, 3),
            .charged = db__time(&r, 4),
            .price_hour_micro = db__i64(&r, 5),
            .price_gpu_hour_micro = db__i64(&r, 6),
            .heard = db__time(&r, 7),
        };
    *ret_charges = charges;
    *ret_count = count;
    return OK;
}

static struct attempt_commitment commitment_read(const struct db_result *r)
{
    time_ms offered = db__i64(r, 4), started = db__time(r, 5), charged = db__time(r, 6);
    bool service = db__i64(r, 2) != 0;
    struct attempt_commitment c = {
        .node_count = db__i64(r, 0),
        .gpus = db__i64(r, 1),
        .from = charged == TIME_NONE ? offered : charged,
        .price_hour_micro = db__i64(r, 7),
        .price_gpu_hour_micro = db__i64(r, 8),
    };

    if (service || __builtin_mul_overflow(db__i64(r, 3), 1000, &c.to) ||
        __builtin_add_overflow(c.to, started == TIME_NONE ? offered : started, &c.to))
        c.to = INT64_MAX;
    return c;
}

enum err_code store_attempt_committed(struct store *store, project_id project, struct arena *arena,
                                      struct attempt_commitment **ret_list, size_t *ret_count,
                                      struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct attempt_commitment *list = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_ATTEMPT_LIST_COMMITTED,
                  ARGS(ARG_I64("project_id", project.v), ARG_I64("limit", COMMITTED_MAX)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        list = arena_more(arena, list, count, &room, sizeof *list);
        list[count++] = commitment_read(&r);
    }
    *ret_list = list;
    *ret_count = count;
    return OK;
}

enum err_code store_attempt_charged(struct store *store, attempt_id id, time_ms charged,
                                    struct err *err)
{
    return db__run(store->db, SQL_ATTEMPT_CHARGED,
                   ARGS(ARG_I64("id", id.v), ARG_I64("charged_ms", charged)), NULL, err);
}

static struct str hash_str(const uint8_t *hash)
{
    return str_n((const char *)hash, HASH_BYTES);
}

enum err_code store_placement_insert(struct store *store, struct placement *p, struct err *err)
{
    return db__insert(store->db, SQL_PLACEMENT_INSERT,
                      ARGS(ARG_I64("attempt_id", p->attempt.v), ARG_I64("first_rank", p->rank),
                           ARG_I64("rank_count", p->rank_count), ARG_I64("agent_id", p->agent.v),
                           ARG_TEXT("state", str_from(attempt_state_name(p->state))),
                           ARG_BYTES("token_hash", hash_str(p->token_hash)),
                           ARG_I64("console_start", p->console_start)),
                      &p->id.v, err);
}

static void placement_read(const struct db_result *r, struct arena *arena, struct placement *ret)
{
    *ret = (struct placement){
        .id = {db__i64(r, 0)},
        .attempt = {db__i64(r, 1)},
        .rank = db__i64(r, 2),
        .rank_count = db__i64(r, 3),
        .agent = {db__i64(r, 4)},
        .agent_name = db__text(r, 5, arena),
        .agent_public_id = db__id(r, 6),
        .state = attempt_state_from_name(db__view(r, 7)),
        .started = db__time(r, 9),
        .ended = db__time(r, 10),
        .run_time_ms = db__i64(r, 11),
        .exit_code = db__exit(r, 12),
        .exit_signal = db__exit(r, 13),
        .oom = db__i64(r, 14) != 0,
        .final = db__i64(r, 15) != 0,
        .verdict = db__i64(r, 16) != 0,
        .ending = (enum ending)db__i64(r, 17),
        .reason = db__text(r, 18, arena),
        .console_start = db__i64(r, 19),
        .console_bytes = db__i64(r, 20),
    };
    db__hash(r, 8, ret->token_hash);
}

static enum err_code placement_many(struct store *store, enum sql_id sql, const struct db_arg *args,
                                    struct arena *arena, struct placement **ret_placements,
                                    size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct placement *placements = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        placements = arena_more(arena, placements, count, &room, sizeof *placements);
        placement_read(&r, arena, &placements[count++]);
    }
    *ret_placements = placements;
    *ret_count = count;
    return OK;
}

enum err_code store_placement_list(struct store *store, attempt_id attempt, struct arena *arena,
                                   struct placement **ret_placements, size_t *ret_count,
                                   struct err *err)
{
    return placement_many(store, SQL_PLACEMENT_LIST_BY_ATTEMPT,
                          ARGS(ARG_I64("attempt_id", attempt.v), ARG_I64("limit", JOB_NODES_MAX)),
                          arena, ret_placements, ret_count, err);
}

enum err_code store_placement_of_agent(struct store *store, agent_id agent, int limit,
                                       struct arena *arena, struct placement **ret_placements,
                                       size_t *ret_count, struct err *err)
{
    return placement_many(store, SQL_PLACEMENT_LIST_BY_AGENT,
                          ARGS(ARG_I64("agent_id", agent.v), ARG_I64("limit", limit)), arena,
                          ret_placements, ret_count, err);
}

enum err_code store_placement_held(struct store *store, attempt_id attempt, struct arena *arena,
                                   struct placement **ret_placements, size_t *ret_count,
                                   struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct placement *placements = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_PLACEMENT_HELD,
                  ARGS(ARG_I64("attempt_id", attempt.v), ARG_I64("limit", JOB_NODES_MAX)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        placements = arena_more(arena, placements, count, &room, sizeof *placements);
        placements[count++] = (struct placement){
            .id = {db__i64(&r, 0)},
            .attempt = {db__i64(&r, 1)},
            .rank = db__i64(&r, 2),
            .rank_count = db__i64(&r, 3),
            .agent = {db__i64(&r, 4)},
            .state = attempt_state_from_name(db__view(&r, 5)),
        };
    }
    *ret_placements = placements;
    *ret_count = count;
    return OK;
}

enum err_code store_placement_put(struct store *store, const struct placement *p, struct err *err)
{
    return db__run(
        store->db, SQL_PLACEMENT_UPDATE,
        ARGS(ARG_I64("id", p->id.v), ARG_TEXT("state", str_from(attempt_state_name(p->state))),
             ARG_BYTES("token_hash", hash_str(p->token_hash)), ARG_TIME("started_ms", p->started),
             ARG_TIME("ended_ms", p->ended), ARG_I64("run_time_ms", p->run_time_ms),
             ARG_EXIT("exit_code", p->exit_code), ARG_EXIT("exit_signal", p->exit_signal),
             ARG_BOOL("oom", p->oom), ARG_BOOL("final", p->final), ARG_BOOL("verdict", p->verdict),
             ARG_I64("ending", p->ending), ARG_TEXT("reason", p->reason),
             ARG_I64("console_bytes", p->console_bytes)),
        NULL, err);
}
