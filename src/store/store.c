/* Opening, migrating and transactions. All missing migrations and the number commit together. */
#include "store/store.h"

#include "store/db.h"

#define TRIM_PAGES 256

int store_schema_newest(void)
{
    return sql_migrations[sql_migration_count - 1].number;
}

static enum err_code check_newer(int have, struct err *err)
{
    if (have <= store_schema_newest())
        return OK;
    (void)err_set(err, ERR_CONFLICT,
                  "the data is from a newer version (schema %d, this one knows %d)", have,
                  store_schema_newest());
    err_hint(err, "start the newer euvyrad, or restore a backup made before the upgrade");
    return ERR_CONFLICT;
}

/* Reads the number again: on a shared database another server may have migrated meanwhile. */
static enum err_code migrate_inside(struct db *db, bool is_postgres, struct err *err)
{
    int have = 0;

    TRY(db->driver->schema_get(db, &have, err));
    if (have >= store_schema_newest())
        return check_newer(have, err);
    if (is_postgres) /* tables may be large */
        TRY(db->driver->script(db, "SET LOCAL statement_timeout = 0", err));
    for (size_t i = 0; i < sql_migration_count; i++) {
        const struct sql_migration *m = &sql_migrations[i];
        enum err_code code;
        if (m->number <= have)
            continue;
        code = db->driver->script(db, is_postgres ? m->postgres : m->sqlite, err);
        if (code != OK) {
            err_prefix(err, "migration %04d_%s", m->number, m->name);
            return code;
        }
    }
    return db->driver->schema_set(db, store_schema_newest(), err);
}

static enum err_code migrate(struct db *db, bool writable, struct err *err)
{
    int have = 0;
    enum err_code code;

    TRY(db->driver->schema_get(db, &have, err));
    if (!writable || have == store_schema_newest())
        return check_newer(have, err);
    TRY(db->driver->begin(db, err));
    code = migrate_inside(db, db->driver == &db_postgres, err);
    if (code == OK)
        code = db->driver->commit(db, err);
    if (code != OK)
        db->driver->rollback(db);
    return code;
}

bool store_is_postgres(const char *where)
{
    return str_starts(str_from(where), STR("postgresql:")) ||
           str_starts(str_from(where), STR("postgres://"));
}

enum err_code store_open(struct store *store, const char *where, bool writable, struct err *err)
{
    const struct db_driver *driver = store_is_postgres(where) ? &db_postgres : &db_sqlite;
    struct db *db = NULL;
    enum err_code code;

    TRY(driver->open(where, writable, &db, err));
    code = migrate(db, writable, err);
    if (code != OK) {
        db->driver->close(db);
        return code;
    }
    store->db = db;
    return OK;
}

void store_close(struct store *store)
{
    if (store->db)
        store->db->driver->close(store->db);
    store->db = NULL;
}

enum err_code store_begin(struct store *store, struct err *err)
{
    return store->db->driver->begin(store->db, err);
}

enum err_code store_begin_read(struct store *store, struct err *err)
{
    return store->db->driver->begin_read(store->db, err);
}

enum err_code store_commit(struct store *store, struct err *err)
{
    enum err_code code = store->db->driver->commit(store->db, err);

    if (code != OK)
        store->db->driver->rollback(store->db);
    return code;
}

void store_rollback(struct store *store)
{
    store->db->driver->rollback(store->db);
}

enum err_code store_savepoint(struct store *store, struct err *err)
{
    return store->db->driver->savepoint(store->db, err);
}

enum err_code store_savepoint_keep(struct store *store, struct err *err)
{
    return store->db->driver->savepoint_keep(store->db, err);
}

void store_savepoint_undo(struct store *store)
{
    store->db->driver->savepoint_undo(store->db);
}

enum err_code store_trim(struct store *store, bool *ret_more, struct err *err)
{
    *ret_more = false;
    return store->db->driver->trim ? store->db->driver->trim(store->db, TRIM_PAGES, ret_more, err)
                                   : OK;
}

enum err_code store_checkpoint(struct store *store, struct err *err)
{
    return store->db->driver->checkpoint(store->db, err);
}

enum err_code store_trouble(const struct store *store, struct err *err)
{
    if (store->db->trouble != OK && err)
        *err = store->db->trouble_err;
    return store->db->trouble;
}

bool store_lost_a_race(const struct store *store)
{
    return store->db->race_lost;
}

bool store_is_shared(const struct store *store)
{
    return store->db->driver->lead != NULL;
}

enum err_code store_lead(struct store *store, int64_t *fence, bool *ret_took_over, struct err *err)
{
    bool leads = true;
    int64_t number = 0;

    *ret_took_over = false;
    if (store->db->driver->lead)
        TRY(store->db->driver->lead(store->db, &leads, err));
    if (!leads) {
        *fence = 0;
        return OK;
    }
    TRY(db__number(store->db, SQL_LEADER_GET, NO_ARGS, &number, err));
    if (*fence && *fence == number)
        return OK;
    TRY(db__insert(store->db, SQL_LEADER_TAKE, NO_ARGS, fence, err));
    *ret_took_over = true;
    return OK;
}

enum err_code store_lead_check(struct store *store, int64_t fence, struct err *err)
{
    int64_t number = 0;

    TRY(db__number(store->db, SQL_LEADER_GET, NO_ARGS, &number, err));
    if (fence == 0 || number != fence)
        return err_set(err, ERR_FENCED, "another server leads by now (%lld, this one was %lld)",
                       (long long)number, (long long)fence);
    return OK;
}

enum err_code store_blobs_name_get(struct store *store, struct id *ret_name, struct err *err)
{
    CLEANUP(db__result_release) struct db_result r = {0};
    bool row = false;

    TRY(db__query(store->db, SQL_INSTALLATION_BLOBS_GET, NO_ARGS, &r, err));
    TRY(db__next(&r, &row, err));
    *ret_name = row ? db__id(&r, 0) : (struct id){0};
    return OK;
}

enum err_code store_blobs_name_set(struct store *store, const struct id *name, struct err *err)
{
    return db__run(store->db, SQL_INSTALLATION_BLOBS_SET, ARGS(ARG_ID("blobs", name)), NULL, err);
}

enum err_code store_notify(struct store *store, struct str text, struct err *err)
{
    ENSURE(text.len < STORE_NOTICE_BYTES_MAX);
    return store->db->driver->notify ? store->db->driver->notify(store->db, text, err) : OK;
}

enum err_code store_listen(struct store *store, struct err *err)
{
    ENSURE(store->db->driver->listen);
    return store->db->driver->listen(store->db, err);
}

enum err_code store_hear(struct store *store, int timeout_ms, struct arena *arena,
                         struct str *ret_text, struct err *err)
{
    ENSURE(store->db->driver->hear);
    return store->db->driver->hear(store->db, timeout_ms, arena, ret_text, err);
}
