/* The supervisor. As a subreaper it inherits every descendant whose parent ends, so that nothing
 * the job leaves behind escapes. It is one loop over signals and deadlines; all it learns goes into
 * exit.json at the end. */
#include "drivers/executor/process/attempt_supervisor.h"

#include "base/log.h"
#include "drivers/common/disk_use.h"
#include "drivers/common/end_reason.h"
#include "drivers/executor/process/attempt_cgroup.h"
#include "drivers/executor/process/attempt_console.h"
#include "drivers/executor/process/attempt_files.h"
#include "drivers/executor/process/proc_scan.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORPHAN_GRACE_MS 5000
#define ORPHAN_KILL_MS  10000
#define TICK_MS         1000
#define DISK_MS         2000
#define WRITE_TRIES     600

struct supervisor {
    const char *folder;
    struct arena arena;
    struct executor_spec spec;
    struct attempt_user user;
    struct attempt_cgroup group;
    struct process job;
    struct process_end end;
    struct executor_look look;
    struct attempt_console console;
    int signal_fd;
    bool job_ended, killed_by_us;
    bool stopping;
    int64_t started_ms, kill_at_ms, disk_at_ms;
};

static enum err_code open_console(struct supervisor *s, struct err *err)
{
    TRY(attempt_console_open(&s->console, s->folder, s->spec.console_bytes_max, err));
    /* Programs that open /dev/stdout need to own it. */
    if (s->user.set && fchown(s->console.fd, s->user.uid, s->user.gid) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot give the console to the job");
    return OK;
}

static enum err_code start_job(struct supervisor *s, struct err *err)
{
    const char *procs[CGROUP_PARTS_MAX + 1] = {0};
    struct process_options options = {
        .argv = s->spec.argv,
        .env = s->spec.env,
        .cwd = s->spec.work_dir,
        .stdin_fd = -1,
        .new_session = true,
        .set_user = s->user.set,
        .uid = s->user.uid,
        .gid = s->user.gid,
        .death_signal = SIGKILL, /* without us nobody could say how it ended */
        .cgroup_procs = procs,
        .extra_fd = -1,
    };
    const struct attempt_limits limits = {s->spec.memory_bytes, s->spec.cpus, s->spec.pids};
    char path[ATTEMPT_PATH_BYTES], record[CGROUP_RECORD_MAX + 1], name[64];

    TRY(open_console(s, err));
    options.stdout_fd = options.stderr_fd = s->console.fd;
    /* Our pid tells ranks of one attempt on one machine apart. */
    (void)snprintf(name, sizeof(name), "%s-%d", s->spec.attempt.text, (int)getpid());
    attempt_cgroup_make(CGROUP_MOUNT, name, &limits, &s->group);
    if (s->group.count) {
        for (size_t i = 0; i < s->group.count; i++)
            procs[i] = s->group.parts[i].procs;
        attempt_cgroup_record(&s->group, record);
        attempt_path(s->folder, "cgroup", path); /* for whoever comes after us */
        TRY(file_write_atomic(path, str_from(record), 0600, err));
    }
    TRY(process_start(&s->job, &options, err));
    s->started_ms = clock_mono_ms();
    s->look.started_at = clock_wall_ms();
    return attempt_process_write(s->folder, "started.json", &s->job, s->look.started_at, err);
}

static void reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->job.pid || s->job_ended)
            continue;
        s->job_ended = true;
        s->end.signaled = WIFSIGNALED(status);
        s->end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
        s->look.ended_at = clock_wall_ms();
        s->look.run_time_ms = clock_mono_ms() - s->started_ms;
    }
}

static void stop_job(struct supervisor *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    s->kill_at_ms = clock_mono_ms() + s->spec.grace_s * 1000;
    (void)process_signal_group(&s->job, SIGTERM); /* gone: the next reap tells */
}

static void kill_job(struct supervisor *s)
{
    s->killed_by_us = true;
    (void)process_signal_group(&s->job, SIGKILL); /* gone: the next reap tells */
    (void)proc_signal_descendants(getpid(), SIGKILL);
}

static void obey_requests(struct supervisor *s)
{
    if (attempt_file_exists(s->folder, "kill")) {
        s->look.was_stopped = true;
        kill_job(s);
    } else if (attempt_file_exists(s->folder, "stop")) {
        s->look.was_stopped = true;
        stop_job(s);
    }
}

/* A look at the whole folder takes as long as it has files: they take a twentieth of the time. */
static void watch_disk(struct supervisor *s)
{
    int64_t began_ms = clock_mono_ms(), used;

    if (!s->spec.disk_bytes || s->stopping || began_ms < s->disk_at_ms)
        return;
    used = disk_used(s->spec.work_dir, s->spec.disk_bytes);
    s->disk_at_ms = clock_mono_ms() + MAX(DISK_MS, 20 * (clock_mono_ms() - began_ms));
    if (used <= s->spec.disk_bytes)
        return;
    s->look.disk_full = true;
    stop_job(s);
}

static void watch_job(struct supervisor *s)
{
    int64_t timeout_at_ms =
        s->spec.timeout_s ? s->started_ms + s->spec.timeout_s * 1000 : INT64_MAX;

    obey_requests(s); /* what came before our signals were open */
    while (!s->job_ended) {
        int64_t now_ms = clock_mono_ms();
        int64_t next_ms = s->stopping ? s->kill_at_ms : timeout_at_ms;
        int signal_number;

        if (s->stopping && now_ms >= s->kill_at_ms) {
            kill_job(s);
            s->kill_at_ms = now_ms + TICK_MS; /* again, for what was forked meanwhile */
        } else if (!s->stopping && now_ms >= timeout_at_ms) {
            s->look.timed_out = true;
            stop_job(s);
        }
        attempt_console_trim(&s->console);
        watch_disk(s);
        if (s->spec.console_bytes_max || s->spec.disk_bytes)
            next_ms = MIN(next_ms, now_ms + TICK_MS);
        next_ms = MAX(MIN(next_ms - now_ms, 60 * TICK_MS), 0);
        signal_number = signals_wait(s->signal_fd, next_ms);
        if (signal_number == SIGTERM || signal_number == SIGINT)
            obey_requests(s);
        reap(s);
    }
}

/* Everything the job left: asked first, then killed. Ends when we have no child any more. */
static void end_orphans(struct supervisor *s)
{
    int64_t begin_ms = clock_mono_ms();
    int signal_number = s->killed_by_us ? SIGKILL : SIGTERM;

    (void)proc_signal_descendants(getpid(), signal_number);
    for (;;) {
        int64_t passed_ms = clock_mono_ms() - begin_ms;

        reap(s);
        attempt_console_trim(&s->console);
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
            return;
        if (passed_ms > ORPHAN_GRACE_MS + ORPHAN_KILL_MS) {
            log_error("attempt.orphans", "attempt", s->spec.attempt.text);
            return; /* stuck in the kernel; nothing more can be done from here */
        }
        if (passed_ms > ORPHAN_GRACE_MS || s->killed_by_us)
            (void)proc_signal_descendants(getpid(), SIGKILL);
        signal_number = signals_wait(s->signal_fd, 100);
        if ((signal_number == SIGTERM || signal_number == SIGINT) &&
            attempt_file_exists(s->folder, "kill"))
            s->killed_by_us = true;
    }
}

/* One line on why it ended. */
static void write_reason(struct supervisor *s, bool host_full)
{
    struct executor_look *look = &s->look;

    if (look->disk_full && !look->oom && !host_full)
        (void)snprintf(look->reason, sizeof(look->reason),
                       "its folder held more than the %lld bytes that it asked for",
                       (long long)s->spec.disk_bytes);
    end_reason_write(look, s->spec.timeout_s);
}

static void judge(struct supervisor *s)
{
    struct executor_look *look = &s->look;
    bool oom_kill = attempt_cgroup_oom_kills(&s->group) > 0;
    bool ended_badly = s->end.code != 0 && !s->stopping && !s->killed_by_us;
    bool host_full;

    look->exit_code = s->end.signaled ? -1 : s->end.code;
    look->exit_signal = s->end.signaled ? s->end.code : 0;
    /* A child that was killed while the job went on is not the job's end. */
    look->oom = oom_kill && s->end.signaled && s->end.code == SIGKILL && !s->killed_by_us;
    host_full = ended_badly && !look->oom && disk_is_full(s->spec.work_dir);
    look->disk_full = look->disk_full || host_full;
    write_reason(s, host_full);
}

/* Nobody else knows how it ended: where the disk has no room at all it is tried again. */
static enum err_code write_exit(struct supervisor *s, struct err *err)
{
    enum err_code code = attempt_exit_write(s->folder, &s->look, err);

    for (int i = 0; code != OK && i < WRITE_TRIES; i++) {
        (void)signals_wait(s->signal_fd, TICK_MS);
        code = attempt_exit_write(s->folder, &s->look, err);
    }
    return code;
}

static enum err_code supervise(struct supervisor *s, struct err *err)
{
    static const int signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0};
    struct process self = {.pid = getpid()};

    TRY(signals_open(signals, &s->signal_fd, err));
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || !process_start_ticks(self.pid, &self.start_ticks))
        return err_set_errno(err, ERR_IO, errno, "cannot become a subreaper");
    TRY(attempt_process_write(s->folder, "supervisor.json", &self, clock_wall_ms(), err));
    TRY(attempt_spec_read(&s->arena, s->folder, &s->spec, &s->user, err));

    struct err start_err = {0};

    if (attempt_reserve_make(s->folder, &start_err) != OK || start_job(s, &start_err) != OK) {
        s->look.failed_to_start = s->job.pid == 0;
        (void)snprintf(s->look.reason, sizeof(s->look.reason), "%.250s", start_err.text);
        if (s->job.pid == 0)
            goto write;
        kill_job(s); /* it runs, but could not be written down */
    }
    watch_job(s);
    end_orphans(s);
    attempt_console_finish(&s->console);
    judge(s);
write:
    attempt_cgroup_remove(&s->group);
    if (s->look.ended_at == TIME_NONE)
        s->look.ended_at = clock_wall_ms();
    return write_exit(s, err);
}

int attempt_supervise(const char *folder, int lock_fd)
{
    struct supervisor s = {
        .folder = folder,
        .signal_fd = -1,
        .console = {.fd = -1},
        .look = {
            .started_at = TIME_NONE, .ended_at = TIME_NONE, .run_time_ms = -1, .exit_code = -1}};
    struct err err = {0};
    enum err_code code = OK;

    if (fcntl(lock_fd, F_SETFD, FD_CLOEXEC) != 0) /* the job must not hold it */
        return 1;
    if (!attempt_file_exists(folder, "exit.json"))
        code = supervise(&s, &err);
    if (code != OK)
        log_error("attempt.supervisor", "folder", folder, "error", err.text);
    file_close(&s.signal_fd);
    attempt_console_close(&s.console);
    arena_release(&s.arena);
    return code == OK ? 0 : 1;
}
