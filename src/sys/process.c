/* Starting and naming processes. Between fork and exec the child only makes calls that are safe in
 * a copy of a threaded process: everything that allocates is prepared before. The child reports a
 * failed step through a close-on-exec pipe; an empty pipe means that exec happened. */
#include "sys/process.h"

#include "base/arena.h"
#include "base/str.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_STEPS(X)                                                                             \
    X(STEP_SESSION, "start a session")                                                             \
    X(STEP_CGROUP, "join its control group")                                                       \
    X(STEP_USER, "change the user")                                                                \
    X(STEP_CWD, "enter the working folder")                                                        \
    X(STEP_FDS, "place the descriptors")                                                           \
    X(STEP_EXEC, "run the program")

enum start_step {
#define X(step, text) step,
    START_STEPS(X)
#undef X
};

static const char *const step_texts[] = {
#define X(step, text) text,
    START_STEPS(X)
#undef X
};

struct start_report {
    int step;
    int errno_value;
};

extern char **environ;

static NORETURN void child_fail(int report_fd, enum start_step step)
{
    struct start_report report = {(int)step, errno};
    ssize_t written = write(report_fd, &report, sizeof(report));

    (void)written; /* nothing is left to do when even that fails */
    _exit(127);
}

static void child_reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &action, NULL); /* fails for KILL, STOP and the library's own */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool child_become_user(const struct process_options *options)
{
    return setgroups(0, NULL) == 0 && setresgid(options->gid, options->gid, options->gid) == 0 &&
           setresuid(options->uid, options->uid, options->uid) == 0;
}

static bool child_join_cgroup(const char *procs)
{
    int fd = open(procs, O_WRONLY | O_CLOEXEC);
    bool joined = fd >= 0 && write(fd, "0", 1) == 1;

    if (fd >= 0)
        (void)close(fd);
    return joined;
}

/* 0, 1 and 2 become the wanted descriptors; all others but report_fd and extra_fd are closed.
 * Returns the report descriptor's new number, or -1. */
static int child_place_fds(const struct process_options *options, int null_fd, int report_fd)
{
    int wanted[3] = {options->stdin_fd, options->stdout_fd, options->stderr_fd};
    int extra = options->extra_fd;

    /* First out of the way of 0 to 2, so that no dup2 overwrites one that is still needed. */
    for (int i = 0; i < 3; i++) {
        wanted[i] = fcntl(wanted[i] >= 0 ? wanted[i] : null_fd, F_DUPFD, 64);
        if (wanted[i] < 0)
            return -1;
    }
    report_fd = fcntl(report_fd, F_DUPFD_CLOEXEC, 64);
    if (report_fd < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        if (dup2(wanted[i], i) < 0)
            return -1;
        (void)close(wanted[i]);
    }
    if (extra >= 0 && fcntl(extra, F_SETFD, 0) != 0)
        return -1;
    /* Close the gaps between 3, extra and report. */
    unsigned low = (unsigned)(extra >= 0 ? MIN(extra, report_fd) : report_fd);
    unsigned high = (unsigned)(extra >= 0 ? MAX(extra, report_fd) : report_fd);

    if (low > 3)
        (void)syscall(SYS_close_range, 3u, low - 1, 0u);
    if (high > low + 1)
        (void)syscall(SYS_close_range, low + 1, high - 1, 0u);
    (void)syscall(SYS_close_range, high + 1, ~0u, 0u);
    return report_fd;
}

struct start_plan {
    const struct process_options *options;
    const char *program;
    int null_fd;
    int report_fd;
    pid_t parent;
};

static NORETURN void child_run(const struct start_plan *plan)
{
    const struct process_options *options = plan->options;
    char **argv = (char **)(uintptr_t)options->argv; /* execve does not write to it */
    char **env = options->env ? (char **)(uintptr_t)options->env : environ;
    int report_fd = plan->report_fd;

    child_reset_signals();
    if (options->new_session && setsid() < 0)
        child_fail(report_fd, STEP_SESSION);
    if (options->new_group && setpgid(0, 0) != 0)
        child_fail(report_fd, STEP_SESSION);
    for (const char *const *procs = options->cgroup_procs; procs && *procs; procs++)
        if (!child_join_cgroup(*procs))
            child_fail(report_fd, STEP_CGROUP);
    if (options->set_user && !child_become_user(options))
        child_fail(report_fd, STEP_USER);
    if (options->death_signal) { /* after the change of user, which forgets it */
        (void)prctl(PR_SET_PDEATHSIG, options->death_signal);
        if (getppid() != plan->parent) /* it ended before the line above took effect */
            _exit(127);
    }
    if (options->cwd && chdir(options->cwd) != 0)
        child_fail(report_fd, STEP_CWD);

    int placed = child_place_fds(options, plan->null_fd, report_fd);

    if (placed < 0)
        child_fail(report_fd, STEP_FDS);
    (void)execve(plan->program, argv, env);
    child_fail(placed, STEP_EXEC);
}

static const char *env_value(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    if (!env)
        return getenv(name);
    for (; *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    }
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat stat_of_path;

    return stat(path, &stat_of_path) == 0 && S_ISREG(stat_of_path.st_mode) &&
           access(path, X_OK) == 0;
}

/* The file of a program: as given when it has a slash, else the first in PATH. */
static enum err_code find_program(struct arena *arena, const struct process_options *options,
                                  const char **ret_program, struct err *err)
{
    const char *name = options->argv[0];
    const char *path = env_value(options->env, "PATH");
    struct str rest = str_from(path ? path : "/usr/local/bin:/usr/bin:/bin"), dir;
    bool more = true;

    if (strchr(name, '/')) {
        *ret_program = name;
        return OK;
    }
    while (more) {
        more = str_cut(&rest, ':', &dir);

        const char *candidate = arena_printf(arena, "%.*s/%s", STR_ARG(dir), name);

        if (dir.len > 0 && is_program(candidate)) {
            *ret_program = candidate;
            return OK;
        }
    }
    return err_set(err, ERR_NOT_FOUND, "program \"%s\" is not in PATH", name);
}

static enum err_code read_report(int fd, const char *program, struct err *err)
{
    struct start_report report;
    ssize_t got;

    do
        got = read(fd, &report, sizeof(report));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(report))
        return OK;

    enum err_code code = report.errno_value == ENOENT ? ERR_NOT_FOUND
                         : report.errno_value == EACCES || report.errno_value == EPERM
                             ? ERR_FORBIDDEN
                             : ERR_IO;

    return err_set_errno(err, code, report.errno_value, "%s: cannot %s", program,
                         step_texts[report.step]);
}

enum err_code process_start(struct process *ret_process, const struct process_options *options,
                            struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(file_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP(file_close) int report_read = -1;
    CLEANUP(file_close) int report_write = -1;
    struct start_plan plan = {.options = options, .null_fd = null_fd, .parent = getpid()};
    int pipe_fds[2];
    sigset_t all, before;

    ENSURE(options->argv && options->argv[0]);
    TRY(find_program(&arena, options, &plan.program, err));
    if (null_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot start %s", plan.program);
    report_read = pipe_fds[0];
    report_write = plan.report_fd = pipe_fds[1];

    /* No handler of ours may run in the child before it has reset them. */
    (void)sigfillset(&all);
    ENSURE(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);

    pid_t pid = fork();

    if (pid == 0)
        child_run(&plan);
    ENSURE(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    if (pid < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot start %s", plan.program);
    file_close(&report_write);

    enum err_code code = read_report(report_read, plan.program, err);

    if (code != OK) {
        (void)waitpid(pid, NULL, 0); /* it is about to exit */
        return code;
    }
    ret_process->pid = pid;
    if (!process_start_ticks(pid, &ret_process->start_ticks))
        ret_process->start_ticks = 0; /* only when /proc is not there */
    return OK;
}

/* Field 22 of /proc/PID/stat and the state letter; the name in field 2 may hold anything. */
static bool read_stat(pid_t pid, char *ret_state, int64_t *ret_ticks)
{
    char path[40], text[1024];
    struct str rest, field = {0};

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    if (got <= 0)
        return false;
    text[got] = '\0';

    char *name_end = strrchr(text, ')');

    if (!name_end || name_end[1] != ' ')
        return false;
    rest = str_from(name_end + 2);
    for (int i = 3; i <= 22; i++) {
        if (!str_cut(&rest, ' ', &field))
            return false;
        if (i == 3 && field.len > 0)
            *ret_state = field.data[0];
    }
    return str_to_i64(field, ret_ticks);
}

bool process_start_ticks(pid_t pid, int64_t *ret_ticks)
{
    char state = 0;

    return read_stat(pid, &state, ret_ticks);
}

bool process_is_alive(const struct process *process)
{
    int64_t ticks = 0;
    char state = 0;

    return process->pid > 0 && read_stat(process->pid, &state, &ticks) &&
           ticks == process->start_ticks && state != 'Z' && state != 'X';
}

bool process_wait(const struct process *process, int64_t timeout_ms, struct process_end *ret_end)
{
    CLEANUP(file_close) int fd = (int)syscall(SYS_pidfd_open, process->pid, 0u);
    int64_t deadline = clock_mono_ms() + timeout_ms;
    int status = 0;
    pid_t got = 0;

    do {
        int64_t left = timeout_ms < 0 ? -1 : MAX(deadline - clock_mono_ms(), 0);
        struct pollfd watch = {.fd = fd, .events = POLLIN};

        if (fd >= 0 && poll(&watch, 1, (int)MIN(left, INT32_MAX)) < 0 && errno == EINTR)
            continue;
        got = waitpid(process->pid, &status, fd >= 0 || timeout_ms >= 0 ? WNOHANG : 0);
    } while (got == 0 && (timeout_ms < 0 || clock_mono_ms() < deadline));
    if (got != process->pid)
        return false;
    ret_end->signaled = WIFSIGNALED(status);
    ret_end->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool process_signal(const struct process *process, int signal_number)
{
    /* The descriptor pins the process before its start time is compared. */
    CLEANUP(file_close) int fd = (int)syscall(SYS_pidfd_open, process->pid, 0u);

    if (fd < 0 || !process_is_alive(process))
        return false;
    return syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0u) == 0;
}

bool process_signal_group(const struct process *process, int signal_number)
{
    ENSURE(process->pid > 1);
    return kill(-process->pid, signal_number) == 0;
}

const char *signal_name(int signal_number, char ret_text[16])
{
    const char *short_name = sigabbrev_np(signal_number);

    if (short_name)
        (void)snprintf(ret_text, 16, "SIG%s", short_name);
    else
        (void)snprintf(ret_text, 16, "SIG%d", signal_number);
    return ret_text;
}
