/* Projects and members. */
#include "domain/projects/projects.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

enum err_code http_project_list(struct http_call *call, struct err *err)
{
    struct project *projects;
    size_t count = 0;
    int limit = http_call_limit(call);

    TRY(projects_list(&call->cmd, http_call_cursor_text(call), limit, &projects, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_project(&call->json, &projects[i], call->who.admin);
    http_call_page_end(
        call, count == (size_t)limit ? arena_text(&call->arena, projects[count - 1].name) : NULL);
    return OK;
}

static void take_idle(struct json_reader *r, struct project_spec *spec)
{
    struct str what = {0};

    json_take_text_opt(r, "idle_gpus", 4, &what);
    if (what.len && !str_eq_c(what, "warn") && !str_eq_c(what, "stop"))
        json_reader_fail(r, "idle_gpus", "is warn or stop");
    if (what.len)
        spec->idle_stop = str_eq_c(what, "stop");
    json_take_i64_opt(r, "idle_minutes", PROJECT_IDLE_MINUTES_MIN, PROJECT_IDLE_MINUTES_MAX,
                      &spec->idle_minutes);
}

static enum err_code take_spec(struct http_call *call, bool is_update,
                               struct project_spec *ret_spec, struct err *err)
{
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text_opt(&r, "title", TITLE_BYTES_MAX, &ret_spec->title);
    json_take_note_opt(&r, "description", NOTE_BYTES_MAX, &ret_spec->description);
    if (is_update) {
        json_take_i64_opt(&r, "silent_s", 0, SILENT_S_MAX, &ret_spec->silent_s);
        if (ret_spec->silent_s > 0 && ret_spec->silent_s < SILENT_S_MIN)
            json_reader_fail(&r, "silent_s", "is 10 to 2592000 seconds, or 0");
        json_take_i64_opt(&r, "retain_days", 0, RETAIN_DAYS_MAX, &ret_spec->retain_days);
        take_idle(&r, ret_spec);
    }
    return json_reader_end(&r);
}

enum err_code http_project_create(struct http_call *call, struct err *err)
{
    struct project_spec spec = {0};
    bool created = false;

    TRY(take_spec(call, false, &spec, err));
    TRY(projects_create(&call->cmd, http_call_path(call, 0), &spec, &call->project, &created, err));
    http_call_created(call, created);
    call->close_streams = created;
    http_render_project(&call->json, &call->project, call->who.admin);
    return OK;
}

enum err_code http_project_show(struct http_call *call, struct err *err)
{
    TRY(projects_show(&call->cmd, &call->project, err));
    http_render_project(&call->json, &call->project, call->who.admin);
    return OK;
}

enum err_code http_project_update(struct http_call *call, struct err *err)
{
    struct project_spec spec = {
        .silent_s = -1, .retain_days = -1, .idle_stop = -1, .idle_minutes = -1};

    TRY(take_spec(call, true, &spec, err));
    TRY(projects_update(&call->cmd, &call->project, &spec, err));
    http_render_project(&call->json, &call->project, call->who.admin);
    return OK;
}

enum err_code http_project_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    call->close_streams = true;
    return projects_delete(&call->cmd, &call->project, err);
}

static void render_member(struct json_writer *w, const struct member *member)
{
    json_begin_object(w);
    http_render_text(w, "login", member->login);
    http_render_text(w, "role", str_from(role_name(member->role)));
    json_end_object(w);
}

enum err_code http_member_list(struct http_call *call, struct err *err)
{
    struct member *members;
    size_t count = 0;
    int limit = http_call_limit(call);

    TRY(projects_member_list(&call->cmd, call->project.id, http_call_cursor_text(call), limit,
                             &members, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        render_member(&call->json, &members[i]);
    http_call_page_end(
        call, count == (size_t)limit ? arena_text(&call->arena, members[count - 1].login) : NULL);
    return OK;
}

enum err_code http_member_set(struct http_call *call, struct err *err)
{
    struct member member = {.login = http_call_path(call, 1)};
    struct str role = {0};
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "role", 10, &role);
    TRY(json_reader_end(&r));
    member.role = role_from_name(role);
    if (member.role == ROLE_NONE)
        return err_set_field(err, ERR_INVALID, "role", "a role is viewer, editor or owner");
    TRY(projects_member_set(&call->cmd, &call->project, member.login, member.role, err));
    call->close_streams = true;
    render_member(&call->json, &member);
    return OK;
}

enum err_code http_member_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    call->close_streams = true;
    return projects_member_delete(&call->cmd, &call->project, http_call_path(call, 1), err);
}
