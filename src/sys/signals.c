/* Signals on a descriptor (signalfd). */
#include "sys/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum err_code signals_open(const int *signal_numbers, int *ret_fd, struct err *err)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (; *signal_numbers; signal_numbers++)
        ENSURE(sigaddset(&set, *signal_numbers) == 0);
    ENSURE(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    ENSURE(signal(SIGPIPE, SIG_IGN) != SIG_ERR);

    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd < 0)
        return err_set_errno(err, ERR_IO, errno, "cannot watch signals");
    *ret_fd = fd;
    return OK;
}

int signals_wait(int fd, int64_t timeout_ms)
{
    struct pollfd watch = {.fd = fd, .events = POLLIN};
    struct signalfd_siginfo info;

    if (poll(&watch, 1, (int)MIN(timeout_ms, INT32_MAX)) != 1)
        return 0;
    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    return (int)info.ssi_signo;
}
