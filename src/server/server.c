/* Wiring: data folder, threads, listening, stopping. */
#include "server/server.h"

#include "base/log.h"
#include "base/mem.h"
#include "domain/identity/identity.h"
#include "domain/targets/targets.h"
#include "drivers/blob/fs/blob_fs.h"
#include "server/seal_key.h"
#include "server/server_impl.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/random.h"
#include "sys/zone.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CONNECTIONS_MAX   4000
#define PER_ADDRESS_MAX   256
#define BODY_DEADLINE_MS  30000
#define MEMORY_BODIES_MAX (256u * 1024 * 1024)
#define STOP_WAIT_MS      5000
#define OPEN_AGAIN_MS     200

static void fill_random(void *ctx, void *ret_bytes, size_t len)
{
    (void)ctx;
    random_fill(ret_bytes, len);
}

static bool zone_known(void *ctx, struct str name)
{
    return zones_known(ctx, name);
}

static bool zone_month(void *ctx, struct str name, time_ms at, time_ms *ret_start, time_ms *ret_end)
{
    return zones_month(ctx, name, at, ret_start, ret_end);
}

void server_cmd_init(struct server *server, struct cmd *cmd, struct store *store,
                     struct arena *arena)
{
    *cmd = (struct cmd){
        .domain = &server->domain,
        .store = store,
        .arena = arena,
        .now = clock_wall_ms(),
        .mono_ms = clock_mono_ms(),
        .operation = "system",
        .request_id = STR(""),
    };
}

void server__fatal(struct server *server)
{
    const uint64_t one = 1;

    if (write(server->fatal_fd, &one, sizeof one) != sizeof one)
        log_error("server.fatal", "error", "the main thread cannot be told");
}

bool server__open_reader(struct server *server, struct store *store)
{
    struct err err;
    enum err_code code = store_open(store, server->db_path, false, &err);

    while (code == ERR_UNAVAILABLE && !server->stopping) { /* as later: it waits for its database */
        (void)poll(NULL, 0, OPEN_AGAIN_MS);
        code = store_open(store, server->db_path, false, &err);
    }
    if (code == OK || server->stopping)
        return code == OK;
    log_error("store.open", "error", err.text);
    server__fatal(server);
    return false;
}

static char *path_in(const struct server *server, const char *name)
{
    CLEANUP(arena_release) struct arena arena = {0};

    return mem_copy_text(arena_printf(&arena, "%s/%s", server->options.data_dir, name));
}

static enum err_code lock_data(struct server *server, struct err *err)
{
    char *path = path_in(server, "lock");
    enum err_code code = file_lock(path, &server->lock_fd, err);

    mem_free(path);
    if (code == ERR_CONFLICT) {
        (void)err_set(err, ERR_CONFLICT, "the data folder %s is in use by another euvyrad",
                      server->options.data_dir);
        err_hint(err, "stop it first, or give this one a folder of its own with --data");
    }
    return code;
}

/* A folder whose data lies in PostgreSQL must not silently get an empty SQLite file, nor the other
 * way round. */
static enum err_code check_kind(struct server *server, struct err *err)
{
    char *sqlite = path_in(server, "euvyra.db"), *mark = path_in(server, "uses-postgresql");
    enum err_code code = OK;

    if (server->options.database && file_exists(sqlite)) {
        code = err_set(err, ERR_CONFLICT, "the data folder %s holds an SQLite database",
                       server->options.data_dir);
        err_hint(err, "give a server on PostgreSQL a data folder of its own");
    } else if (!server->options.database && file_exists(mark)) {
        code = err_set(err, ERR_CONFLICT, "the data of %s lies in PostgreSQL",
                       server->options.data_dir);
        err_hint(err, "give --database or --database-file as before");
    } else if (server->options.database && !file_exists(mark)) {
        code = file_write_atomic(mark,
                                 STR("The database of this folder is named by the options of "
                                     "euvyrad.\n"),
                                 0600, err);
    }
    mem_free(sqlite);
    mem_free(mark);
    return code;
}

static enum err_code check_zone(struct server *server, struct err *err)
{
    const char *zone = server->options.config.zone;

    if (zones_known(server->zones, str_from(zone)))
        return OK;
    (void)err_set(err, ERR_INVALID, "--time-zone: this system has no time zone \"%s\"", zone);
    err_hint(err, "a name of the IANA database, such as Europe/Berlin; on Debian they come with "
                  "the package tzdata");
    return ERR_INVALID;
}

enum err_code server_open(struct server *server, const struct server_options *options,
                          struct err *err)
{
    *server = (struct server){.options = *options, .lock_fd = -1};
    server->fatal_fd = eventfd(0, EFD_CLOEXEC);
    server->domain.config = options->config;
    server->domain.random = (struct random_port){fill_random, NULL};
    server->zones = zones_new(ZONE_FOLDER);
    server->domain.zones = (struct zones_port){zone_known, zone_month, server->zones};
    map_seed_set(random_u64());
    lease_table_init(&server->domain.leases, clock_mono_ms());
    TRY(check_zone(server, err));
    TRY(file_make_dirs(options->data_dir, 0700, err));
    TRY(lock_data(server, err));
    TRY(check_kind(server, err));
    server->db_path =
        options->database ? mem_copy_text(options->database) : path_in(server, "euvyra.db");
    server->id = random_id(ID_SESSION);
    server->spool_dir = path_in(server, "spool");
    TRY(file_make_dirs(server->spool_dir, 0700, err));
    server->blobs_dir =
        options->blobs_dir ? mem_copy_text(options->blobs_dir) : path_in(server, "blobs");
    TRY(blob_fs_new(server->blobs_dir, &server->blobs, err));
    server->domain.blobs = blob_fs_port(server->blobs);
    TRY(store_open(&server->write_store, server->db_path, true, err));
    /* SQLite flushes the folder after it has made its log, and does not mind when that fails. */
    return file_sync_dir(options->data_dir, err);
}

static enum err_code start_threads(struct server *server, struct err *err)
{
    char name[16];

    server->commands = queue_new(QUEUE_ITEMS_MAX);
    server->reads = queue_new(QUEUE_ITEMS_MAX);
    server->hub = hub_new();
    server->watchers = watchers_new();
    server->scheduler = scheduler_new(server);
    server->domain.waits = (struct waits_port){scheduler_wait_find, scheduler_forecast,
                                               scheduler_ranked, server->scheduler};
    TRY(thread_start(&server->command_thread, "command", server__command_run, server, err));
    TRY(scheduler_start(server->scheduler, err));
    if (store_is_shared(&server->write_store))
        TRY(thread_start(&server->listener, "listener", server__listener_run, server, err));
    for (size_t i = 0; i < WORKER_COUNT; i++) {
        snprintf(name, sizeof name, "worker-%zu", i);
        TRY(thread_start(&server->workers[i], name, server__worker_run, server, err));
    }
    for (size_t i = 0; i < INGEST_COUNT; i++) {
        struct ingest_worker *self = MEM_NEW(struct ingest_worker);
        *self = (struct ingest_worker){server, i};
        server->ingest[i] = queue_new(QUEUE_ITEMS_MAX);
        snprintf(name, sizeof name, "ingest-%zu", i);
        TRY(thread_start(&server->ingesters[i], name, server__ingest_run, self, err));
    }
    return OK;
}

static enum err_code listen_on(struct server *server, struct err *err)
{
    struct http_server_options options = {
        .listen = server->options.listen,
        .tls_cert_file = server->options.tls_cert_file,
        .tls_key_file = server->options.tls_key_file,
        .spool_dir = server->spool_dir,
        .thread_count = 1,
        .connections_max = CONNECTIONS_MAX,
        .connections_per_address_max = PER_ADDRESS_MAX,
        .body_deadline_ms = BODY_DEADLINE_MS,
        .memory_bodies_bytes_max = MEMORY_BODIES_MAX,
        .ctx = server,
        .head = server__head,
        .request = server__request,
        .render_error = server__render_error,
    };

    return http_server_start(&server->http, &options, err);
}

/* Servers of one database must have one folder of files: the first one names it, in the folder and
 * in the database. In the transaction, so that two that start at once agree. */
static enum err_code check_blobs(const struct server *server, struct store *store, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(buf_release) struct buf have = {0};
    const char *path = arena_printf(&arena, "%s/installation", server->blobs_dir);
    struct id wanted, found = random_id(ID_KEY);

    TRY(store_blobs_name_get(store, &wanted, err));
    if (file_exists(path)) {
        TRY(file_read(path, ID_BYTES, &have, err));
        if (!id_parse(str_trim(buf_str(&have)), ID_KEY, &found))
            return err_set(err, ERR_IO, "%s holds no name of an installation", path);
    } else if (!wanted.text[0]) {
        TRY(file_write_atomic(path, str_from(arena_printf(&arena, "%s\n", found.text)), 0600, err));
    }
    if (!wanted.text[0])
        return store_blobs_name_set(store, &found, err);
    if (memcmp(wanted.text, found.text, ID_LEN) == 0)
        return OK;
    (void)err_set(err, ERR_CONFLICT, "the folder %s is not where the files of this database lie",
                  server->blobs_dir);
    err_hint(err, "give --blobs with the folder that the other servers use, or a copy of it");
    return ERR_CONFLICT;
}

struct first {
    struct server *server;
    char token[44];
};

/* The first command of a start: a set-up token where one is needed. */
static enum err_code first_command(void *ctx, struct cmd *cmd, struct err *err)
{
    struct first *first = ctx;
    bool needed = false;

    if (store_is_shared(cmd->store))
        TRY(check_blobs(first->server, cmd->store, err));
    TRY(seal_key_load(first->server, cmd, err));
    TRY(identity_setup_needed(cmd, &needed, err));
    return needed ? identity_setup_token(cmd, first->token, err) : OK;
}

enum err_code server_start(struct server *server, char ret_setup_link[SETUP_LINK_BYTES],
                           struct err *err)
{
    struct first first = {.server = server};
    const char *colon;

    server->env = (struct http_env){
        .domain = &server->domain,
        .version = EUVYRA_VERSION,
        .tls = server->options.tls_cert_file != NULL,
        .watch_ctx = server,
        .is_watched = server__is_watched,
        .watch = server__watch,
    };
    TRY(start_threads(server, err));
    TRY(server_command(server, first_command, &first, err));
    TRY(listen_on(server, err));
    colon = strrchr(server->options.listen, ':');
    ENSURE(colon); /* it listens */
    snprintf(server->url, sizeof server->url, "%s://%.*s:%d", server->env.tls ? "https" : "http",
             (int)(colon - server->options.listen), server->options.listen,
             http_server_port(server->http));
    ret_setup_link[0] = '\0';
    if (first.token[0])
        snprintf(ret_setup_link, SETUP_LINK_BYTES, "%s/setup#%s", server->url, first.token);
    return OK;
}

const char *server_url(const struct server *server)
{
    return server->url;
}

enum err_code server_run_alone(struct server *server,
                               enum err_code (*run)(void *ctx, struct cmd *cmd, struct err *err),
                               void *ctx, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct cmd cmd;
    enum err_code code;

    server_cmd_init(server, &cmd, &server->write_store, &arena);
    TRY(store_begin(&server->write_store, err));
    code = run(ctx, &cmd, err);
    if (code == OK)
        return store_commit(&server->write_store, err);
    store_rollback(&server->write_store);
    return code;
}

enum err_code server_command(struct server *server,
                             enum err_code (*run)(void *ctx, struct cmd *cmd, struct err *err),
                             void *ctx, struct err *err)
{
    struct work work = {.run = run, .ctx = ctx, .done = latch_new()};

    if (!queue_push(server->commands, &work)) {
        latch_free(work.done);
        return err_set(err, ERR_UNAVAILABLE, "the server is too busy or is stopping");
    }
    (void)latch_wait(work.done, -1);
    latch_free(work.done);
    if (work.code != OK && err)
        *err = work.err;
    return work.code;
}

/* Calls that still wait when the threads are gone. */
static void drain(struct queue *queue)
{
    struct work *work;
    struct err err;

    (void)err_set(&err, ERR_UNAVAILABLE, "the server is stopping");
    while (queue && (work = queue_pop(queue, 0))) {
        if (work->call)
            server__answer(work->call, &err);
        mem_free(work);
    }
}

static void stop_threads(struct server *server)
{
    server->stopping = true;
    for (size_t i = 0; i < INGEST_COUNT; i++)
        if (server->ingest[i])
            queue_close(server->ingest[i]);
    for (size_t i = 0; i < INGEST_COUNT; i++)
        thread_join(&server->ingesters[i]);
    if (server->reads)
        queue_close(server->reads);
    for (size_t i = 0; i < WORKER_COUNT; i++)
        thread_join(&server->workers[i]);
    thread_join(&server->listener);
    scheduler_stop(server->scheduler);
    /* The others have gone; nobody gives it work any more. */
    server->no_more_commands = true;
    if (server->commands)
        queue_close(server->commands);
    thread_join(&server->command_thread);
}

void server_stop(struct server *server)
{
    struct err err;

    stop_threads(server);
    drain(server->reads);
    drain(server->commands);
    http_server_stop(&server->http, STOP_WAIT_MS);
    watchers_free(server->watchers);
    scheduler_free(server->scheduler);
    queue_free(server->commands);
    queue_free(server->reads);
    for (size_t i = 0; i < INGEST_COUNT; i++)
        queue_free(server->ingest[i]);
    if (server->write_store.db && store_checkpoint(&server->write_store, &err) != OK)
        log_warn("store.checkpoint", "error", err.text);
    store_close(&server->write_store);
    blob_fs_free(server->blobs);
    zones_free(server->zones);
    seal_key_wipe(&server->seal_key);
    lease_table_release(&server->domain.leases);
    mem_free(server->db_path);
    mem_free(server->blobs_dir);
    mem_free(server->spool_dir);
    file_close(&server->lock_fd);
    file_close(&server->fatal_fd);
}
