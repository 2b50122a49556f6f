/* Health, version, and the stream of events. */
#include "domain/identity/identity.h"
#include "gen/http_routes.h"
#include "http/http_dispatch.h"
#include "http/http_render.h"

enum err_code http_health(struct http_call *call, struct err *err)
{
    bool needed;

    TRY(identity_setup_needed(&call->cmd, &needed, err)); /* reads the store */
    json_begin_object(&call->json);
    http_render_text(&call->json, "status", STR("ok"));
    json_end_object(&call->json);
    return OK;
}

enum err_code http_server_show(struct http_call *call, struct err *err)
{
    bool needed = false;

    TRY(identity_setup_needed(&call->cmd, &needed, err));
    json_begin_object(&call->json);
    http_render_text(&call->json, "version", str_from(call->env->version));
    http_render_number(&call->json, "protocol", HTTP_PROTOCOL);
    http_render_number(&call->json, "protocol_min", HTTP_PROTOCOL_MIN);
    http_render_bool(&call->json, "setup_needed", needed);
    http_render_text(&call->json, "currency", str_from(call->env->domain->config.currency));
    json_end_object(&call->json);
    return OK;
}

enum err_code http_event_stream(struct http_call *call, struct err *err)
{
    (void)err;
    call->stream = true;
    return OK;
}
