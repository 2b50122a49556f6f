/* Opening, migrating and transactions. Each migration and its number commit together. */
#include "store/store.h"

#include "store/db.h"

int store_schema_newest(void)
{
    return sql_migrations[sql_migration_count - 1].number;
}

static enum err_code migrate_one(struct db *db, const struct sql_migration *m, struct err *err)
{
    enum err_code code;

    TRY(db->driver->begin(db, err));
    code = db->driver->script(db, m->sqlite, err);
    if (code == OK)
        code = db->driver->schema_set(db, m->number, err);
    if (code == OK)
        code = db->driver->commit(db, err);
    if (code != OK) {
        db->driver->rollback(db);
        err_prefix(err, "migration %04d_%s", m->number, m->name);
    }
    return code;
}

static enum err_code migrate(struct db *db, bool writable, struct err *err)
{
    int have = 0;

    TRY(db->driver->schema_get(db, &have, err));
    if (have > store_schema_newest()) {
        (void)err_set(err, ERR_CONFLICT,
                      "the data folder is from a newer version (schema %d, this one knows %d)",
                      have, store_schema_newest());
        err_hint(err, "start the newer euvyrad, or restore a backup made before the upgrade");
        return ERR_CONFLICT;
    }
    for (size_t i = 0; writable && i < sql_migration_count; i++)
        if (sql_migrations[i].number > have)
            TRY(migrate_one(db, &sql_migrations[i], err));
    return OK;
}

enum err_code store_open(struct store *store, const char *path, bool writable, struct err *err)
{
    struct db *db = NULL;
    enum err_code code;

    TRY(db_sqlite.open(path, writable, &db, err));
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

enum err_code store_checkpoint(struct store *store, struct err *err)
{
    return store->db->driver->checkpoint(store->db, err);
}
