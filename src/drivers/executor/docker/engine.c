/* The tricky part is what streams need: a body that never ends is handed on as it comes, its caller
 * is asked every second, or when somebody wakes it, whether to go on, and an error document in
 * place of the stream is kept for the message. */
#include "drivers/executor/docker/engine.h"

#include "base/mem.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TIMEOUT_MS       60000
#define CONNECT_MS       10000
#define ASK_MS           1000
#define ANSWER_BYTES_MAX (16 * 1024 * 1024)
/* What we speak: from what Docker 19.03 has, to what was looked at when this was written. */
#define VERSION_MIN_MINOR 40
#define VERSION_MAX_MINOR 51

struct engine {
    CURLM *multi; /* holds the connection, and can be woken */
    CURL *curl;
    char *socket;
    char version[ENGINE_VERSION_BYTES]; /* "/v1.41", or "" */
};

/* One call on its way; the callbacks' context. */
struct transfer {
    struct engine *engine;
    const struct engine_call *call;
    struct engine_answer *answer;
    enum err_code code; /* a failure inside a callback */
    struct err *err;
};

static struct engine *session_new(const char *socket, const char *version)
{
    struct engine *engine = MEM_NEW(struct engine);

    engine->multi = curl_multi_init();
    engine->curl = curl_easy_init();
    ENSURE(engine->multi != NULL && engine->curl != NULL);
    engine->socket = mem_copy_text(socket);
    (void)snprintf(engine->version, sizeof(engine->version), "%s", version);
    return engine;
}

enum err_code engine_new(struct engine **ret_engine, const char *socket, struct err *err)
{
    struct sockaddr_un address;

    if (strncmp(socket, "unix://", 7) == 0)
        socket += 7;
    if (socket[0] != '/' || strlen(socket) >= sizeof(address.sun_path))
        return err_set(err, ERR_INVALID,
                       "the engine's socket is an absolute path of at most %zu bytes, not "
                       "\"%.120s\"",
                       sizeof(address.sun_path) - 1, socket);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_INTERNAL, "the HTTP library does not start");
    *ret_engine = session_new(socket, "");
    return OK;
}

struct engine *engine_again(const struct engine *engine)
{
    ENSURE(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); /* counts: it runs already */
    return session_new(engine->socket, engine->version);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    curl_easy_cleanup(engine->curl);
    (void)curl_multi_cleanup(engine->multi); /* nothing is in it */
    mem_free(engine->socket);
    mem_free(engine);
    curl_global_cleanup();
}

const char *engine_socket(const struct engine *engine)
{
    return engine->socket;
}

static size_t on_write(char *data, size_t size, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    struct str bytes = str_n(data, size * count);
    long status = 0;

    (void)curl_easy_getinfo(transfer->engine->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->call->sink && status >= 200 && status < 300)
        transfer->code = transfer->call->sink(transfer->call->ctx, bytes, transfer->err);
    else if (!buf_add_str(&transfer->answer->body, bytes))
        transfer->code =
            buf_check(&transfer->answer->body, "the Docker engine's answer", transfer->err);
    return transfer->code == OK ? bytes.len : 0;
}

static struct curl_slist *header_add(struct curl_slist *headers, const char *line)
{
    struct curl_slist *longer = curl_slist_append(headers, line);

    ENSURE(longer != NULL);
    return longer;
}

static struct curl_slist *make_headers(const struct engine_call *call)
{
    struct curl_slist *headers = header_add(NULL, "Content-Type: application/json");

    headers = header_add(headers, "Expect:");
    for (size_t i = 0; call->headers && call->headers[i]; i++)
        headers = header_add(headers, call->headers[i]);
    return headers;
}

#define SET(option, value) ENSURE(curl_easy_setopt(curl, option, value) == CURLE_OK)

static void set_call(struct transfer *transfer, const char *url, struct curl_slist *headers)
{
    const struct engine_call *call = transfer->call;
    CURL *curl = transfer->engine->curl;

    curl_easy_reset(curl); /* the connection stays open */
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_UNIX_SOCKET_PATH, transfer->engine->socket);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(CURLOPT_TIMEOUT_MS, (long)(call->timeout_ms < 0    ? 0
                                   : call->timeout_ms == 0 ? TIMEOUT_MS
                                                           : call->timeout_ms));
    if (call->silence_ms > 0) {
        SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
        SET(CURLOPT_LOW_SPEED_TIME, (long)(MAX(call->silence_ms / 1000, 1)));
    }
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, transfer);
    if (call->body.len > 0 || strcmp(call->method, "POST") == 0) {
        SET(CURLOPT_POSTFIELDS, call->body.len > 0 ? call->body.data : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
    }
    SET(CURLOPT_CUSTOMREQUEST, call->method);
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPHEADER, headers);
}

/* Why the socket cannot be used, as connect(2) says it: libcurl keeps only "could not connect". */
static int connect_errno(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), problem = 0;

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        problem = errno;
    if (fd >= 0)
        (void)close(fd);
    return problem;
}

static enum err_code tell_failure(const struct transfer *transfer, CURLcode result,
                                  const char *detail)
{
    const char *socket = transfer->engine->socket;
    struct err *err = transfer->err;
    int problem;

    if (transfer->code != OK)
        return transfer->code;
    if (result == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, ERR_TIMEOUT, "the call to the Docker engine was given up");
    if (result != CURLE_COULDNT_CONNECT)
        return err_set(err, ERR_UNAVAILABLE, "the Docker engine at %.120s: %.200s", socket,
                       detail[0] ? detail : curl_easy_strerror(result));
    problem = connect_errno(socket);
    if (problem == EACCES || problem == EPERM) {
        (void)err_set(err, ERR_FORBIDDEN, "may not use the Docker engine at %.120s", socket);
        err_hint(err, "run the agent as root or as a member of the group that owns the socket");
        return ERR_FORBIDDEN;
    }
    (void)err_set(err, ERR_UNAVAILABLE, "the Docker engine at %.120s does not answer: %s", socket,
                  problem ? strerror(problem) : "it was away");
    err_hint(err, "is it running? --docker-socket says where it listens");
    return ERR_UNAVAILABLE;
}

/* The whole call. CURLE_ABORTED_BY_CALLBACK: keep_going said no. */
static CURLcode perform(struct engine *engine, const struct engine_call *call)
{
    CURLcode result = CURLE_OK;
    CURLMsg *message;
    int running = 1, left;

    ENSURE(curl_multi_add_handle(engine->multi, engine->curl) == CURLM_OK);
    while (running) {
        if (call->keep_going && !call->keep_going(call->ctx)) {
            result = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
        ENSURE(curl_multi_perform(engine->multi, &running) == CURLM_OK);
        if (running)
            ENSURE(curl_multi_poll(engine->multi, NULL, 0, ASK_MS, NULL) == CURLM_OK);
    }
    while ((message = curl_multi_info_read(engine->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    }
    ENSURE(curl_multi_remove_handle(engine->multi, engine->curl) == CURLM_OK);
    return result;
}

void engine_wake(struct engine *engine)
{
    (void)curl_multi_wakeup(engine->multi); /* it asks a second later then */
}

enum err_code engine_send(struct engine *engine, const struct engine_call *call,
                          struct engine_answer *ret_answer, struct err *err)
{
    CLEANUP(buf_release) struct buf url = {0};
    char detail[CURL_ERROR_SIZE] = "";
    struct transfer transfer = {.engine = engine, .call = call, .answer = ret_answer, .err = err};
    struct curl_slist *headers = make_headers(call);
    CURLcode result;
    long status = 0;

    ENSURE(call->method && call->path && call->path[0] == '/');
    *ret_answer = (struct engine_answer){0};
    buf_init(&ret_answer->body, ANSWER_BYTES_MAX);
    buf_init(&url, ANSWER_BYTES_MAX);
    (void)buf_printf(&url, "http://docker%s%s", engine->version, call->path);
    set_call(&transfer, url.data, headers);
    ENSURE(curl_easy_setopt(engine->curl, CURLOPT_ERRORBUFFER, detail) == CURLE_OK);
    result = perform(engine, call);
    (void)curl_easy_getinfo(engine->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_reset(engine->curl); /* nothing of this call is pointed at any more */
    curl_slist_free_all(headers);
    if (result != CURLE_OK) {
        engine_answer_release(ret_answer);
        return tell_failure(&transfer, result, detail);
    }
    ret_answer->status = (int)status;
    return OK;
}

void engine_answer_release(struct engine_answer *answer)
{
    buf_release(&answer->body);
}

static enum err_code code_of(int status)
{
    switch (status) {
    case 400: return ERR_INVALID;
    case 401: return ERR_UNAUTHENTICATED;
    case 403: return ERR_FORBIDDEN;
    case 404: return ERR_NOT_FOUND;
    case 409: return ERR_CONFLICT;
    case 503: return ERR_UNAVAILABLE;
    default: return ERR_INTERNAL;
    }
}

enum err_code engine_answer_error(const struct engine_answer *answer, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    enum err_code code = code_of(answer->status);
    const char *message = NULL;

    if (json_parse(buf_str(&answer->body), ANSWER_BYTES_MAX, &document, NULL) == OK)
        message = json_string_value(json_object_get(document, "message"));
    if (!message || message[0] == '\0')
        return err_set(err, code, "the Docker engine answered %d", answer->status);
    return err_set(err, code, "%.*s", STR_ARG(str_trim(str_from(message))));
}

enum err_code engine_json(struct engine *engine, const char *method, const char *path,
                          struct str body, json_t **ret_json, struct err *err)
{
    struct engine_call call = {.method = method, .path = path, .body = body};
    CLEANUP(engine_answer_release) struct engine_answer answer = {0};
    json_t *document = NULL;

    TRY(engine_send(engine, &call, &answer, err));
    if ((answer.status < 200 || answer.status > 299) && answer.status != 304)
        return engine_answer_error(&answer, err);
    if (ret_json && str_trim(buf_str(&answer.body)).len > 0 &&
        json_parse(buf_str(&answer.body), ANSWER_BYTES_MAX, &document, err) != OK) {
        err_prefix(err, "the Docker engine's answer to %s", method);
        return ERR_UNAVAILABLE; /* something else has answered */
    }
    if (ret_json)
        *ret_json = document;
    return OK;
}

void engine_escape(struct buf *out, struct str text, const char *keep)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        if (isalnum(c) || (c && (strchr("-._~", c) || strchr(keep, c))))
            (void)buf_add_char(out, (char)c);
        else
            (void)buf_printf(out, "%%%02X", c);
    }
}

/* "1.41" -> 41; -1 for what is no such version. */
static int64_t minor_of(const char *version)
{
    int64_t minor;

    if (!version || strncmp(version, "1.", 2) != 0 || !str_to_i64(str_from(version + 2), &minor))
        return -1;
    return minor;
}

enum err_code engine_agree(struct engine *engine, json_t **ret_version, struct err *err)
{
    CLEANUP(json_release) json_t *document = NULL;
    const char *newest, *oldest;
    int64_t max, min;

    engine->version[0] = '\0';
    TRY(engine_json(engine, "GET", "/version", STR(""), &document, err));
    newest = json_string_value(json_object_get(document, "ApiVersion"));
    oldest = json_string_value(json_object_get(document, "MinAPIVersion"));
    max = minor_of(newest);
    min = MAX(minor_of(oldest), 0);
    if (max < VERSION_MIN_MINOR)
        return err_set(err, ERR_UPGRADE,
                       "the Docker engine speaks API %.10s, at least 1.%d is needed "
                       "(Docker 19.03)",
                       newest ? newest : "(none)", VERSION_MIN_MINOR);
    if (min > VERSION_MAX_MINOR)
        return err_set(err, ERR_UPGRADE,
                       "the Docker engine speaks API %.10s and newer, this agent up to 1.%d",
                       oldest, VERSION_MAX_MINOR);
    (void)snprintf(engine->version, sizeof(engine->version), "/v1.%d",
                   (int)MIN(max, VERSION_MAX_MINOR));
    if (ret_version) {
        *ret_version = document;
        document = NULL;
    }
    return OK;
}
