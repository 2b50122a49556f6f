/* Targets: what a job names as the place to run, with what holds there. thread: any */
#pragma once

#include "base/str.h"
#include "base/timeval.h"
#include "model/ids.h"

#define TARGET_PRICE_MAX          9007199254740991
#define TARGET_PRICES_MAX         100 /* that are to come */
#define TARGET_EXCLUDED_MAX       1000
#define TARGET_ITEMS_MAX          64 /* labels, tolerations, volumes, buckets: of each */
#define TARGET_REASON_BYTES_MAX   200
#define TARGET_SETTINGS_BYTES_MAX (256u * 1024)

/* Documents are JSON in the form of the API, checked when they were set. */
struct target {
    target_id id;
    struct str name;
    int64_t price_hour_micro, price_gpu_hour_micro; /* that hold now */
    struct str labels;                              /* an object of texts */
    bool spot; /* cheaper, and its machines may be taken away */
    struct str excluded, tolerations;
    struct str settings; /* what every job there gets */
    struct str volumes, buckets;
    bool maintenance; /* starts nothing, see target_in_maintenance */
    struct str maintenance_reason;
    time_ms maintenance_until; /* TIME_NONE: open end */

    struct str *excluded_names; /* the agents of `excluded` */
    size_t excluded_count;
    int64_t agent_count, cpus_total, cpus_used, gpus_total, gpus_used;
};

static inline bool target_in_maintenance(const struct target *target, time_ms now)
{
    return target->maintenance &&
           (target->maintenance_until == TIME_NONE || target->maintenance_until > now);
}

/* Holds from `from` until the next one does. */
struct target_price {
    time_ms from;
    int64_t price_hour_micro, price_gpu_hour_micro;
};

/* What still uses a target: why it cannot be removed. Names are empty where there is none. */
struct target_uses {
    int64_t agents, open_jobs, queues, shares;
    struct str queue, share; /* one of them */
};
