/* What the servers of one database say to each other.
 *
 * A text is lines, "WHO WHAT PROJECT ID NAME", sent with the commit of what it tells (LISTEN and
 * NOTIFY), so it arrives after the change and in the order of the commits. Names of projects have
 * no spaces. Nothing relies on it: who misses a text sees the change a little later, and after a
 * lost connection all event streams start afresh. */
#include "base/log.h"
#include "base/mem.h"
#include "server/server_impl.h"
#include "sys/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#define HEAR_MS       200
#define LINE_BYTES    200
#define WHAT_RIGHTS   "rights"   /* somebody's rights changed: streams start afresh */
#define WHAT_SCHEDULE "schedule" /* agents, targets, queues or shares changed */
#define WHAT_LOOK     "look"     /* somebody looks at a project (0: all) */
#define WHAT_READ     "read"     /* somebody reads a run; its number in place of the project */
#define LOOKS_MAX     100

/* ---- Telling */

enum err_code server__tell_end(struct server *server, struct buf *text, struct err *err)
{
    enum err_code code = OK;

    if (buf_str(text).len)
        code = store_notify(&server->write_store, buf_str(text), err);
    buf_clear(text);
    return code;
}

static enum err_code tell_line(struct server *server, struct buf *text, const char *line,
                               struct err *err)
{
    if (buf_str(text).len + LINE_BYTES > STORE_NOTICE_BYTES_MAX - 1)
        TRY(server__tell_end(server, text, err));
    (void)buf_printf(text, "%s %s\n", server->id.text, line); /* there is room for it */
    return OK;
}

static int notice_kind_of(const char *what)
{
    for (int kind = NOTICE_RUN; kind <= NOTICE_POKE; kind++)
        if (strcmp(notice_kind_name((enum notice_kind)kind), what) == 0)
            return kind;
    return -1;
}

enum err_code server__tell(struct server *server, const struct cmd *cmd, bool rights_changed,
                           struct buf *text, struct err *err)
{
    for (const struct notice *n = cmd->notices; n; n = n->next) {
        CLEANUP(arena_release) struct arena arena = {0};
        TRY(tell_line(server, text,
                      arena_printf(&arena, "%s %" PRIi64 " %s %.*s", notice_kind_name(n->kind),
                                   n->project.v, n->id.text, STR_ARG(n->project_name)),
                      err));
    }
    if (cmd->wake_scheduler)
        TRY(tell_line(server, text, WHAT_SCHEDULE " 0", err));
    return rights_changed ? tell_line(server, text, WHAT_RIGHTS " 0", err) : OK;
}

/* What is looked at here, each once. */
struct looks {
    int64_t projects[LOOKS_MAX], runs[LOOKS_MAX];
    size_t project_count, run_count;
};

static void add_once(int64_t *list, size_t *count, int64_t value)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i] == value)
            return;
    if (*count < LOOKS_MAX)
        list[(*count)++] = value;
}

static void add_project(void *ctx, project_id project)
{
    struct looks *looks = ctx;
    add_once(looks->projects, &looks->project_count, project.v);
}

static void add_run(void *ctx, run_id run)
{
    struct looks *looks = ctx;
    add_once(looks->runs, &looks->run_count, run.v);
}

enum err_code server__tell_watching(struct server *server, struct buf *text, struct err *err)
{
    struct looks looks = {0};
    char line[64];

    hub_each_heard(server->hub, add_project, &looks);
    watchers_each(server->watchers, clock_mono_ms(), add_run, &looks);
    for (size_t i = 0; i < looks.project_count; i++) {
        snprintf(line, sizeof line, WHAT_LOOK " %" PRIi64, looks.projects[i]);
        TRY(tell_line(server, text, line, err));
    }
    for (size_t i = 0; i < looks.run_count; i++) {
        snprintf(line, sizeof line, WHAT_READ " %" PRIi64, looks.runs[i]);
        TRY(tell_line(server, text, line, err));
    }
    return OK;
}

/* ---- Hearing */

static void hear_line(struct server *server, struct cmd *cmd, struct str line)
{
    struct str who, word, number, id_text = {0};
    struct id id = {0};
    const char *what;
    int64_t value = 0;

    (void)str_cut(&line, ' ', &who);
    (void)str_cut(&line, ' ', &word);
    (void)str_cut(&line, ' ', &number);
    (void)str_cut(&line, ' ', &id_text);
    if (str_eq(who, id_str(&server->id)) || !str_to_i64(number, &value))
        return;
    what = arena_text(cmd->arena, word);
    if (strcmp(what, WHAT_RIGHTS) == 0) {
        hub_restart(server->hub);
    } else if (strcmp(what, WHAT_SCHEDULE) == 0) {
        cmd->wake_scheduler = true;
    } else if (strcmp(what, WHAT_LOOK) == 0) {
        watchers_elsewhere(server->watchers, (project_id){value}, (run_id){0}, cmd->mono_ms);
    } else if (strcmp(what, WHAT_READ) == 0) {
        watchers_elsewhere(server->watchers, (project_id){0}, (run_id){value}, cmd->mono_ms);
    } else if (notice_kind_of(what) >= 0 && id_text.len == ID_LEN) {
        memcpy(id.text, id_text.data, ID_LEN);
        cmd_notice(cmd, (enum notice_kind)notice_kind_of(what), (project_id){value}, line, &id);
    }
}

struct heard {
    struct server *server;
    struct str text; /* data NULL: the connection was lost, something was missed */
};

/* thread: command */
static enum err_code hear(void *ctx, struct cmd *cmd, struct err *err)
{
    struct heard *heard = ctx;
    struct str rest = heard->text, line;

    (void)err;
    if (!heard->text.data)
        hub_restart_all(heard->server->hub);
    while (rest.len) {
        (void)str_cut(&rest, '\n', &line);
        hear_line(heard->server, cmd, line);
    }
    return OK;
}

static void hand_over(struct server *server, struct str text)
{
    struct heard heard = {server, text};
    struct work work = {.run = hear, .ctx = &heard, .of_another = true, .done = latch_new()};

    if (queue_push(server->commands, &work))
        (void)latch_wait(work.done, -1); /* the command thread always gets to it */
    latch_free(work.done);
}

static bool is_all_ours(const struct server *server, struct str text)
{
    struct str line;

    while (text.len) {
        (void)str_cut(&text, '\n', &line);
        if (!str_starts(line, id_str(&server->id)))
            return false;
    }
    return true;
}

void server__listener_run(void *ctx)
{
    struct server *server = ctx;
    struct store store = {0};
    bool listens = false, missed = false;
    struct err err = {0};

    while (!server->stopping) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct str text = {0};
        enum err_code code = OK;
        if (!store.db)
            code = store_open(&store, server->db_path, false, &err);
        if (code == OK && !listens)
            code = store_listen(&store, &err);
        if (code == OK && missed)
            hand_over(server, (struct str){0});
        if (code != OK && !missed)
            log_warn("listener.lost", "error", err.text);
        listens = code == OK;
        missed = code != OK;
        if (code != OK) {
            (void)poll(NULL, 0, HEAR_MS);
            continue;
        }
        if (store_hear(&store, HEAR_MS, &arena, &text, &err) != OK) {
            listens = false;
            missed = true;
            continue;
        }
        if (!is_all_ours(server, text))
            hand_over(server, text);
    }
    store_close(&store);
}
