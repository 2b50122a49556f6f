/* Preparing an attempt and bringing in its record. */
#include "agent/work_prepare.h"

#include "agent/code_digest.h"
#include "agent/job_env.h"
#include "agent/work_spec.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELP_SLICE_MS 200
#define PROBLEM_BYTES 400

static void path_join(char ret_path[WORK_PATH_BYTES + 64], const char *folder, const char *name)
{
    (void)snprintf(ret_path, WORK_PATH_BYTES + 64, "%s/%s", folder, name);
}

/* A child of our own program, as the job's user: `euvyra-agent VERB ARG`. */
struct errand {
    const struct work_env *env;
    const char *verb, *arg;
    const char *const *environment;
    int stdin_fd;
    bool (*keep_going)(void *ctx);
    void *ctx;
};

/* The last line an errand wrote, for people. */
static void read_problem(int fd, char ret_text[PROBLEM_BYTES])
{
    ssize_t got = pread(fd, ret_text, PROBLEM_BYTES - 1, 0);
    struct str text = str_trim(str_n(ret_text, got > 0 ? (size_t)got : 0));

    memmove(ret_text, text.data, text.len);
    ret_text[text.len] = '\0';
}

static enum err_code errand_end(const struct errand *h, const struct process_end *end,
                                int problem_fd, struct err *err)
{
    char problem[PROBLEM_BYTES];

    if (!end->signaled && end->code == 0)
        return OK;
    read_problem(problem_fd, problem);
    if (end->signaled)
        return err_set(err, ERR_INTERNAL, "%s was ended by signal %d", h->verb, end->code);
    if (problem[0] == '\0')
        (void)snprintf(problem, sizeof(problem), "%s failed with code %d", h->verb, end->code);
    if (end->code == err_code_exit(ERR_NOT_FOUND))
        return err_set(err, ERR_NOT_FOUND, "%s", problem);
    if (end->code == err_code_exit(ERR_UNAUTHENTICATED))
        return err_set(err, ERR_UNAUTHENTICATED, "%s", problem);
    if (end->code == err_code_exit(ERR_INVALID))
        return err_set(err, ERR_INVALID, "%s", problem);
    return err_set(err, ERR_UNAVAILABLE, "%s", problem);
}

static enum err_code errand_run(const struct errand *h, struct err *err)
{
    const struct agent_options *options = h->env->options;
    const char *const argv[] = {options->program, h->verb, h->arg, NULL};
    struct process_options start = {.argv = argv,
                                    .env = h->environment,
                                    .cwd = "/",
                                    .stdin_fd = h->stdin_fd,
                                    .stdout_fd = -1,
                                    .new_session = true,
                                    .set_user = options->set_user,
                                    .uid = options->uid,
                                    .gid = options->gid,
                                    .death_signal = SIGKILL, /* the next agent does it anew */
                                    .extra_fd = -1};
    struct process process;
    struct process_end end = {0};
    CLEANUP(file_close) int problem_fd = -1;

    TRY(file_open_unlinked(options->dir, &problem_fd, err));
    start.stderr_fd = problem_fd;
    TRY(process_start(&process, &start, err));
    while (!process_wait(&process, HELP_SLICE_MS, &end)) {
        if (h->keep_going(h->ctx))
            continue;
        (void)process_signal_group(&process, SIGKILL);
        (void)process_wait(&process, -1, &end);
        return err_set(err, ERR_UNAVAILABLE, "%s was given up", h->verb);
    }
    return errand_end(h, &end, problem_fd, err);
}

static enum err_code unpack(const struct work_env *env, const struct attempt_calls *calls,
                            const char *work_dir, int fd, struct err *err)
{
    const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct errand h = {.env = env,
                       .verb = "unpack",
                       .arg = work_dir,
                       .environment = environment,
                       .stdin_fd = fd,
                       .keep_going = calls->keep_going,
                       .ctx = calls->ctx};

    if (lseek(fd, 0, SEEK_SET) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot read the code");
    return errand_run(&h, err);
}

/* An earlier try may have left something: the work folder is made anew. */
static enum err_code renew_work_dir(const struct work_env *env, const struct wire_offer *offer,
                                    const char *work_dir, struct err *err)
{
    struct executor_place again;

    TRY(file_remove_tree(work_dir, err));
    return env->executor->prepare(env->executor->ctx, &offer->attempt.id, &again, err);
}

static enum call_outcome fetch_code(const struct work_env *env, const struct attempt_calls *calls,
                                    const struct wire_offer *offer, const char *work_dir,
                                    struct err *err)
{
    CLEANUP(file_close) int fd = -1;
    enum call_outcome outcome;
    enum err_code code;

    if (file_open_unlinked(env->options->dir, &fd, err) != OK)
        return CALL_AGAIN; /* the disk is full now, perhaps not later */
    outcome = call_code(calls, fd, err);
    if (outcome != CALL_DONE)
        return outcome;
    if (code_digest_check(fd, offer->code, err) != OK)
        return CALL_AGAIN;
    code = unpack(env, calls, work_dir, fd, err);
    if (code == ERR_UNAVAILABLE)
        return CALL_AGAIN;
    if (code != OK)
        err_prefix(err, "the code cannot be unpacked");
    return code == OK ? CALL_DONE : CALL_REFUSED;
}

static enum err_code begin(const struct work_start *start, struct err *err)
{
    const struct executor_port *executor = start->env->executor;
    CLEANUP(arena_release) struct arena arena = {0};
    struct executor_spec spec;

    TRY(work_spec_make(start, &arena, &spec, err));
    return executor->start(executor->ctx, &spec, err);
}

enum call_outcome work_prepare(const struct work_start *start, bool *ret_here, struct err *err)
{
    struct wire_status starting = {.state = WIRE_STARTING,
                                   .at = TIME_NONE,
                                   .exit_code = -1,
                                   .run_time_ms = -1,
                                   .console_bytes = -1};
    char work_dir[WORK_PATH_BYTES + 64];
    enum call_outcome outcome;
    enum err_code code;

    *ret_here = false;
    outcome = call_status(start->calls, &starting, err);
    if (outcome == CALL_AGAIN || outcome == CALL_FENCED)
        return outcome; /* refused: it was told before */
    path_join(work_dir, start->place->folder, "work");
    if (renew_work_dir(start->env, start->offer, work_dir, err) != OK)
        return CALL_REFUSED;
    if (start->offer->code.len > 0 && !start->env->executor->remote) {
        outcome = fetch_code(start->env, start->calls, start->offer, work_dir, err);
        if (outcome != CALL_DONE)
            return outcome;
    }
    code = begin(start, err);
    *ret_here = code != OK;
    return code == OK ? CALL_DONE : code == ERR_UNAVAILABLE ? CALL_AGAIN : CALL_REFUSED;
}

enum err_code work_upload(const struct work_env *env, const struct wire_offer *offer,
                          const char *folder, bool (*keep_going)(void *ctx), void *ctx,
                          struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char key[WORK_PATH_BYTES + 64], runs[WORK_PATH_BYTES + 64];
    const struct agent_options *options = env->options;
    struct job_env_facts facts = {.agent_env = options->environ,
                                  .server = options->server,
                                  .ca_file = options->ca_file,
                                  .key_file = key,
                                  .runs_dir = runs,
                                  .user_home = options->user_home};
    static const char *const no_env[] = {NULL};
    struct wire_offer plain = *offer; /* the job's own environment is not for this */
    struct errand h = {.env = env,
                       .verb = "upload",
                       .arg = runs,
                       .stdin_fd = -1,
                       .keep_going = keep_going,
                       .ctx = ctx};
    enum err_code code;

    path_join(key, folder, "key");
    path_join(runs, folder, "runs");
    if (!file_exists(key) || env->executor->remote)
        return OK; /* it never came so far, or the executor has done it */
    plain.env = no_env;
    h.environment = job_env_build(&arena, &plain, &facts);
    code = errand_run(&h, err);
    return code == ERR_NOT_FOUND ? OK : code; /* a job without the SDK has no log */
}

enum err_code work_keep_record(const struct work_env *env, const struct wire_offer *offer,
                               const char *folder, struct err *err)
{
    char from[WORK_PATH_BYTES + 64], kept[WORK_PATH_BYTES + 64], console[WORK_PATH_BYTES + 128];

    TRY(file_make_dirs(env->unsent_dir, 0700, err));
    path_join(from, folder, "runs");
    path_join(kept, env->unsent_dir, offer->attempt.id.text);
    if (rename(from, kept) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot keep %s", from);
    path_join(from, folder, "console");
    (void)snprintf(console, sizeof(console), "%s/console", kept);
    if (rename(from, console) != 0 && errno != ENOENT)
        return err_set_errno(err, ERR_IO, errno, "cannot keep %s", from);
    return OK;
}
