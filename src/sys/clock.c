/* The clocks. */
#include "sys/clock.h"

#include <time.h>

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;

    ENSURE(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

time_ms clock_wall_ms(void)
{
    return clock_ns(CLOCK_REALTIME) / 1000000;
}

int64_t clock_mono_ms(void)
{
    return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}
