/* The clocks. Wall time is for people and records; monotonic time is for waiting and leases.
 * thread: any */
#pragma once

#include "base/timeval.h"

time_ms clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_mono_ns(void);
