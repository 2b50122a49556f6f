/* Connecting to PostgreSQL, noticing that a connection is gone, and what its errors mean to us.
 *
 * The conninfo comes from the administrator and may hold a password, so libpq's complaints about
 * its syntax are never repeated: they quote it. */
#include "store/postgres_impl.h"

#include "base/mem.h"
#include "sys/clock.h"

#include <stdio.h>

#define RETRY_MS    200 /* between two attempts to connect */
#define VERSION_MIN 150000
/* A server that was stopped in the middle of something must not hold the others up for ever: its
 * session ends, and with it the locks it has. */
#define SESSION_READER                                                                             \
    "SET default_transaction_read_only = on; SET statement_timeout = '60s';"                       \
    " SET idle_in_transaction_session_timeout = '60s'"
#define SESSION_WRITER                                                                             \
    "SET statement_timeout = '300s'; SET idle_in_transaction_session_timeout = '30s';"             \
    " SET idle_session_timeout = '10s';"                                                           \
    " SELECT CASE WHEN current_setting('synchronous_commit') = 'off'"                              \
    " THEN set_config('synchronous_commit', 'on', false) END"

void pg__disconnect(struct pg *s)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        mem_free(s->statements[i].types);
        s->statements[i].types = NULL;
    }
    libpq.PQfinish(s->conn);
    s->conn = NULL;
    s->leads = s->listens = false;
    s->pending = s->pending_bytes = 0;
    if (s->state == PG_INSIDE)
        s->state = PG_BROKEN;
}

enum err_code pg__lost(struct pg *s, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const char *said = s->conn ? libpq.PQerrorMessage(s->conn) : "";
    struct str line = str_from(said), head = {0};

    (void)str_cut(&line, '\n', &head);
    head = arena_copy(&arena, str_n(head.data, MIN(head.len, (size_t)200)));
    pg__disconnect(s);
    return db__trouble(&s->db, err, ERR_UNAVAILABLE, "the connection to PostgreSQL is lost: %.*s",
                       STR_ARG(head));
}

static bool is_class(const char *state, const char *class)
{
    return strncmp(state, class, 2) == 0;
}

static enum err_code code_of(struct pg *s, const char *state)
{
    if (strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0) {
        s->db.race_lost = true;
        return ERR_UNAVAILABLE;
    }
    if (strcmp(state, "53100") == 0)
        return ERR_DISK_FULL;
    if (strcmp(state, "22021") == 0 || strcmp(state, "22P05") == 0)
        return ERR_INVALID; /* not text: a NUL, or bytes that are not UTF-8 */
    if (is_class(state, "23"))
        return ERR_CONFLICT;
    /* Gone, stopping, too many of us, too slow, or a standby that took nothing over yet. */
    if (is_class(state, "08") || is_class(state, "53") || is_class(state, "57") ||
        strcmp(state, "55P03") == 0 || strcmp(state, "25P03") == 0 || strcmp(state, "25006") == 0)
        return ERR_UNAVAILABLE;
    return ERR_IO;
}

enum err_code pg__error(struct pg *s, const PGresult *result, const char *what, struct err *err)
{
    const char *state = result ? libpq.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *said = result ? libpq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *severity =
        result ? libpq.PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED) : NULL;
    enum err_code code;

    if (!state || libpq.PQstatus(s->conn) == CONNECTION_BAD)
        return pg__lost(s, err);
    code = code_of(s, state);
    if (code == ERR_CONFLICT || code == ERR_INVALID)
        return err_set(err, code, "%s: %s", what, said ? said : state);
    (void)db__trouble(&s->db, err, code, "%s: %s (%s)", what, said ? said : "failed", state);
    if (severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        pg__disconnect(s);
    return code;
}

enum err_code pg__script(struct pg *s, const char *sql, struct err *err)
{
    PGresult *result;
    enum err_code code = OK;

    TRY(pg__collect(s, NULL, err));
    ENSURE(libpq.PQexitPipelineMode(s->conn) == 1); /* everything sent has been read */
    result = libpq.PQexec(s->conn, sql);
    if (libpq.PQresultStatus(result) != PGRES_COMMAND_OK &&
        libpq.PQresultStatus(result) != PGRES_TUPLES_OK)
        code = pg__error(s, result, "script", err);
    libpq.PQclear(result);
    if (s->conn && libpq.PQenterPipelineMode(s->conn) != 1)
        return pg__lost(s, err);
    return code;
}

/* Ours first, so that the administrator's win; then what must be as we need it. */
static PGconn *dial(const char *conninfo)
{
    static const char *const keys[] = {"connect_timeout",           "keepalives_idle",
                                       "keepalives_interval",       "keepalives_count",
                                       "tcp_user_timeout",          "target_session_attrs",
                                       "fallback_application_name", "dbname",
                                       "client_encoding",           NULL};
    const char *values[] = {"5",          "10",      "5",      "3",    "20000",
                            "read-write", "euvyrad", conninfo, "UTF8", NULL};

    if (strncmp(conninfo, "postgresql:", 11) == 0 && strncmp(conninfo, "postgresql://", 13) != 0)
        values[7] = conninfo + 11; /* key=value form behind our mark */
    return libpq.PQconnectdbParams(keys, values, 1);
}

static enum err_code check_server(struct pg *s, struct err *err)
{
    const char *encoding = libpq.PQparameterStatus(s->conn, "server_encoding");
    const char *strings = libpq.PQparameterStatus(s->conn, "standard_conforming_strings");

    if (libpq.PQserverVersion(s->conn) < VERSION_MIN)
        return err_set(err, ERR_CONFLICT, "PostgreSQL is version %d, and 15 or newer is needed",
                       libpq.PQserverVersion(s->conn) / 10000);
    if (!encoding || strcmp(encoding, "UTF8") != 0) {
        (void)err_set(err, ERR_CONFLICT, "the database has the encoding %s, and UTF8 is needed",
                      encoding ? encoding : "unknown");
        err_hint(err, "createdb --encoding UTF8 --template template0 NAME");
        return ERR_CONFLICT;
    }
    if (!strings || strcmp(strings, "on") != 0)
        return err_set(err, ERR_CONFLICT, "standard_conforming_strings is off for this database");
    return OK;
}

static enum err_code set_up(struct pg *s, struct err *err)
{
    TRY(check_server(s, err));
    if (libpq.PQenterPipelineMode(s->conn) != 1)
        return pg__lost(s, err);
    return pg__script(s, s->writable ? SESSION_WRITER : SESSION_READER, err);
}

enum err_code pg__connect(struct pg *s, struct err *err)
{
    int64_t now = clock_mono_ms();
    enum err_code code;

    if (s->conn)
        return OK;
    if (s->tried_mono_ms && now - s->tried_mono_ms < RETRY_MS)
        return db__trouble(&s->db, err, s->refused.code, "%s", s->refused.text);
    s->conn = dial(s->conninfo);
    if (!s->conn || libpq.PQstatus(s->conn) != CONNECTION_OK)
        code = pg__lost(s, &s->refused);
    else
        code = set_up(s, &s->refused);
    s->tried_mono_ms = code == OK ? 0 : clock_mono_ms();
    if (code == OK)
        return OK;
    pg__disconnect(s);
    if (err)
        *err = s->refused;
    return code;
}
