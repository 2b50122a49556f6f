/* Ingest threads: decode what was committed, hand the prepared writes to the command thread, and
 * bring applied bytes into chunks when there is time. Runs are sharded over the threads, so the
 * batches of a writer are applied in order. */
#include "domain/ingest/ingest.h"

#include "base/log.h"
#include "base/mem.h"
#include "domain/metrics/metrics.h"
#include "domain/runs/attributes.h"
#include "domain/runs/runs.h"
#include "server/server_impl.h"
#include "store/store_log.h"
#include "store/store_run.h"
#include "sys/clock.h"

#define IDLE_MS           500
#define CATCH_UP_MS       2000
#define COMPACT_BYTES_MIN 65536
#define COMPACT_BYTES_MAX 1048576
/* An open tail is decoded for every chart: beyond this it is compacted before more is applied. */
#define TAIL_BYTES_MAX   (32 * 1024 * 1024)
#define REFRESH_RUNS     16
#define COMING_MS        600000
#define COMPACT_WRITERS  16
#define CATCH_UP_WRITERS 256

static enum err_code compact(void *ctx, struct cmd *cmd, struct err *err)
{
    return metrics_compact_write(cmd, ctx, err);
}

static enum err_code compact_one(struct server *server, struct store *store,
                                 const struct writer *writer, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct compact_plan plan;
    struct cmd cmd;

    server_cmd_init(server, &cmd, store, &arena);
    TRY(metrics_compact_read(&cmd, writer, COMPACT_BYTES_MAX, &plan, err));
    while (plan.from < plan.to && !plan.finished)
        TRY(server_command(server, compact, &plan, err));
    return OK;
}

struct applying {
    struct ingest_work work;
    struct arena *arena;
};

static enum err_code apply_names(void *ctx, struct cmd *cmd, struct err *err)
{
    struct applying *a = ctx;

    return ingest_apply_names(cmd, &a->work, err);
}

static enum err_code apply(void *ctx, struct cmd *cmd, struct err *err)
{
    struct applying *a = ctx;

    return ingest_apply(cmd, &a->work, a->arena, err);
}

static enum err_code apply_facts(void *ctx, struct cmd *cmd, struct err *err)
{
    struct applying *a = ctx;

    return ingest_apply_facts(cmd, &a->work, err);
}

/* Applies one blob, or makes room for it. *ret_more: there may be another. */
static enum err_code apply_next(struct server *server, struct store *store, writer_id id,
                                bool *ret_more, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(ingest_batch_release) struct ingest_batch batch = {0};
    struct applying applying = {.work = {.writer = id, .batch = &batch}, .arena = &arena};
    struct ingest_work *work = &applying.work;
    struct log_blob blob;
    struct writer writer;

    *ret_more = false;
    TRY(store_writer_by_id(store, id, &arena, &writer, err));
    if (writer.fenced || writer.applied_offset >= writer.committed_offset)
        return OK;
    *ret_more = true;
    if (writer.applied_offset - writer.compacted_offset > TAIL_BYTES_MAX)
        return compact_one(server, store, &writer, err);
    TRY(store_log_blob_next(store, id, writer.applied_offset, &arena, &blob, err));
    ingest_decode(blob.data, blob.start_offset, &arena, &batch);
    while (batch.name_count > INGEST_NAMES_MAX)
        TRY(server_command(server, apply_names, &applying, err));
    TRY(server_command(server, apply, &applying, err));
    while (work->entries_done < work->entry_count)
        TRY(server_command(server, apply_facts, &applying, err));
    return OK;
}

static void apply_all(struct server *server, struct store *store, writer_id id)
{
    bool more = true;
    struct err err;

    while (more && !server->stopping) {
        enum err_code code = apply_next(server, store, id, &more, &err);
        if (code == ERR_NOT_FOUND)
            return; /* the run was deleted meanwhile */
        if (code != OK && code != ERR_CONFLICT) {
            log_error("ingest.apply", "writer", LOG_I64(id.v), "error", err.text);
            return;
        }
    }
}

/* One slice for each of some writers. True: there was something to do. */
static bool compact_some(struct server *server, struct store *store, size_t index)
{
    bool did = false;
    CLEANUP(arena_release) struct arena arena = {0};
    struct writer *writers;
    size_t count = 0;
    struct err err;

    if (store_writer_uncompacted(store, COMPACT_BYTES_MIN, COMPACT_WRITERS, &arena, &writers,
                                 &count, &err) != OK)
        return false; /* it is tried again in a moment */
    for (size_t i = 0; i < count && !server->stopping; i++) {
        enum err_code code;
        if ((uint64_t)writers[i].run.v % INGEST_COUNT != index)
            continue;
        code = compact_one(server, store, &writers[i], &err);
        did = did || code == OK;
        if (code != OK && code != ERR_CONFLICT && code != ERR_NOT_FOUND)
            log_error("ingest.compact", "writer", LOG_I64(writers[i].id.v), "error", err.text);
    }
    return did;
}

static enum err_code refresh(void *ctx, struct cmd *cmd, struct err *err)
{
    return metrics_refresh_write(cmd, ctx, err);
}

static enum err_code refresh_one(struct server *server, struct store *store, run_id run,
                                 struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct refresh_plan plan;
    struct cmd cmd;

    server_cmd_init(server, &cmd, store, &arena);
    TRY(metrics_refresh_read(&cmd, run, &plan, err));
    do
        TRY(server_command(server, refresh, &plan, err));
    while (!plan.finished);
    return OK;
}

/* Runs of which not all points count, or other ones than before. Where facts are coming, a server
 * has died meanwhile, this one before it was started again; but another server of the database may
 * be bringing them right now, and is left alone for a while. *coming_ms: until when. */
static void refresh_some(struct server *server, struct store *store, size_t index,
                         int64_t *coming_ms)
{
    bool coming = !store_is_shared(store) || clock_mono_ms() >= *coming_ms;
    run_id runs[REFRESH_RUNS];
    size_t count = 0;
    struct err err;

    if (store_run_facts_stale_list(store, coming, REFRESH_RUNS, runs, &count, &err) != OK)
        return; /* it is tried again in a moment */
    if (coming)
        *coming_ms = clock_mono_ms() + COMING_MS;
    for (size_t i = 0; i < count && !server->stopping; i++) {
        enum err_code code;
        if ((uint64_t)runs[i].v % INGEST_COUNT != index)
            continue;
        code = refresh_one(server, store, runs[i], &err);
        if (code != OK && code != ERR_CONFLICT && code != ERR_NOT_FOUND)
            log_error("ingest.refresh", "run", LOG_I64(runs[i].v), "error", err.text);
    }
}

static enum err_code index_runs(void *ctx, struct cmd *cmd, struct err *err)
{
    return attributes_catch_up(cmd, ctx, err);
}

static enum err_code purge_runs(void *ctx, struct cmd *cmd, struct err *err)
{
    return runs_purge(cmd, ctx, err);
}

/* Frees the space of deleted runs, a slice a command, while nothing else is to be done here.
 * *more: an earlier turn has left something. */
static void purge_some(struct server *server, struct store *store, struct queue *queue, bool *more)
{
    struct err err;
    run_id next = {0};

    if (!*more && store_run_trash_next(store, &next, &err) == OK)
        *more = next.v != 0;
    while (*more && queue_len(queue) == 0 && !server->stopping)
        if (server_command(server, purge_runs, more, &err) != OK) {
            log_error("runs.purge", "error", err.text);
            return;
        }
}

/* Runs that an older version left without values for the runs table; a few at a time, so that
 * commands get through between. *more becomes false when there are none: new ones come indexed. */
static void index_some(struct server *server, struct queue *queue, bool *more)
{
    struct err err;

    while (*more && queue_len(queue) == 0 && !server->stopping)
        if (server_command(server, index_runs, more, &err) != OK) {
            log_error("runs.index", "error", err.text);
            return;
        }
}

/* What was committed and not applied: by an earlier process, by another server of the database that
 * has died since, or here while the database could not be reached. Who applies what another server
 * is applying right now loses the race for the offset and changes nothing. */
static void catch_up(struct server *server, struct store *store, size_t index)
{
    writer_id after = {0};
    size_t count = 0;

    do {
        CLEANUP(arena_release) struct arena arena = {0};
        struct writer *writers;
        struct err err;
        if (store_writer_unapplied(store, after, CATCH_UP_WRITERS, &arena, &writers, &count,
                                   &err) != OK)
            return;
        for (size_t i = 0; i < count; i++) {
            if ((uint64_t)writers[i].run.v % INGEST_COUNT == index)
                apply_all(server, store, writers[i].id);
            after = writers[i].id;
        }
    } while (count == CATCH_UP_WRITERS && !server->stopping);
}

void server__ingest_run(void *ctx)
{
    struct ingest_worker *self = ctx;
    struct server *server = self->server;
    struct queue *queue = server->ingest[self->index];
    struct store store = {0};
    size_t index = self->index;
    int64_t catch_up_ms = 0, coming_ms = 0;
    bool busy = false; /* compacting */
    bool unindexed = true, unpurged = true;

    mem_free(self);
    if (!server__open_reader(server, &store))
        return;
    while (!server->stopping) {
        writer_id *id;
        if (clock_mono_ms() >= catch_up_ms) {
            catch_up(server, &store, index);
            catch_up_ms = clock_mono_ms() + CATCH_UP_MS;
        }
        id = queue_pop(queue, busy ? 0 : IDLE_MS);
        if (id)
            apply_all(server, &store, *id);
        mem_free(id);
        if (queue_len(queue) == 0 && !server->stopping)
            busy = compact_some(server, &store, index);
        if (queue_len(queue) == 0 && !server->stopping)
            refresh_some(server, &store, index, &coming_ms);
        if (index == 0)
            index_some(server, queue, &unindexed);
        if (index == INGEST_COUNT - 1)
            purge_some(server, &store, queue, &unpurged);
    }
    for (writer_id *id; (id = queue_pop(queue, 0));)
        mem_free(id);
    store_close(&store);
}
