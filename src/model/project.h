/* Projects: the owner of runs and jobs, and the unit of membership. */
#pragma once

#include "model/identity.h"

#define PROJECT_NAME_BYTES_MAX   63
#define RETAIN_DAYS_MAX          36500
#define TITLE_BYTES_MAX          200
#define NOTE_BYTES_MAX           10000
#define SILENT_S_MIN             10
#define SILENT_S_MAX             2592000
#define PROJECT_IDLE_MINUTES     30 /* of a new one */
#define PROJECT_IDLE_MINUTES_MIN 5
#define PROJECT_IDLE_MINUTES_MAX 10080

struct project {
    project_id id;
    struct str name, title, description;
    time_ms created;
    enum role role; /* of the one who asks */
    int64_t run_count, running_count;
    time_ms last_run; /* TIME_NONE: no run yet */
    int64_t cost_micro;
    int64_t
        silent_s; /* its runs are crashed after so many silent seconds; 0: as the server has it */
    int64_t retain_days;    /* runs that ended so long ago are deleted; 0: kept */
    bool idle_stop;         /* jobs that leave their GPUs idle are stopped, not only marked */
    int64_t idle_minutes;   /* for so long */
    bool silent_is_default; /* silent_s is the server's: set where a project is shown */
};
