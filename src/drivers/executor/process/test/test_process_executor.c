/* Facts about the process executor and its supervisor, with real processes. argv[1] is the program
 * that runs a supervisor. */
#include "drivers/executor/process/process_executor.h"

#include "drivers/common/disk_use.h"
#include "drivers/executor/process/attempt_cgroup.h"
#include "drivers/executor/process/attempt_files.h"
#include "drivers/executor/process/proc_scan.h"
#include "sys/file.h"
#include "sys/random.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *supervise_program;
static char root[64];
static struct process_executor *executor;
static const struct executor_port *port;

static int setup(void **state)
{
    struct process_executor_options options = {.root = root, .program = supervise_program};
    struct err err;

    (void)state;
    snprintf(root, sizeof(root), "/tmp/euvyra-test-exec-XXXXXX");
    if (!mkdtemp(root) || process_executor_new(&executor, &options, &err) != OK)
        return -1;
    port = process_executor_port(executor);
    return 0;
}

static int teardown(void **state)
{
    struct err err;

    (void)state;
    process_executor_free(executor);
    return file_remove_tree(root, &err) == OK ? 0 : -1;
}

struct work {
    struct id attempt;
    char folder[300], work_dir[320], marker[340];
    const char *argv[4];
    const char *env[3];
    struct executor_spec spec;
};

static void work_init(struct work *work, const char *script)
{
    struct executor_place place;
    struct err err;

    work->attempt = random_id(ID_ATTEMPT);
    assert_int_equal(port->prepare(port->ctx, &work->attempt, &place, &err), OK);
    assert_string_equal(place.folder, place.inside);
    snprintf(work->folder, sizeof(work->folder), "%.299s", place.folder);
    snprintf(work->work_dir, sizeof(work->work_dir), "%s/work", work->folder);
    snprintf(work->marker, sizeof(work->marker), "EUVYRA_DIR=%s/runs", work->folder);
    work->argv[0] = "sh";
    work->argv[1] = "-c";
    work->argv[2] = script;
    work->argv[3] = NULL;
    work->env[0] = "PATH=/usr/bin:/bin";
    work->env[1] = work->marker;
    work->env[2] = NULL;
    work->spec = (struct executor_spec){.attempt = work->attempt,
                                        .argv = work->argv,
                                        .env = work->env,
                                        .work_dir = work->work_dir,
                                        .timeout_s = 600,
                                        .grace_s = 600};
}

static void start(struct work *work)
{
    struct err err;

    if (port->start(port->ctx, &work->spec, &err) != OK)
        fail_msg("%s", err.text);
}

static struct executor_look look_at(const struct work *work)
{
    struct executor_look look;
    struct err err;

    while (waitpid(-1, NULL, WNOHANG) > 0) /* supervisors are our children here */
        ;
    if (port->look(port->ctx, &work->attempt, &look, &err) != OK)
        fail_msg("%s", err.text);
    return look;
}

static struct executor_look wait_for(const struct work *work, enum executor_phase phase)
{
    struct executor_look look = look_at(work);

    while (look.phase != phase) {
        poll(NULL, 0, 5);
        look = look_at(work);
    }
    return look;
}

/* The console's text, once it holds `needle`. */
static const char *wait_console(const struct work *work, const char *needle)
{
    static char text[4096];
    char path[400];

    snprintf(path, sizeof(path), "%s/console", work->folder);
    text[0] = '\0'; /* not what an earlier test waited for */
    for (;;) {
        struct buf buf;

        if (file_read(path, sizeof(text) - 1, &buf, NULL) == OK)
            snprintf(text, sizeof(text), "%s", buf.data ? buf.data : "");
        buf_release(&buf);
        if (strstr(text, needle))
            return text;
        poll(NULL, 0, 5);
    }
}

static void nothing_is_left_of(const struct work *work)
{
    assert_int_equal(proc_signal_marked(str_from(work->marker), 0), 0);
}

static void no_group_is_left_of(const struct work *work)
{
    struct attempt_cgroup group;
    char path[400];
    struct buf text;

    snprintf(path, sizeof(path), "%s/cgroup", work->folder);
    if (file_read(path, CGROUP_RECORD_MAX, &text, NULL) == OK)
        assert_false(attempt_cgroup_find(buf_str(&text), &group));
    buf_release(&text);
}

static void exit_code_console_and_times_are_kept(void **state)
{
    struct work work;
    struct executor_look look;
    struct err err;

    (void)state;
    work_init(&work, "pwd; echo err >&2; exit 3");
    assert_int_equal(look_at(&work).phase, EXECUTOR_ABSENT);
    start(&work);
    start(&work); /* starting twice starts once */
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.exit_code == 3 && look.exit_signal == 0 && !look.oom);
    no_group_is_left_of(&work);
    assert_string_equal(look.reason, "it exited with code 3");
    assert_true(look.run_time_ms >= 0 && look.started_at > 0 && look.ended_at >= look.started_at);
    assert_non_null(strstr(wait_console(&work, "err\n"), "/work\n"));
    start(&work);
    assert_int_equal(look_at(&work).exit_code, 3);
    assert_int_equal(port->remove(port->ctx, &work.attempt, &err), OK);
    assert_int_equal(look_at(&work).phase, EXECUTOR_ABSENT);
}

static void a_signal_is_not_an_exit_code(void **state)
{
    struct work work;
    struct executor_look look;

    (void)state;
    work_init(&work, "kill -SEGV $$");
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.exit_code == -1 && look.exit_signal == SIGSEGV && !look.was_stopped);
    assert_string_equal(look.reason, "it was ended by SIGSEGV");
}

static void a_program_that_is_missing_failed_to_start(void **state)
{
    struct work work;
    struct executor_look look;

    (void)state;
    work_init(&work, "");
    work.argv[0] = "no-such-program";
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.failed_to_start && look.exit_code == -1);
    assert_string_equal(look.reason, "program \"no-such-program\" is not in PATH");
}

static void a_reason_that_is_cut_within_a_letter_can_be_read(void **state)
{
    char program[401];
    struct executor_look look;
    struct work work;

    (void)state;
    for (size_t i = 0; i < 400; i += 2)
        memcpy(&program[i], "\xc3\xbc", 2);
    program[400] = '\0';
    work_init(&work, "");
    work.argv[0] = program;
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.failed_to_start && str_is_utf8(str_from(look.reason), NULL));
    assert_int_equal(look_at(&work).phase, EXECUTOR_ENDED); /* also for who reads it later */
}

static void stopping_asks_first_and_the_job_may_end_well(void **state)
{
    struct work work;
    struct executor_look look;
    struct err err;

    (void)state;
    work_init(&work, "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.02; done");
    start(&work);
    wait_console(&work, "ready");
    wait_for(&work, EXECUTOR_RUNNING);
    assert_int_equal(port->stop(port->ctx, &work.attempt, &err), OK);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.was_stopped && look.exit_code == 0);
    wait_console(&work, "saved");
}

static void a_job_that_ignores_the_stop_is_killed_after_its_grace(void **state)
{
    struct work work;
    struct executor_look look;
    struct err err;

    (void)state;
    work_init(&work, "trap '' TERM; echo ready; while :; do sleep 0.02; done");
    work.spec.grace_s = 0;
    start(&work);
    wait_console(&work, "ready");
    assert_int_equal(port->stop(port->ctx, &work.attempt, &err), OK);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.was_stopped && look.exit_signal == SIGKILL && !look.oom);
    nothing_is_left_of(&work);
}

static void a_kill_needs_no_grace(void **state)
{
    struct work work;
    struct err err;

    (void)state;
    work_init(&work, "trap '' TERM; setsid sleep 1000 & echo ready; wait; sleep 1000");
    start(&work);
    wait_console(&work, "ready");
    assert_int_equal(port->kill(port->ctx, &work.attempt, &err), OK);
    assert_int_equal(wait_for(&work, EXECUTOR_ENDED).exit_signal, SIGKILL);
    nothing_is_left_of(&work);
}

static void time_over_is_told_apart(void **state)
{
    struct work work;
    struct executor_look look;

    (void)state;
    work_init(&work, "sleep 1000");
    work.spec.timeout_s = 1;
    work.spec.grace_s = 1;
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.timed_out && !look.was_stopped && look.exit_signal == SIGTERM);
    assert_string_equal(look.reason, "it ran longer than 1 s");
}

static void orphans_in_sessions_of_their_own_are_ended_too(void **state)
{
    struct work work;

    (void)state;
    work_init(&work,
              "(setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; (setsid sleep 1000 &); exit 0");
    start(&work);
    assert_int_equal(wait_for(&work, EXECUTOR_ENDED).exit_code, 0);
    nothing_is_left_of(&work);
}

static void a_killed_supervisor_leaves_no_process_and_a_known_end(void **state)
{
    struct work work;
    struct executor_look look;
    struct process supervisor;
    struct err err;
    time_ms at;

    (void)state;
    work_init(&work, "setsid sleep 1000 & echo ready; wait");
    start(&work);
    wait_console(&work, "ready");
    wait_for(&work, EXECUTOR_RUNNING);
    assert_int_equal(attempt_process_read(work.folder, "supervisor.json", &supervisor, &at, &err),
                     OK);
    assert_true(process_signal(&supervisor, SIGKILL));
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_string_equal(look.reason, "its supervisor was killed");
    no_group_is_left_of(&work);
    assert_true(look.exit_signal == SIGKILL && look.run_time_ms >= 0);
    nothing_is_left_of(&work);
    assert_int_equal(look_at(&work).phase, EXECUTOR_ENDED);
}

static void a_restarted_agent_finds_its_work(void **state)
{
    struct process_executor_options options = {.root = root, .program = supervise_program};
    struct process_executor *second = NULL;
    struct work work;
    struct id found[100];
    size_t count;
    bool seen = false;
    struct err err;

    (void)state;
    work_init(&work, "echo ready; while [ ! -e go ]; do sleep 0.02; done; exit 9");
    start(&work);
    wait_console(&work, "ready");
    assert_int_equal(process_executor_new(&second, &options, &err), OK);
    port = process_executor_port(second);
    count = port->list(port->ctx, found, ARRAY_LEN(found));
    for (size_t i = 0; i < count; i++)
        seen = seen || str_eq(id_str(&found[i]), id_str(&work.attempt));
    assert_true(seen);
    assert_int_equal(wait_for(&work, EXECUTOR_RUNNING).phase, EXECUTOR_RUNNING);

    char go[400];

    snprintf(go, sizeof(go), "%s/work/go", work.folder);
    assert_int_equal(file_write_atomic(go, STR(""), 0600, &err), OK);
    assert_int_equal(wait_for(&work, EXECUTOR_ENDED).exit_code, 9);
    process_executor_free(second);
    port = process_executor_port(executor);
}

static void out_of_memory_is_told_apart_by_the_kernels_count(void **state)
{
    struct work work;
    struct executor_look look;

    (void)state;
    if (!(attempt_cgroup_can(CGROUP_MOUNT) & CGROUP_MEMORY))
        skip();
    work_init(&work, "exec dd if=/dev/zero of=/dev/null bs=400M count=1");
    work.spec.memory_bytes = 32 * 1024 * 1024;
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.exit_signal == SIGKILL && look.oom);
    work_init(&work,
              "dd if=/dev/zero of=/dev/null bs=400M count=1; exit 5"); /* only a child dies */
    work.spec.memory_bytes = 32 * 1024 * 1024;
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.exit_code == 5 && !look.oom);
}

static void processes_beyond_the_limit_cannot_be_made(void **state)
{
    struct work work;

    (void)state;
    if (!(attempt_cgroup_can(CGROUP_MOUNT) & CGROUP_PIDS))
        skip();
    work_init(&work, "for i in 1 2 3 4 5 6 7 8 9; do sleep 600 & done; wait");
    work.spec.pids = 5;
    start(&work);
    assert_true(wait_for(&work, EXECUTOR_ENDED).exit_code > 0);
    wait_console(&work, "fork");
    nothing_is_left_of(&work);
}

static const char *text_of(const char *dir, const char *name)
{
    static char text[200];
    char path[CGROUP_PATH_BYTES + 32];
    struct buf buf;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(file_read(path, sizeof(text) - 1, &buf, NULL), OK);
    snprintf(text, sizeof(text), "%s", buf.data ? buf.data : "");
    buf_release(&buf);
    return text;
}

static const char *quota_of(const struct attempt_cgroup *group)
{
    static const char *const files[] = {"cpu.max", "cpu.cfs_quota_us"};

    for (size_t i = 0; i < group->count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(files); k++) {
            char path[CGROUP_PATH_BYTES + 32];

            snprintf(path, sizeof(path), "%s/%s", group->parts[i].path, files[k]);
            if (file_exists(path))
                return text_of(group->parts[i].path, files[k]);
        }
    }
    return "";
}

static void cpu_time_is_limited_to_what_was_asked(void **state)
{
    struct attempt_cgroup group;
    char path[400];
    struct buf text;
    struct work work;
    struct err err;

    (void)state;
    if (!(attempt_cgroup_can(CGROUP_MOUNT) & CGROUP_CPU))
        skip();
    work_init(&work, "echo ready; while [ ! -e go ]; do sleep 0.02; done");
    work.spec.cpus = 3;
    start(&work);
    wait_console(&work, "ready");
    snprintf(path, sizeof(path), "%s/cgroup", work.folder);
    assert_int_equal(file_read(path, CGROUP_RECORD_MAX, &text, &err), OK);
    assert_true(attempt_cgroup_find(buf_str(&text), &group));
    buf_release(&text);
    assert_true(strncmp(quota_of(&group), "300000", 6) == 0);
    assert_int_equal(port->kill(port->ctx, &work.attempt, &err), OK);
    (void)wait_for(&work, EXECUTOR_ENDED);
}

static void a_folder_beyond_its_limit_ends_the_job(void **state)
{
    struct executor_look look;
    struct work work;

    (void)state;
    work_init(&work, "dd if=/dev/zero of=small bs=1M count=1; dd if=/dev/zero of=sub bs=1M count=8;"
                     "sleep 600");
    work.spec.disk_bytes = 4 << 20;
    start(&work);
    look = wait_for(&work, EXECUTOR_ENDED);
    assert_true(look.disk_full && !look.was_stopped && look.exit_signal == SIGTERM);
    assert_string_equal(look.reason,
                        "its folder held more than the 4194304 bytes that it asked for");
}

static void the_disk_is_counted_without_links_and_once(void **state)
{
    char dir[] = "/tmp/euvyra-test-disk-XXXXXX", path[64], other[64];
    struct err err;
    int64_t used;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/a", dir);
    snprintf(other, sizeof(other), "%s/b", dir);
    assert_int_equal(file_write_atomic(path, str_n(dir, sizeof(dir) - 1), 0600, &err), OK);
    used = disk_used(dir, INT64_MAX);
    assert_true(used >= 1 && used <= 64 * 1024);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(disk_used(dir, INT64_MAX), used);
    snprintf(other, sizeof(other), "%s/c", dir);
    assert_int_equal(symlink("/usr", other), 0);
    assert_int_equal(disk_used(dir, INT64_MAX), used);
    assert_int_equal(disk_used("/nowhere", INT64_MAX), 0);
    assert_int_equal(file_remove_tree(dir, &err), OK);
}

/* Version 2 as the files of a host that has it: what is written where. */
static void plain_file(const char *dir, const char *name, const char *text)
{
    char path[300];
    struct err err;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(file_write_atomic(path, str_from(text), 0644, &err), OK);
}

static void version_2_has_one_group_with_all_limits(void **state)
{
    static const char *const files[] = {"cgroup.procs", "memory.max", "memory.swap.max", "cpu.max",
                                        "pids.max"};
    const struct attempt_limits limits = {1 << 30, 2, 100};
    char mount[] = "/tmp/euvyra-test-cgroup-XXXXXX", dir[100];
    struct id attempt = random_id(ID_ATTEMPT);
    struct attempt_cgroup group;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(mount));
    plain_file(mount, "cgroup.subtree_control", "");
    snprintf(dir, sizeof(dir), "%s/euvyra", mount);
    assert_int_equal(file_make_dirs(dir, 0755, &err), OK);
    plain_file(dir, "cgroup.subtree_control", "");
    snprintf(dir, sizeof(dir), "%s/euvyra/euvyra-%s", mount, attempt.text);
    assert_int_equal(file_make_dirs(dir, 0755, &err), OK);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        plain_file(dir, files[i], "");
    plain_file(dir, "memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n");
    attempt_cgroup_make(mount, attempt.text, &limits, &group);
    assert_true(group.count == 1 && group.parts[0].limits == CGROUP_ALL);
    assert_string_equal(text_of(dir, "memory.max"), "1073741824");
    assert_string_equal(text_of(dir, "memory.swap.max"), "0");
    assert_string_equal(text_of(dir, "cpu.max"), "200000 100000");
    assert_string_equal(text_of(dir, "pids.max"), "100");
    assert_int_equal(attempt_cgroup_oom_kills(&group), 2);
    assert_int_equal(file_remove_tree(mount, &err), OK);
}

/* The kernel's own version 2, where it is mounted too, has no limits left to give beside version
 * 1, but it has groups. */
static void a_group_of_version_2_ends_with_all_in_it(void **state)
{
    const char *const argv[] = {"sh", "-c", "sleep 600 & sleep 600", NULL};
    struct process_options options = {
        .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .extra_fd = -1};
    const struct attempt_limits limits = {0};
    struct id attempt = random_id(ID_ATTEMPT);
    struct attempt_cgroup group, found;
    char record[CGROUP_RECORD_MAX + 1];
    struct process_end end;
    struct process process;
    struct err err;

    (void)state;
    attempt_cgroup_make(CGROUP_MOUNT "/unified", attempt.text, &limits, &group);
    if (!group.count)
        skip();

    const char *const joined[] = {group.parts[0].procs, NULL};

    options.cgroup_procs = joined;
    assert_int_equal(process_start(&process, &options, &err), OK);
    attempt_cgroup_record(&group, record);
    assert_true(attempt_cgroup_find(str_from(record), &found));
    while (attempt_cgroup_kill(&found) > 0)
        (void)process_wait(&process, 1, &end);
    attempt_cgroup_remove(&found);
    assert_false(attempt_cgroup_find(str_from(record), &found));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_code_console_and_times_are_kept),
        cmocka_unit_test(a_signal_is_not_an_exit_code),
        cmocka_unit_test(a_program_that_is_missing_failed_to_start),
        cmocka_unit_test(a_reason_that_is_cut_within_a_letter_can_be_read),
        cmocka_unit_test(stopping_asks_first_and_the_job_may_end_well),
        cmocka_unit_test(a_job_that_ignores_the_stop_is_killed_after_its_grace),
        cmocka_unit_test(a_kill_needs_no_grace),
        cmocka_unit_test(time_over_is_told_apart),
        cmocka_unit_test(orphans_in_sessions_of_their_own_are_ended_too),
        cmocka_unit_test(a_killed_supervisor_leaves_no_process_and_a_known_end),
        cmocka_unit_test(a_restarted_agent_finds_its_work),
        cmocka_unit_test(out_of_memory_is_told_apart_by_the_kernels_count),
        cmocka_unit_test(processes_beyond_the_limit_cannot_be_made),
        cmocka_unit_test(cpu_time_is_limited_to_what_was_asked),
        cmocka_unit_test(a_folder_beyond_its_limit_ends_the_job),
        cmocka_unit_test(the_disk_is_counted_without_links_and_once),
        cmocka_unit_test(version_2_has_one_group_with_all_limits),
        cmocka_unit_test(a_group_of_version_2_ends_with_all_in_it),
    };

    if (argc != 2)
        return 2;
    supervise_program = argv[1];
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* as the agent is */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
