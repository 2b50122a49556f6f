/* Shared between the files of src/server. */
#pragma once

#include "server/server.h"

/* Answers and frees a call. `err` may be NULL: the answer is in the call. thread: any */
void server__answer(struct http_call *call, const struct err *err);
/* Receives exchanges from the HTTP server. thread: loop */
enum err_code server__head(void *ctx, const struct http_head *head, struct http_body_plan *ret_plan,
                           struct err *err);
void server__request(void *ctx, struct http_exchange *exchange);
void server__render_error(void *ctx, const struct http_exchange *exchange, const struct err *err,
                          struct buf *out);
/* Serves the console's files; false when there is no such file. thread: loop */
bool server__console(const struct server *server, struct http_exchange *exchange);

/* The store cannot go on: ends the process, soon. thread: any */
void server__fatal(struct server *server);

/* A thread's own connection for reading. False: the server is stopping. thread: any; may block */
bool server__open_reader(struct server *server, struct store *store);
void server__worker_run(void *server);
/* For struct cmd_helpers: ctx is the server. thread: worker */
MUST_CHECK enum err_code server__answer_parts(void *server, const struct cmd_parts *parts,
                                              struct cmd *cmd, struct err *err);
/* Takes an offer to help, if it still stands. thread: worker */
void server__help(struct offer *offer, struct store *store);
void server__command_run(void *server);
struct ingest_worker {
    struct server *server;
    size_t index;
};
void server__ingest_run(void *ingest_worker);

/* What servers of one database say to each other (notices.c). thread: command, but run */
void server__listener_run(void *server);
MUST_CHECK enum err_code server__tell(struct server *server, const struct cmd *cmd,
                                      bool rights_changed, struct buf *text, struct err *err);
MUST_CHECK enum err_code server__tell_watching(struct server *server, struct buf *text,
                                               struct err *err);
MUST_CHECK enum err_code server__tell_end(struct server *server, struct buf *text, struct err *err);

/* The scheduler's thread. Notes: thread: any */
struct scheduler *scheduler_new(struct server *server);
MUST_CHECK enum err_code scheduler_start(struct scheduler *scheduler, struct err *err);
void scheduler_stop(struct scheduler *scheduler); /* accepts NULL; before the command thread ends */
void scheduler_free(struct scheduler *scheduler);
void scheduler_note_job(struct scheduler *scheduler, const struct id *job);
/* Agents, targets, queues or shares. */
void scheduler_note_settings(struct scheduler *scheduler);
void scheduler_leads(struct scheduler *scheduler, bool leads);
/* For struct waits_port. */
bool scheduler_wait_find(void *scheduler, job_id job, struct wait *ret_wait);
bool scheduler_forecast(void *scheduler, const struct forecast_question *question,
                        struct arena *arena, struct forecast *ret_forecast);
size_t scheduler_ranked(void *scheduler, int64_t passed, struct wait_place *ret_places, size_t max);

/* The event streams. thread: command */
struct hub *hub_new(void);
void hub_free(struct hub *hub); /* closes all streams */
void hub_open(struct hub *hub, struct http_call *call, struct store *store);
void hub_publish(struct hub *hub, const struct notice *notice);
void hub_restart(struct hub *hub); /* closes the streams of everybody but administrators */
void hub_restart_all(struct hub *hub);
void hub_sweep(struct hub *hub); /* forgets those whose client is gone */
bool hub_is_heard(const struct hub *hub, project_id project); /* by anybody */
/* Calls `each` with every project that is heard, some twice; project 0: all of them. */
void hub_each_heard(const struct hub *hub, void (*each)(void *ctx, project_id project), void *ctx);

/* Who looks at a run: an event stream that hears of its project, or somebody who has read its
 * console text a moment ago (euvyra logs -f has no stream). Signatures as in http_env. */
struct watchers *watchers_new(void);
void watchers_free(struct watchers *watchers);
void server__watch(void *server, run_id run, int64_t mono_ms); /* thread: any */
/* Runs that are read here; what is looked at through other servers (project 0: all). thread: any */
void watchers_each(struct watchers *watchers, int64_t mono_ms, void (*each)(void *ctx, run_id run),
                   void *ctx);
void watchers_elsewhere(struct watchers *watchers, project_id project, run_id run, int64_t mono_ms);
bool server__is_watched(void *server, const struct run *run); /* thread: command */
