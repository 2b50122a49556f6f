/* The API client over libcurl. Everything goes through the multi interface, so that who waits can
 * be asked several times a second whether to go on; a stream of a log may be silent for days. */
#include "drivers/executor/kubernetes/api.h"

#include "base/mem.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define TICK_MS                 200
#define CALL_TIMEOUT_MS         10000
#define CONNECT_TIMEOUT_MS      5000
#define KEEP_ALIVE_S            15L
#define ANSWER_BYTES_MAX        (64 * 1024 * 1024)
#define ERROR_BYTES_MAX         65536
#define TOKEN_BYTES_MAX         65536
#define RETRY_AFTER_SECONDS_MAX 300
#define BACKOFF_MS_MIN          250
#define BACKOFF_MS_MAX          15000

struct kube_api {
    const struct kube_config *config;
    CURLM *multi;
    CURL *curl;
    bool (*keep_going)(void *ctx);
    void *ctx;
    int64_t retry_ms;
};

/* One exchange on its way. */
struct exchange {
    struct kube_api *api;
    struct buf body; /* of a call, or of an error */
    const struct kube_stream *stream;
    bool ended_by_us, gave_up, silent;
    int64_t heard_ms;
};

struct kube_api *kube_api_new(const struct kube_config *config, bool (*keep_going)(void *ctx),
                              void *ctx)
{
    struct kube_api *api = MEM_NEW(struct kube_api);

    ENSURE(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    api->config = config;
    api->keep_going = keep_going;
    api->ctx = ctx;
    api->multi = curl_multi_init();
    api->curl = curl_easy_init();
    ENSURE(api->multi && api->curl);
    return api;
}

void kube_api_free(struct kube_api *api)
{
    if (!api)
        return;
    curl_easy_cleanup(api->curl);
    (void)curl_multi_cleanup(api->multi);
    mem_free(api);
    curl_global_cleanup();
}

bool kube_is_worth_waiting(enum err_code code)
{
    return code == ERR_UNAVAILABLE || code == ERR_LIMIT || code == ERR_TIMEOUT ||
           code == ERR_FORBIDDEN || code == ERR_UNAUTHENTICATED;
}

int64_t kube_backoff_ms(const struct kube_api *api, int64_t before_ms)
{
    int64_t next = MIN(MAX(before_ms * 2, BACKOFF_MS_MIN), BACKOFF_MS_MAX);

    return MAX(next, api->retry_ms);
}

static long status_of(const struct kube_api *api)
{
    long status = 0;

    (void)curl_easy_getinfo(api->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_write(char *data, size_t size, size_t count, void *ctx)
{
    struct exchange *x = ctx;
    size_t len = size * count;
    long status = status_of(x->api);

    x->heard_ms = clock_mono_ms();
    if (x->stream && status >= 200 && status < 300) {
        if (x->stream->on_data(x->stream->ctx, str_n(data, len)))
            return len;
        x->ended_by_us = true;
        return 0;
    }
    return buf_add(&x->body, data, len) ? len : 0;
}

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
    struct exchange *x = ctx;
    struct str line = str_n(data, size * count), name;
    int64_t seconds;

    if (str_cut(&line, ':', &name) && name.len == 11 &&
        strncasecmp(name.data, "Retry-After", 11) == 0 && str_to_i64(str_trim(line), &seconds) &&
        seconds >= 0)
        x->api->retry_ms = MIN(seconds, RETRY_AFTER_SECONDS_MAX) * 1000;
    return size * count;
}

#define SET(option, value) ENSURE(curl_easy_setopt(curl, option, value) == CURLE_OK)

static void set_common(struct kube_api *api, struct exchange *x)
{
    CURL *curl = api->curl;

    curl_easy_reset(curl);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1); /* a connection a stream */
    SET(CURLOPT_USERAGENT, "euvyra-agent");
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    SET(CURLOPT_TCP_KEEPALIVE, 1L); /* a peer that is gone without a word ends a silent stream */
    SET(CURLOPT_TCP_KEEPIDLE, KEEP_ALIVE_S);
    SET(CURLOPT_TCP_KEEPINTVL, KEEP_ALIVE_S);
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, x);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, x);
    if (api->config->ca_pem) {
        struct curl_blob ca = {.data = api->config->ca_pem,
                               .len = strlen(api->config->ca_pem),
                               .flags = CURL_BLOB_NOCOPY};

        SET(CURLOPT_CAINFO_BLOB, &ca);
        SET(CURLOPT_CAPATH, NULL);
    }
}

static struct curl_slist *header_add(struct curl_slist *headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(headers, line);

    ENSURE(longer != NULL);
    return longer;
}

/* The cluster writes a new token into the file before the old one ends. */
static enum err_code add_token(const struct kube_config *config, struct curl_slist **headers,
                               struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf line = {0};
    struct str token = str_from(config->token);

    if (!config->token) {
        TRY(file_read(config->token_file, TOKEN_BYTES_MAX, &text, err));
        token = str_trim(buf_str(&text));
    }
    if (str_has_control(token))
        return err_set(err, ERR_INVALID, "the token of the cluster holds control characters");
    buf_init(&line, TOKEN_BYTES_MAX + 64);
    (void)buf_printf(&line, "Authorization: Bearer %.*s", STR_ARG(token));
    TRY(buf_check(&line, "the token of the cluster", err));
    *headers = header_add(*headers, line.data);
    explicit_bzero(line.data, line.len);
    return OK;
}

/* Whether the exchange may go on, asked in every tick. */
static bool tick(struct exchange *x)
{
    if (x->api->keep_going && !x->api->keep_going(x->api->ctx)) {
        x->gave_up = true;
        return false;
    }
    if (!x->stream)
        return true;
    if (x->stream->on_tick && !x->stream->on_tick(x->stream->ctx)) {
        x->ended_by_us = true;
        return false;
    }
    x->silent =
        x->stream->silent_ms_max > 0 && clock_mono_ms() - x->heard_ms > x->stream->silent_ms_max;
    return !x->silent;
}

static CURLcode drive(struct exchange *x)
{
    struct kube_api *api = x->api;
    CURLcode result = CURLE_ABORTED_BY_CALLBACK;
    const CURLMsg *message;
    int running = 1, left;

    ENSURE(curl_multi_add_handle(api->multi, api->curl) == CURLM_OK);
    while (running) {
        (void)curl_multi_perform(api->multi, &running);
        if (running)
            (void)curl_multi_poll(api->multi, NULL, 0, TICK_MS, NULL);
        if (running && !tick(x))
            break;
    }
    while ((message = curl_multi_info_read(api->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    }
    (void)curl_multi_remove_handle(api->multi, api->curl);
    return result;
}

static enum err_code code_of(long status)
{
    switch (status) {
    case 401: return ERR_UNAUTHENTICATED;
    case 403: return ERR_FORBIDDEN;
    case 404: return ERR_NOT_FOUND;
    case 409: return ERR_CONFLICT;
    case 410: return ERR_GONE;
    case 429: return ERR_LIMIT;
    default: return status >= 400 && status < 500 ? ERR_UNPROCESSABLE : ERR_UNAVAILABLE;
    }
}

/* The API server's errors are objects of kind Status. */
static enum err_code refused(const struct exchange *x, long status, struct err *err)
{
    CLEANUP(json_release) json_t *body = NULL;
    const char *message = NULL;

    if (json_parse(buf_str(&x->body), ERROR_BYTES_MAX, &body, NULL) == OK)
        message = json_string_value(json_object_get(body, "message"));
    if (!message || !message[0])
        return err_set(err, code_of(status), "the API server answered %ld", status);
    return err_set(err, code_of(status), "%.480s", message);
}

static enum err_code outcome(const struct exchange *x, CURLcode result, const char *detail,
                             struct err *err)
{
    long status = status_of(x->api);

    if (x->ended_by_us)
        return OK;
    if (x->gave_up)
        return err_set(err, ERR_TIMEOUT, "the call to the API server was given up");
    if (x->silent)
        return err_set(err, ERR_UNAVAILABLE, "the API server is silent");
    if (result == CURLE_WRITE_ERROR && x->body.full)
        return err_set(err, ERR_UNAVAILABLE, "the API server's answer is too large");
    if (result != CURLE_OK)
        return err_set(err, ERR_UNAVAILABLE, "API server %.200s: %.200s", x->api->config->server,
                       detail[0] ? detail : curl_easy_strerror(result));
    if (status < 200 || status > 299)
        return refused(x, status, err);
    return OK;
}

static enum err_code exchange_send(struct exchange *x, const char *path, struct curl_slist *headers,
                                   struct err *err)
{
    CLEANUP(buf_release) struct buf url = {0};
    char detail[CURL_ERROR_SIZE] = "";
    CURL *curl = x->api->curl;
    enum err_code code = add_token(x->api->config, &headers, err);

    if (code == OK) {
        buf_init(&url, 8192);
        (void)buf_printf(&url, "%s%s", x->api->config->server, path);
        ENSURE(!url.full);
        SET(CURLOPT_URL, url.data);
        SET(CURLOPT_HTTPHEADER, headers);
        SET(CURLOPT_ERRORBUFFER, detail);
        x->api->retry_ms = 0;
        x->heard_ms = clock_mono_ms();
        code = outcome(x, drive(x), detail, err);
        curl_easy_reset(curl);
    }
    curl_slist_free_all(headers);
    return code;
}

enum err_code kube_api_call(struct kube_api *api, const struct kube_call *call, json_t **ret_answer,
                            struct err *err)
{
    struct exchange x = {.api = api};
    char type[128], *text = call->body ? json_dumps(call->body, JSON_COMPACT) : NULL;
    struct curl_slist *headers = header_add(NULL, "Accept: application/json");
    CURL *curl = api->curl;
    enum err_code code;

    buf_init(&x.body, ANSWER_BYTES_MAX);
    set_common(api, &x);
    SET(CURLOPT_CUSTOMREQUEST, call->method);
    SET(CURLOPT_TIMEOUT_MS, (long)(call->timeout_ms > 0 ? call->timeout_ms : CALL_TIMEOUT_MS));
    if (text) {
        (void)snprintf(type, sizeof(type), "Content-Type: %s",
                       call->content_type ? call->content_type : "application/json");
        headers = header_add(headers, type);
        SET(CURLOPT_POSTFIELDS, text);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
    }
    code = exchange_send(&x, call->path, headers, err);
    if (text)
        explicit_bzero(text, strlen(text)); /* it may hold a key */
    free(text);
    if (code == OK && ret_answer) {
        code = json_parse(buf_str(&x.body), ANSWER_BYTES_MAX, ret_answer, err);
        if (code != OK) {
            err_prefix(err, "the answer to %s %.100s", call->method, call->path);
            code = ERR_UNAVAILABLE; /* something else than the API server has answered */
        }
    }
    buf_release(&x.body);
    return code;
}

enum err_code kube_api_stream(struct kube_api *api, const struct kube_stream *stream,
                              struct err *err)
{
    struct exchange x = {.api = api, .stream = stream};
    enum err_code code;

    buf_init(&x.body, ERROR_BYTES_MAX);
    set_common(api, &x);
    code = exchange_send(&x, stream->path, NULL, err);
    buf_release(&x.body);
    return code;
}
