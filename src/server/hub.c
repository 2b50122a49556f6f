/* Event streams: who gets to hear of what. A stream knows the projects its user could see when it
 * opened; when somebody's rights change, all streams but administrators' start afresh. */
#include "base/json.h"
#include "base/mem.h"
#include "domain/projects/projects.h"
#include "server/server_impl.h"

#define STREAMS_MAX  2000
#define PROJECTS_MAX 1000

struct listener {
    struct listener *next;
    struct http_stream *stream;
    bool everything;
    project_id *projects;
    size_t project_count;
};

struct hub {
    struct listener *listeners;
    size_t count;
};

struct hub *hub_new(void)
{
    return MEM_NEW(struct hub);
}

static void listener_free(struct listener *l)
{
    http_stream_close(l->stream);
    mem_free(l->projects);
    mem_free(l);
}

static void drop(struct hub *hub, bool (*which)(const struct listener *listener))
{
    for (struct listener **at = &hub->listeners; *at;) {
        struct listener *l = *at;
        if (!which(l)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        hub->count--;
        listener_free(l);
    }
}

static bool every(const struct listener *listener)
{
    (void)listener;
    return true;
}

static bool is_limited(const struct listener *listener)
{
    return !listener->everything;
}

static bool is_gone(const struct listener *listener)
{
    return http_stream_is_gone(listener->stream);
}

void hub_free(struct hub *hub)
{
    if (hub)
        drop(hub, every);
    mem_free(hub);
}

void hub_restart(struct hub *hub)
{
    drop(hub, is_limited);
}

void hub_restart_all(struct hub *hub)
{
    drop(hub, every);
}

void hub_sweep(struct hub *hub)
{
    drop(hub, is_gone);
}

static enum err_code fill_projects(struct listener *l, struct http_call *call, struct store *store,
                                   struct err *err)
{
    struct project *projects;
    size_t count = 0;

    call->cmd.store = store;
    TRY(projects_list(&call->cmd, STR(""), PROJECTS_MAX, &projects, &count, err));
    l->projects = mem_array(count + 1, sizeof *l->projects);
    for (size_t i = 0; i < count; i++)
        l->projects[i] = projects[i].id;
    l->project_count = count;
    return OK;
}

void hub_open(struct hub *hub, struct http_call *call, struct store *store)
{
    static const struct http_header headers[] = {{"Cache-Control", "no-store"},
                                                 {"X-Content-Type-Options", "nosniff"}};
    struct listener *l = MEM_NEW(struct listener);
    enum err_code code = OK;
    struct err err;

    l->everything = call->who.admin;
    if (hub->count >= STREAMS_MAX)
        code = err_set(&err, ERR_UNAVAILABLE, "%d event streams are open already", STREAMS_MAX);
    else if (!l->everything)
        code = fill_projects(l, call, store, &err);
    if (code != OK) {
        mem_free(l->projects);
        mem_free(l);
        server__answer(call, &err);
        return;
    }
    l->stream = http_stream_open(call->exchange, headers, ARRAY_LEN(headers));
    (void)http_stream_send(l->stream, "hello", STR("{}")); /* a dead one is swept later */
    l->next = hub->listeners;
    hub->listeners = l;
    hub->count++;
    http_call_release(call);
    mem_free(call);
}

static bool hears(const struct listener *l, project_id project)
{
    if (l->everything || project.v == 0)
        return true;
    for (size_t i = 0; i < l->project_count; i++)
        if (l->projects[i].v == project.v)
            return true;
    return false;
}

bool hub_is_heard(const struct hub *hub, project_id project)
{
    for (const struct listener *l = hub->listeners; l; l = l->next)
        if (hears(l, project) && !is_gone(l))
            return true;
    return false;
}

void hub_each_heard(const struct hub *hub, void (*each)(void *ctx, project_id project), void *ctx)
{
    for (const struct listener *l = hub->listeners; l; l = l->next) {
        if (is_gone(l))
            continue;
        if (l->everything)
            each(ctx, (project_id){0});
        for (size_t i = 0; i < l->project_count; i++)
            each(ctx, l->projects[i]);
    }
}

void hub_publish(struct hub *hub, const struct notice *notice)
{
    CLEANUP(buf_release) struct buf data = {0};
    struct json_writer w;

    if (!hub->listeners)
        return;
    buf_init(&data, 1024);
    json_writer_init(&w, &data);
    json_begin_object(&w);
    json_put_key(&w, "id");
    json_put_str(&w, id_str(&notice->id));
    json_put_key(&w, "project");
    json_put_str(&w, notice->project_name);
    json_end_object(&w);
    for (struct listener *l = hub->listeners; l; l = l->next)
        if (hears(l, notice->project))
            (void)http_stream_send(l->stream, notice_kind_name(notice->kind), buf_str(&data));
}
