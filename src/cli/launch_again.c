/* Launching again what a run without a job was: its recorded commit is checked out beside the
 * repository that has it, its changes are applied, and that folder is packed. */
#include "cli/cli.h"
#include "sys/file.h"
#include "sys/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum err_code git(const char *cwd, const char *const *argv, int stdin_fd, struct err *err)
{
    struct process_end end = {0};
    struct process process;

    TRY(process_start(&process,
                      &(struct process_options){.argv = argv,
                                                .cwd = cwd,
                                                .stdin_fd = stdin_fd,
                                                .stdout_fd = -1,
                                                .stderr_fd = -1,
                                                .extra_fd = -1},
                      err));
    (void)process_wait(&process, -1, &end);
    return !end.signaled && end.code == 0 ? OK : ERR_INVALID;
}

const char *cli_run_commit(const json_t *run)
{
    return cli_get(json_object_get(json_object_get(run, "code"), "git"), "commit");
}

/* What had changed since the commit, as the run recorded it. */
static enum err_code apply_diff(struct cli *cli, const json_t *run, const char *folder,
                                struct err *err)
{
    static const char *const argv[] = {"git", "apply", "--whitespace=nowarn", "-", NULL};
    CLEANUP(json_release) json_t *diff = NULL;
    CLEANUP(file_close) int fd = -1;
    const char *text;

    TRY(cli_call(cli, "GET", arena_printf(&cli->arena, "/api/v1/runs/%s/diff", cli_get(run, "id")),
                 NULL, &diff, err));
    if (json_is_true(json_object_get(diff, "cut")))
        return err_set(err, ERR_INVALID, "the changes of run %s are too long to be kept whole",
                       cli_get(run, "id"));
    text = cli_get(diff, "diff");
    TRY(file_open_unlinked("/tmp", &fd, err));
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET) != 0)
        return err_set_errno(err, ERR_IO, errno, "the changes of the run");
    if (git(folder, argv, fd, err) != OK)
        return err_set(err, ERR_INVALID, "the changes of run %s do not apply to its commit",
                       cli_get(run, "id"));
    return OK;
}

enum err_code cli_checkout_run(struct cli *cli, const json_t *run, const char **ret_folder,
                               struct err *err)
{
    const json_t *state = json_object_get(json_object_get(run, "code"), "git");
    char folder[] = "/tmp/euvyra-again.XXXXXX";
    const char *commit = cli_run_commit(run);

    if (!mkdtemp(folder))
        return err_set_errno(err, ERR_IO, errno, "a folder below /tmp");
    if (git(NULL, (const char *const[]){"git", "worktree", "add", "--detach", folder, commit, NULL},
            -1, err) != OK) {
        (void)rmdir(folder);
        (void)err_set(err, ERR_INVALID,
                      "commit %s of run %s is not in the repository of this folder", commit,
                      cli_get(run, "id"));
        err_hint(err, "go to a clone of it, and git fetch");
        return ERR_INVALID;
    }
    *ret_folder = arena_text(&cli->arena, str_from(folder));
    return json_is_true(json_object_get(state, "dirty")) ? apply_diff(cli, run, folder, err) : OK;
}

void cli_checkout_remove(const char *folder)
{
    struct err err;

    if (folder) /* what stays behind is below /tmp, and git worktree prune forgets it */
        (void)git(NULL, (const char *const[]){"git", "worktree", "remove", "--force", folder, NULL},
                  -1, &err);
}
