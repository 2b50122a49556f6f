/* The functions of src/sync as a program with the words of `euvyra`, so that they are tested
 * without the command line: sync_tool sync [--follow [--detach]] DIR..., sync_tool exec -- CMD. */
#include "sync/exec.h"
#include "sync/folders.h"
#include "sync/follow.h"
#include "sync/tee.h"

#include <stdio.h>
#include <string.h>

static int fail(enum err_code code, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", err_code_name(code), err->text);
    return err_code_exit(code);
}

static void tell(void *ctx, bool is_problem, const char *line)
{
    (void)ctx;
    fprintf(is_problem ? stderr : stdout, "%s\n", line);
}

static int run_follow(const char *dir, bool detach)
{
    struct err err = {0};
    enum err_code code =
        sync_follow(&(struct sync_follow_options){.dir = dir, .detach = detach}, &err);

    return code == OK ? 0 : fail(code, &err);
}

static int run_folders(const char *const *dirs, size_t count)
{
    struct sync_folders_report report;
    struct err err = {0};
    enum err_code code =
        sync_folders(dirs, count, &(struct sync_folders_options){.tell = tell}, &report, &err);

    printf("%llu folders, %llu failed, %llu bytes\n", (unsigned long long)report.folder_count,
           (unsigned long long)report.failed_count, (unsigned long long)report.record_bytes);
    return code == OK ? 0 : fail(code, &err);
}

int main(int argc, char **argv)
{
    const char *const *words = (const char *const *)argv;
    struct err err = {0};
    int exit_code = 0;

    if (argc > 3 && strcmp(words[1], "exec") == 0 && strcmp(words[2], "--") == 0) {
        enum err_code code = exec_run(&(struct exec_options){.argv = words + 3}, &exit_code, &err);
        return code == OK ? exit_code : fail(code, &err);
    }
    if (argc > 3 && strcmp(words[2], "--tee") == 0) {
        enum err_code code = sync_tee(words[3], &err);
        return code == OK ? 0 : fail(code, &err);
    }
    if (argc > 3 && strcmp(words[2], "--follow") == 0)
        return run_follow(words[argc - 1], strcmp(words[3], "--detach") == 0);
    if (argc > 2 && strcmp(words[1], "sync") == 0)
        return run_folders(words + 2, (size_t)argc - 2);
    return 2;
}
