/* Secrets of projects. Nothing here renders what a secret is. */
#include "domain/secrets/secrets.h"
#include "gen/http_routes.h"
#include "http/http_render.h"

static void render_secret(struct json_writer *w, const struct secret *secret)
{
    json_begin_object(w);
    http_render_text(w, "name", secret->name);
    http_render_time(w, "made_at", secret->made);
    http_render_text(w, "made_by", secret->made_by);
    http_render_time(w, "used_at", secret->used);
    json_end_object(w);
}

enum err_code http_secret_list(struct http_call *call, struct err *err)
{
    struct secret *secrets;
    size_t count = 0;
    int limit = http_call_limit(call);

    TRY(secrets_list(&call->cmd, call->project.id, http_call_cursor_text(call), limit, &secrets,
                     &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        render_secret(&call->json, &secrets[i]);
    http_call_page_end(
        call, count == (size_t)limit ? arena_text(&call->arena, secrets[count - 1].name) : NULL);
    return OK;
}

/* A value may be any text: keys have several lines. */
static void take_value(struct json_reader *r, struct str *ret_value)
{
    json_t *value = NULL;

    json_take_any_opt(r, "value", &value);
    if (r->code != OK)
        return;
    if (!json_is_string(value) || json_string_length(value) == 0)
        json_reader_fail(r, "value", "is a text of at least one byte");
    else if (json_string_length(value) > SECRET_VALUE_BYTES_MAX)
        json_reader_fail(r, "value", "is longer than 65536 bytes");
    else
        *ret_value = str_n(json_string_value(value), json_string_length(value));
}

enum err_code http_secret_set(struct http_call *call, struct err *err)
{
    struct secret secret;
    struct str value = {0};
    struct json_reader r;
    bool created = false;

    json_reader_init_strict(&r, call->body, "", err);
    take_value(&r, &value);
    TRY(json_reader_end(&r));
    TRY(secrets_set(&call->cmd, &call->project, http_call_path(call, 1), value, &secret, &created,
                    err));
    http_call_created(call, created);
    render_secret(&call->json, &secret);
    return OK;
}

enum err_code http_secret_delete(struct http_call *call, struct err *err)
{
    call->status = 204;
    return secrets_delete(&call->cmd, &call->project, http_call_path(call, 1), err);
}
