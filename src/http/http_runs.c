/* Runs, their logs as they arrive, and their console text. */
#include "domain/artifacts/artifacts.h"
#include "domain/ingest/ingest.h"
#include "domain/runs/runs.h"
#include "gen/http_routes.h"
#include "http/http_render.h"
#include "http/http_take.h"

#define CONSOLE_LIMIT_DEFAULT 65536
#define NEXT_MS_SOON          1000
#define NEXT_MS_UNWATCHED     15000

enum err_code http_run_create(struct http_call *call, struct err *err)
{
    struct run_spec spec = {.id = http_call_path_id(call, 1), .created = TIME_NONE};
    struct json_reader r;
    bool created = false;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text_opt(&r, "name", NAME_BYTES_MAX, &spec.name);
    json_take_note_opt(&r, "group", NAME_BYTES_MAX, &spec.group);
    json_take_note_opt(&r, "job_type", NAME_BYTES_MAX, &spec.job_type);
    json_take_note_opt(&r, "notes", NOTE_BYTES_MAX, &spec.notes);
    http_take_tags(&r, &call->arena, &spec.tags);
    json_take_time_opt(&r, "created_at", &spec.created);
    TRY(json_reader_end(&r));
    cmd_body_hash(http_call_canonical_body(call), spec.hash);
    TRY(runs_create(&call->cmd, call->project.id, call->project.name, &spec, &call->run, &created,
                    err));
    http_call_created(call, created);
    http_render_run(&call->json, &call->run, NULL, call->cmd.now);
    return OK;
}

enum err_code http_run_show(struct http_call *call, struct err *err)
{
    struct run_detail detail = {0};

    TRY(runs_load_docs(&call->cmd, &call->run, err));
    TRY(runs_load_detail(&call->cmd, &call->run, &detail, err));
    http_render_run(&call->json, &call->run, &detail, call->cmd.now);
    return OK;
}

enum err_code http_run_update(struct http_call *call, struct err *err)
{
    struct run_spec spec = {0};
    struct json_reader r;

    json_reader_init_strict(&r, call->body, "", err);
    json_take_text_opt(&r, "name", NAME_BYTES_MAX, &spec.name);
    json_take_note_opt(&r, "notes", NOTE_BYTES_MAX, &spec.notes);
    http_take_tags(&r, &call->arena, &spec.tags);
    TRY(json_reader_end(&r));
    TRY(runs_update(&call->cmd, &call->run, &spec, err));
    http_render_run(&call->json, &call->run, NULL, call->cmd.now);
    return OK;
}

enum err_code http_run_delete(struct http_call *call, struct err *err)
{
    TRY(jobs_delete_of_run(&call->cmd, &call->run, err));
    call->status = 204;
    return runs_delete(&call->cmd, &call->run, err);
}

enum err_code http_writer_list(struct http_call *call, struct err *err)
{
    struct writer_view *views;
    struct writer *writers;
    size_t count = 0;

    TRY(ingest_writers(&call->cmd, call->run.id, &writers, &count, err));
    json_begin_object(&call->json);
    json_put_key(&call->json, "items");
    json_begin_array(&call->json);
    views = arena_array(&call->arena, count, sizeof *views);
    (void)runs_epochs(writers, count, views);
    for (size_t i = 0; i < count; i++)
        http_render_writer(&call->json, &writers[i], &views[i]);
    json_end_array(&call->json);
    json_end_object(&call->json);
    return OK;
}

static enum err_code take_crc(const struct http_call *call, uint32_t *ret_crc, struct err *err)
{
    struct str text = http_exchange_header(call->exchange, "Euvyra-Crc");
    uint32_t crc = 0;
    bool good = text.len == 8;

    for (size_t i = 0; good && i < 8; i++) {
        char c = text.data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        good = digit >= 0;
        crc = crc << 4 | (uint32_t)MAX(digit, 0);
    }
    if (!good)
        return err_set_field(err, ERR_INVALID, "Euvyra-Crc",
                             "the header Euvyra-Crc is not 8 hexadecimal digits");
    *ret_crc = crc;
    return OK;
}

enum err_code http_writer_append_prepare(struct http_call *call, struct err *err)
{
    struct ingest_post *post = ARENA_NEW(&call->arena, struct ingest_post);

    TRY(http_call_header_i64(call, "Euvyra-Offset", &post->offset, err));
    TRY(take_crc(call, &post->crc_before, err));
    post->data = http_exchange_body(call->exchange);
    TRY(ingest_check(post, err));
    call->prepared = post;
    return OK;
}

/* When the sidecar should come again. A log that begins comes again soon, so that a run with its
 * first points is there at once for whoever opens the page next. */
static int64_t next_ms(const struct http_call *call)
{
    const struct ingest_post *post = call->prepared;
    bool soon = post->offset == 0 || call->env->is_watched(call->env->watch_ctx, &call->run);

    return soon ? NEXT_MS_SOON : NEXT_MS_UNWATCHED;
}

enum err_code http_writer_append(struct http_call *call, struct err *err)
{
    struct id id = http_call_path_id(call, 1);
    struct writer writer = {0};
    enum err_code code = ingest_commit(&call->cmd, &call->run, &id, call->prepared, &writer, err);

    if (code == ERR_OFFSET || code == ERR_WRITER_DIVERGED)
        http_call_header_number(call, "Euvyra-Offset", writer.committed_offset);
    TRY(code);
    json_begin_object(&call->json);
    http_render_number(&call->json, "offset", writer.committed_offset);
    http_render_text(&call->json, "crc",
                     str_from(arena_printf(&call->arena, "%08x", writer.committed_crc)));
    http_render_number(&call->json, "next_ms", next_ms(call));
    http_render_bool(&call->json, "stop",
                     call->who.attempt_fenced || call->run.stop_asked != TIME_NONE);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_console_read(struct http_call *call, struct err *err)
{
    struct console_range range = {
        .offset = http_call_query_i64(call, "offset", 0),
        .bytes_max = http_call_query_i64(call, "limit", CONSOLE_LIMIT_DEFAULT),
    };
    struct str writer;
    int64_t size = 0;

    if (http_call_query(call, "writer", &writer) && !id_parse(writer, ID_WRITER, &range.writer))
        return err_set_field(err, ERR_INVALID, "writer", "that is not the id of a writer");
    TRY(runs_console(&call->cmd, &call->run, &range, &call->out, &size, err));
    if (!call->run.job_public_id
             .text[0]) /* else the text comes from the agent, not from the run's logs */
        call->env->watch(call->env->watch_ctx, call->run.id, call->cmd.mono_ms);
    call->content_type = "application/octet-stream";
    http_call_header_number(call, "Euvyra-Offset", range.offset + (int64_t)call->out.len);
    http_call_header_number(call, "Euvyra-Size", size);
    http_call_header_number(call, "Euvyra-Final", call->run.console_final);
    return OK;
}

enum err_code http_run_stop(struct http_call *call, struct err *err)
{
    TRY(runs_stop(&call->cmd, &call->run, err));
    http_render_run(&call->json, &call->run, NULL, call->cmd.now);
    return OK;
}

enum err_code http_run_diff(struct http_call *call, struct err *err)
{
    struct str diff = {0};

    TRY(runs_diff(&call->cmd, &call->run, &diff, err));
    json_put_raw(&call->json, diff);
    return OK;
}

static enum err_code list_alerts(struct http_call *call, struct alert_filter *filter,
                                 struct err *err)
{
    struct alert *alerts;
    size_t count = 0;

    filter->limit = http_call_limit(call);
    TRY(http_call_cursor_i64(call, &filter->before_id, err));
    TRY(runs_alerts(&call->cmd, filter, &alerts, &count, err));
    http_call_page_begin(call);
    for (size_t i = 0; i < count; i++)
        http_render_alert(&call->json, &alerts[i]);
    http_call_page_end(call, count == (size_t)filter->limit
                                 ? http_call_number_cursor(call, alerts[count - 1].id)
                                 : NULL);
    return OK;
}

enum err_code http_alert_list(struct http_call *call, struct err *err)
{
    return list_alerts(call, &(struct alert_filter){.project = call->project.id}, err);
}

enum err_code http_run_alert_list(struct http_call *call, struct err *err)
{
    return list_alerts(call, &(struct alert_filter){.run = call->run.id}, err);
}

enum err_code http_blob_create_prepare(struct http_call *call, struct err *err)
{
    return artifacts_file_store(&call->cmd, http_exchange_body_fd(call->exchange),
                                http_exchange_body_bytes(call->exchange), http_call_path(call, 1),
                                err);
}

enum err_code http_blob_create(struct http_call *call, struct err *err)
{
    int64_t bytes = http_exchange_body_bytes(call->exchange);
    bool created = false;

    TRY(artifacts_file_publish(&call->cmd, call->project.id, http_call_path(call, 1), bytes,
                               &created, err));
    http_call_created(call, created);
    json_begin_object(&call->json);
    http_render_text(&call->json, "digest", http_call_path(call, 1));
    http_render_number(&call->json, "bytes", bytes);
    json_end_object(&call->json);
    return OK;
}

enum err_code http_blob_read(struct http_call *call, struct err *err)
{
    int64_t bytes;
    int fd;

    TRY(artifacts_file_open(&call->cmd, call->project.id, http_call_path(call, 1), &fd, &bytes,
                            err));
    return http_call_file(call, fd, bytes, http_call_path(call, 1), err);
}
