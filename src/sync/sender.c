/* The uploading thread. It owns client and upload; the owner talks to it through a queue of words
 * and a latch that aborts. When the server is away it tries again, slower and slower up to a
 * minute; when the server refuses the key it stops sending and says so once, in `status`. */
#include "sync/sender.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/thread.h"

#include <stdio.h>
#include <string.h>

#define STATUS_BYTES_MAX (4u * 1024u * 1024u)

struct sender {
    const struct run_folder *folder;
    const struct sync_server *server;
    int64_t patience_ms;
    struct thread *thread;
    struct queue *words; /* of pointers to `finish` */
    struct latch *aborted;
    struct latch *ended;
    int finish;        /* what the queue carries the address of */
    struct err result; /* read after `ended` */
};

int64_t sender_retry_ms(int64_t before_ms)
{
    return MIN(before_ms * 2, (int64_t)SENDER_RETRY_MS_MAX);
}

static bool keep_going(void *ctx)
{
    struct sender *sender = ctx;

    return !latch_wait(sender->aborted, 0);
}

static void put_writers(struct json_writer *w, const struct upload *upload)
{
    json_put_key(w, "writers");
    json_begin_object(w);
    for (const struct upload_writer *at = upload->writers; at != NULL; at = at->next) {
        json_put_key(w, at->id.text);
        json_begin_object(w);
        json_put_key(w, "acked");
        json_put_i64(w, (int64_t)at->acked);
        if (at->state != UPLOAD_GOING) {
            json_put_key(w, "problem");
            json_put_text(w, at->problem);
        }
        json_end_object(w);
    }
    json_end_object(w);
}

/* What the SDK and people read: how far the server has it, and what is wrong. */
static void status_write(const struct sender *sender, const struct upload *upload,
                         const struct err *problem, bool is_complete)
{
    CLEANUP(buf_release) struct buf doc = {0};
    char path[PATH_MAX + 16];
    struct json_writer w;
    struct err err;

    buf_init(&doc, STATUS_BYTES_MAX);
    json_writer_init(&w, &doc);
    json_begin_object(&w);
    json_put_key(&w, "time");
    json_put_time(&w, clock_wall_ms());
    json_put_key(&w, "complete");
    json_put_bool(&w, is_complete);
    json_put_key(&w, "stop");
    json_put_bool(&w, upload->stop);
    json_put_key(&w, "error");
    json_put_text(&w, problem->code != OK ? problem->text : NULL);
    put_writers(&w, upload);
    json_end_object(&w);
    (void)buf_add_char(&doc, '\n');
    (void)snprintf(path, sizeof path, "%s/status", sender->folder->path);
    if (file_write_atomic(path, buf_str(&doc), 0644, &err) != OK)
        log_warn("sync.status", "error", err.text);
}

/* The first problem of a writer, for people; the round itself was fine. */
static enum err_code writers_problem(const struct upload *upload, struct err *err)
{
    for (const struct upload_writer *w = upload->writers; w != NULL; w = w->next)
        if (w->state != UPLOAD_GOING)
            return err_set(err, ERR_INVALID, "%s", w->problem);
    return OK;
}

static void log_once(const struct err *problem, enum err_code *last)
{
    if (problem->code != OK && problem->code != *last)
        log_warn("sync.problem", "code", err_code_name(problem->code), "error", problem->text);
    *last = problem->code;
}

/* Rounds until told to finish and everything is there, or it makes no sense to go on. */
static void send_all(struct sender *sender, struct upload *upload)
{
    int64_t retry_ms = SENDER_RETRY_MS_MIN, deadline_ms = 0;
    bool finishing = false;
    enum err_code last_logged = OK;

    while (keep_going(sender)) {
        struct err problem = {0};
        enum err_code code = upload_round(upload, &problem);
        problem.code = code;
        if (code == OK)
            code = writers_problem(upload, &problem);
        bool is_complete = finishing && problem.code == OK;
        status_write(sender, upload, &problem, is_complete);
        log_once(&problem, &last_logged);
        sender->result = problem;
        bool waiting = upload_is_worth_waiting(problem.code);
        if ((problem.code != OK && !waiting && problem.code != ERR_INVALID) ||
            (finishing && !waiting) || (finishing && clock_mono_ms() > deadline_ms))
            return;
        retry_ms = waiting ? sender_retry_ms(retry_ms) : SENDER_RETRY_MS_MIN;
        /* A server that is away is asked again after the retry time even when the run ends. */
        if (queue_pop(sender->words, waiting ? retry_ms : upload->next_ms) != NULL) {
            finishing = true;
            deadline_ms = clock_mono_ms() + sender->patience_ms;
            retry_ms = SENDER_RETRY_MS_MIN;
        }
    }
}

static void sender_run(void *ctx)
{
    struct sender *sender = ctx;
    struct http_client *client = NULL;
    struct upload upload;

    enum err_code code =
        sync_server_connect(sender->server, sender->folder->server, &client, &sender->result);
    upload_init(&upload, sender->folder, client);
    upload.keep_going = keep_going;
    upload.ctx = sender;
    if (code == OK) {
        send_all(sender, &upload);
    } else {
        log_warn("sync.problem", "code", err_code_name(code), "error", sender->result.text);
        status_write(sender, &upload, &sender->result, false);
    }
    upload_release(&upload);
    http_client_free(client);
    latch_set(sender->ended);
}

static void sender_release(struct sender *sender)
{
    thread_join(&sender->thread);
    while (queue_pop(sender->words, 0) != NULL) {
    }
    queue_free(sender->words);
    latch_free(sender->aborted);
    latch_free(sender->ended);
    mem_free(sender);
}

enum err_code sender_start(struct sender **ret_sender, const struct sender_options *options,
                           struct err *err)
{
    struct sender *sender = MEM_NEW(struct sender);

    sender->folder = options->folder;
    sender->server = options->server;
    sender->patience_ms = options->patience_ms;
    sender->words = queue_new(4);
    sender->aborted = latch_new();
    sender->ended = latch_new();
    enum err_code code = thread_start(&sender->thread, "sender", sender_run, sender, err);
    if (code != OK) {
        sender_release(sender);
        return code;
    }
    *ret_sender = sender;
    return OK;
}

void sender_finish(struct sender *sender)
{
    (void)queue_push(sender->words, &sender->finish); /* full: it has been told already */
}

void sender_abort(struct sender *sender)
{
    latch_set(sender->aborted);
    sender_finish(sender);
}

bool sender_wait(struct sender *sender, int64_t timeout_ms)
{
    return latch_wait(sender->ended, timeout_ms);
}

enum err_code sender_free(struct sender **sender, struct err *err)
{
    if (*sender == NULL)
        return OK;
    enum err_code code = (*sender)->result.code;
    if (code != OK && err != NULL)
        *err = (*sender)->result;
    sender_release(*sender);
    *sender = NULL;
    return code;
}
