/* The HTTP client over libcurl's easy interface. The tricky part is what a stranger's server may
 * do: no redirect is followed, no other protocol is spoken, and a key never travels in the clear
 * beyond this machine. */
#include "net/http_client.h"

#include "base/mem.h"
#include "sys/file.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define REQUEST_TIMEOUT_MS      30000
#define CONNECT_TIMEOUT_MS      10000
#define ANSWER_BYTES_MAX        (16 * 1024 * 1024)
#define ERROR_BYTES_MAX         (64 * 1024)
#define RETRY_AFTER_SECONDS_MAX 86400

struct http_client {
    CURL *curl;
    char *base_url; /* without a '/' at the end */
    char *key_header;
    char *ca_file;
    char *user_agent;
    char *client_header;
    int64_t connect_timeout_ms;
};

/* One request on its way; the callbacks' context. */
struct transfer {
    const struct http_client_request *request;
    struct http_client *client;
    struct http_client_answer *answer;
    int64_t sent_bytes;
    enum err_code code; /* a failure inside a callback */
    struct err *err;
};

static bool is_loopback_host(const char *host)
{
    struct in_addr v4;
    struct str text = str_from(host);

    if (str_eq_c(text, "localhost") || str_eq_c(text, "[::1]"))
        return true;
    return inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

static bool url_part_is_empty(CURLU *url, CURLUPart part)
{
    char *text = NULL;

    if (curl_url_get(url, part, &text, 0) != CURLUE_OK)
        return true;

    bool empty = text[0] == '\0' || (part == CURLUPART_PATH && strcmp(text, "/") == 0);

    curl_free(text);
    return empty;
}

static enum err_code check_parsed(CURLU *url, const char *text, bool has_key, struct err *err)
{
    char *scheme = NULL, *host = NULL;
    enum err_code code = OK;

    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK) {
        code = err_set(err, ERR_INVALID, "server address \"%.200s\" is not a URL", text);
    } else if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0) {
        code = err_set(err, ERR_INVALID, "server address \"%.200s\" is not http or https", text);
    } else if (!url_part_is_empty(url, CURLUPART_USER) ||
               !url_part_is_empty(url, CURLUPART_PASSWORD)) {
        code = err_set(err, ERR_INVALID, "the server address holds a user or password");
        err_hint(err, "the key belongs in EUVYRA_API_KEY_FILE or euvyra login");
    } else if (!url_part_is_empty(url, CURLUPART_PATH) ||
               !url_part_is_empty(url, CURLUPART_QUERY) ||
               !url_part_is_empty(url, CURLUPART_FRAGMENT)) {
        code = err_set(err, ERR_INVALID, "server address \"%.200s\" has a path", text);
        err_hint(err, "for example https://euvyra.example.org:8443");
    } else if (has_key && strcmp(scheme, "http") == 0 && !is_loopback_host(host)) {
        code = err_set(err, ERR_INVALID, "a key is not sent to %.200s without TLS", host);
        err_hint(err, "use https, and EUVYRA_CA for a certificate of your own");
    }
    curl_free(scheme);
    curl_free(host);
    return code;
}

static enum err_code check_base_url(const char *text, bool has_key, struct err *err)
{
    CURLU *url = curl_url();
    enum err_code code;

    ENSURE(url != NULL);
    if (curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        code = err_set(err, ERR_INVALID, "server address \"%.200s\" is not a URL", text);
    else
        code = check_parsed(url, text, has_key, err);
    curl_url_cleanup(url);
    return code;
}

static char *text_join(const char *a, const char *b)
{
    size_t size = strlen(a) + strlen(b) + 1;
    char *text = mem_alloc(size);

    (void)snprintf(text, size, "%s%s", a, b);
    return text;
}

enum err_code http_client_new(struct http_client **ret_client,
                              const struct http_client_options *options, struct err *err)
{
    ENSURE(options->base_url && options->product);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_INTERNAL, "the HTTP library does not start");

    enum err_code code = check_base_url(options->base_url, options->key_text != NULL, err);

    if (code == OK && options->key_text && str_has_control(str_from(options->key_text)))
        code = err_set(err, ERR_INVALID, "the key holds control characters");
    if (code != OK) {
        curl_global_cleanup();
        return code;
    }

    struct http_client *client = MEM_NEW(struct http_client);
    size_t len = strlen(options->base_url);

    client->curl = curl_easy_init();
    ENSURE(client->curl != NULL);
    client->base_url = mem_copy_text(options->base_url);
    if (len > 0 && client->base_url[len - 1] == '/')
        client->base_url[len - 1] = '\0';
    if (options->key_text)
        client->key_header = text_join("Authorization: Bearer ", options->key_text);
    client->ca_file = mem_copy_text(options->ca_file);
    client->user_agent = mem_copy_text(options->product);
    client->client_header = text_join("Euvyra-Client: ", options->product);
    client->connect_timeout_ms =
        options->connect_timeout_ms > 0 ? options->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    *ret_client = client;
    return OK;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    if (client->key_header)
        explicit_bzero(client->key_header, strlen(client->key_header));
    mem_free(client->base_url);
    mem_free(client->key_header);
    mem_free(client->ca_file);
    mem_free(client->user_agent);
    mem_free(client->client_header);
    mem_free(client);
    curl_global_cleanup();
}

static bool has_body_fd(const struct http_client_request *request)
{
    return request->body_fd > 0;
}

static size_t on_read(char *data, size_t size, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    int64_t left = transfer->request->body_fd_bytes - transfer->sent_bytes;
    ssize_t got;

    do
        got = read(transfer->request->body_fd, data, (size_t)MIN((int64_t)(size * count), left));
    while (got < 0 && errno == EINTR);
    if (got < 0 || (got == 0 && left > 0)) {
        transfer->code = err_set(transfer->err, ERR_IO, "the file to send is shorter than it was");
        return CURL_READFUNC_ABORT;
    }
    transfer->sent_bytes += got;
    return (size_t)got;
}

/* A connection that went stale is dialled again: the file is then sent from its start. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct transfer *transfer = ctx;

    if (origin != SEEK_SET ||
        lseek(transfer->request->body_fd, (off_t)(offset - transfer->sent_bytes), SEEK_CUR) < 0)
        return CURL_SEEKFUNC_CANTSEEK;
    transfer->sent_bytes = offset;
    return CURL_SEEKFUNC_OK;
}

static size_t on_write(char *data, size_t size, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    size_t len = size * count;
    long status = 0;

    (void)curl_easy_getinfo(transfer->client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->request->answer_fd > 0 && status >= 200 && status < 300)
        transfer->code = file_write_all(transfer->request->answer_fd, data, len, transfer->err);
    else if (!buf_add(&transfer->answer->body, data, len))
        transfer->code = buf_check(&transfer->answer->body, "the server's answer", transfer->err);
    return transfer->code == OK ? len : 0;
}

/* The value of a header line when it has this name. */
static bool header_value(struct str line, const char *name, struct str *ret_value)
{
    struct str head;

    if (!str_cut(&line, ':', &head) || head.len != strlen(name) ||
        strncasecmp(head.data, name, head.len) != 0)
        return false;
    *ret_value = str_trim(line);
    return true;
}

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
    struct http_client_answer *answer = ((struct transfer *)ctx)->answer;
    struct str line = str_n(data, size * count), value;
    int64_t number;

    if (header_value(line, "Retry-After", &value) && str_to_i64(value, &number) && number >= 0 &&
        number <= RETRY_AFTER_SECONDS_MAX)
        answer->retry_after_ms = number * 1000;
    else if (header_value(line, "Euvyra-Offset", &value) && str_to_i64(value, &number) &&
             number >= 0)
        answer->offset = number;
    else if (header_value(line, "Euvyra-Final", &value))
        answer->final = str_eq_c(value, "1");
    else if (header_value(line, "Euvyra-Request-Id", &value) && !str_has_control(value))
        (void)snprintf(answer->request_id, sizeof(answer->request_id), "%.*s", STR_ARG(value));
    return size * count;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct http_client_request *request = ((struct transfer *)ctx)->request;

    (void)a, (void)b, (void)c, (void)d;
    return request->keep_going && !request->keep_going(request->ctx) ? 1 : 0;
}

static struct curl_slist *header_add(struct curl_slist *headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(headers, line);

    ENSURE(longer != NULL);
    return longer;
}

static struct curl_slist *make_headers(const struct http_client *client,
                                       const struct http_client_request *request)
{
    struct curl_slist *headers = header_add(NULL, client->client_header);
    bool has_body = has_body_fd(request) || request->body.len > 0;

    if (client->key_header)
        headers = header_add(headers, client->key_header);
    if (has_body) {
        const char *type = request->content_type ? request->content_type : "application/json";
        char *line = text_join("Content-Type: ", type);

        headers = header_add(headers, line);
        mem_free(line);
    } else {
        headers = header_add(headers, "Content-Type:"); /* libcurl's own is for forms */
    }
    for (size_t i = 0; request->headers && request->headers[i]; i++)
        headers = header_add(headers, request->headers[i]);
    return headers;
}

#define SET(option, value) ENSURE(curl_easy_setopt(curl, option, value) == CURLE_OK)

static void set_body(CURL *curl, const struct http_client_request *request)
{
    if (has_body_fd(request)) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_fd_bytes);
        SET(CURLOPT_READFUNCTION, on_read);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
    } else if (request->body.len > 0 || strcmp(request->method, "POST") == 0) {
        SET(CURLOPT_POSTFIELDS, request->body.len ? request->body.data : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
    }
    if (strcmp(request->method, "HEAD") == 0)
        SET(CURLOPT_NOBODY, 1L);
    else
        SET(CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_common(struct http_client *client, struct transfer *transfer)
{
    CURL *curl = client->curl;
    const struct http_client_request *request = transfer->request;

    curl_easy_reset(curl); /* connections stay open */
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_USERAGENT, client->user_agent);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_timeout_ms);
    SET(CURLOPT_TIMEOUT_MS,
        (long)(request->timeout_ms > 0 ? request->timeout_ms : REQUEST_TIMEOUT_MS));
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_READDATA, transfer);
    SET(CURLOPT_SEEKDATA, transfer);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, transfer);
    if (client->ca_file)
        SET(CURLOPT_CAINFO, client->ca_file);
    set_body(curl, request);
}

static enum err_code tell_failure(const struct transfer *transfer, CURLcode result,
                                  const char *detail)
{
    struct err *err = transfer->err;
    const char *reason = detail[0] ? detail : curl_easy_strerror(result);

    if (transfer->code != OK)
        return transfer->code;
    if (result == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, ERR_TIMEOUT, "the request was given up");
    (void)err_set(err, ERR_UNAVAILABLE, "%.200s: %.200s", transfer->client->base_url, reason);
    if (result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE)
        err_hint(err, "EUVYRA_CA names the certificate file to trust");
    return ERR_UNAVAILABLE;
}

enum err_code http_client_send(struct http_client *client,
                               const struct http_client_request *request,
                               struct http_client_answer *ret_answer, struct err *err)
{
    char detail[CURL_ERROR_SIZE] = "";
    struct transfer transfer = {
        .request = request, .client = client, .answer = ret_answer, .err = err};
    CURL *curl = client->curl;
    long status = 0;

    ENSURE(request->method && request->path && request->path[0] == '/');
    *ret_answer = (struct http_client_answer){.retry_after_ms = -1, .offset = -1};
    buf_init(&ret_answer->body,
             request->answer_bytes_max ? request->answer_bytes_max : ANSWER_BYTES_MAX);
    set_common(client, &transfer);

    char *url = text_join(client->base_url, request->path);
    struct curl_slist *headers = make_headers(client, request);

    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_ERRORBUFFER, detail);

    CURLcode result = curl_easy_perform(curl);

    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_reset(curl); /* nothing of this call is pointed at any more */
    curl_slist_free_all(headers);
    mem_free(url);
    if (result != CURLE_OK) {
        http_client_answer_release(ret_answer);
        return tell_failure(&transfer, result, detail);
    }
    ret_answer->status = (int)status;
    return OK;
}

void http_client_answer_release(struct http_client_answer *answer)
{
    buf_release(&answer->body);
}

static enum err_code code_from_status(int status)
{
    switch (status) {
    case 401: return ERR_UNAUTHENTICATED;
    case 403: return ERR_FORBIDDEN;
    case 404: return ERR_NOT_FOUND;
    case 409: return ERR_CONFLICT;
    case 410: return ERR_GONE;
    case 413: return ERR_TOO_LARGE;
    case 416: return ERR_OFFSET;
    case 426: return ERR_UPGRADE;
    case 429: return ERR_LIMIT;
    case 408:
    case 502:
    case 503:
    case 504: return ERR_UNAVAILABLE;
    case 507: return ERR_DISK_FULL;
    default: return status >= 400 && status < 500 ? ERR_INVALID : ERR_INTERNAL;
    }
}

static const char *text_of(const json_t *document, const char *name)
{
    const char *text = json_string_value(json_object_get(document, name));

    return text ? text : "";
}

enum err_code http_client_answer_error(const struct http_client_answer *answer, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    enum err_code code = code_from_status(answer->status);
    const char *name, *message;

    if (json_parse(buf_str(&answer->body), ERROR_BYTES_MAX, &document, NULL) != OK ||
        text_of(document, "message")[0] == '\0')
        return err_set(err, code, "the server answered %d", answer->status);
    name = text_of(document, "code");
    message = text_of(document, "message");
    for (enum err_code known = ERR_INVALID; known <= ERR_IO; known++) {
        if (strcmp(err_code_name(known), name) == 0)
            code = known;
    }
    if (text_of(document, "field")[0])
        (void)err_set_field(err, code, text_of(document, "field"), "%s", message);
    else
        (void)err_set(err, code, "%s", message);
    if (text_of(document, "hint")[0])
        err_hint(err, "%s", text_of(document, "hint"));
    if (err && json_is_integer(json_object_get(document, "column")))
        err->column = (int)json_integer_value(json_object_get(document, "column"));
    return code;
}

enum err_code http_client_json(struct http_client *client, const char *method, const char *path,
                               struct str body, json_t **ret_json, struct err *err)
{
    struct http_client_request request = {.method = method, .path = path, .body = body};
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    json_t *document = NULL;

    TRY(http_client_send(client, &request, &answer, err));
    if (answer.status < 200 || answer.status > 299)
        return http_client_answer_error(&answer, err);
    if (answer.body.len > 0) {
        enum err_code code = json_parse(buf_str(&answer.body), ANSWER_BYTES_MAX, &document, err);

        if (code != OK) {
            err_prefix(err, "the server's answer to %s %s", method, path);
            return ERR_UNAVAILABLE; /* something else than the server has answered */
        }
    }
    if (ret_json)
        *ret_json = document;
    else
        json_decref(document);
    return OK;
}
