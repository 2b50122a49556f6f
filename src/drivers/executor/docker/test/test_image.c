/* Facts about names of images, and about what goes wrong with them. */
#include "drivers/executor/docker/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_name_has_a_repository_and_a_tag_or_a_digest(void **state)
{
    static const struct {
        const char *text, *repository, *reference, *registry;
        bool by_digest;
    } samples[] = {
        {"python", "python", "latest", "https://index.docker.io/v1/", false},
        {"python:3.13", "python", "3.13", "https://index.docker.io/v1/", false},
        {"team/train", "team/train", "latest", "https://index.docker.io/v1/", false},
        {"localhost/train:2", "localhost/train", "2", "localhost", false},
        {"box:5000/a", "box:5000/a", "latest", "box:5000", false},
        {"127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b", "latest", "127.0.0.1:5000", false},
        {"127.0.0.1:5000/a/b:7", "127.0.0.1:5000/a/b", "7", "127.0.0.1:5000", false},
        {"reg.example.org/a@sha256:12", "reg.example.org/a", "sha256:12", "reg.example.org", true},
        {"reg.example.org/a:1@sha256:12", "reg.example.org/a", "sha256:12", "reg.example.org",
         true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct image_name name;

        assert_true(image_name_parse(str_from(samples[i].text), &name));
        assert_true(str_eq_c(name.repository, samples[i].repository));
        assert_true(str_eq_c(name.reference, samples[i].reference));
        assert_true(str_eq_c(image_registry(&name), samples[i].registry));
        assert_int_equal(name.by_digest, samples[i].by_digest);
    }
}

static void what_no_image_can_be_called_is_refused(void **state)
{
    static const char *const wrong[] = {
        "", ":1", "@sha256:1", "a:", "a@", "a b", "a\n", "\xc3\xa4"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct image_name name;

        assert_false(image_name_parse(str_from(wrong[i]), &name));
    }
}

static void troubles_are_told_apart(void **state)
{
    static const struct {
        int status;
        const char *message;
        enum err_code code;
    } samples[] = {
        {404, "manifest for a:1 not found: manifest unknown: manifest unknown", ERR_NOT_FOUND},
        {0, "name unknown: repository name not known to registry", ERR_NOT_FOUND},
        {404,
         "pull access denied for a, repository does not exist or may require 'docker login': "
         "denied: requested access to the resource is denied",
         ERR_FORBIDDEN},
        {500, "Head \"https://r/v2/\": no basic auth credentials", ERR_FORBIDDEN},
        {401, "unauthorized: authentication required", ERR_FORBIDDEN},
        {0, "no matching manifest for linux/amd64 in the manifest list entries", ERR_UNPROCESSABLE},
        {400, "invalid reference format: repository name must be lowercase", ERR_INVALID},
        {500, "write /var/lib/docker/x: no space left on device", ERR_DISK_FULL},
        {500, "dial tcp 127.0.0.1:5000: connect: connection refused", ERR_UNAVAILABLE},
        {500, "net/http: request canceled while waiting for connection", ERR_UNAVAILABLE},
        {0, "toomanyrequests: You have reached your pull rate limit", ERR_UNAVAILABLE},
        {403, "denied: toomanyrequests: retry-after: 5s", ERR_UNAVAILABLE},
        {500, "received unexpected HTTP status: 502 Bad Gateway", ERR_UNAVAILABLE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        assert_int_equal(image_trouble(samples[i].status, samples[i].message), samples[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_a_repository_and_a_tag_or_a_digest),
        cmocka_unit_test(what_no_image_can_be_called_is_refused),
        cmocka_unit_test(troubles_are_told_apart),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
