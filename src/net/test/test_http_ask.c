/* Facts about asking a program how it is, against sockets that answer as programs do. */
#include "net/http_ask.h"

#include "sys/thread.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Takes one connection, reads its request, answers with a text, again and again if it is said. */
struct program {
    int fd;
    int port;
    const char *answer; /* NULL: none, the connection stays open until the other side goes */
    size_t times;
    char request[1024];
    struct thread *thread;
};

static void serve(void *ctx)
{
    struct program *p = ctx;
    int fd = accept(p->fd, NULL, NULL);
    ssize_t got = recv(fd, p->request, sizeof(p->request) - 1, 0);
    bool goes_on = true;

    p->request[MAX(got, 0)] = '\0';
    for (size_t i = 0; p->answer && goes_on && i < p->times; i++)
        goes_on = send(fd, p->answer, strlen(p->answer), MSG_NOSIGNAL) > 0;
    if (!p->answer)
        (void)recv(fd, p->request, 1, 0);
    (void)close(fd);
}

static void program_listen(struct program *p)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&at, &len), 0);
    p->port = ntohs(at.sin_port);
}

static enum err_code ask_port(int port, int64_t timeout_ms, int *ret_status, struct err *err)
{
    struct http_ask ask = {
        .address = "127.0.0.1", .port = port, .path = STR("/up?x=1"), .timeout_ms = timeout_ms};

    return http_ask(&ask, ret_status, err);
}

static enum err_code ask_one(struct program *p, int *ret_status, struct err *err)
{
    enum err_code code;

    p->times = MAX(p->times, 1);
    program_listen(p);
    assert_int_equal(listen(p->fd, 4), 0);
    assert_int_equal(thread_start(&p->thread, "program", serve, p, NULL), OK);
    code = ask_port(p->port, p->answer ? 60000 : 300, ret_status, err);
    thread_join(&p->thread);
    (void)close(p->fd);
    return code;
}

static void every_answer_has_its_status(void **state)
{
    static const int wanted[] = {200, 204, 302, 404, 503};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        char answer[128];
        struct program p = {.answer = answer};
        struct err err;
        int status = 0;
        (void)snprintf(answer, sizeof(answer),
                       "HTTP/1.1 %d X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
                       wanted[i]);
        assert_int_equal(ask_one(&p, &status, &err), OK);
        assert_int_equal(status, wanted[i]); /* no redirect is followed */
        assert_non_null(strstr(p.request, "GET /up?x=1 HTTP/1.1\r\n"));
        assert_null(strstr(p.request, "Authorization"));
    }
}

static void no_proxy_stands_between(void **state)
{
    struct program p = {.answer = "HTTP/1.0 200 OK\r\n\r\nwell"};
    struct err err;
    int status = 0;

    (void)state;
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(ask_one(&p, &status, &err), OK);
    assert_int_equal(status, 200);
    assert_int_equal(unsetenv("http_proxy"), 0);
}

static void nobody_there_is_refused(void **state)
{
    struct program p = {0};
    struct err err;
    int status = 0;

    (void)state;
    program_listen(&p); /* the port is ours, and nobody listens */
    assert_int_equal(ask_port(p.port, 5000, &status, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "connection refused");
    (void)close(p.fd);
}

static void one_that_hangs_is_not_waited_for(void **state)
{
    struct program p = {0};
    struct err err;
    int status = 0;

    (void)state;
    assert_int_equal(ask_one(&p, &status, &err), ERR_UNAVAILABLE);
    assert_string_equal(err.text, "no answer within 1 s");
}

static void an_answer_without_end_is_cut(void **state)
{
    struct program p = {.answer = "HTTP/1.1 200 OK\r\n\r\n0123456789", .times = 1000000};
    struct program headers = {.answer = "HTTP/1.1 200 OK\r\nX: 0123456789", .times = 1000000};
    struct err err;
    int status = 0;

    (void)state;
    assert_int_equal(ask_one(&p, &status, &err), OK);
    assert_int_equal(status, 200);
    assert_int_equal(ask_one(&headers, &status, &err), ERR_UNAVAILABLE);
}

static void what_is_no_answer_is_said(void **state)
{
    static const struct {
        const char *answer, *problem;
    } cases[] = {
        {"", "the connection was closed before the answer's end"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123",
         "the connection was closed before the answer's end"},
        {"SSH-2.0-OpenSSH\r\n", "what answers does not speak HTTP"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct program p = {.answer = cases[i].answer};
        struct err err;
        int status = 0;
        assert_int_equal(ask_one(&p, &status, &err), ERR_UNAVAILABLE);
        assert_string_equal(err.text, cases[i].problem);
    }
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void a_question_can_be_given_up(void **state)
{
    struct program p = {0};
    struct http_ask ask = {
        .address = "127.0.0.1", .path = STR("/"), .timeout_ms = 60000, .keep_going = never};
    struct err err;
    int status = 0;

    (void)state;
    program_listen(&p);
    assert_int_equal(listen(p.fd, 4), 0);
    ask.port = p.port;
    assert_int_equal(http_ask(&ask, &status, &err), ERR_TIMEOUT);
    (void)close(p.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_its_status),
        cmocka_unit_test(no_proxy_stands_between),
        cmocka_unit_test(nobody_there_is_refused),
        cmocka_unit_test(one_that_hangs_is_not_waited_for),
        cmocka_unit_test(an_answer_without_end_is_cut),
        cmocka_unit_test(what_is_no_answer_is_said),
        cmocka_unit_test(a_question_can_be_given_up),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("http_ask", tests, NULL, NULL);
}
