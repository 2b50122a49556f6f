/* Calls about one attempt. */
#include "agent/calls.h"

#include <inttypes.h>
#include <stdio.h>

#define PATH_BYTES       64
#define HEADER_BYTES     96
#define RENDEZVOUS_BYTES (WIRE_RENDEZVOUS_MAX + 32)
#define STATUS_BYTES_MAX 65536
#define CODE_TIMEOUT_MS  600000
#define ATTEMPT_HEADER   "Euvyra-Attempt-Token: "

static enum call_outcome outcome_of(enum err_code code)
{
    switch (code) {
    case OK: return CALL_DONE;
    case ERR_FENCED:
    case ERR_NOT_FOUND:
    case ERR_GONE: return CALL_FENCED;
    case ERR_UNAVAILABLE:
    case ERR_TIMEOUT:
    case ERR_LIMIT:
    case ERR_INTERNAL:
    case ERR_IO:
    case ERR_DISK_FULL:
    case ERR_UNAUTHENTICATED:
    case ERR_FORBIDDEN:
    case ERR_UPGRADE: return CALL_AGAIN;
    default: return CALL_REFUSED;
    }
}

/* Sends; an error document of the server becomes `err`. */
static enum err_code attempt_send(const struct attempt_calls *calls, const char *what,
                                  struct http_client_request *request,
                                  struct http_client_answer *ret_answer, struct err *err)
{
    char path[PATH_BYTES], token[HEADER_BYTES];
    const char *headers[3] = {token, request->headers ? request->headers[0] : NULL, NULL};

    (void)snprintf(path, sizeof(path), "/api/v1/attempts/%s/%s", calls->attempt.id.text, what);
    (void)snprintf(token, sizeof(token), ATTEMPT_HEADER "%s", calls->attempt.token);
    request->path = path;
    request->headers = headers;
    request->keep_going = calls->keep_going;
    request->ctx = calls->ctx;
    TRY(http_client_send(calls->client, request, ret_answer, err));
    if (ret_answer->status < 200 || ret_answer->status > 299)
        return http_client_answer_error(ret_answer, err);
    return OK;
}

/* An answer that cannot be read says nothing about the attempt (a proxy may have given it): the
 * call is made again. */
static enum err_code not_readable(const char *what, struct err *err)
{
    struct err cause = *err;

    return err_set(err, ERR_UNAVAILABLE, "the answer to %s is not a server's: %s", what,
                   cause.text);
}

/* Sends a call whose answer is the attempt's state. */
static enum call_outcome attempt_tell(const struct attempt_calls *calls, const char *what,
                                      struct http_client_request *request, struct arena *arena,
                                      struct wire_accepted *ret_accepted, struct err *err)
{
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    enum err_code code = attempt_send(calls, what, request, &answer, err);

    if (code == OK && wire_accepted_decode(arena, buf_str(&answer.body), ret_accepted, err) != OK)
        code = not_readable(what, err);
    return outcome_of(code);
}

enum call_outcome call_accept(const struct attempt_calls *calls, const char *rendezvous,
                              struct arena *arena, struct wire_accepted *ret_accepted,
                              struct err *err)
{
    char header[RENDEZVOUS_BYTES];
    const char *const headers[] = {header, NULL};
    struct http_client_request request = {.method = "POST"};

    if (rendezvous) {
        (void)snprintf(header, sizeof(header), "Euvyra-Rendezvous: %s", rendezvous);
        request.headers = headers;
    }
    return attempt_tell(calls, "accept", &request, arena, ret_accepted, err);
}

enum call_outcome call_status(const struct attempt_calls *calls, const struct wire_status *status,
                              struct err *err)
{
    CLEANUP(buf_release) struct buf body = {0};
    CLEANUP(arena_release) struct arena arena = {0};
    struct http_client_request request = {.method = "POST"};
    struct wire_accepted accepted;
    struct json_writer w;

    buf_init(&body, STATUS_BYTES_MAX);
    json_writer_init(&w, &body);
    wire_status_encode(status, &w);
    request.body = buf_str(&body);
    return attempt_tell(calls, "status", &request, &arena, &accepted, err);
}

enum call_outcome call_console(const struct attempt_calls *calls, struct str text, int64_t *offset,
                               struct err *err)
{
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    char header[HEADER_BYTES];
    const char *const headers[] = {header, NULL};
    struct http_client_request request = {.method = "PATCH",
                                          .content_type = "application/octet-stream",
                                          .body = text,
                                          .headers = headers};
    enum err_code code;

    (void)snprintf(header, sizeof(header), "Euvyra-Offset: %" PRIi64, *offset);
    code = attempt_send(calls, "console", &request, &answer, err);
    if (code == OK && wire_appended_decode(buf_str(&answer.body), offset, err) != OK)
        code = not_readable("console", err);
    if (code == OK)
        return CALL_DONE;
    if (code == ERR_OFFSET && answer.offset >= 0 && answer.offset != *offset) {
        *offset = answer.offset;
        return CALL_DONE;
    }
    return outcome_of(code);
}

enum call_outcome call_code(const struct attempt_calls *calls, int fd, struct err *err)
{
    CLEANUP(http_client_answer_release) struct http_client_answer answer = {0};
    struct http_client_request request = {
        .method = "GET", .answer_fd = fd, .timeout_ms = CODE_TIMEOUT_MS};
    enum err_code code = attempt_send(calls, "code", &request, &answer, err);

    /* Missing code is not a missing attempt: the accept before it has shown that it is ours. */
    return code == ERR_NOT_FOUND ? CALL_REFUSED : outcome_of(code);
}
