/* Statements of sql/statements/share.sql as typed functions. */
#include "store/store_share.h"

#include "store/db.h"

#define SHARE_TARGET_ROWS_MAX 1000000

#define ARG_SET(n, v)                                                                              \
    {                                                                                              \
        .name = (n), .kind = (v) == SHARE_UNSET ? DB_NULL : DB_I64, .number = (v)                  \
    }
#define ARGS_OF_LIMITS(s)                                                                          \
    ARG_SET("cpu_quota", (s)->quota.v[RESOURCE_CPU]),                                              \
        ARG_SET("cpu_borrow", (s)->borrow.v[RESOURCE_CPU]),                                        \
        ARG_SET("cpu_lend", (s)->lend.v[RESOURCE_CPU]),                                            \
        ARG_SET("gpu_quota", (s)->quota.v[RESOURCE_GPU]),                                          \
        ARG_SET("gpu_borrow", (s)->borrow.v[RESOURCE_GPU]),                                        \
        ARG_SET("gpu_lend", (s)->lend.v[RESOURCE_GPU]),                                            \
        ARG_SET("memory_quota", (s)->quota.v[RESOURCE_MEMORY]),                                    \
        ARG_SET("memory_borrow", (s)->borrow.v[RESOURCE_MEMORY]),                                  \
        ARG_SET("memory_lend", (s)->lend.v[RESOURCE_MEMORY]), ARG_SET("jobs_max", (s)->jobs_max),  \
        ARG_BOOL("held", (s)->held), ARG_I64("weight", (s)->weight),                               \
        ARG_REF("parent_id", (s)->parent.v)

static enum err_code insert_targets(struct store *store, const struct share *share, struct err *err)
{
    for (size_t i = 0; i < share->targets.count; i++)
        TRY(db__run(
            store->db, SQL_SHARE_TARGET_INSERT,
            ARGS(ARG_I64("share_id", share->id.v), ARG_I64("target_id", share->targets.ids[i].v)),
            NULL, err));
    return OK;
}

static enum err_code delete_targets(struct store *store, share_id id, struct err *err)
{
    return db__run(store->db, SQL_SHARE_TARGET_DELETE, ARGS(ARG_I64("share_id", id.v)), NULL, err);
}

enum err_code store_share_insert(struct store *store, struct share *share, struct err *err)
{
    struct db_arg team = ARG_TEXT("team_name", share->name);

    if (share->kind != SHARE_TEAM)
        team.kind = DB_NULL;
    TRY(db__insert(store->db, SQL_SHARE_INSERT,
                   ARGS(ARG_TEXT("kind", str_from(share_kind_name(share->kind))), team,
                        ARG_REF("project_id", share->project.v),
                        ARG_I64("created_ms", share->created), ARGS_OF_LIMITS(share)),
                   &share->id.v, err));
    return insert_targets(store, share, err);
}

enum err_code store_share_update(struct store *store, const struct share *share, struct err *err)
{
    TRY(db__run(store->db, SQL_SHARE_UPDATE,
                ARGS(ARG_I64("id", share->id.v), ARGS_OF_LIMITS(share)), NULL, err));
    TRY(delete_targets(store, share->id, err));
    return insert_targets(store, share, err);
}

enum err_code store_share_delete(struct store *store, share_id id, struct err *err)
{
    TRY(delete_targets(store, id, err));
    return db__run(store->db, SQL_SHARE_DELETE, ARGS(ARG_I64("id", id.v)), NULL, err);
}

static int64_t set_or(const struct db_result *r, int column)
{
    return db__null(r, column) ? SHARE_UNSET : db__i64(r, column);
}

static void amounts_read(const struct db_result *r, int column, struct share_amounts *ret_quota,
                         struct share_amounts *ret_borrow, struct share_amounts *ret_lend)
{
    static const enum resource order[] = {RESOURCE_CPU, RESOURCE_GPU, RESOURCE_MEMORY};

    ret_quota->v[RESOURCE_SLOT] = ret_borrow->v[RESOURCE_SLOT] = ret_lend->v[RESOURCE_SLOT] =
        SHARE_UNSET;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        ret_quota->v[order[i]] = set_or(r, column++);
        ret_borrow->v[order[i]] = set_or(r, column++);
        ret_lend->v[order[i]] = set_or(r, column++);
    }
}

/* A team has a name of its own, a project's share that of the project. */
static void share_read(const struct db_result *r, struct arena *arena, struct share *ret)
{
    *ret = (struct share){
        .id = {db__i64(r, 0)},
        .parent = {db__null(r, 1) ? 0 : db__i64(r, 1)},
        .kind = share_kind_from_name(db__view(r, 2)),
        .name = db__text(r, db__null(r, 3) ? 4 : 3, arena),
        .project = {db__null(r, 5) ? 0 : db__i64(r, 5)},
        .weight = db__i64(r, 6),
        .jobs_max = set_or(r, 16),
        .held = db__i64(r, 17) != 0,
        .created = db__i64(r, 18),
    };
    amounts_read(r, 7, &ret->quota, &ret->borrow, &ret->lend);
}

/* Where the share `id` lies in a list by rising id; `count` when it is not there. */
static size_t place_of(const struct share *shares, size_t count, int64_t id)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (shares[mid].id.v < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && shares[low].id.v == id ? low : count;
}

/* Both lists are by rising id of the share. */
static enum err_code read_targets(struct store *store, struct arena *arena, struct share *shares,
                                  size_t count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    size_t at = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_SHARE_TARGET_LIST, ARGS(ARG_I64("limit", SHARE_TARGET_ROWS_MAX)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct allowed_targets *targets;
        while (at < count && shares[at].id.v < db__i64(&r, 0))
            at++;
        ENSURE(at < count && shares[at].id.v == db__i64(&r, 0));
        targets = &shares[at].targets;
        if (!targets->ids)
            targets->ids = arena_array(arena, SHARE_TARGETS_MAX, sizeof(targets->ids[0]));
        ENSURE(targets->count < SHARE_TARGETS_MAX);
        targets->ids[targets->count++] = (target_id){db__i64(&r, 1)};
    }
    return OK;
}

/* From a list by rising id to one by rising depth. */
static void sort_by_depth(struct arena *arena, struct share *shares, size_t count)
{
    size_t starts[SHARE_DEPTH_MAX + 3] = {0};
    size_t *places = arena_array(arena, count, sizeof *places);
    struct share *by_id = arena_array(arena, count, sizeof *by_id);

    for (size_t i = 0; i < count; i++) {
        shares[i].parent_at = shares[i].parent.v ? place_of(shares, count, shares[i].parent.v) : i;
        ENSURE(shares[i].parent_at < count);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t at = i; shares[at].parent_at != at; at = shares[at].parent_at) {
            shares[i].depth++;
            ENSURE(shares[i].depth <= SHARE_DEPTH_MAX + 1);
        }
        starts[shares[i].depth + 1]++;
    }
    for (size_t d = 1; d < ARRAY_LEN(starts); d++)
        starts[d] += starts[d - 1];
    for (size_t i = 0; i < count; i++)
        places[i] = starts[shares[i].depth]++;
    memcpy(by_id, shares, count * sizeof *by_id);
    for (size_t i = 0; i < count; i++) {
        shares[places[i]] = by_id[i];
        shares[places[i]].parent_at = places[by_id[i].parent_at];
    }
}

enum err_code store_share_list(struct store *store, struct arena *arena, struct share **ret_shares,
                               size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct share *shares = NULL;
    size_t count = 0, room = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_SHARE_LIST, ARGS(ARG_I64("limit", SHARES_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        shares = arena_more(arena, shares, count, &room, sizeof *shares);
        share_read(&r, arena, &shares[count++]);
    }
    TRY(read_targets(store, arena, shares, count, err));
    sort_by_depth(arena, shares, count);
    *ret_shares = shares;
    *ret_count = count;
    return OK;
}

static void use_add(struct share *share, const struct share *more)
{
    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        share->use.v[i] += more->use.v[i];
    share->running += more->running;
}

enum err_code store_share_use(struct store *store, struct share *shares, size_t count,
                              struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SHARE_USE, ARGS(ARG_I64("limit", SHARES_MAX)), &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        size_t at = 0;
        while (at < count && shares[at].project.v != db__i64(&r, 0))
            at++;
        if (at == count)
            continue;
        shares[at].running = shares[at].use.v[RESOURCE_SLOT] = db__i64(&r, 1);
        shares[at].use.v[RESOURCE_CPU] = db__i64(&r, 2) * 1000;
        shares[at].use.v[RESOURCE_GPU] = db__i64(&r, 3);
        shares[at].use.v[RESOURCE_MEMORY] = db__i64(&r, 4);
    }
    for (size_t i = count; i-- > 0;) /* children first */
        if (shares[i].parent_at != i)
            use_add(&shares[shares[i].parent_at], &shares[i]);
    return OK;
}

/* The organisation is the first row, which the schema begins with. */
enum err_code store_share_add_project(struct store *store, project_id project, time_ms now,
                                      struct err *err)
{
    struct share share = {.parent = {1},
                          .kind = SHARE_PROJECT,
                          .project = project,
                          .weight = 1,
                          .jobs_max = SHARE_UNSET,
                          .created = now};

    for (size_t i = 0; i < RESOURCE_COUNT; i++)
        share.quota.v[i] = share.borrow.v[i] = share.lend.v[i] = SHARE_UNSET;
    return store_share_insert(store, &share, err);
}

enum err_code store_share_remove_project(struct store *store, project_id project, struct err *err)
{
    share_id id = {0};

    TRY(db__number(store->db, SQL_SHARE_OF_PROJECT, ARGS(ARG_I64("project_id", project.v)), &id.v,
                   err));
    return store_share_delete(store, id, err);
}

enum err_code store_share_name(struct store *store, share_id id, struct arena *arena,
                               struct str *ret_name, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SHARE_NAME, ARGS(ARG_I64("id", id.v)), &r, err));
    TRY(db__next(&r, &row, err));
    *ret_name = row ? db__text(&r, 0, arena) : STR("");
    return OK;
}

static enum err_code read_targets_of(struct store *store, struct arena *arena, struct share *share,
                                     struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SHARE_TARGET_OF,
                  ARGS(ARG_I64("share_id", share->id.v), ARG_I64("limit", SHARE_TARGETS_MAX)), &r,
                  err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err))) {
        struct allowed_targets *targets = &share->targets;
        if (!targets->ids)
            targets->ids = arena_array(arena, SHARE_TARGETS_MAX, sizeof(targets->ids[0]));
        targets->ids[targets->count++] = (target_id){db__i64(&r, 1)};
    }
    return OK;
}

/* Without its targets; *ret_limits: it has some. */
static enum err_code read_one(struct store *store, int64_t id, struct arena *arena,
                              struct share *ret_share, bool *ret_limits, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SHARE_GET, ARGS(ARG_I64("id", id)), &r, err));
    TRY(db__next(&r, &row, err));
    ENSURE(row); /* parents are rows */
    share_read(&r, arena, ret_share);
    *ret_limits = db__i64(&r, 19) != 0;
    return OK;
}

enum err_code store_share_chain(struct store *store, project_id project, struct arena *arena,
                                struct share **ret_shares, size_t *ret_count, struct err *err)
{
    struct share *shares = arena_array(arena, SHARE_DEPTH_MAX + 2, sizeof *shares);
    int64_t id = 0;
    size_t count = 0;

    TRY(db__number(store->db, SQL_SHARE_OF_PROJECT, ARGS(ARG_I64("project_id", project.v)), &id,
                   err));
    for (; id && count < SHARE_DEPTH_MAX + 2; count++) {
        bool limits = false;
        TRY(read_one(store, id, arena, &shares[count], &limits, err));
        if (limits)
            TRY(read_targets_of(store, arena, &shares[count], err));
        id = shares[count].parent.v;
    }
    *ret_shares = shares;
    *ret_count = count;
    return OK;
}
