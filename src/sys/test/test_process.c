/* Facts about processes. */
#include "sys/process.h"

#include "base/str.h"
#include "sys/file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct process_options options_of(const char *const *argv)
{
    return (struct process_options){
        .argv = argv, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .extra_fd = -1};
}

/* Runs and returns what the program wrote to stdout. */
static struct process_end run(struct process_options options, char *ret_text, size_t size)
{
    struct process process;
    struct process_end end = {0};
    struct err err;
    int fds[2];
    size_t len = 0;
    ssize_t got;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    options.stdout_fd = fds[1];
    assert_int_equal(process_start(&process, &options, &err), OK);
    close(fds[1]);
    while (len + 1 < size && (got = read(fds[0], ret_text + len, size - 1 - len)) > 0)
        len += (size_t)got;
    ret_text[len] = '\0';
    close(fds[0]);
    assert_true(process_wait(&process, -1, &end));
    assert_false(process_is_alive(&process));
    return end;
}

static void exit_codes_and_signals_are_told_apart(void **state)
{
    const char *const exits[] = {"sh", "-c", "exit 7", NULL};
    const char *const dies[] = {"sh", "-c", "kill -KILL $$", NULL};
    char text[64];
    struct process_end end;

    (void)state;
    end = run(options_of(exits), text, sizeof(text));
    assert_true(!end.signaled && end.code == 7);
    end = run(options_of(dies), text, sizeof(text));
    assert_true(end.signaled && end.code == SIGKILL);
    assert_string_equal(signal_name(end.code, text), "SIGKILL");
    assert_string_equal(signal_name(64, text), "SIG64");
}

static void a_program_that_cannot_run_is_an_error_not_an_exit_code(void **state)
{
    const char *const missing[] = {"no-such-program-here", NULL};
    const char *const missing_path[] = {"/no/such/program", NULL};
    const char *const folder[] = {"/tmp", NULL};
    const char *const fine[] = {"true", NULL};
    struct process_options options = options_of(fine);
    struct process process;
    struct err err;

    (void)state;
    options.argv = missing;
    assert_int_equal(process_start(&process, &options, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "program \"no-such-program-here\" is not in PATH");
    options.argv = missing_path;
    assert_int_equal(process_start(&process, &options, &err), ERR_NOT_FOUND);
    options.argv = folder;
    assert_int_equal(process_start(&process, &options, &err), ERR_FORBIDDEN);
    options.argv = fine;
    options.cwd = "/no/such/folder";
    assert_int_equal(process_start(&process, &options, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "cannot enter the working folder"));
}

static void environment_folder_and_descriptors_are_only_those_given(void **state)
{
    const char *const argv[] = {
        "sh", "-c", "pwd; echo $A; env | grep -c ^HOME; ls /proc/self/fd | wc -l", NULL};
    const char *const env[] = {"A=x y", "PATH=/usr/bin:/bin", NULL};
    struct process_options options = options_of(argv);
    char text[256];
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec on purpose */

    (void)state;
    options.env = env;
    options.cwd = "/usr";
    run(options, text, sizeof(text));
    assert_string_equal(text, "/usr\nx y\n0\n4\n"); /* 0, 1, 2 and the one that ls opens */
    close(leak);
}

static void an_extra_descriptor_keeps_its_number(void **state)
{
    int fds[2];
    char command[64], text[64];
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct process_options options = options_of(argv);

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    snprintf(command, sizeof(command), "echo through >&%d; echo done", fds[1]);
    options.extra_fd = fds[1];
    run(options, text, sizeof(text));
    assert_string_equal(text, "done\n");
    assert_int_equal(read(fds[0], text, sizeof(text)), 8);
    close(fds[0]);
    close(fds[1]);
}

static void a_group_is_killed_whole_and_identity_sees_it(void **state)
{
    const char *const argv[] = {"sh", "-c", "sleep 1000 & echo $!; wait", NULL};
    struct process_options options = options_of(argv);
    struct process process, child, impostor;
    struct process_end end;
    struct err err;
    int fds[2];
    char text[32] = {0};
    int64_t pid;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    options.stdout_fd = fds[1];
    options.new_session = true;
    assert_int_equal(process_start(&process, &options, &err), OK);
    assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
    assert_true(str_to_i64(str_trim(str_from(text)), &pid));
    child.pid = (pid_t)pid;
    assert_true(process_start_ticks(child.pid, &child.start_ticks));
    assert_true(process_is_alive(&process) && process_is_alive(&child));
    impostor = child;
    impostor.start_ticks++;
    assert_false(process_is_alive(&impostor));
    assert_false(process_signal(&impostor, SIGKILL));
    assert_false(process_wait(&process, 0, &end));
    assert_true(process_signal_group(&process, SIGTERM));
    assert_true(process_wait(&process, -1, &end));
    assert_true(end.signaled && end.code == SIGTERM);
    /* The pipe ends when the child, which holds its other end, is gone too. */
    close(fds[1]);
    assert_int_equal(read(fds[0], text, sizeof(text)), 0);
    assert_false(process_signal(&process, SIGKILL));
    close(fds[0]);
}

static void root_can_start_as_another_user(void **state)
{
    const char *const argv[] = {"sh", "-c", "id -u; id -G", NULL};
    struct process_options options = options_of(argv);
    char text[64];

    (void)state;
    if (getuid() != 0)
        skip();
    options.set_user = true;
    options.uid = 65534;
    options.gid = 65534;
    run(options, text, sizeof(text));
    assert_string_equal(text, "65534\n65534\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_and_signals_are_told_apart),
        cmocka_unit_test(a_program_that_cannot_run_is_an_error_not_an_exit_code),
        cmocka_unit_test(environment_folder_and_descriptors_are_only_those_given),
        cmocka_unit_test(an_extra_descriptor_keeps_its_number),
        cmocka_unit_test(a_group_is_killed_whole_and_identity_sees_it),
        cmocka_unit_test(root_can_start_as_another_user),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
