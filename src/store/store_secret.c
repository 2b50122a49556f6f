/* Statements of sql/statements/secret.sql as typed functions. */
#include "store/store_secret.h"

#include "store/db.h"

enum err_code store_secret_set(struct store *store, const struct secret *s, struct str sealed,
                               struct err *err)
{
    return db__run(store->db, SQL_SECRET_SET,
                   ARGS(ARG_I64("project_id", s->project.v), ARG_TEXT("name", s->name),
                        ARG_TEXT("key_name", s->key_name), ARG_BYTES("sealed", sealed),
                        ARG_TEXT("made_by", s->made_by), ARG_I64("made_ms", s->made)),
                   NULL, err);
}

static struct secret secret_read(const struct db_result *r, struct arena *arena)
{
    return (struct secret){
        .id = {db__i64(r, 0)},
        .project = {db__i64(r, 1)},
        .name = db__text(r, 2, arena),
        .made_by = db__text(r, 3, arena),
        .key_name = db__text(r, 4, arena),
        .made = db__i64(r, 5),
        .used = db__time(r, 6),
    };
}

enum err_code store_secret_get(struct store *store, project_id project, struct str name,
                               struct arena *arena, struct secret *ret_secret, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SECRET_GET,
                  ARGS(ARG_I64("project_id", project.v), ARG_TEXT("name", name)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "secret \"%.*s\" not found", STR_ARG(name));
    *ret_secret = secret_read(&r, arena);
    return OK;
}

enum err_code store_secret_sealed(struct store *store, secret_id id, struct arena *arena,
                                  struct str *ret_sealed, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SECRET_SEALED, ARGS(ARG_I64("id", id.v)), &r, err));
    TRY(db__next(&r, &row, err));
    if (!row)
        return err_set(err, ERR_NOT_FOUND, "the secret is gone");
    *ret_sealed = arena_copy(arena, db__view(&r, 0));
    return OK;
}

enum err_code store_secret_list(struct store *store, project_id project, struct str after,
                                int limit, struct arena *arena, struct secret **ret_secrets,
                                size_t *ret_count, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    struct secret *secrets = arena_array(arena, (size_t)limit, sizeof *secrets);
    size_t count = 0;
    bool row = false;

    TRY(db__query(store->db, SQL_SECRET_LIST,
                  ARGS(ARG_I64("project_id", project.v), ARG_TEXT("after_name", after),
                       ARG_I64("limit", limit)),
                  &r, err));
    for (TRY(db__next(&r, &row, err)); row; TRY(db__next(&r, &row, err)))
        secrets[count++] = secret_read(&r, arena);
    *ret_secrets = secrets;
    *ret_count = count;
    return OK;
}

enum err_code store_secret_count(struct store *store, project_id project, int64_t *ret_count,
                                 struct err *err)
{
    return db__number(store->db, SQL_SECRET_COUNT, ARGS(ARG_I64("project_id", project.v)),
                      ret_count, err);
}

enum err_code store_secret_used(struct store *store, secret_id id, time_ms now, struct err *err)
{
    return db__run(store->db, SQL_SECRET_USED, ARGS(ARG_I64("id", id.v), ARG_I64("now_ms", now)),
                   NULL, err);
}

enum err_code store_secret_delete(struct store *store, secret_id id, struct err *err)
{
    return db__run(store->db, SQL_SECRET_DELETE, ARGS(ARG_I64("id", id.v)), NULL, err);
}

enum err_code store_secret_other_key(struct store *store, struct str key_name, struct arena *arena,
                                     struct str *ret_other, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_SECRET_OF_OTHER_KEY, ARGS(ARG_TEXT("key_name", key_name)), &r,
                  err));
    TRY(db__next(&r, &row, err));
    *ret_other = row ? db__text(&r, 0, arena) : STR("");
    return OK;
}
