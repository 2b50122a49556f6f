/* The end of a console that was too long. */
#include "drivers/common/console_text.h"

#include "sys/file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum err_code console_text_cut(int fd, int64_t bytes_max, int64_t left_out, struct err *err)
{
    char line[200];
    int len;

    if (bytes_max == 0 || left_out <= CONSOLE_SLACK)
        return OK;
    len = snprintf(line, sizeof line,
                   "\neuvyra-agent: console text is kept up to %lld bytes; the %lld bytes "
                   "after that were left out\n",
                   (long long)bytes_max, (long long)left_out);
    if (ftruncate(fd, (off_t)bytes_max) != 0)
        return err_set_errno(err, ERR_IO, errno, "cannot cut the console");
    return file_write_all(fd, line, (size_t)len, err);
}
