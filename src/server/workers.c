/* Worker threads: reads, and the slow step before a command. Each has a read connection. */
#include "base/log.h"
#include "base/mem.h"
#include "domain/identity/identity.h"
#include "http/http_dispatch.h"
#include "server/server_impl.h"

static enum err_code read_or_prepare(struct server *server, struct store *store,
                                     struct http_call *call, struct err *err)
{
    const struct cmd_helpers helpers = {server, server__answer_parts};

    server_cmd_init(server, &call->cmd, store, &call->arena);
    call->cmd.helpers = &helpers;
    TRY(http_dispatch_admit(call, err));
    if (call->route->prepare)
        return call->route->prepare(call, err);
    return call->route->handler(call, err);
}

/* Reading keeps a session alive too: its last-seen time is written by a command of its own. */
struct seen {
    uint8_t hash[HASH_BYTES];
};

static enum err_code session_seen(void *ctx, struct cmd *cmd, struct err *err)
{
    struct seen *seen = ctx;
    enum err_code code = identity_session_seen(cmd, seen->hash, err);

    mem_free(seen);
    return code;
}

static void keep_session(struct server *server, const struct http_call *call)
{
    struct work *work = MEM_NEW(struct work);
    struct seen *seen = MEM_NEW(struct seen);

    memcpy(seen->hash, call->who.session_hash, HASH_BYTES);
    work->run = session_seen;
    work->ctx = seen;
    work->owned = true;
    if (!queue_push(server->commands, work)) {
        mem_free(seen);
        mem_free(work);
    }
}

/* Takes the work over. */
static void serve(struct server *server, struct store *store, struct work *work)
{
    struct http_call *call = work->call;
    struct err err = {0};
    enum err_code code = store_begin_read(store, &err);

    if (code == OK) {
        code = read_or_prepare(server, store, call, &err);
        if (store_trouble(store, NULL) != OK)
            code = store_trouble(store, &err); /* whatever was made of it: not found, wrong key */
        store_rollback(store);
    }
    if (code == OK && call->session_stale)
        keep_session(server, call);
    if (code == OK && call->route->prepare) {
        if (queue_push(server->commands, work))
            return;
        code = err_set(&err, ERR_UNAVAILABLE, "the server is too busy or is stopping");
    }
    mem_free(work);
    server__answer(call, code == OK ? NULL : &err);
}

void server__worker_run(void *ctx)
{
    struct server *server = ctx;
    struct store store = {0};
    struct work *work;

    if (!server__open_reader(server, &store))
        return;
    while ((work = queue_pop(server->reads, -1))) {
        if (work->call) {
            serve(server, &store, work);
            continue;
        }
        server__help(work->offer, &store);
        mem_free(work);
    }
    store_close(&store);
}
