/* Punching holes keeps the file's length, so the length says exactly how much was written, however
 * the job's writes and our looks interleave. */
#include "drivers/executor/process/attempt_console.h"

#include "base/log.h"
#include "drivers/common/console_text.h"
#include "drivers/executor/process/attempt_files.h"
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t size_of(const struct attempt_console *console)
{
    struct stat info;

    return fstat(console->fd, &info) == 0 ? info.st_size : 0;
}

enum err_code attempt_console_open(struct attempt_console *console, const char *folder,
                                   int64_t bytes_max, struct err *err)
{
    char path[ATTEMPT_PATH_BYTES];

    attempt_path(folder, "console", path);
    *console = (struct attempt_console){.bytes_max = bytes_max, .hole_end = bytes_max};
    console->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (console->fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot open %s", path);
    return OK;
}

void attempt_console_trim(struct attempt_console *console)
{
    int64_t size = size_of(console);

    if (console->bytes_max == 0 || size <= console->hole_end + CONSOLE_SLACK)
        return;
    if (fallocate(console->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)console->hole_end,
                  (off_t)(size - console->hole_end)) == 0) {
        console->hole_end = size;
        return;
    }
    if (ftruncate(console->fd, (off_t)console->bytes_max) == 0)
        console->cut_bytes += size - console->bytes_max;
    else
        log_warn("attempt.console", "error", strerror(errno));
}

void attempt_console_finish(struct attempt_console *console)
{
    int64_t left_out = console->cut_bytes + MAX(size_of(console) - console->bytes_max, 0);
    struct err err;

    if (console_text_cut(console->fd, console->bytes_max, left_out, &err) != OK)
        log_warn("attempt.console", "error", err.text);
}

void attempt_console_close(struct attempt_console *console)
{
    file_close(&console->fd);
}

int64_t attempt_console_bytes(const char *folder)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char path[ATTEMPT_PATH_BYTES];
    struct executor_spec spec;
    struct attempt_user user;
    struct stat info;

    attempt_path(folder, "console", path);
    if (stat(path, &info) != 0)
        return 0;
    if (info.st_size <= EXECUTOR_CONSOLE_BYTES_MIN)
        return info.st_size; /* below every limit: most consoles */
    if (attempt_spec_read(&arena, folder, &spec, &user, NULL) != OK || spec.console_bytes_max == 0)
        return info.st_size;
    return MIN(info.st_size, spec.console_bytes_max);
}
