/* Asking over libcurl. What answers is a job, so nothing of it is believed but the status: of the
 * answer so much is read as shows that it is one, and then the connection is cut. */
#include "net/http_ask.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_MAX 16384 /* status, headers and body */
#define URL_BYTES        1200

struct question {
    const struct http_ask *ask;
    size_t bytes;
    bool enough, too_long; /* the body went on; the headers did */
};

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    struct question *q = ctx;

    (void)data;
    q->bytes += size * count;
    q->enough = q->bytes > ANSWER_BYTES_MAX;
    return q->enough ? 0 : size * count;
}

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
    struct question *q = ctx;

    (void)data;
    q->bytes += size * count;
    q->too_long = q->bytes > ANSWER_BYTES_MAX;
    return q->too_long ? 0 : size * count;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct http_ask *ask = ((struct question *)ctx)->ask;

    (void)a, (void)b, (void)c, (void)d;
    return ask->keep_going && !ask->keep_going(ask->ctx) ? 1 : 0;
}

#define SET(option, value) ENSURE(curl_easy_setopt(curl, option, value) == CURLE_OK)

static void set_up(CURL *curl, struct question *q, const char *url)
{
    SET(CURLOPT_URL, url);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_FORBID_REUSE, 1L);
    SET(CURLOPT_USERAGENT, "euvyra-agent health");
    SET(CURLOPT_TIMEOUT_MS, (long)q->ask->timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)q->ask->timeout_ms);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, q);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, q);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, q);
}

static enum err_code tell_connect(long os_error, struct err *err)
{
    switch (os_error) {
    case ECONNREFUSED: return err_set(err, ERR_UNAVAILABLE, "connection refused");
    case EHOSTUNREACH:
    case ENETUNREACH: return err_set(err, ERR_UNAVAILABLE, "its address cannot be reached");
    default: return err_set(err, ERR_UNAVAILABLE, "no connection");
    }
}

static enum err_code tell(CURL *curl, CURLcode result, const struct question *q, struct err *err)
{
    long os_error = 0;

    switch (result) {
    case CURLE_ABORTED_BY_CALLBACK: return err_set(err, ERR_TIMEOUT, "the question was given up");
    case CURLE_COULDNT_CONNECT:
        (void)curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &os_error);
        return tell_connect(os_error, err);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, ERR_UNAVAILABLE, "no answer within %lld s",
                       (long long)(q->ask->timeout_ms + 999) / 1000);
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
        return err_set(err, ERR_UNAVAILABLE, "the connection was closed before the answer's end");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        return err_set(err, ERR_UNAVAILABLE, "what answers does not speak HTTP");
    default: break;
    }
    if (q->too_long)
        return err_set(err, ERR_UNAVAILABLE, "the headers of its answer are too long");
    return err_set(err, ERR_UNAVAILABLE, "%.150s", curl_easy_strerror(result));
}

enum err_code http_ask(const struct http_ask *ask, int *ret_status, struct err *err)
{
    bool v6 = strchr(ask->address, ':') != NULL;
    struct question q = {.ask = ask};
    char url[URL_BYTES];
    enum err_code code = OK;
    long status = 0;
    CURLcode result;
    CURL *curl;
    int len = snprintf(url, sizeof(url), "http://%s%s%s:%lld%.*s", v6 ? "[" : "", ask->address,
                       v6 ? "]" : "", (long long)ask->port, STR_ARG(ask->path));

    ENSURE(len > 0 && (size_t)len < sizeof(url));
    curl = curl_easy_init();
    ENSURE(curl != NULL);
    set_up(curl, &q, url);
    result = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (result != CURLE_OK && !(result == CURLE_WRITE_ERROR && q.enough))
        code = tell(curl, result, &q, err);
    curl_easy_cleanup(curl);
    if (code == OK)
        *ret_status = (int)status;
    return code;
}
