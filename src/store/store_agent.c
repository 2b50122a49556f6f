/* Statements of sql/statements/job.sql about agents as typed functions. */
#include "store/store_agent.h"

#include "store/db.h"

enum err_code store_agent_insert(struct store *store, struct agent *a, struct err *err)
{
    return db__insert(store->db, SQL_AGENT_INSERT,
                      ARGS(ARG_ID("public_id", &a->public_id), ARG_TEXT("name", a->name),
                           ARG_I64("target_id", a->target.v), ARG_I64("created_ms", a->created)),
                      &a->id.v, err);
}

static struct agent agent_read(const struct db_result *r, struct arena *arena)
{
    return (struct agent){
        .id = {db__i64(r, 0)},
        .public_id = db__id(r, 1),
        .name = db__text(r, 2, arena),
        .target = {db__i64(r, 3)},
        .target_name = db__text(r, 4, arena),
        .boot = db__text(r, 5, arena),
        .version = db__text(r, 6, arena),
        .executor = db__text(r, 7, arena),
        .slots = db__i64(r, 8),
        .cpus = db__i64(r, 9),
        .memory_bytes = db__i64(r, 10),
        .gpus = db__i64(r, 11),
        .created = db__i64(r, 12),
        .seen = db__time(r, 13),
        .gpu_type = db__text(r, 14, arena),
        .gpu_memory_bytes = db__i64(r, 15),
        .several = db__i64(r, 16) != 0,
        .features = (uint64_t)db__i64(r, 17),
        .conflict = db__time(r, 18),
        .maintenance = !db__null(r, 19),
        .maintenance_reason = db__null(r, 19) ? STR("") : db__text(r, 19, arena),
        .maintenance_until = db__time(r, 20),
    };
}

static enum err_code agent_one(struct store *store, enum sql_id sql, const struct db_arg *args,
                               struct arena *arena, struct agent *ret_agent)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, NULL));
    TRY(db__next(&r, &row, NULL));
    if (!row)
        return ERR_NOT_FOUND;
    *ret_agent = agent_read(&r, arena);
    return OK;
}

enum err_code store_agent_get(struct store *store, const struct id *id, struct arena *arena,
                              struct agent *ret_agent, struct err *err)
{
    enum err_code code =
        agent_one(store, SQL_AGENT_BY_PUBLIC_ID, ARGS(ARG_ID("public_id", id)), arena, ret_agent);
    return code == OK ? OK : err_set(err, code, "agent %s not found", id->text);
}

enum err_code store_agent_by_id(struct store *store, agent_id id, struct arena *arena,
                                struct agent *ret_agent, struct err *err)
{
    enum err_code code =
        agent_one(store, SQL_AGENT_BY_ID, ARGS(ARG_I64("id", id.v)), arena, ret_agent);
    return code == OK ? OK : err_set(err, code, "the agent is gone");
}

enum err_code store_agent_by_name(struct store *store, struct str name, struct arena *arena,
                                  struct agent *ret_agent, struct err *err)
{
    enum err_code code =
        agent_one(store, SQL_AGENT_BY_NAME, ARGS(ARG_TEXT("name", name)), arena, ret_agent);
    return code == OK ? OK : err_set(err, code, "agent \"%.*s\" not found", STR_ARG(name));
}

enum err_code store_agent_of_target(struct store *store, target_id target,
                                    struct target_agents *ret_agents, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_AGENT_OF_TARGET, ARGS(ARG_I64("target_id", target.v)), &r, err));
    TRY(db__next(&r, &row, err));
    ENSURE(row); /* sums have a row */
    *ret_agents = (struct target_agents){
        .count = db__i64(&r, 0), .seen_min = db__i64(&r, 1), .gpus_max = db__i64(&r, 2)};
    return OK;
}

/* Adds what the open attempts of each agent use; both lists are ordered by agent id. */
static enum err_code add_use(struct store *store, struct agent *agents, size_t count,
                             struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    size_t at = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_AGENT_USE, ARGS(ARG_I64("limit", AGENTS_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        int64_t id = db__i64(&r, 0);
        while (at < count && agents[at].id.v < id)
            at++;
        if (at == count || agents[at].id.v != id)
            continue;
        agents[at].running = db__i64(&r, 1);
        agents[at].cpus_used = db__i64(&r, 2);
        agents[at].gpus_used = db__i64(&r, 3);
        agents[at].memory_used = db__i64(&r, 4);
    }
    return OK;
}

static enum err_code agent_many(struct store *store, enum sql_id sql, const struct db_arg *args,
                                struct arena *arena, struct agent **ret_agents, size_t *ret_count,
                                struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct agent *agents = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, sql, args, &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        agents = arena_more(arena, agents, count, &room, sizeof *agents);
        agents[count++] = agent_read(&r, arena);
    }
    *ret_agents = agents;
    *ret_count = count;
    return OK;
}

enum err_code store_agent_list(struct store *store, agent_id after, int limit, struct arena *arena,
                               struct agent **ret_agents, size_t *ret_count, struct err *err)
{
    TRY(agent_many(store, SQL_AGENT_LIST,
                   ARGS(ARG_I64("after_id", after.v), ARG_I64("limit", limit)), arena, ret_agents,
                   ret_count, err));
    return add_use(store, *ret_agents, *ret_count, err);
}

enum err_code store_agent_list_of_target(struct store *store, target_id target, agent_id after,
                                         struct arena *arena, struct agent **ret_agents,
                                         size_t *ret_count, struct err *err)
{
    TRY(agent_many(store, SQL_AGENT_LIST_OF_TARGET,
                   ARGS(ARG_I64("target_id", target.v), ARG_I64("after_id", after.v),
                        ARG_I64("limit", AGENTS_MAX)),
                   arena, ret_agents, ret_count, err));
    return add_use(store, *ret_agents, *ret_count, err);
}

enum err_code store_agent_brief_list(struct store *store, struct arena *arena,
                                     struct agent **ret_agents, size_t *ret_count, struct err *err)
{
    return agent_many(store, SQL_AGENT_LIST,
                      ARGS(ARG_I64("after_id", 0), ARG_I64("limit", AGENTS_MAX)), arena, ret_agents,
                      ret_count, err);
}

enum err_code store_agent_holding(struct store *store, int limit, struct arena *arena,
                                  struct agent **ret_agents, size_t *ret_count, struct err *err)
{
    return agent_many(store, SQL_AGENT_LIST_HOLDING, ARGS(ARG_I64("limit", limit)), arena,
                      ret_agents, ret_count, err);
}

enum err_code store_agent_seen(struct store *store, const struct agent *a, struct err *err)
{
    return db__run(
        store->db, SQL_AGENT_SEEN,
        ARGS(ARG_I64("id", a->id.v), ARG_TEXT("boot", a->boot), ARG_TEXT("version", a->version),
             ARG_TEXT("executor", a->executor), ARG_I64("slots", a->slots),
             ARG_I64("cpus", a->cpus), ARG_I64("memory_bytes", a->memory_bytes),
             ARG_I64("gpus", a->gpus), ARG_TEXT("gpu_type", a->gpu_type),
             ARG_I64("gpu_memory_bytes", a->gpu_memory_bytes), ARG_BOOL("several", a->several),
             ARG_I64("features", (int64_t)a->features), ARG_TIME("seen_ms", a->seen)),
        NULL, err);
}

enum err_code store_agent_maintain(struct store *store, const struct agent *a, struct err *err)
{
    struct db_arg reason = ARG_TEXT("maintenance", a->maintenance_reason);

    if (!a->maintenance)
        reason.kind = DB_NULL;
    return db__run(store->db, SQL_AGENT_MAINTENANCE,
                   ARGS(ARG_I64("id", a->id.v), reason, ARG_TIME("until_ms", a->maintenance_until)),
                   NULL, err);
}

enum err_code store_agent_conflict_set(struct store *store, agent_id id, time_ms since,
                                       struct err *err)
{
    return db__run(store->db, SQL_AGENT_CONFLICT_SET,
                   ARGS(ARG_I64("id", id.v), ARG_TIME("conflict_ms", since)), NULL, err);
}

enum err_code store_agent_remove(struct store *store, const struct agent *a, time_ms now,
                                 struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char *freed = arena_printf(&arena, "%.*s (removed %s)", STR_ARG(a->name), a->public_id.text);

    return db__run(store->db, SQL_AGENT_REMOVE,
                   ARGS(ARG_I64("id", a->id.v), ARG_I64("now_ms", now),
                        ARG_TEXT("freed_name", str_from(freed))),
                   NULL, err);
}
