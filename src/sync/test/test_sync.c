/* Facts about run folders, watching and code facts that need no server. */
#include "sync/codefacts.h"
#include "sync/recorder.h"
#include "sync/runfolder.h"
#include "sync/sender.h"
#include "sync/upload.h"
#include "sync/watch.h"

#include "base/json.h"
#include "runlog/encode.h"
#include "sys/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[64];

static void make_folder(const char *run_json)
{
    char path[128];
    struct err err;

    assert_int_equal(file_make_dirs(base, 0755, &err), OK);
    (void)snprintf(path, sizeof path, "%s/run.json", base);
    assert_int_equal(file_write_atomic(path, str_from(run_json), 0644, &err), OK);
}

static void run_json_is_checked(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{\"run\":\"x\",\"project\":\"p\"}",
                                      "{\"run\":\"rabcdefghijkl\"}",
                                      "{\"run\":\"rabcdefghijkl\",\"project\":7}",
                                      "{\"run\":\"rabcdefghijkl\",\"project\":\"p\",\"name\":[]}"};
    struct run_folder folder;
    struct err err;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        make_folder(bad[i]);
        assert_int_not_equal(run_folder_open(base, &folder, &err), OK);
        assert_non_null(strstr(err.text, "run.json"));
    }
    make_folder("{\"run\":\"rabcdefghijkl\",\"project\":\"p\",\"mode\":\"offline\",\"more\":1}");
    assert_int_equal(run_folder_open(base, &folder, &err), OK);
    assert_true(folder.is_offline);
    assert_string_equal(folder.name, "");
    run_folder_close(&folder);
    assert_int_equal(run_folder_open("/nonexistent", &folder, &err), ERR_NOT_FOUND);
}

static void open_folder(struct run_folder *folder)
{
    struct err err;

    make_folder("{\"run\":\"rabcdefghijkl\",\"project\":\"p\"}");
    assert_int_equal(run_folder_open(base, folder, &err), OK);
}

static void a_writer_is_waited_for_until_it_ends_or_is_gone(void **state)
{
    struct run_folder folder;
    struct recorder sidecar, trainer;
    struct watch watch;
    struct err err;
    (void)state;

    open_folder(&folder);
    watch_init(&watch, &folder);
    assert_int_equal(recorder_open(&sidecar, &folder, "sidecar", NULL, &err), OK);
    assert_int_equal(watch_look(&watch, &err), OK);
    assert_true(watch_all_ended(&watch)); /* sidecars do not count */
    assert_int_equal(recorder_open(&trainer, &folder, "trainer", NULL, &err), OK);
    assert_int_equal(watch_look(&watch, &err), OK);
    assert_false(watch_all_ended(&watch));
    assert_int_equal(watch_first_pid(&watch), getpid());
    recorder_end(&trainer, &(struct recorder_ending){.reason = "finish"});
    assert_int_equal(watch_look(&watch, &err), OK);
    assert_true(watch_all_ended(&watch));
    pid_t child = fork();
    if (child == 0) { /* a trainer that dies without an end */
        struct recorder dying;
        _exit(recorder_open(&dying, &folder, "trainer", NULL, &err) != OK);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(watch_look(&watch, &err), OK);
    assert_true(watch_all_ended(&watch));
    recorder_close(&sidecar);
    recorder_close(&trainer);
    watch_release(&watch);
    run_folder_close(&folder);
}

static void system_names_are_written_once(void **state)
{
    struct probe_value values[2] = {{"cpu.percent", 1.5}, {"memory.percent", 2.5}};
    struct run_folder folder;
    struct recorder recorder;
    struct runlog_segments segments;
    struct runlog_record record;
    static uint8_t data[RUNLOG_POST_BYTES_MAX];
    size_t len, names = 0, rows = 0;
    struct err err;
    (void)state;

    open_folder(&folder);
    assert_int_equal(recorder_open(&recorder, &folder, "sidecar", NULL, &err), OK);
    for (int i = 0; i < 3; i++)
        recorder_system(&recorder, values, 2);
    recorder_close(&recorder);
    runlog_segments_init(&segments, folder.dir_fd, recorder.id.text);
    assert_int_equal(runlog_segments_read(&segments, data, sizeof data, &len), RUNLOG_RECORD);
    for (size_t at = 0; runlog_next(data, len, &at, &record) == RUNLOG_RECORD;) {
        names += record.type == RUNLOG_NAMES;
        rows += record.type == RUNLOG_SYSTEM;
    }
    assert_int_equal(names, 2);
    assert_int_equal(rows, 3);
    runlog_segments_close(&segments);
    run_folder_close(&folder);
}

static void code_facts_are_json_without_credentials(void **state)
{
    CLEANUP(buf_release) struct buf doc = {0};
    CLEANUP(json_release) json_t *value = NULL;
    char command[512], packages[128];
    struct err err;
    (void)state;

    (void)snprintf(packages, sizeof packages, "%s/packages/numpy-2.4.6.dist-info", base);
    assert_int_equal(file_make_dirs(packages, 0755, &err), OK);
    (void)snprintf(packages, sizeof packages, "%s/packages", base);
    assert_int_equal(setenv("EUVYRA_PYTHON_PATH", packages, 1), 0);
    (void)snprintf(command, sizeof command, "%s/tree", base);
    assert_int_equal(file_make_dirs(command, 0755, &err), OK);
    buf_init(&doc, 1 << 20);
    code_facts_write(command, &doc);
    assert_int_equal(json_parse(buf_str(&doc), 1 << 20, &value, &err), OK);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(value, "packages"), "numpy")), "2.4.6");
    unsetenv("EUVYRA_PYTHON_PATH");
}

static void a_job_does_not_ask_git(void **state)
{
    CLEANUP(buf_release) struct buf doc = {0};
    (void)state;

    assert_int_equal(setenv("EUVYRA_JOB", "jaaaaaaaaaaaa", 1), 0);
    buf_init(&doc, 1 << 20);
    code_facts_write(".", &doc);
    unsetenv("EUVYRA_JOB");
    assert_true(str_eq_c(buf_str(&doc), "{}"));
}

static int make_base(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/euvyra-sync-XXXXXX");
    return mkdtemp(base) == NULL;
}

static int remove_base(void **state)
{
    struct err err;
    (void)state;
    return file_remove_tree(base, &err) != OK;
}

static void a_day_without_a_server_is_tried_once_a_minute(void **state)
{
    const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    int64_t wait_ms = SENDER_RETRY_MS_MIN, now_ms = 0;
    int tries = 0;

    (void)state;
    for (; now_ms < day_ms; tries++) {
        int64_t next_ms = sender_retry_ms(wait_ms);

        assert_true(next_ms >= wait_ms);
        assert_true(next_ms >= SENDER_RETRY_MS_MIN && next_ms <= SENDER_RETRY_MS_MAX);
        wait_ms = next_ms;
        now_ms += wait_ms;
    }
    /* Not more than once a minute once it is settled; and when the server is back it is noticed
     * within one. */
    assert_in_range(tries, 1440, 1450);
    assert_int_equal(wait_ms, SENDER_RETRY_MS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(run_json_is_checked, make_base, remove_base),
        cmocka_unit_test_setup_teardown(a_writer_is_waited_for_until_it_ends_or_is_gone, make_base,
                                        remove_base),
        cmocka_unit_test_setup_teardown(system_names_are_written_once, make_base, remove_base),
        cmocka_unit_test_setup_teardown(code_facts_are_json_without_credentials, make_base,
                                        remove_base),
        cmocka_unit_test(a_day_without_a_server_is_tried_once_a_minute),
        cmocka_unit_test(a_job_does_not_ask_git),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
