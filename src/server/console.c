/* The console's files, embedded and compressed. Every path that is not a file is one of the
 * console's own pages, so it gets the start page. */
#include "gen/console_files.h"
#include "http/http_dispatch.h"
#include "server/server_impl.h"

static const struct console_file *find(struct str path)
{
    size_t low = 0, high = console_file_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct str have = str_from(console_files[middle].path);
        int order = memcmp(path.data, have.data, MIN(path.len, have.len));
        if (order == 0)
            order = (path.len > have.len) - (path.len < have.len);
        if (order == 0)
            return &console_files[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static bool accepts(const struct http_exchange *x, const char *coding)
{
    struct str header = http_exchange_header(x, "Accept-Encoding"), part, name;

    if (!header.data)
        return false;
    do {
        (void)str_cut(&header, ',', &part);
        (void)str_cut(&part, ';', &name);
        if (str_eq_c(str_trim(name), coding))
            return true;
    } while (header.len);
    return false;
}

static void reply_file(struct http_exchange *x, const struct console_file *file)
{
    struct http_header headers[16];
    struct http_answer answer = {.status = 200, .headers = headers, .body_fd_take = -1};
    struct console_bytes bytes = file->plain;
    size_t count = 0;

    http_security_headers(headers, &count);
    headers[count++] = (struct http_header){"Content-Type", file->content_type};
    headers[count++] = (struct http_header){"Content-Security-Policy", console_csp};
    headers[count++] = (struct http_header){"ETag", file->etag};
    headers[count++] = (struct http_header){"Vary", "Accept-Encoding"};
    headers[count++] = (struct http_header){
        "Cache-Control", file->immutable ? "public, max-age=31536000, immutable" : "no-cache"};
    if (file->brotli.data && accepts(x, "br")) {
        bytes = file->brotli;
        headers[count++] = (struct http_header){"Content-Encoding", "br"};
    } else if (file->gzip.data && accepts(x, "gzip")) {
        bytes = file->gzip;
        headers[count++] = (struct http_header){"Content-Encoding", "gzip"};
    }
    answer.header_count = count;
    answer.body_static = str_n(bytes.data, bytes.len);
    if (str_eq_c(http_exchange_header(x, "If-None-Match"), file->etag)) {
        answer.status = 304;
        answer.body_static = STR("");
    }
    http_reply(x, &answer);
}

bool server__console(const struct server *server, struct http_exchange *exchange)
{
    struct str path = http_exchange_path(exchange);
    const struct console_file *file = find(path);

    (void)server;
    if (!file && !str_starts(path, STR("/assets/")))
        file = find(STR("/index.html"));
    if (!file)
        return false;
    reply_file(exchange, file);
    return true;
}
