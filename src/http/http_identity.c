/* Set-up, sessions, users, keys and the audit trail. */
#include "domain/audit/audit.h"
#include "domain/identity/identity.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

#define SESSION_COOKIE "__Host-euvyra=%s; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=604800"

struct prepared_password {
    struct str login, token, hash;
    struct user user;
};

static void render_me(struct http_call *call, enum principal_kind kind, struct id user,
                      struct str login, bool admin)
{
    struct json_writer *w = &call->json;

    json_begin_object(w);
    http_render_text(w, "kind", str_from(principal_kind_name(kind)));
    http_render_id(w, "user", &user);
    http_render_text(w, "login", login);
    http_render_bool(w, "admin", admin);
}

static void render_no_more(struct http_call *call)
{
    static const char *const names[] = {"agent", "target", "project", "run", "job"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        json_put_key(&call->json, names[i]);
        json_put_null(&call->json);
    }
    json_end_object(&call->json);
}

static enum err_code open_session(struct http_call *call, const struct user *user, struct err *err)
{
    char token[44];

    TRY(identity_session_open(&call->cmd, user, token, err));
    http_call_header(call, "Set-Cookie", arena_printf(&call->arena, SESSION_COOKIE, token));
    call->status = 201;
    render_me(call, PRINCIPAL_SESSION, user->public_id, user->login, user->admin);
    render_no_more(call);
    return OK;
}

static enum err_code check_login(struct str login, struct err *err)
{
    if (login.len < 1 || login.len > LOGIN_BYTES_MAX || !http_login_is_valid(login))
        return err_set_field(err, ERR_INVALID, "login",
                             "a login is 1 to 63 of a-z, 0-9, '-', '.', '_'");
    return OK;
}

static enum err_code check_password(const char *field, struct str password, struct err *err)
{
    if (password.len < PASSWORD_BYTES_MIN)
        return err_set_field(err, ERR_INVALID, field, "a password has at least %d characters",
                             PASSWORD_BYTES_MIN);
    return OK;
}

enum err_code http_setup_prepare(struct http_call *call, struct err *err)
{
    struct prepared_password *p = ARENA_NEW(&call->arena, struct prepared_password);
    struct str password = {0};
    struct json_reader r;
    bool needed = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "token", 43, &p->token);
    json_take_text(&r, "login", LOGIN_BYTES_MAX, &p->login);
    json_take_text(&r, "password", PASSWORD_BYTES_MAX, &password);
    TRY(json_reader_end(&r));
    TRY(check_login(p->login, err));
    TRY(check_password("password", password, err));
    TRY(identity_setup_needed(&call->cmd, &needed, err));
    if (!needed)
        return err_set(err, ERR_FORBIDDEN, "an administrator exists already");
    TRY(identity_password_hash(&call->cmd, password, &p->hash, err));
    call->prepared = p;
    return OK;
}

enum err_code http_setup(struct http_call *call, struct err *err)
{
    struct prepared_password *p = call->prepared;

    TRY(identity_setup(&call->cmd, p->token, p->login, p->hash, &p->user, err));
    call->who = (struct principal){
        .kind = PRINCIPAL_SESSION, .user = p->user.id, .admin = true, .name = p->user.login};
    return open_session(call, &p->user, err);
}

enum err_code http_session_create_prepare(struct http_call *call, struct err *err)
{
    struct prepared_password *p = ARENA_NEW(&call->arena, struct prepared_password);
    struct str password = {0};
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "login", LOGIN_BYTES_MAX, &p->login);
    json_take_text(&r, "password", PASSWORD_BYTES_MAX, &password);
    TRY(json_reader_end(&r));
    TRY(identity_password_check(&call->cmd, p->login, password, &p->user, err));
    call->prepared = p;
    return OK;
}

enum err_code http_session_create(struct http_call *call, struct err *err)
{
    struct prepared_password *p = call->prepared;

    call->who = (struct principal){.kind = PRINCIPAL_SESSION,
                                   .user = p->user.id,
                                   .admin = p->user.admin,
                                   .name = p->user.login};
    return open_session(call, &p->user, err);
}

enum err_code http_session_delete(struct http_call *call, struct err *err)
{
    TRY(identity_session_close(&call->cmd, err));
    http_call_header(call, "Set-Cookie",
                     "__Host-euvyra=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0");
    call->status = 204;
    return OK;
}

enum err_code http_me_show(struct http_call *call, struct err *err)
{
    struct identity_me me;

    TRY(identity_me(&call->cmd, &me, err));
    render_me(call, call->who.kind, me.user, call->who.name, call->who.admin);
    http_render_id(&call->json, "agent", &me.agent);
    json_put_key(&call->json, "target");
    json_put_text(&call->json, me.target.data);
    json_put_key(&call->json, "project");
    json_put_text(&call->json, me.project.data);
    http_render_id(&call->json, "run", &me.run);
    http_render_id(&call->json, "job", &me.job);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_password_change_prepare(struct http_call *call, struct err *err)
{
    struct prepared_password *p = ARENA_NEW(&call->arena, struct prepared_password);
    struct str old_password = {0}, new_password = {0};
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "old_password", PASSWORD_BYTES_MAX, &old_password);
    json_take_text(&r, "new_password", PASSWORD_BYTES_MAX, &new_password);
    TRY(json_reader_end(&r));
    TRY(check_password("new_password", new_password, err));
    if (identity_password_check(&call->cmd, call->who.name, old_password, &p->user, err) != OK)
        return err_set_field(err, ERR_FORBIDDEN, "old_password", "the old password is wrong");
    TRY(identity_password_hash(&call->cmd, new_password, &p->hash, err));
    call->prepared = p;
    return OK;
}

enum err_code http_password_change(struct http_call *call, struct err *err)
{
    struct prepared_password *p = call->prepared;

    call->status = 204;
    return identity_password_set(&call->cmd, p->hash, err);
}

enum err_code http_user_list(struct http_call *call, struct err *err)
{
    struct user *users;
    size_t count = 0;
    int64_t after;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &after, err));
    TRY(identity_user_list(&call->cmd, after, limit, &users, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_user(&call->json, &users[i]);
    http_call_page_end(
        call, count == (size_t)limit ? http_call_number_cursor(call, users[count - 1].id.v) : NULL);
    return OK;
}

struct prepared_user {
    struct user_spec spec;
};

enum err_code http_user_create_prepare(struct http_call *call, struct err *err)
{
    struct prepared_user *p = ARENA_NEW(&call->arena, struct prepared_user);
    struct str password = {0};
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "login", LOGIN_BYTES_MAX, &p->spec.login);
    json_take_text(&r, "password", PASSWORD_BYTES_MAX, &password);
    json_take_bool_opt(&r, "admin", &p->spec.admin);
    TRY(json_reader_end(&r));
    TRY(check_login(p->spec.login, err));
    TRY(check_password("password", password, err));
    p->spec.id = http_call_path_id(call, 0);
    TRY(identity_password_hash(&call->cmd, password, &p->spec.password_hash, err));
    call->prepared = p;
    return OK;
}

enum err_code http_user_create(struct http_call *call, struct err *err)
{
    struct prepared_user *p = call->prepared;
    struct user user;
    bool created = false;

    TRY(identity_user_create(&call->cmd, &p->spec, &user, &created, err));
    http_call_created(call, created);
    http_render_user(&call->json, &user);
    return OK;
}

enum err_code http_key_list(struct http_call *call, struct err *err)
{
    struct access_key *keys;
    size_t count = 0;
    int64_t before;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &before, err));
    TRY(identity_key_list(&call->cmd, http_call_query_bool(call, "all"), before, limit, &keys,
                          &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_key(&call->json, &keys[i]);
    http_call_page_end(
        call, count == (size_t)limit ? http_call_number_cursor(call, keys[count - 1].id.v) : NULL);
    return OK;
}

enum err_code http_key_create(struct http_call *call, struct err *err)
{
    struct key_spec spec = {.expires = TIME_NONE};
    struct str kind = {0}, agent = {0};
    struct key_text key;
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text(&r, "kind", 10, &kind);
    json_take_text(&r, "name", 100, &spec.name);
    json_take_text_opt(&r, "agent", ID_LEN, &agent);
    json_take_time_opt(&r, "expires_at", &spec.expires);
    TRY(json_reader_end(&r));
    spec.kind = principal_kind_from_name(kind);
    if (spec.kind != PRINCIPAL_USER && spec.kind != PRINCIPAL_SERVICE &&
        spec.kind != PRINCIPAL_AGENT)
        return err_set_field(err, ERR_INVALID, "kind", "a key is of kind user, service or agent");
    if (agent.data && !id_parse(agent, ID_AGENT, &spec.agent))
        return err_set_field(err, ERR_INVALID, "agent", "\"%.*s\" is not the id of an agent",
                             STR_ARG(agent));
    TRY(identity_key_create(&call->cmd, &spec, &key, err));
    call->status = 201;
    json_begin_object(&call->json);
    http_render_id(&call->json, "id", &key.public_id);
    http_render_text(&call->json, "kind", str_from(key.kind));
    http_render_text(&call->json, "name", spec.name);
    http_render_text(&call->json, "key", str_from(key.text));
    json_end_object(&call->json);
    return OK;
}

enum err_code http_key_delete(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 0);

    call->status = 204;
    return identity_key_revoke(&call->cmd, &id, err);
}

enum err_code http_audit_list(struct http_call *call, struct err *err)
{
    struct audit_row *rows;
    size_t count = 0;
    int64_t before;
    int limit = http_call_limit(call);

    TRY(http_call_cursor_i64(call, &before, err));
    TRY(audit_list(&call->cmd, before, limit, &rows, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_audit(&call->json, &rows[i]);
    http_call_page_end(
        call, count == (size_t)limit ? http_call_number_cursor(call, rows[count - 1].seq) : NULL);
    return OK;
}
