/* One line on why it ended. */
#include "drivers/common/end_reason.h"

#include "sys/process.h"

#include <stdio.h>

void end_reason_write(struct executor_look *look, int64_t timeout_s)
{
    char *reason = look->reason, name[16];
    size_t size = sizeof(look->reason);

    if (reason[0])
        return;
    if (look->oom)
        (void)snprintf(reason, size, "the kernel killed it for memory");
    else if (look->disk_full)
        (void)snprintf(reason, size, "the disk of the machine is full");
    else if (look->timed_out)
        (void)snprintf(reason, size, "it ran longer than %lld s", (long long)timeout_s);
    else if (look->was_stopped)
        (void)snprintf(reason, size, "it was stopped");
    else if (look->exit_signal)
        (void)snprintf(reason, size, "it was ended by %s", signal_name(look->exit_signal, name));
    else if (look->exit_code > 0)
        (void)snprintf(reason, size, "it exited with code %d", look->exit_code);
}
