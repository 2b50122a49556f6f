/* Makes and drops the databases of the store tests. */
#include "store/test/store_rig.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[64], where[400], name[32];
static bool is_postgres;

static bool run_postgres(const char *database, const char *sql, char *ret_value, size_t size)
{
    char conninfo[300];
    PGconn *conn;
    PGresult *result;
    bool good;

    snprintf(conninfo, sizeof conninfo, "host=%s user=euvyra dbname=%s",
             getenv("EUVYRA_TEST_POSTGRES"), database);
    conn = PQconnectdb(conninfo);
    result = PQexec(conn, sql);
    good = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
    if (!good)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
    if (good && ret_value)
        snprintf(ret_value, size, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    PQfinish(conn);
    return good;
}

static int first_value(void *ctx, int count, char **values, char **names)
{
    char **out = ctx;

    (void)names;
    if (count && out[0])
        snprintf(out[0], (size_t)(out[1] - out[0]), "%s", values[0] ? values[0] : "");
    return 0;
}

static bool run_sqlite(const char *sql, char *ret_value, size_t size)
{
    char *out[2] = {ret_value, ret_value ? ret_value + size : NULL};
    sqlite3 *db = NULL;
    bool good;

    good = sqlite3_open(where, &db) == SQLITE_OK &&
           sqlite3_exec(db, sql, first_value, out, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return good;
}

bool store_rig_sql(const char *sql, char *ret_value, size_t size)
{
    return is_postgres ? run_postgres(name, sql, ret_value, size)
                       : run_sqlite(sql, ret_value, size);
}

bool store_rig_open(bool postgres)
{
    char sql[100];

    is_postgres = postgres;
    if (!postgres) {
        snprintf(dir, sizeof(dir), "/tmp/euvyra-store-XXXXXX");
        if (!mkdtemp(dir))
            return false;
        snprintf(where, sizeof(where), "%s/euvyra.db", dir);
        return true;
    }
    if (!getenv("EUVYRA_TEST_POSTGRES")) {
        fprintf(stderr, "EUVYRA_TEST_POSTGRES is not set: ./dev test postgres\n");
        return false;
    }
    snprintf(name, sizeof name, "store_%d", (int)getpid());
    snprintf(sql, sizeof sql, "CREATE DATABASE %s", name);
    snprintf(where, sizeof where, "postgresql:host=%s user=euvyra dbname=%s",
             getenv("EUVYRA_TEST_POSTGRES"), name);
    return run_postgres("postgres", sql, NULL, 0);
}

void store_rig_close(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char text[420];

    if (is_postgres) {
        snprintf(text, sizeof text, "DROP DATABASE %s WITH (FORCE)", name);
        (void)run_postgres("postgres", text, NULL, 0);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        snprintf(text, sizeof text, "%s%s", where, ends[i]);
        (void)unlink(text);
    }
    (void)rmdir(dir);
}

const char *store_rig_where(void)
{
    return where;
}

bool store_rig_is_postgres(void)
{
    return is_postgres;
}
