/* Budgets of projects, and what was used of them month by month. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"

#define BUDGET_UNLIMITED     INT64_MAX
#define BUDGET_GPU_HOURS_MAX 1000000000
#define BUDGET_COUNT_MAX     9007199254740991 /* of GPU milliseconds and money: sums stop here */

struct budget {
    project_id project;
    int64_t gpu_ms_max, micro_max; /* a month; BUDGET_UNLIMITED */
    struct str zone;               /* "": the installation's */
};

/* A month of a project: the half open interval [start, end) of UTC times, and what was used in it.
 */
struct budget_period {
    time_ms start, end;
    struct str zone;     /* whose month it is */
    int64_t gpu_ms_used; /* gpu_ms_lost is a part of it */
    int64_t micro_used;
    int64_t gpu_ms_lost; /* by attempts that were ended for others, or were lost */
};
