/* What is created for an attempt. The whole Job is compared with job.json beside this file, which
 * is read by people: a change of the one is a change of the other. */
#include "drivers/executor/kubernetes/pod_spec.h"

#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *job_file;
static const char *const argv[] = {"python3", "train.py", "--lr=0.1", NULL};
static const char *const env[] = {"EUVYRA_SERVER=https://euvyra.example.org",
                                  "EUVYRA_API_KEY_FILE=/euvyra/key", "WORD=hush",
                                  "NVIDIA_VISIBLE_DEVICES=all", NULL};
static const struct executor_mount mounts[] = {
    {.claim = "datasets", .target = "/data", .read_only = true}};
static const struct pod_options options = {.agent = "aaaaaaaaaaaaa",
                                           .tools_image = "registry.example.org/tools:1",
                                           .gpu_resource = "nvidia.com/gpu",
                                           .uid = 10001};

static struct executor_spec spec_of(void)
{
    return (struct executor_spec){
        .attempt = {"tabcdefghij23"},
        .argv = argv,
        .env = env,
        .work_dir = "/euvyra/work",
        .image = "registry.example.org:5000/train:2",
        .registry_user = "robot",
        .registry_secret = "beep",
        .timeout_s = 600,
        .grace_s = 60,
        .cpus = 4,
        .memory_bytes = INT64_C(8) << 30,
        .shm_bytes = INT64_C(1) << 30,
        .disk_bytes = INT64_C(10) << 30,
        .read_only_root = true,
        .gpu_count = 2,
        .mounts = mounts,
        .mount_count = 1,
        .files = {.key = STR("euv_job_x"),
                  .config = STR("{\"lr\":0.1}"),
                  .ca = STR("PEM"),
                  .code = STR("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")},
    };
}

static void make(const struct executor_spec *spec, struct pod_objects *ret_objects)
{
    struct err err = {0};

    assert_int_equal(pod_spec_make(spec, &options, ret_objects, &err), OK);
}

static void a_job_with_everything_is_this_one(void **state)
{
    struct executor_spec spec = spec_of();
    json_t *want = json_load_file(job_file, 0, NULL);
    struct pod_objects objects;

    (void)state;
    make(&spec, &objects);
    assert_non_null(want);
    if (!json_equal(objects.job, want)) {
        (void)json_dumpf(objects.job, stderr, JSON_INDENT(2));
        fail_msg("the Job is not that of %s", job_file);
    }
    json_decref(want);
    pod_objects_release(&objects);
}

static void assert_data(const json_t *secret, const char *key, const char *want)
{
    struct arena arena = {0};
    const char *text = json_string_value(json_object_get(json_object_get(secret, "data"), key));
    struct str bytes;

    assert_non_null(text);
    assert_true(base64_decode(str_from(text), &arena, &bytes));
    assert_true(str_eq_c(bytes, want));
    arena_release(&arena);
}

static void what_is_secret_is_in_secrets_that_the_job_owns(void **state)
{
    struct executor_spec spec = spec_of();
    struct pod_objects objects;
    char *job;

    (void)state;
    make(&spec, &objects);
    assert_int_equal(objects.secret_count, 3);
    assert_data(objects.secrets[0], "key", "euv_job_x");
    assert_data(objects.secrets[0], "ca.pem", "PEM");
    assert_data(objects.secrets[0], "env.WORD", "hush");
    assert_data(objects.secrets[1], "config.json", "{\"lr\":0.1}");
    assert_data(objects.secrets[2], ".dockerconfigjson",
                "{\"auths\":{\"registry.example.org:5000\":{\"username\":\"robot\",\"password\":"
                "\"beep\"}}}");
    job = json_dumps(objects.job, 0);
    assert_null(strstr(job, "hush"));
    assert_null(strstr(job, "beep"));
    assert_null(strstr(job, "euv_job_x"));
    free(job);
    pod_secret_own(objects.secrets[0], "euvyra-tabcdefghij23", "uid-1");
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(
                json_object_get(json_object_get(objects.secrets[0], "metadata"), "ownerReferences"),
                0),
            "uid")),
        "uid-1");
    pod_objects_release(&objects);
}

static void a_bare_job_has_no_more_than_it_needs(void **state)
{
    struct executor_spec spec = spec_of();
    struct pod_objects objects;
    char *job;

    (void)state;
    spec.registry_user = spec.registry_secret = NULL;
    spec.cpus = spec.memory_bytes = spec.shm_bytes = spec.disk_bytes = spec.gpu_count = 0;
    spec.mount_count = 0;
    spec.timeout_s = 0;
    spec.grace_s = 1;
    spec.read_only_root = false;
    spec.files.code = spec.files.config = spec.files.ca = STR("");
    make(&spec, &objects);
    assert_int_equal(objects.secret_count, 1);
    job = json_dumps(objects.job, 0);
    assert_null(strstr(job, "\"prepare\""));
    assert_null(strstr(job, "config.json"));
    assert_null(strstr(job, "/dev/shm"));
    assert_null(strstr(job, "imagePullSecrets"));
    assert_null(strstr(job, "activeDeadlineSeconds"));
    assert_non_null(strstr(job, "\"terminationGracePeriodSeconds\": 30")); /* for its record */
    assert_non_null(strstr(job, "{\"name\": \"NVIDIA_VISIBLE_DEVICES\", \"value\": \"void\"}"));
    assert_null(strstr(job, "workingDir"));
    free(job);
    pod_objects_release(&objects);
}

static void a_command_is_meant_as_it_is(void **state)
{
    static const char *const words[] = {"sh", "-c", "echo $$ $(HOME) $A", NULL};
    struct executor_spec spec = spec_of();
    struct pod_objects objects;
    char *job;

    (void)state;
    spec.argv = words;
    make(&spec, &objects);
    job = json_dumps(objects.job, 0);
    assert_non_null(strstr(job, "\"echo $$$$ $$(HOME) $$A\""));
    free(job);
    pod_objects_release(&objects);
}

static void what_a_cluster_cannot_have_is_refused(void **state)
{
    static const struct executor_mount folder[] = {{.host_path = "/srv", .target = "/data"}};
    static const char *const odd[] = {"echo", "\xff", NULL};
    struct executor_spec spec = spec_of();
    struct pod_objects objects;
    struct err err;

    (void)state;
    spec.mounts = folder;
    assert_int_equal(pod_spec_make(&spec, &options, &objects, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "/data"));
    spec = spec_of();
    spec.argv = odd;
    assert_int_equal(pod_spec_make(&spec, &options, &objects, &err), ERR_UNPROCESSABLE);
    spec = spec_of();
    spec.image = NULL;
    assert_int_equal(pod_spec_make(&spec, &options, &objects, &err), ERR_UNPROCESSABLE);
}

int main(int argc, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_with_everything_is_this_one),
        cmocka_unit_test(what_is_secret_is_in_secrets_that_the_job_owns),
        cmocka_unit_test(a_bare_job_has_no_more_than_it_needs),
        cmocka_unit_test(a_command_is_meant_as_it_is),
        cmocka_unit_test(what_a_cluster_cannot_have_is_refused),
    };

    job_file = argc > 1 ? arguments[1] : "job.json";
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
