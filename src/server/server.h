/* euvyrad's inside: threads, lanes and what ties them together.
 *
 *     loop threads ──calls──▶ worker threads (reads, slow preparation)
 *          │                        │
 *          └──────calls─────────────┴──▶ command thread ──▶ store, one transaction a batch
 *                                             │   ▲
 *                    notices, answers ◀───────┘   └── prepared writes ── ingest threads
 *
 * The command thread owns the write connection, parked polls and event streams. Servers of one
 * database tell each other what they have committed: the listener thread hands it to the command
 * thread. One of them leads: it alone schedules and sweeps. */
#pragma once

#include "domain/cmd.h"
#include "http/http_call.h"
#include "sys/thread.h"

#define WORKER_COUNT      4
#define INGEST_COUNT      2
#define COMMAND_BATCH_MAX 256
#define QUEUE_ITEMS_MAX   16384

struct server_options {
    const char *data_dir;
    const char *database;  /* NULL: an SQLite file in data_dir; else as for store_open */
    const char *blobs_dir; /* NULL: blobs below data_dir; servers of one database share it */
    const char *listen;
    const char *tls_cert_file, *tls_key_file;
    const char *secret_key_file; /* NULL: secret.key in data_dir */
    struct domain_config config;
};

struct offer;

/* What reaches the command thread and the workers. */
struct work {
    struct http_call *call;                                            /* an HTTP call, or */
    struct offer *offer;                                               /* to help a worker, or */
    enum err_code (*run)(void *ctx, struct cmd *cmd, struct err *err); /* one of our own */
    void *ctx;
    struct latch *done; /* set after the commit; the waiter owns `work` */
    enum err_code code; /* valid once done */
    struct err err;
    bool owned;      /* nobody waits: the command thread frees it */
    bool of_another; /* what another server said: its notices are not told on */
};

struct parked {
    struct parked *next;
    struct http_call *call;
    int64_t until_mono_ms;
};

struct server {
    struct server_options options;
    struct domain domain;
    struct http_env env;
    struct http_server *http;
    struct blob_fs *blobs;
    struct zones *zones;
    struct seal_key seal_key;
    int lock_fd;
    char *db_path; /* or the PostgreSQL database: may hold a password */
    char *blobs_dir, *spool_dir;
    struct id id;  /* of this process, among the servers of its database */
    int64_t fence; /* its number as the leader, 0: another server leads. The command thread's */
    char url[300];
    struct queue *commands, *reads, *ingest[INGEST_COUNT];
    struct thread *command_thread, *workers[WORKER_COUNT], *ingesters[INGEST_COUNT];
    struct thread *listener;  /* where servers share a database */
    struct store write_store; /* the command thread's */
    struct map parked;        /* agent -> struct parked; the command thread's */
    struct hub *hub;          /* the command thread's */
    struct watchers *watchers;
    int64_t tick_due_ms, retain_due_ms, charge_due_ms, nodes_due_ms;
    struct scheduler *scheduler;
    _Atomic bool stopping;
    _Atomic bool no_more_commands; /* set when all who give commands have ended */
    int fatal_fd; /* written to when the store cannot go on: main stops the process */
};

/* Opens the data folder: lock, database, blobs. ERR_CONFLICT: another server has it, or it is from
 * a newer version. thread: main */
MUST_CHECK enum err_code server_open(struct server *server, const struct server_options *options,
                                     struct err *err);
/* Starts threads and listens. *ret_setup_link has the one-time link when there is no user yet,
 * else "". thread: main */
#define SETUP_LINK_BYTES 512
MUST_CHECK enum err_code server_start(struct server *server, char ret_setup_link[SETUP_LINK_BYTES],
                                      struct err *err);
void server_stop(struct server *server);             /* accepts a half-opened server */
const char *server_url(const struct server *server); /* once it listens */
/* Runs one command on a server that is open and not started. thread: main */
enum err_code server_run_alone(struct server *server,
                               enum err_code (*run)(void *ctx, struct cmd *cmd, struct err *err),
                               void *ctx, struct err *err);

/* Runs a command on the command thread and waits for its commit. thread: any but command */
enum err_code server_command(struct server *server,
                             enum err_code (*run)(void *ctx, struct cmd *cmd, struct err *err),
                             void *ctx, struct err *err);
void server_cmd_init(struct server *server, struct cmd *cmd, struct store *store,
                     struct arena *arena);
