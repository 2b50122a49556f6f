/* Facts about talking to an engine. Real ones are in tests/docker; here are answers that the one
 * engine at hand does not give. */
#include "drivers/executor/docker/engine.h"

#include "base/mem.h"
#include "sys/file.h"
#include "sys/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

static char folder[64], path[96];

/* Gives each connection the next answer, whatever is asked. */
struct speaker {
    int fd;
    const char *answers[4]; /* up to NULL */
    char asked[4][200];     /* first lines */
    struct thread *thread;
};

static void speak(void *ctx)
{
    struct speaker *s = ctx;

    for (int i = 0; s->answers[i]; i++) {
        int peer = accept(s->fd, NULL, NULL);
        ssize_t got = read(peer, s->asked[i], sizeof(s->asked[i]) - 1);
        struct err err;

        s->asked[i][MAX(got, 0)] = '\0';
        assert_int_equal(file_write_all(peer, s->answers[i], strlen(s->answers[i]), &err), OK);
        assert_int_equal(close(peer), 0);
    }
}

static void speaker_start(struct speaker *s)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct err err;

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(thread_start(&s->thread, "speaker", speak, s, &err), OK);
}

static void speaker_end(struct speaker *s)
{
    thread_join(&s->thread);
    assert_int_equal(close(s->fd), 0);
    assert_int_equal(unlink(path), 0);
}

static int folder_make(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/euvyra-engine.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/docker.sock", folder);
    return 0;
}

static int folder_remove(void **state)
{
    struct err err;

    (void)state;
    return file_remove_tree(folder, &err) == OK ? 0 : -1;
}

static struct engine *open_engine(void)
{
    struct engine *engine = NULL;
    struct err err;

    assert_int_equal(engine_new(&engine, path, &err), OK);
    return engine;
}

static void the_newest_version_that_both_know_is_spoken(void **state)
{
    static const struct {
        const char *said, *spoken; /* NULL: refused */
    } cases[] = {
        {HEAD "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}", "GET /v1.41/info "},
        {HEAD "{\"ApiVersion\":\"1.99\",\"MinAPIVersion\":\"1.44\"}", "GET /v1.51/info "},
        {HEAD "{\"ApiVersion\":\"1.40\"}", "GET /v1.40/info "},
        {HEAD "{\"ApiVersion\":\"1.39\",\"MinAPIVersion\":\"1.12\"}", NULL},
        {HEAD "{\"ApiVersion\":\"1.99\",\"MinAPIVersion\":\"1.52\"}", NULL},
        {HEAD "{}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct speaker s = {.answers = {cases[i].said, cases[i].spoken ? HEAD "{}" : NULL}};
        struct engine *engine = open_engine();
        struct err err = {0};

        speaker_start(&s);
        assert_int_equal(engine_agree(engine, NULL, &err), cases[i].spoken ? OK : ERR_UPGRADE);
        if (cases[i].spoken)
            assert_int_equal(engine_json(engine, "GET", "/info", STR(""), NULL, &err), OK);
        speaker_end(&s);
        if (cases[i].spoken)
            assert_int_equal(strncmp(s.asked[1], cases[i].spoken, strlen(cases[i].spoken)), 0);
        engine_free(engine);
    }
}

static void answers_become_errors_with_the_engine_s_words(void **state)
{
    static const struct {
        const char *said;
        enum err_code code;
        const char *text;
    } cases[] = {
        {"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n{\"message\":\"No such thing\\n\"}",
         ERR_NOT_FOUND, "No such thing"},
        {"HTTP/1.1 409 Conflict\r\nConnection: close\r\n\r\n{\"message\":\"it is there\"}",
         ERR_CONFLICT, "it is there"},
        {"HTTP/1.1 500 Oh\r\nConnection: close\r\n\r\nno JSON", ERR_INTERNAL,
         "the Docker engine answered 500"},
        {"HTTP/1.1 503 Away\r\nConnection: close\r\n\r\n{}", ERR_UNAVAILABLE,
         "the Docker engine answered 503"},
        {"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n", OK, ""},
        {HEAD "<html>", ERR_UNAVAILABLE, "the Docker engine's answer to POST"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"cut\":", ERR_UNAVAILABLE,
         "the Docker engine at"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(json_release) json_t *document = NULL;
        struct speaker s = {.answers = {cases[i].said}};
        struct engine *engine = open_engine();
        struct err err = {0};

        speaker_start(&s);
        assert_int_equal(engine_json(engine, "POST", "/x", STR("{}"), &document, &err),
                         cases[i].code);
        assert_int_equal(strncmp(err.text, cases[i].text, strlen(cases[i].text)), 0);
        speaker_end(&s);
        engine_free(engine);
    }
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void a_call_that_is_given_up_says_so(void **state)
{
    struct engine_call call = {.method = "GET", .path = "/x", .keep_going = never};
    CLEANUP(engine_answer_release) struct engine_answer answer = {0};
    struct engine *engine = open_engine();
    struct err err;

    (void)state;
    assert_int_equal(engine_send(engine, &call, &answer, &err), ERR_TIMEOUT);
    engine_free(engine);
}

static void an_engine_that_is_not_there_is_named(void **state)
{
    struct engine *engine = open_engine();
    char wanted[200];
    struct err err = {0};

    (void)state;
    (void)snprintf(wanted, sizeof(wanted), "the Docker engine at %s does not answer: No such file",
                   path);
    assert_int_equal(engine_agree(engine, NULL, &err), ERR_UNAVAILABLE);
    assert_int_equal(strncmp(err.text, wanted, strlen(wanted)), 0);
    assert_non_null(strstr(err.hint, "--docker-socket"));
    engine_free(engine);
}

static void a_socket_is_an_absolute_path_that_is_not_too_long(void **state)
{
    struct engine *engine = NULL;
    struct err err = {0};
    char longer[200];

    (void)state;
    memset(longer, 'a', sizeof(longer));
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(engine_new(&engine, "docker.sock", &err), ERR_INVALID);
    assert_int_equal(engine_new(&engine, longer, &err), ERR_INVALID);
    assert_int_equal(engine_new(&engine, "unix:///run/docker.sock", &err), OK);
    assert_string_equal(engine_socket(engine), "/run/docker.sock");
    engine_free(engine);
}

static void what_is_no_plain_character_is_escaped(void **state)
{
    CLEANUP(buf_release) struct buf out = {0};

    (void)state;
    buf_init(&out, 100);
    engine_escape(&out, STR("a/b:1@c d?\xc3&"), "/:");
    assert_string_equal(out.data, "a/b:1%40c%20d%3F%C3%26");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_version_that_both_know_is_spoken, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(answers_become_errors_with_the_engine_s_words, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_call_that_is_given_up_says_so, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(an_engine_that_is_not_there_is_named, folder_make,
                                        folder_remove),
        cmocka_unit_test(a_socket_is_an_absolute_path_that_is_not_too_long),
        cmocka_unit_test(what_is_no_plain_character_is_escaped),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
