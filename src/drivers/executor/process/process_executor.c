/* The process executor's side of the agent: it writes specs, starts supervisors, and reads what
 * they wrote. The lock file tells whether a supervisor lives: the lock is taken here, before the
 * fork, and handed down, so that there is no moment in which a living supervisor does not hold it.
 */
#include "drivers/executor/process/process_executor.h"

#include "base/log.h"
#include "base/mem.h"
#include "drivers/common/attempt_list.h"
#include "drivers/executor/process/attempt_cgroup.h"
#include "drivers/executor/process/attempt_console.h"
#include "drivers/executor/process/attempt_files.h"
#include "drivers/executor/process/proc_scan.h"
#include "net/local_address.h"
#include "sys/clock.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_ROUNDS   100
#define KILL_ROUND_MS 50
#define REAP_MS_MAX   2000

struct process_executor {
    struct executor_port port;
    char *root;
    char *program;
    struct attempt_user user;
};

static void folder_of(const struct process_executor *executor, const struct id *attempt,
                      char ret_folder[ATTEMPT_PATH_BYTES])
{
    attempt_path(executor->root, attempt->text, ret_folder);
}

static enum err_code make_folder(const char *path, unsigned mode, const struct attempt_user *user,
                                 struct err *err)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        return err_set_errno(err, ERR_IO, errno, "cannot create folder %s", path);
    if (user && user->set && lchown(path, user->uid, user->gid) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot give %s to the job", path);
    return OK;
}

static enum err_code executor_prepare(void *ctx, const struct id *attempt,
                                      struct executor_place *ret_place, struct err *err)
{
    struct process_executor *executor = ctx;
    char folder[ATTEMPT_PATH_BYTES], path[ATTEMPT_PATH_BYTES];

    folder_of(executor, attempt, folder);
    /* The job may pass through the folder, and write only into what is its own. */
    TRY(make_folder(folder, executor->user.set ? 0711 : 0700, NULL, err));
    attempt_path(folder, "work", path);
    TRY(make_folder(path, 0700, &executor->user, err));
    attempt_path(folder, "runs", path);
    TRY(make_folder(path, 0700, &executor->user, err));
    if (strlen(folder) >= sizeof(ret_place->folder))
        return err_set(err, ERR_INVALID, "the path %s is too long", folder);
    (void)snprintf(ret_place->folder, sizeof(ret_place->folder), "%s", folder);
    (void)snprintf(ret_place->inside, sizeof(ret_place->inside), "%s", folder);
    return OK;
}

static enum err_code start_supervisor(struct process_executor *executor, const char *folder,
                                      int lock_fd, struct err *err)
{
    char path[ATTEMPT_PATH_BYTES], fd_text[16];
    const char *const argv[] = {executor->program, "attempt", folder, fd_text, NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct process_options options = {.argv = argv,
                                      .env = env,
                                      .cwd = "/",
                                      .stdin_fd = -1,
                                      .stdout_fd = -1,
                                      .new_session = true,
                                      .extra_fd = lock_fd};
    struct process supervisor;

    (void)snprintf(fd_text, sizeof(fd_text), "%d", lock_fd);
    attempt_path(folder, "supervisor.log", path);

    CLEANUP(file_close) int log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    options.stderr_fd = log_file;
    return process_start(&supervisor, &options, err);
}

static enum err_code executor_start(void *ctx, const struct executor_spec *spec, struct err *err)
{
    struct process_executor *executor = ctx;
    char folder[ATTEMPT_PATH_BYTES], path[ATTEMPT_PATH_BYTES];
    CLEANUP(file_close) int lock_fd = -1;

    folder_of(executor, &spec->attempt, folder);
    attempt_path(folder, "lock", path);

    enum err_code code = file_lock(path, &lock_fd, err);

    if (code == ERR_CONFLICT)
        return OK; /* it runs */
    TRY(code);
    if (attempt_file_exists(folder, "supervisor.json"))
        return OK; /* it ran; look tells how it ended */
    TRY(attempt_spec_write(folder, spec, &executor->user, err));
    return start_supervisor(executor, folder, lock_fd, err);
}

/* Ends and removes what lives in the control group of a supervisor that is gone. */
static void clear_group(const char *folder)
{
    CLEANUP(buf_release) struct buf text = {0};
    char path[ATTEMPT_PATH_BYTES];
    struct attempt_cgroup group;

    attempt_path(folder, "cgroup", path);
    if (file_read(path, CGROUP_RECORD_MAX, &text, NULL) != OK ||
        !attempt_cgroup_find(buf_str(&text), &group))
        return; /* it had none */
    for (int i = 0; i < KILL_ROUNDS && attempt_cgroup_kill(&group) > 0; i++)
        (void)poll(NULL, 0, KILL_ROUND_MS);
    attempt_cgroup_remove(&group);
}

/* The line that the supervisor could not write any more. */
static void finish_console(const char *folder)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct attempt_console console = {.fd = -1};
    struct executor_spec spec;
    struct attempt_user user;
    char path[ATTEMPT_PATH_BYTES];

    attempt_path(folder, "console", path);
    if (!file_exists(path) || attempt_spec_read(&arena, folder, &spec, &user, NULL) != OK ||
        attempt_console_open(&console, folder, spec.console_bytes_max, NULL) != OK)
        return; /* it has none, or cannot be read: the attempt's end matters more */
    attempt_console_finish(&console);
    attempt_console_close(&console);
}

/* The supervisor was killed: with it went the job (death signal); what else it had is ended here.
 */
static enum err_code bury(const char *folder, struct executor_look *ret_look, struct err *err)
{
    struct executor_look look = {.phase = EXECUTOR_ENDED,
                                 .started_at = TIME_NONE,
                                 .ended_at = clock_wall_ms(),
                                 .run_time_ms = -1,
                                 .exit_code = -1,
                                 .exit_signal = SIGKILL};
    char marker[ATTEMPT_PATH_BYTES + 32]; /* other ranks of the attempt may run here too */
    struct process job;

    (void)snprintf(marker, sizeof(marker), "EUVYRA_DIR=%s/runs", folder);
    for (int i = 0; i < KILL_ROUNDS && proc_signal_marked(str_from(marker), SIGKILL) > 0; i++)
        (void)poll(NULL, 0, KILL_ROUND_MS);
    clear_group(folder);
    finish_console(folder);
    if (attempt_process_read(folder, "started.json", &job, &look.started_at, NULL) == OK &&
        look.started_at != TIME_NONE)
        look.run_time_ms = MAX(look.ended_at - look.started_at, 0);
    (void)snprintf(look.reason, sizeof(look.reason), "its supervisor was killed");
    look.was_stopped = attempt_file_exists(folder, "stop") || attempt_file_exists(folder, "kill");
    TRY(attempt_exit_write(folder, &look, err));
    *ret_look = look;
    return OK;
}

/* A supervisor that ended is our child if we started it: it must not stay a zombie. */
static void reap_supervisor(const char *folder)
{
    struct process supervisor;
    time_ms at;

    if (attempt_process_read(folder, "supervisor.json", &supervisor, &at, NULL) == OK)
        (void)waitpid(supervisor.pid, NULL, WNOHANG); /* of an earlier agent: not our child */
}

static enum err_code look_into(const struct process_executor *executor, const struct id *attempt,
                               struct executor_look *ret_look, struct err *err)
{
    struct executor_look look = {
        .started_at = TIME_NONE, .ended_at = TIME_NONE, .run_time_ms = -1, .exit_code = -1};
    char folder[ATTEMPT_PATH_BYTES], path[ATTEMPT_PATH_BYTES];
    CLEANUP(file_close) int lock_fd = -1;
    struct process job;

    folder_of(executor, attempt, folder);
    attempt_path(folder, "lock", path);
    *ret_look = look;
    if (!file_exists(path))
        return OK; /* EXECUTOR_ABSENT */

    enum err_code code = file_lock(path, &lock_fd, err);

    if (code == OK)
        reap_supervisor(folder);
    if (attempt_file_exists(folder, "exit.json"))
        return attempt_exit_read(folder, ret_look, err);
    if (code == ERR_CONFLICT) {
        look.phase = EXECUTOR_STARTING;
        if (attempt_process_read(folder, "started.json", &job, &look.started_at, NULL) == OK)
            look.phase = EXECUTOR_RUNNING;
        *ret_look = look;
        return OK;
    }
    TRY(code);
    if (!attempt_file_exists(folder, "supervisor.json"))
        return OK; /* the agent ended between lock and start: it never ran */
    return bury(folder, ret_look, err);
}

static enum err_code executor_look(void *ctx, const struct id *attempt,
                                   struct executor_look *ret_look, struct err *err)
{
    struct process_executor *executor = ctx;
    char folder[ATTEMPT_PATH_BYTES], path[ATTEMPT_PATH_BYTES];
    struct stat info;

    TRY(look_into(executor, attempt, ret_look, err));
    folder_of(executor, attempt, folder);
    attempt_path(folder, "console", path);
    if (ret_look->phase != EXECUTOR_ENDED)
        ret_look->console_bytes = attempt_console_bytes(folder);
    else
        ret_look->console_bytes = stat(path, &info) == 0 ? info.st_size : 0;
    return OK;
}

static enum err_code ask(struct process_executor *executor, const struct id *attempt,
                         const char *request, int signal_number, struct err *err)
{
    char folder[ATTEMPT_PATH_BYTES], path[ATTEMPT_PATH_BYTES];
    struct process supervisor;
    time_ms at;

    folder_of(executor, attempt, folder);
    attempt_path(folder, request, path);
    TRY(file_write_atomic(path, STR(""), 0600, err));
    /* Not there yet: it looks for the file itself once it is. */
    if (attempt_process_read(folder, "supervisor.json", &supervisor, &at, NULL) == OK)
        (void)process_signal(&supervisor, signal_number); /* gone: look tells */
    return OK;
}

/* Jobs share the network of the machine. */
static enum err_code executor_address(void *ctx, const struct id *attempt, char *ret_address,
                                      size_t size, struct err *err)
{
    (void)ctx, (void)attempt, (void)err;
    (void)snprintf(ret_address, size, "127.0.0.1");
    return OK;
}

/* A port that is free now; whoever takes it meanwhile makes rank 0 fail with a clear word. */
static enum err_code executor_rendezvous(void *ctx, const struct id *attempt, const char *machine,
                                         char *ret_text, size_t size, struct err *err)
{
    bool is_ipv6 = strchr(machine, ':') != NULL;
    int port;

    (void)ctx, (void)attempt;
    TRY(net_free_port(&port, err));
    (void)snprintf(ret_text, size, is_ipv6 ? "[%s]:%d" : "%s:%d", machine, port);
    return OK;
}

static enum err_code executor_stop(void *ctx, const struct id *attempt, struct err *err)
{
    return ask(ctx, attempt, "stop", SIGTERM, err);
}

static enum err_code executor_kill(void *ctx, const struct id *attempt, struct err *err)
{
    return ask(ctx, attempt, "kill", SIGINT, err);
}

static enum err_code executor_remove(void *ctx, const struct id *attempt, struct err *err)
{
    char folder[ATTEMPT_PATH_BYTES];
    struct process supervisor;
    struct process_end end;
    time_ms at;

    folder_of(ctx, attempt, folder);
    /* It has written its last file and is about to exit; if it is our child it must be reaped. */
    if (attempt_process_read(folder, "supervisor.json", &supervisor, &at, NULL) == OK)
        (void)process_wait(&supervisor, REAP_MS_MAX, &end); /* not our child: nothing to reap */
    return file_remove_tree(folder, err);
}

static size_t executor_list(void *ctx, struct id *ret_attempts, size_t max)
{
    const struct process_executor *executor = ctx;

    return attempt_list(executor->root, ret_attempts, max);
}

/* A limit that this host does not let us set is not promised; memory and CPUs may be shared without
 * one, which is worth a word. */
static uint64_t features_of(unsigned can)
{
    if ((can & CGROUP_MEMORY) == 0)
        log_warn("executor.no_limit", "of", "memory", "hint",
                 "control groups cannot be made here: docs/install.md, An agent");
    if ((can & CGROUP_CPU) == 0)
        log_warn("executor.no_limit", "of", "cpus");
    return FEATURE_BIT(FEATURE_HEALTH) | FEATURE_BIT(FEATURE_DISK) | FEATURE_BIT(FEATURE_NODES) |
           FEATURE_BIT(FEATURE_LAUNCHER) | (can & CGROUP_PIDS ? FEATURE_BIT(FEATURE_PIDS) : 0);
}

enum err_code process_executor_new(struct process_executor **ret_executor,
                                   const struct process_executor_options *options, struct err *err)
{
    struct process_executor *executor;
    unsigned can = attempt_cgroup_can(CGROUP_MOUNT);

    TRY(file_make_dirs(options->root, options->set_user ? 0711 : 0700, err));
    executor = MEM_NEW(struct process_executor);
    executor->root = mem_copy_text(options->root);
    executor->program = mem_copy_text(options->program);
    executor->user = (struct attempt_user){options->set_user, options->uid, options->gid};
    executor->port = (struct executor_port){.ctx = executor,
                                            .name = "process",
                                            .features = features_of(can),
                                            .shares_ports = true,
                                            .host_programs = true,
                                            .prepare = executor_prepare,
                                            .start = executor_start,
                                            .look = executor_look,
                                            .address = executor_address,
                                            .rendezvous = executor_rendezvous,
                                            .stop = executor_stop,
                                            .kill = executor_kill,
                                            .remove = executor_remove,
                                            .list = executor_list};
    *ret_executor = executor;
    return OK;
}

void process_executor_free(struct process_executor *executor)
{
    if (!executor)
        return;
    mem_free(executor->root);
    mem_free(executor->program);
    mem_free(executor);
}

const struct executor_port *process_executor_port(struct process_executor *executor)
{
    return &executor->port;
}
