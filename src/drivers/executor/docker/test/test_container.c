/* Facts about what the engine is asked for, and about what it answers. */
#include "drivers/executor/docker/container.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const argv[] = {"python", "train.py", NULL};
static const char *const env[] = {"A=1", "NVIDIA_VISIBLE_DEVICES=all", NULL};
static const char *const gpus[] = {"GPU-aaaa", "GPU-bbbb", NULL};

static struct executor_spec small_spec(void)
{
    struct executor_spec spec = {.argv = argv,
                                 .env = env,
                                 .work_dir = "/euvyra/work",
                                 .console_bytes_max = 1 << 20,
                                 .files = {.token = STR("abc")}};

    assert_true(id_parse(STR("tabcdefghijkl"), ID_ATTEMPT, &spec.attempt));
    return spec;
}

static json_t *body_of(const struct executor_spec *spec, bool home)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct container_plan plan = {.spec = spec,
                                  .image = "r/a@sha256:12",
                                  .folder = "/data/t",
                                  .agent = "aaaaaaaaaaaaa",
                                  .user = "1000:1000",
                                  .network = "euvyra",
                                  .limits_disk = true,
                                  .home_in_work = home,
                                  .has_key = true,
                                  .has_config = true,
                                  .has_ca = true};
    struct json_writer w;
    json_t *body = NULL;
    struct err err;

    buf_init(&text, 1 << 20);
    json_writer_init(&w, &text);
    container_body(&plan, &w);
    assert_int_equal(json_parse(buf_str(&text), 1 << 20, &body, &err), OK);
    return body;
}

static void expect(json_t *got, const char *wanted)
{
    json_t *value = json_loads(wanted, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    if (!json_equal(got, value))
        fail_msg("%s is not %s", json_dumps(got, JSON_ENCODE_ANY), wanted);
    json_decref(value);
}

static void the_smallest_container_is_closed_in(void **state)
{
    struct executor_spec spec = small_spec();
    CLEANUP(json_release) json_t *body = body_of(&spec, false);

    (void)state;
    expect(body,
           "{\"Image\":\"r/a@sha256:12\",\"Entrypoint\":[\"python\",\"train.py\"],"
           "\"Env\":[\"A=1\",\"NVIDIA_VISIBLE_DEVICES=void\"],\"User\":\"1000:1000\","
           "\"Labels\":{\"euvyra.agent\":\"aaaaaaaaaaaaa\",\"euvyra.attempt\":\"tabcdefghijkl\","
           "\"euvyra.token\":"
           "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"},"
           "\"HostConfig\":{\"NetworkMode\":\"euvyra\",\"CapDrop\":[\"ALL\"],"
           "\"SecurityOpt\":[\"no-new-privileges\"],\"Init\":true,\"AutoRemove\":false,"
           "\"RestartPolicy\":{\"Name\":\"no\"},\"ShmSize\":4294967296,\"PidsLimit\":16384,"
           "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/data/t/work\","
           "\"Target\":\"/euvyra/work\"},{\"Type\":\"bind\",\"Source\":\"/data/t/runs\","
           "\"Target\":\"/euvyra/runs\"},{\"Type\":\"bind\",\"Source\":\"/data/t/key\","
           "\"Target\":\"/euvyra/key\",\"ReadOnly\":true},"
           "{\"Type\":\"bind\",\"Source\":\"/data/t/config.json\","
           "\"Target\":\"/euvyra/config.json\",\"ReadOnly\":true},"
           "{\"Type\":\"bind\",\"Source\":\"/data/t/ca.pem\","
           "\"Target\":\"/euvyra/ca.pem\",\"ReadOnly\":true}],"
           "\"LogConfig\":{\"Type\":\"local\",\"Config\":{\"max-size\":\"16777216\","
           "\"max-file\":\"2\",\"compress\":\"false\"}}}}");
}

static void every_request_is_a_limit(void **state)
{
    static const struct executor_mount mounts[] = {
        {.host_path = "/data/sets", .target = "/sets", .read_only = true}};
    struct executor_spec spec = small_spec();

    (void)state;
    spec.cpus = 4;
    spec.memory_bytes = 1 << 30;
    spec.pids = 100;
    spec.disk_bytes = 5000;
    spec.read_only_root = true;
    spec.gpus = gpus;
    spec.mounts = mounts;
    spec.mount_count = 1;
    spec.files.code = STR("12");

    CLEANUP(json_release) json_t *body = body_of(&spec, true);
    json_t *host = json_object_get(body, "HostConfig");

    expect(json_object_get(host, "NanoCpus"), "4000000000");
    expect(json_object_get(host, "Memory"), "1073741824");
    expect(json_object_get(host, "MemorySwap"), "1073741824");
    expect(json_object_get(host, "ShmSize"), "536870912");
    expect(json_object_get(host, "PidsLimit"), "100");
    expect(json_object_get(host, "StorageOpt"), "{\"size\":\"5000\"}");
    expect(json_object_get(host, "ReadonlyRootfs"), "true");
    expect(json_object_get(host, "Tmpfs"),
           "{\"/tmp\":\"rw,nosuid,nodev,mode=1777,size=536870912\"}");
    expect(json_object_get(host, "DeviceRequests"),
           "[{\"Driver\":\"nvidia\",\"DeviceIDs\":[\"GPU-aaaa\",\"GPU-bbbb\"],"
           "\"Capabilities\":[[\"gpu\",\"compute\",\"utility\"]]}]");
    expect(json_array_get(json_object_get(host, "Mounts"), 5),
           "{\"Type\":\"bind\",\"Source\":\"/data/sets\",\"Target\":\"/sets\",\"ReadOnly\":true}");
    expect(json_object_get(body, "WorkingDir"), "\"/euvyra/work\"");
    expect(json_object_get(body, "Env"),
           "[\"HOME=/euvyra/work\",\"A=1\",\"NVIDIA_VISIBLE_DEVICES=GPU-aaaa,GPU-bbbb\","
           "\"NVIDIA_DRIVER_CAPABILITIES=compute,utility\"]");
    expect(json_object_get(json_object_get(body, "Labels"), "euvyra.gpus"),
           "\"GPU-aaaa,GPU-bbbb\"");
}

static void what_the_job_says_of_its_environment_counts(void **state)
{
    static const char *const own[] = {"HOME=/mine", "NVIDIA_DRIVER_CAPABILITIES=all", NULL};
    struct executor_spec spec = small_spec();

    (void)state;
    spec.env = own;
    spec.gpus = gpus;

    CLEANUP(json_release) json_t *body = body_of(&spec, true);
    const json_t *request =
        json_array_get(json_object_get(json_object_get(body, "HostConfig"), "DeviceRequests"), 0);

    expect(json_object_get(body, "Env"), "[\"HOME=/mine\",\"NVIDIA_DRIVER_CAPABILITIES=all\","
                                         "\"NVIDIA_VISIBLE_DEVICES=GPU-aaaa,GPU-bbbb\"]");
    expect(json_object_get(request, "Capabilities"), "[[\"gpu\"]]");
}

static void the_state_of_a_container_is_read(void **state)
{
    json_t *document =
        json_loads("{\"State\":{\"Status\":\"exited\",\"Running\":false,\"OOMKilled\":true,"
                   "\"ExitCode\":137,\"Error\":\"\","
                   "\"StartedAt\":\"2026-11-30T21:04:04.418107622Z\","
                   "\"FinishedAt\":\"2026-11-30T21:04:05.5Z\"},\"Config\":{\"Image\":\"a\"},"
                   "\"NetworkSettings\":{\"Networks\":{\"euvyra\":{\"IPAddress\":\"1.2.3.4\"}}}}",
                   0, NULL);
    struct container_state seen;
    struct err err;

    (void)state;
    assert_int_equal(container_read(document, "euvyra", &seen, &err), OK);
    assert_int_equal(seen.phase, CONTAINER_ENDED);
    assert_int_equal(seen.exit_code, 137);
    assert_true(seen.oom);
    assert_int_equal(seen.ended_at - seen.started_at, 1082);
    assert_string_equal(seen.address, "1.2.3.4");
    json_object_set_new(json_object_get(document, "State"), "Status", json_string("created"));
    json_object_set_new(json_object_get(document, "State"), "FinishedAt",
                        json_string("0001-01-01T00:00:00Z"));
    assert_int_equal(container_read(document, "euvyra", &seen, &err), OK);
    assert_int_equal(seen.phase, CONTAINER_CREATED);
    assert_true(seen.ended_at == TIME_NONE);
    json_object_set_new(json_object_get(document, "State"), "Status", json_string("paused"));
    json_object_set_new(json_object_get(document, "State"), "Paused", json_true());
    assert_int_equal(container_read(document, "other", &seen, &err), OK);
    assert_int_equal(seen.phase, CONTAINER_RUNNING);
    assert_string_equal(seen.address, "");
    assert_false(seen.being_removed);
    json_object_set_new(json_object_get(document, "State"), "Status", json_string("removing"));
    assert_int_equal(container_read(document, "other", &seen, &err), OK);
    assert_true(seen.being_removed);
    json_decref(document);
    assert_int_equal(container_read(json_null(), "euvyra", &seen, &err), ERR_UNAVAILABLE);
}

static void the_engine_s_words_are_put_plainly(void **state)
{
    char reason[EXECUTOR_REASON_BYTES];
    bool image_failed;

    (void)state;
    container_explain(
        "OCI runtime create failed: exec: \"nope\": executable file not found in $PATH", reason,
        &image_failed);
    assert_string_equal(reason, "program \"nope\" is not in the image");
    container_explain("exec: \"docker-init\": executable file not found in $PATH", reason,
                      &image_failed);
    assert_non_null(strstr(reason, "the Docker engine lacks"));
    container_explain("exec: \"/srv/x\": permission denied: unknown", reason, &image_failed);
    assert_string_equal(reason, "program \"/srv/x\" may not be run");
    container_explain("could not select device driver \"nvidia\" with capabilities: [[gpu]]",
                      reason, &image_failed);
    assert_string_equal(
        reason, "the Docker engine cannot give GPUs: NVIDIA's container toolkit is missing");
    assert_false(image_failed);
    container_explain("exec /x: exec format error", reason, &image_failed);
    assert_true(image_failed);
    container_explain("some\nother\ttrouble", reason, &image_failed);
    assert_string_equal(reason, "some other trouble");
    assert_true(container_never_ran(
        STR("[FATAL tini (7)] exec no such failed: No such file or directory\n"), 127, reason));
    assert_string_equal(reason, "program \"no such\" is not in the image");
    assert_false(container_never_ran(STR("[FATAL tini (7)] exec x failed: y\n"), 1, reason));
    assert_false(container_never_ran(STR("sh: 1: x: not found\n"), 127, reason));
    assert_false(container_never_ran(STR("[FATAL tini (7)] exec x failed: y\nmore"), 127, reason));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_container_is_closed_in),
        cmocka_unit_test(every_request_is_a_limit),
        cmocka_unit_test(what_the_job_says_of_its_environment_counts),
        cmocka_unit_test(the_state_of_a_container_is_read),
        cmocka_unit_test(the_engine_s_words_are_put_plainly),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
