/* Export and import of runs. */
#include "domain/runs/export.h"
#include "gen/http_routes.h"
#include "http/http_call.h"
#include "http/http_render.h"

enum err_code http_run_export(struct http_call *call, struct err *err)
{
    call->content_type = "application/x-ndjson";
    return runs_export(&call->cmd, &call->run, http_call_cursor_text(call), &call->out, err);
}

enum err_code http_run_import(struct http_call *call, struct err *err)
{
    struct import_part part = {
        .run = http_call_path_id(call, 1),
        .first_line = http_call_query_i64(call, "line", 0),
        .lines = http_exchange_body(call->exchange),
    };
    int64_t line = 0;
    bool done = false;
    enum err_code code =
        runs_import(&call->cmd, call->project.id, call->project.name, &part, &line, &done, err);

    if (code == ERR_OFFSET)
        http_call_header_number(call, "Euvyra-Offset", line);
    TRY(code);
    json_begin_object(&call->json);
    http_render_number(&call->json, "line", line);
    http_render_bool(&call->json, "done", done);
    json_end_object(&call->json);
    return OK;
}
