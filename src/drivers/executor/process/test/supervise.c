/* The supervisor alone, as a program for the tests: `supervise attempt FOLDER LOCK_FD`. */
#include "base/str.h"
#include "drivers/executor/process/attempt_supervisor.h"

int main(int argc, char **argv)
{
    int64_t lock_fd;

    if (argc != 4 || !str_to_i64(str_from(argv[3]), &lock_fd))
        return 2;
    return attempt_supervise(argv[2], (int)lock_fd);
}
