/* Facts about the process executor and its supervisor, with real processes. argv[1] is the program
 * that runs a supervisor. */
#include "drivers/executor/process/process_executor.h"

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
    char folder[300], work_dir[320], marker[64];
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
    snprintf(work->marker, sizeof(work->marker), "EUVYRA_ATTEMPT=%s", work->attempt.text);
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
    assert_int_equal(proc_signal_attempt(&work->attempt, 0), 0);
}

static void no_group_is_left_of(const struct work *work)
{
    char path[400];
    struct buf text;

    snprintf(path, sizeof(path), "%s/cgroup", work->folder);
    if (file_read(path, 2000, &text, NULL) == OK)
        assert_false(file_exists(text.data));
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
    snprintf(work.marker, sizeof(work.marker), "%s", "");

    char go[400];

    snprintf(go, sizeof(go), "%s/work/go", work.folder);
    assert_int_equal(file_write_atomic(go, STR(""), 0600, &err), OK);
    assert_int_equal(wait_for(&work, EXECUTOR_ENDED).exit_code, 9);
    process_executor_free(second);
    port = process_executor_port(executor);
}

/* Whether this host lets us make a memory group with a count of its kills. */
static bool host_has_memory_groups(void)
{
    return access("/sys/fs/cgroup/memory/memory.oom_control", W_OK) == 0;
}

static void out_of_memory_is_told_apart_by_the_kernels_count(void **state)
{
    struct work work;
    struct executor_look look;

    (void)state;
    if (!host_has_memory_groups())
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_code_console_and_times_are_kept),
        cmocka_unit_test(a_signal_is_not_an_exit_code),
        cmocka_unit_test(a_program_that_is_missing_failed_to_start),
        cmocka_unit_test(stopping_asks_first_and_the_job_may_end_well),
        cmocka_unit_test(a_job_that_ignores_the_stop_is_killed_after_its_grace),
        cmocka_unit_test(a_kill_needs_no_grace),
        cmocka_unit_test(time_over_is_told_apart),
        cmocka_unit_test(orphans_in_sessions_of_their_own_are_ended_too),
        cmocka_unit_test(a_killed_supervisor_leaves_no_process_and_a_known_end),
        cmocka_unit_test(a_restarted_agent_finds_its_work),
        cmocka_unit_test(out_of_memory_is_told_apart_by_the_kernels_count),
    };

    if (argc != 2)
        return 2;
    supervise_program = argv[1];
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* as the agent is */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
