/* Reading requests and writing answers. */
#include "http/http_call.h"

#include "net/http_range.h"

#include <stdlib.h>

void http_call_init(struct http_call *call)
{
    call->status = 200;
    call->answer_fd = -1;
    call->content_type = "application/json";
    buf_init(&call->out, HTTP_ANSWER_BYTES_MAX);
    json_writer_init(&call->json, &call->out);
}

void http_call_release(struct http_call *call)
{
    json_release(&call->body);
    buf_release(&call->out);
    arena_release(&call->arena);
}

struct str http_call_path(const struct http_call *call, size_t index)
{
    ENSURE(index < call->param_count);
    return call->params[index];
}

struct id http_call_path_id(const struct http_call *call, size_t index)
{
    struct str text = http_call_path(call, index);
    struct id id = {0};

    ENSURE(text.len == ID_LEN); /* the route checked it */
    memcpy(id.text, text.data, ID_LEN);
    return id;
}

bool http_call_query(const struct http_call *call, const char *name, struct str *ret_value)
{
    bool twice = false;

    return http_exchange_query(call->exchange, name, ret_value, &twice);
}

int64_t http_call_query_i64(const struct http_call *call, const char *name, int64_t otherwise)
{
    struct str text;
    int64_t value;

    return http_call_query(call, name, &text) && str_to_i64(text, &value) ? value : otherwise;
}

bool http_call_query_bool(const struct http_call *call, const char *name)
{
    struct str text;

    return http_call_query(call, name, &text) && str_eq_c(text, "true");
}

int http_call_limit(const struct http_call *call)
{
    return (int)http_call_query_i64(call, "limit", HTTP_PAGE_DEFAULT);
}

struct str http_call_cursor_text(const struct http_call *call)
{
    struct str cursor = STR("");

    (void)http_call_query(call, "cursor", &cursor);
    return cursor;
}

enum err_code http_call_cursor_i64(const struct http_call *call, int64_t *ret_cursor,
                                   struct err *err)
{
    struct str text;

    *ret_cursor = 0;
    if (!http_call_query(call, "cursor", &text))
        return OK;
    if (!str_to_i64(text, ret_cursor) || *ret_cursor < 0)
        return err_set_field(err, ERR_INVALID, "cursor", "\"%.*s\" is not a cursor of this list",
                             (int)MIN(text.len, (size_t)40), text.data);
    return OK;
}

enum err_code http_call_header_i64(const struct http_call *call, const char *name,
                                   int64_t *ret_value, struct err *err)
{
    struct str text = http_exchange_header(call->exchange, name);

    if (!text.data)
        return err_set_field(err, ERR_INVALID, name, "the header %s is missing", name);
    if (!str_to_i64(text, ret_value) || *ret_value < 0)
        return err_set_field(err, ERR_INVALID, name, "the header %s is not a number: \"%.*s\"",
                             name, (int)MIN(text.len, (size_t)40), text.data);
    return OK;
}

struct str http_call_canonical_body(struct http_call *call)
{
    char *text = json_dumps(call->body, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    struct str copy;

    ENSURE(text);
    copy = arena_copy(&call->arena, str_from(text));
    free(text);
    return copy;
}

void http_call_header(struct http_call *call, const char *name, const char *value)
{
    ENSURE(call->header_count < HTTP_HEADERS_MAX);
    call->headers[call->header_count++] =
        (struct http_header){name, arena_text(&call->arena, str_from(value))};
}

void http_call_header_number(struct http_call *call, const char *name, int64_t value)
{
    http_call_header(call, name, arena_printf(&call->arena, "%lld", (long long)value));
}

enum err_code http_call_file(struct http_call *call, int fd, int64_t bytes, struct str digest,
                             struct err *err)
{
    struct str header = http_exchange_header(call->exchange, "Range");
    struct str condition = http_exchange_header(call->exchange, "If-Range");
    const char *tag = arena_printf(&call->arena, "\"%.*s\"", STR_ARG(digest));
    struct http_range part = {0, bytes};
    enum http_range_kind kind = HTTP_RANGE_WHOLE;

    call->answer_fd = fd; /* the server closes it, also after an error */
    if (!condition.data || str_eq_c(condition, tag))
        kind = http_range_read(header, bytes, &part);
    http_call_header(call, "Accept-Ranges", "bytes");
    if (kind == HTTP_RANGE_NONE) {
        http_call_header(call, "Content-Range",
                         arena_printf(&call->arena, "bytes */%lld", (long long)bytes));
        return err_set_field(err, ERR_OFFSET, "Range",
                             "the range \"%.*s\" lies behind the end of the file of %lld bytes",
                             (int)MIN(header.len, (size_t)80), header.data, (long long)bytes);
    }
    http_call_header(call, "ETag", tag);
    call->content_type = "application/octet-stream";
    call->answer_fd_offset = part.offset;
    call->answer_fd_bytes = part.bytes;
    if (kind == HTTP_RANGE_PART) {
        call->status = 206;
        http_call_header(call, "Content-Range",
                         arena_printf(&call->arena, "bytes %lld-%lld/%lld", (long long)part.offset,
                                      (long long)(part.offset + part.bytes - 1), (long long)bytes));
    }
    return OK;
}

void http_call_created(struct http_call *call, bool created)
{
    call->status = created ? 201 : 200;
}

void http_call_page_begin(struct http_call *call)
{
    json_begin_object(&call->json);
    json_put_key(&call->json, "items");
    json_begin_array(&call->json);
}

void http_call_page_end(struct http_call *call, const char *next_cursor)
{
    json_end_array(&call->json);
    json_put_key(&call->json, "next_cursor");
    json_put_text(&call->json, next_cursor);
    json_end_object(&call->json);
}

const char *http_call_number_cursor(struct http_call *call, int64_t value)
{
    return arena_printf(&call->arena, "%lld", (long long)value);
}
