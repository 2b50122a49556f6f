/* Facts about the HTTP client, against our own server. */
#include "net/http_client.h"

#include "net/http_server.h"
#include "sys/file.h"
#include "sys/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum err_code app_head(void *ctx, const struct http_head *head,
                              struct http_body_plan *ret_plan, struct err *err)
{
    (void)ctx;
    if (str_eq_c(head->path, "/missing")) {
        (void)err_set_field(err, ERR_NOT_FOUND, "path", "nothing is here");
        err_hint(err, "look elsewhere");
        return ERR_NOT_FOUND;
    }
    ret_plan->bytes_max = 1 << 20;
    return OK;
}

static void app_error(void *ctx, const struct http_exchange *exchange, const struct err *err,
                      struct buf *out)
{
    (void)ctx;
    (void)exchange;
    buf_printf(out, "{\"code\":\"%s\",\"message\":\"%s\",\"field\":\"%s\",\"hint\":\"%s\"}",
               err_code_name(err->code), err->text, err->field, err->hint);
}

static void reply(struct http_exchange *exchange, int status, struct buf *body)
{
    static const struct http_header headers[] = {
        {"Retry-After", "7"}, {"Euvyra-Offset", "123"}, {"Location", "/echo"}};

    http_reply(exchange, &(struct http_answer){.status = status,
                                               .headers = headers,
                                               .header_count = ARRAY_LEN(headers),
                                               .body_take = body});
}

static struct http_exchange *unanswered[4];
static size_t unanswered_count;

static void app_request(void *ctx, struct http_exchange *exchange)
{
    struct str path = http_exchange_path(exchange);
    struct str key = http_exchange_header(exchange, "Authorization");
    struct str type = http_exchange_header(exchange, "Content-Type");
    struct str extra = http_exchange_header(exchange, "X-Extra");
    struct buf body;

    (void)ctx;
    buf_init(&body, 1 << 20);
    if (str_eq_c(path, "/never")) {
        buf_release(&body);
        unanswered[unanswered_count++] = exchange; /* the test stops the server under it */
        return;
    }
    if (str_eq_c(path, "/moved")) {
        reply(exchange, 302, &body);
        return;
    }
    if (str_eq_c(path, "/html")) {
        buf_add_text(&body, "<html>");
        reply(exchange, 502, &body);
        return;
    }
    if (str_eq_c(path, "/empty")) {
        reply(exchange, 204, &body);
        return;
    }
    if (str_eq_c(path, "/large")) {
        for (int i = 0; i < 100000; i++)
            buf_add_text(&body, "12345678");
        reply(exchange, 200, &body);
        return;
    }
    buf_printf(&body, "{\"method\":\"%.*s\",\"key\":\"%.*s\",\"type\":\"%.*s\",\"extra\":\"%.*s\",",
               STR_ARG(http_exchange_method(exchange)), STR_ARG(key), STR_ARG(type),
               STR_ARG(extra));
    buf_printf(&body, "\"bytes\":%zu}", http_exchange_body(exchange).len);
    reply(exchange, 200, &body);
}

static struct http_server *server;

static void start_server(const char *cert, const char *key)
{
    struct http_server_options options = {
        .listen = "127.0.0.1:0",
        .tls_cert_file = cert,
        .tls_key_file = key,
        .thread_count = 1,
        .connections_max = 100,
        .connections_per_address_max = 10,
        .body_deadline_ms = 10000,
        .memory_bodies_bytes_max = 10000000,
        .head = app_head,
        .request = app_request,
        .render_error = app_error,
    };
    struct err err;

    if (http_server_start(&server, &options, &err) != OK)
        fail_msg("%s", err.text);
}

static int start(void **state)
{
    (void)state;
    start_server(NULL, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    http_server_stop(&server, 1000);
    return 0;
}

static struct http_client *client_new(const char *scheme, const char *ca_file)
{
    struct http_client *client = NULL;
    char url[64];
    struct http_client_options options = {
        .base_url = url, .key_text = "euv_x", .ca_file = ca_file, .product = "test/1"};
    struct err err;

    snprintf(url, sizeof(url), "%s://127.0.0.1:%d/", scheme, http_server_port(server));
    if (http_client_new(&client, &options, &err) != OK)
        fail_msg("%s", err.text);
    return client;
}

static void addresses_are_checked(void **state)
{
    static const char *const bad[] = {
        "",
        "127.0.0.1:80",
        "ftp://h",
        "http://u:p@127.0.0.1",
        "file:///x",
        "http://h/a",
        "http://127.0.0.1?x=1",
        "http://10.0.0.1:80",
        "http://example.org",
    };
    struct http_client *client = NULL;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct http_client_options options = {
            .base_url = bad[i], .key_text = "k", .product = "test/1"};

        if (http_client_new(&client, &options, &err) != ERR_INVALID)
            fail_msg("accepted \"%s\"", bad[i]);
        assert_null(strstr(err.text, "u:p"));
    }

    struct http_client_options no_key = {.base_url = "http://10.0.0.1:80", .product = "test/1"};

    assert_int_equal(http_client_new(&client, &no_key, &err), OK);
    http_client_free(client);
    http_client_free(NULL);
}

static void requests_carry_key_type_and_body(void **state)
{
    struct http_client *client = client_new("http", NULL);
    json_t *json = NULL;
    struct err err;

    (void)state;
    assert_int_equal(http_client_json(client, "PUT", "/echo", STR("{}"), &json, &err), OK);
    assert_string_equal(json_string_value(json_object_get(json, "method")), "PUT");
    assert_string_equal(json_string_value(json_object_get(json, "key")), "Bearer euv_x");
    assert_string_equal(json_string_value(json_object_get(json, "type")), "application/json");
    assert_int_equal(json_integer_value(json_object_get(json, "bytes")), 2);
    json_decref(json);
    json = NULL;
    assert_int_equal(http_client_json(client, "POST", "/echo", STR(""), &json, &err), OK);
    assert_string_equal(json_string_value(json_object_get(json, "type")), "");
    json_decref(json);
    json = NULL;
    assert_int_equal(http_client_json(client, "DELETE", "/empty", STR(""), &json, &err), OK);
    assert_null(json);
    assert_int_equal(http_client_json(client, "GET", "/echo", STR(""), NULL, &err), OK);
    http_client_free(client);
}

static void files_go_both_ways(void **state)
{
    struct http_client *client = client_new("http", NULL);
    const char *const headers[] = {"X-Extra: yes", NULL};
    struct http_client_answer answer;
    struct err err;
    int in = -1, out = -1;
    char text[300] = {0};

    (void)state;
    assert_int_equal(file_open_unlinked("/tmp", &in, &err), OK);
    assert_int_equal(file_open_unlinked("/tmp", &out, &err), OK);
    assert_int_equal(file_write_all(in, "xxabcdef", 8, &err), OK);
    assert_int_equal(lseek(in, 2, SEEK_SET), 2);

    struct http_client_request request = {.method = "PATCH",
                                          .path = "/echo",
                                          .content_type = "application/octet-stream",
                                          .body_fd = in,
                                          .body_fd_bytes = 6,
                                          .headers = headers,
                                          .answer_fd = out};

    assert_int_equal(http_client_send(client, &request, &answer, &err), OK);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.len, 0);
    assert_int_equal(answer.retry_after_ms, 7000);
    assert_int_equal(answer.offset, 123);
    assert_int_equal(strlen(answer.request_id), 13);
    assert_true(pread(out, text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, "\"bytes\":6"));
    assert_non_null(strstr(text, "\"extra\":\"yes\""));
    assert_non_null(strstr(text, "\"method\":\"PATCH\""));
    http_client_answer_release(&answer);

    request.body_fd_bytes = 60; /* the file has less */
    assert_int_equal(http_client_send(client, &request, &answer, &err), ERR_IO);
    file_close(&in);
    file_close(&out);
    http_client_free(client);
}

static void errors_of_the_server_become_errors_here(void **state)
{
    struct http_client *client = client_new("http", NULL);
    json_t *json = NULL;
    struct err err;

    (void)state;
    assert_int_equal(http_client_json(client, "GET", "/missing", STR(""), &json, &err),
                     ERR_NOT_FOUND);
    assert_string_equal(err.text, "nothing is here");
    assert_string_equal(err.field, "path");
    assert_string_equal(err.hint, "look elsewhere");
    assert_int_equal(http_client_json(client, "GET", "/html", STR(""), &json, &err),
                     ERR_UNAVAILABLE);
    assert_string_equal(err.text, "the server answered 502");
    assert_int_equal(http_client_json(client, "GET", "/large", STR(""), &json, &err),
                     ERR_UNAVAILABLE); /* digits without end are no JSON */
    http_client_free(client);
}

static void redirects_are_not_followed_and_large_answers_end(void **state)
{
    struct http_client *client = client_new("http", NULL);
    struct http_client_request request = {
        .method = "GET", .path = "/moved", .answer_bytes_max = 1000};
    struct http_client_answer answer;
    struct err err;

    (void)state;
    assert_int_equal(http_client_send(client, &request, &answer, &err), OK);
    assert_int_equal(answer.status, 302);
    http_client_answer_release(&answer);
    request.path = "/large";
    assert_int_equal(http_client_send(client, &request, &answer, &err), ERR_TOO_LARGE);
    http_client_free(client);
}

static bool not_any_more(void *ctx)
{
    return ++*(int *)ctx < 3;
}

static void a_request_can_be_given_up_and_a_dead_server_is_named(void **state)
{
    struct http_client *client;
    struct http_client_request request = {.method = "GET", .path = "/never", .timeout_ms = 50};
    struct http_client_answer answer;
    struct err err;
    int asked = 0;

    (void)state;
    start_server(NULL, NULL);
    client = client_new("http", NULL);
    assert_int_equal(http_client_send(client, &request, &answer, &err), ERR_UNAVAILABLE);
    request.timeout_ms = 0;
    request.keep_going = not_any_more;
    request.ctx = &asked;
    assert_int_equal(http_client_send(client, &request, &answer, &err), ERR_TIMEOUT);
    http_server_stop(&server, 0);
    while (unanswered_count > 0) {
        struct buf body;

        buf_init(&body, 1);
        reply(unanswered[--unanswered_count], 200, &body);
    }
    request.keep_going = NULL;
    assert_int_equal(http_client_send(client, &request, &answer, &err), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "http://127.0.0.1:"));
    http_client_free(client);
}

static void tls_trusts_only_the_named_certificate(void **state)
{
    char dir[] = "/tmp/euvyra-test-tls-XXXXXX", cert[64], key[64];
    struct http_client *client;
    struct process process;
    struct process_end end;
    json_t *json = NULL;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(cert, sizeof(cert), "%s/cert.pem", dir);
    snprintf(key, sizeof(key), "%s/key.pem", dir);

    const char *const argv[] = {"openssl",
                                "req",
                                "-x509",
                                "-newkey",
                                "ec",
                                "-pkeyopt",
                                "ec_paramgen_curve:P-256",
                                "-nodes",
                                "-days",
                                "2",
                                "-subj",
                                "/CN=127.0.0.1",
                                "-addext",
                                "subjectAltName=IP:127.0.0.1",
                                "-keyout",
                                key,
                                "-out",
                                cert,
                                NULL};
    struct process_options options = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .extra_fd = -1};

    assert_int_equal(process_start(&process, &options, &err), OK);
    assert_true(process_wait(&process, -1, &end));
    assert_int_equal(end.code, 0);

    start_server(cert, key);
    client = client_new("https", cert);
    assert_int_equal(http_client_json(client, "GET", "/echo", STR(""), &json, &err), OK);
    json_decref(json);
    http_client_free(client);
    client = client_new("https", NULL);
    assert_int_equal(http_client_json(client, "GET", "/echo", STR(""), &json, &err),
                     ERR_UNAVAILABLE);
    assert_string_equal(err.hint, "EUVYRA_CA names the certificate file to trust");
    http_client_free(client);
    http_server_stop(&server, 1000);
    assert_int_equal(file_remove_tree(dir, &err), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test_setup_teardown(requests_carry_key_type_and_body, start, stop),
        cmocka_unit_test_setup_teardown(files_go_both_ways, start, stop),
        cmocka_unit_test_setup_teardown(errors_of_the_server_become_errors_here, start, stop),
        cmocka_unit_test_setup_teardown(redirects_are_not_followed_and_large_answers_end, start,
                                        stop),
        cmocka_unit_test(a_request_can_be_given_up_and_a_dead_server_is_named),
        cmocka_unit_test(tls_trusts_only_the_named_certificate),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
