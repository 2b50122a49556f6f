/* What the servers of one PostgreSQL database tell each other: who leads, and notices. */
#include "store/postgres_impl.h"

#include "base/buf.h"

#include <poll.h>

#define HEARD_BYTES_MAX (4u * 1024 * 1024)
/* Held by the session of the leader; it goes with the session. */
#define LEADER_LOCK "SELECT pg_try_advisory_lock(4987391185)"

enum err_code pg__lead(struct db *db, bool *ret_leads, struct err *err)
{
    struct pg *s = pg__of(db);
    PGresult *result = NULL;

    if (!s->leads) {
        TRY(pg__send_text(s, LEADER_LOCK, NULL, err));
        TRY(pg__collect(s, &result, err));
        s->leads = *libpq.PQgetvalue(result, 0, 0) != 0;
        libpq.PQclear(result);
    }
    *ret_leads = s->leads;
    return OK;
}

enum err_code pg__notify(struct db *db, struct str text, struct err *err)
{
    struct pg *s = pg__of(db);
    CLEANUP(arena_release) struct arena arena = {0};

    return pg__send_text(s, "SELECT pg_notify('euvyra', $1)", arena_text(&arena, text), err);
}

enum err_code pg__listen(struct db *db, struct err *err)
{
    struct pg *s = pg__of(db);

    TRY(pg__connect(s, err));
    if (!s->listens)
        TRY(pg__script(s, "LISTEN euvyra", err));
    s->listens = true;
    return OK;
}

enum err_code pg__hear(struct db *db, int timeout_ms, struct arena *arena, struct str *ret_text,
                       struct err *err)
{
    struct pg *s = pg__of(db);
    CLEANUP(buf_release) struct buf heard = {0};
    struct pollfd fd = {.events = POLLIN};
    PGnotify *n;

    if (!s->conn || !s->listens)
        return err_set(err, ERR_UNAVAILABLE, "nobody listens");
    fd.fd = libpq.PQsocket(s->conn);
    (void)poll(&fd, 1, timeout_ms); /* interrupted: as if nothing came */
    if (libpq.PQconsumeInput(s->conn) != 1)
        return pg__lost(s, err);
    buf_init(&heard, HEARD_BYTES_MAX);
    while ((n = libpq.PQnotifies(s->conn))) {
        (void)buf_add_text(&heard, n->extra); /* `full` is looked at below */
        libpq.PQfreemem(n);
    }
    if (buf_check(&heard, "notices", err) != OK)
        return pg__lost(s, err); /* too many at once: as after a lost connection */
    *ret_text = arena_copy(arena, buf_str(&heard));
    return OK;
}
