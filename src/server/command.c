/* The command thread: batches of commands, one transaction a batch, a savepoint a command.
 *
 * Answers and notices leave after the commit, so a 2xx means "on disk". A commit that fails for
 * lack of space or because the database cannot be reached fails its whole batch and nothing else;
 * one that fails for another reason stops the process, because only a restart can say what is on
 * disk. Parked polls wait here until they are poked or their time is up.
 *
 * Of several servers on one database one leads. Its commands alone sweep and carry out what the
 * scheduler decides, and each time check
 * in their transaction that its number is still the leader's. */
#include "base/log.h"
#include "base/mem.h"
#include "domain/identity/identity.h"
#include "domain/jobs/jobs.h"
#include "domain/jobs/jobs_charge.h"
#include "domain/jobs/jobs_gpus.h"
#include "domain/jobs/jobs_retain.h"
#include "domain/targets/nodes.h"
#include "domain/targets/targets.h"
#include "gen/http_routes.h"
#include "http/http_dispatch.h"
#include "server/server_impl.h"
#include "store/store_run.h"
#include "sys/clock.h"

#define TICK_MS           1000
#define RETAIN_MS         3600000
#define CHARGE_MS         5000
#define NODES_MS          2000
#define PARKED_AGENTS_MAX 100000
#define PARKED_LOOK_MS    100
#define RUNS_MAX          3 /* of one command, each after a lost race */

/* One command of a batch and what it left behind. */
struct slot {
    struct work *work;
    struct arena arena; /* of our own commands; calls have theirs */
    struct cmd cmd;
    bool is_call;
};

struct batch {
    struct server *server;
    struct slot slots[COMMAND_BATCH_MAX + 4]; /* and our own: tick, retention, charges, nodes */
    size_t count;
    enum err_code commit;
    struct err commit_err;
};

static enum err_code run_call(struct http_call *call, struct err *err)
{
    TRY(http_dispatch_admit(call, err));
    call->cmd.operation = call->route->operation;
    call->cmd.woken = call->woken;
    return call->route->handler(call, err);
}

/* A call as it was before its handler ran. */
static void call_reset(struct http_call *call)
{
    buf_clear(&call->out);
    json_writer_init(&call->json, &call->out);
    call->status = 200;
    call->header_count = 0;
    call->park_ms = 0;
    call->stream = call->close_streams = false;
}

/* Runs a command in its savepoint, once. */
static void run_once(struct batch *batch, struct slot *slot)
{
    struct server *server = batch->server;
    struct work *work = slot->work;
    struct cmd *cmd = slot->is_call ? &work->call->cmd : &slot->cmd;

    work->err = (struct err){0};
    server_cmd_init(server, cmd, &server->write_store,
                    slot->is_call ? &work->call->arena : &slot->arena);
    work->code = store_savepoint(&server->write_store, &work->err);
    if (work->code != OK)
        return;
    work->code =
        slot->is_call ? run_call(work->call, &work->err) : work->run(work->ctx, cmd, &work->err);
    if (work->code == OK)
        work->code = store_savepoint_keep(&server->write_store, &work->err);
    if (work->code == OK)
        return;
    if (store_trouble(&server->write_store, NULL) != OK) /* whatever was made of it: not found */
        work->code = store_trouble(&server->write_store, &work->err);
    store_savepoint_undo(&server->write_store);
}

/* A deadlock with another program of the database is nobody's fault: the command runs again. */
static void run_slot(struct batch *batch, struct slot *slot)
{
    for (int left = RUNS_MAX; left > 0; left--) {
        run_once(batch, slot);
        if (slot->work->code == OK || !store_lost_a_race(&batch->server->write_store))
            return;
        if (slot->is_call)
            call_reset(slot->work->call);
    }
}

static struct slot *add(struct batch *batch, struct work *work)
{
    struct slot *slot = &batch->slots[batch->count++];

    *slot = (struct slot){.work = work, .is_call = work->call != NULL};
    if (batch->commit != OK) { /* there is no transaction */
        work->code = batch->commit;
        work->err = batch->commit_err;
        return slot;
    }
    run_slot(batch, slot);
    return slot;
}

/* A command of its own: should it fail, the other regular work goes on. */
static enum err_code retain(void *ctx, struct cmd *cmd, struct err *err)
{
    struct server *server = ctx;
    bool more = false;

    server->retain_due_ms = cmd->mono_ms + RETAIN_MS;
    if (server->fence == 0) /* another server leads */
        return OK;
    TRY(jobs_retain(cmd, &more, err));
    if (more)
        server->retain_due_ms = cmd->mono_ms;
    return OK;
}

static enum err_code charge(void *ctx, struct cmd *cmd, struct err *err)
{
    struct server *server = ctx;
    bool more = false;

    server->charge_due_ms = cmd->mono_ms + CHARGE_MS;
    TRY(jobs_charge(cmd, &more, err));
    if (more)
        server->charge_due_ms = cmd->mono_ms;
    return OK;
}

static enum err_code look_after_nodes(void *ctx, struct cmd *cmd, struct err *err)
{
    struct server *server = ctx;

    server->nodes_due_ms = cmd->mono_ms + NODES_MS;
    TRY(nodes_sweep(cmd, err));
    return jobs_idle_sweep(cmd, err);
}

static enum err_code tick(void *ctx, struct cmd *cmd, struct err *err)
{
    struct server *server = ctx;
    bool took_over = false;

    TRY(store_lead(cmd->store, &server->fence, &took_over, err));
    scheduler_leads(server->scheduler, server->fence != 0);
    if (server->fence == 0)
        return OK;
    if (took_over) { /* nobody is late before this server had a chance to hear of it */
        if (store_is_shared(cmd->store))
            log_info("leader.took_over", "number", LOG_I64(server->fence));
        lease_table_release(&cmd->domain->leases);
        lease_table_init(&cmd->domain->leases, cmd->mono_ms);
        TRY(store_run_seen_all(cmd->store, cmd->now, err));
    }
    TRY(targets_sweep(cmd, err));
    TRY(jobs_sweep(cmd, err));
    TRY(runs_sweep(cmd, err));
    return identity_sessions_expire(cmd, err);
}

/* Our own regular commands; `work` lives on the stack of the caller. */
static void add_own(struct batch *batch, struct work *work, const char *what)
{
    (void)add(batch, work);
    if (work->code != OK)
        log_error("command.failed", "what", what, "error", work->err.text);
}

/* Those that wait for one agent: mostly one. */
static void unpark(struct server *server, const struct id *agent)
{
    struct parked *p = map_take(&server->parked, id_str(agent)), *next;

    for (; p; p = next) {
        struct work *work = MEM_NEW(struct work);
        next = p->next;
        work->call = p->call;
        buf_clear(&work->call->out);
        json_writer_init(&work->call->json, &work->call->out);
        work->call->park_ms = 0;
        work->call->woken = true;
        mem_free(p);
        if (!queue_push(server->commands, work)) {
            struct err err;
            (void)err_set(&err, ERR_UNAVAILABLE, "the server is stopping");
            server__answer(work->call, &err);
            mem_free(work);
        }
    }
}

/* Answers those of a list whose time is up, or all; returns the others. */
static struct parked *answer_due(struct parked *list, int64_t now_mono_ms, bool all)
{
    struct parked *left = NULL, *next;

    for (struct parked *p = list; p; p = next) {
        next = p->next;
        if (!all && p->until_mono_ms > now_mono_ms && !http_exchange_is_gone(p->call->exchange)) {
            p->next = left;
            left = p;
            continue;
        }
        server__answer(p->call, NULL);
        mem_free(p);
    }
    return left;
}

/* Answers the polls whose time is up, or all of them. They were rendered when they were parked. */
static void answer_parked(struct server *server, int64_t now_mono_ms, bool all)
{
    struct map left;
    struct str agent;
    void *list;

    map_init(&left, PARKED_AGENTS_MAX);
    for (size_t at = 0; map_next(&server->parked, &at, &agent, &list);) {
        list = answer_due(list, now_mono_ms, all);
        if (list)
            ENSURE(map_put(&left, agent, list));
    }
    map_release(&server->parked);
    server->parked = left;
}

static void park(struct server *server, struct http_call *call)
{
    struct str agent = http_call_path(call, 0);
    struct parked *p = MEM_NEW(struct parked);

    p->call = call;
    p->until_mono_ms = clock_mono_ms() + call->park_ms;
    p->next = map_get(&server->parked, agent);
    if (!map_put(&server->parked, agent, p)) { /* too many: it may ask again */
        server__answer(call, NULL);
        mem_free(p);
    }
}

static void publish(struct server *server, const struct cmd *cmd)
{
    for (const struct notice *n = cmd->notices; n; n = n->next) {
        if (n->kind == NOTICE_JOB)
            scheduler_note_job(server->scheduler, &n->id);
        if (n->kind == NOTICE_POKE)
            unpark(server, &n->id);
        else
            hub_publish(server->hub, n);
    }
    if (cmd->wake_scheduler)
        scheduler_note_settings(server->scheduler);
    if (cmd->appended.v) {
        writer_id *ref = MEM_NEW(writer_id);
        *ref = cmd->appended;
        if (!queue_push(server->ingest[(uint64_t)cmd->appended_run.v % INGEST_COUNT], ref))
            mem_free(ref); /* its next post, or the next start, finds the bytes */
    }
}

static void finish_call(struct server *server, struct http_call *call, const struct err *err)
{
    if (!err && call->close_streams)
        hub_restart(server->hub);
    if (!err && call->park_ms > 0)
        park(server, call);
    else if (!err && call->stream)
        hub_open(server->hub, call, &server->write_store);
    else
        server__answer(call, err);
}

/* After the commit: notices first, so that whoever hears the answer can rely on them. */
static void finish(struct batch *batch, struct slot *slot)
{
    struct work *work = slot->work;
    struct cmd *cmd = slot->is_call ? &work->call->cmd : &slot->cmd;

    if (batch->commit != OK && work->code == OK) {
        work->code = batch->commit;
        work->err = batch->commit_err;
    }
    if (work->code == OK)
        publish(batch->server, cmd);
    if (slot->is_call) {
        finish_call(batch->server, work->call, work->code == OK ? NULL : &work->err);
        mem_free(work);
    } else if (work->done) {
        arena_release(&slot->arena);
        latch_set(work->done);
    } else {
        arena_release(&slot->arena);
        if (work->owned)
            mem_free(work);
    }
}

static void fatal(struct server *server, const struct err *err)
{
    log_error("store.fatal", "error", err->text);
    server__fatal(server);
}

/* Tells the other servers with the commit what this batch changed. */
static enum err_code tell(struct batch *batch, bool ticked, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct server *server = batch->server;

    if (!store_is_shared(&server->write_store))
        return OK;
    buf_init(&text, STORE_NOTICE_BYTES_MAX);
    for (size_t i = 0; i < batch->count; i++) {
        const struct slot *slot = &batch->slots[i];
        if (slot->work->code != OK || slot->work->of_another)
            continue;
        TRY(server__tell(server, slot->is_call ? &slot->work->call->cmd : &slot->cmd,
                         slot->is_call && slot->work->call->close_streams, &text, err));
    }
    if (ticked)
        TRY(server__tell_watching(server, &text, err));
    return server__tell_end(server, &text, err);
}

static void run_batch(struct server *server, struct batch *batch, void **items, size_t count)
{
    struct work retaining = {.run = retain, .ctx = server};
    struct work charging = {.run = charge, .ctx = server};
    struct work looking = {.run = look_after_nodes, .ctx = server};
    struct work ticking = {.run = tick, .ctx = server};
    bool ticked;
    int64_t now = clock_mono_ms();

    batch->server = server;
    batch->count = 0;
    batch->commit = store_begin(&server->write_store, &batch->commit_err);
    for (size_t i = 0; i < count; i++)
        (void)add(batch, items[i]);
    ticked = now >= server->tick_due_ms;
    if (ticked) {
        server->tick_due_ms = now + TICK_MS;
        add_own(batch, &ticking, "tick");
        if (server->fence != 0 && now >= server->retain_due_ms)
            add_own(batch, &retaining, "retain");
        if (server->fence != 0 && now >= server->charge_due_ms)
            add_own(batch, &charging, "charge");
        if (server->fence != 0 && now >= server->nodes_due_ms)
            add_own(batch, &looking, "nodes");
    }
    if (batch->commit == OK) {
        batch->commit = tell(batch, ticked, &batch->commit_err);
        if (batch->commit == OK)
            batch->commit = store_commit(&server->write_store, &batch->commit_err);
        else
            store_rollback(&server->write_store);
    }
    if (batch->commit != OK && batch->commit != ERR_DISK_FULL && batch->commit != ERR_UNAVAILABLE)
        fatal(server, &batch->commit_err);
    for (size_t i = 0; i < batch->count; i++)
        finish(batch, &batch->slots[i]);
}

static int64_t wait_ms(const struct server *server)
{
    return MAX(server->tick_due_ms - clock_mono_ms(), 0);
}

void server__command_run(void *ctx)
{
    struct server *server = ctx;
    struct batch *batch = MEM_NEW(struct batch);
    void *items[COMMAND_BATCH_MAX];
    int64_t swept = clock_mono_ms(), answered = swept;

    map_init(&server->parked, PARKED_AGENTS_MAX);
    while (!server->no_more_commands || queue_len(server->commands)) {
        size_t count = queue_pop_many(server->commands, items, COMMAND_BATCH_MAX, wait_ms(server));
        int64_t now;
        if (count || !server->no_more_commands)
            run_batch(server, batch, items, count);
        now = clock_mono_ms();
        if (server->stopping || now - answered >= PARKED_LOOK_MS) {
            answer_parked(server, now, server->stopping);
            answered = now;
        }
        if (now - swept >= TICK_MS) {
            hub_sweep(server->hub);
            swept = now;
        }
    }
    answer_parked(server, 0, true);
    map_release(&server->parked);
    hub_free(server->hub);
    server->hub = NULL;
    mem_free(batch);
}
